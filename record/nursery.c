/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/nursery.h"

/* The recorder waits for an answer with the priority that it has itself (recording_setup.c). */
#define PRIORITY (-20)
/* So many helpers that were killed may be there still; then no more are started until one ends. */
#define STUCK_MAX 16

struct reel_nursery {
	pid_t pid;
	int control;
};

/* ---- the process that starts helpers ---------------------------------------------------- */

struct children {
	pid_t current; /* 0: none */
	unsigned int count;
};

static void reap(struct children *children)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		children->count--;
		if (pid == children->current)
			children->current = 0;
	}
}

/* A control message with one descriptor in it. */
union fd_message {
	struct cmsghdr header;
	uint8_t room[CMSG_SPACE(sizeof(int))];
};

/* The socket for the next helper; -1 at the recorder's end. */
static int receive_socket(int control)
{
	union fd_message message;
	char byte;
	struct iovec vector = { &byte, 1 };
	struct msghdr header = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &message,
		.msg_controllen = sizeof(message),
	};
	ssize_t n;
	int fd;

	do {
		n = recvmsg(control, &header, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != 1 || header.msg_controllen < CMSG_LEN(sizeof(fd)) ||
	    message.header.cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(&message.header), sizeof(fd));
	return fd;
}

/* Of the parent's death; it may have died already. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

static void start_helper(struct children *children, int control, int socket,
			 void (*serve)(int socket))
{
	pid_t nursery = getpid();
	pid_t pid = fork();

	if (!pid) {
		close(control);
		end_with(nursery);
		serve(socket);
		_exit(0);
	}
	if (pid > 0) {
		children->current = pid;
		children->count++;
	}
}

/* Nothing that others wait for the end of: a pipe's reader, or who wants to unmount a folder. */
static void let_go(int control)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (control > 3)
		close_range(3, (unsigned int)control - 1, 0);
	close_range((unsigned int)control + 1, ~0u, 0);
	if (chdir("/"))
		_exit(1);
}

static void run(int control, pid_t recorder, void (*serve)(int socket)) __attribute__((noreturn));

static void run(int control, pid_t recorder, void (*serve)(int socket))
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
	struct children children = { 0 };
	int socket;

	end_with(recorder);
	/* What a terminal or `timeout' sends to all is the recorder's to judge. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "reel-inspector");
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	let_go(control);
	while ((socket = receive_socket(control)) >= 0) {
		reap(&children);
		/* Not reaped, so the number is still its own. */
		if (children.current)
			kill(children.current, SIGKILL);
		children.current = 0;
		if (children.count < STUCK_MAX)
			start_helper(&children, control, socket, serve);
		close(socket);
	}
	_exit(0);
}

/* ---- the recorder's side -------------------------------------------------------------- */

struct reel_error *reel_nursery_create(void (*serve)(int socket), struct reel_nursery **ret)
{
	struct reel_nursery *nursery = calloc(1, sizeof(*nursery));
	pid_t recorder = getpid();
	int ends[2];

	if (!nursery)
		return reel_error_no_memory();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(nursery);
		return reel_error_os(errno, "making a socket");
	}
	nursery->control = ends[0];
	nursery->pid = fork();
	if (!nursery->pid)
		run(ends[1], recorder, serve);
	close(ends[1]);
	if (nursery->pid < 0) {
		struct reel_error *error = reel_error_os(errno, "starting a helper process");

		close(nursery->control);
		free(nursery);
		return error;
	}
	*ret = nursery;
	return NULL;
}

void reel_nursery_destroy(struct reel_nursery *nursery)
{
	if (!nursery)
		return;
	close(nursery->control);
	/* It looks at nothing of others', so it ends; with it, what it started (PR_SET_PDEATHSIG).
	 */
	kill(nursery->pid, SIGKILL);
	while (waitpid(nursery->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(nursery);
}

int reel_nursery_start(struct reel_nursery *nursery)
{
	union fd_message message = { .header = {
					     .cmsg_len = CMSG_LEN(sizeof(int)),
					     .cmsg_level = SOL_SOCKET,
					     .cmsg_type = SCM_RIGHTS,
				     } };
	struct iovec vector = { "", 1 };
	struct msghdr header = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &message,
		.msg_controllen = sizeof(message),
	};
	int ends[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	memcpy(CMSG_DATA(&message.header), &ends[1], sizeof(ends[1]));
	n = sendmsg(nursery->control, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(ends[1]);
	if (n == 1)
		return ends[0];
	close(ends[0]);
	return -1;
}
