/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/options/options.h"
#include "record/output/status.h"
#include "record/supervisor.h"

static void say(const char *text)
{
	fprintf(stderr, "stackreel-record: %s\n", text);
}

/* In a process of its own, since an invalid option ends it. */
static bool is_valid(int argc, char **argv)
{
	struct reel_options options;
	int status;
	pid_t pid = fork();

	if (!pid) {
		reel_options_parse(argc, argv, &options);
		exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ---- one recorder after the other ------------------------------------------------------------- */

/* In the environment across execve(2): the recorder that runs. */
#define RECORDER "STACKREEL_RECORDER"

struct supervisor {
	int argc;
	char **argv;
	int signals;	/* signalfd */
	pid_t recorder; /* 0: none */
	pid_t next;	/* takes over from it, once `ready` says so; 0: none */
	pid_t ending;	/* the one before; 0: none */
	int ready;	/* -1: nobody takes over */
	int status;	/* of the recorder that ended last */
	bool restarts, ends;
};

/* The recorder that this process had before it executed itself; 0: none. */
static pid_t previous_recorder(void)
{
	const char *text = getenv(RECORDER);
	pid_t pid = text ? (pid_t)strtol(text, NULL, 10) : 0;
	siginfo_t info;

	unsetenv(RECORDER);
	return pid > 0 && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) ? pid : 0;
}

static void restart(struct supervisor *supervisor)
{
	char text[16];

	supervisor->restarts = false;
	if (!is_valid(supervisor->argc, supervisor->argv)) {
		say("going on with the previous configuration");
		return;
	}
	snprintf(text, sizeof(text), "%d", (int)supervisor->recorder);
	setenv(RECORDER, text, 1);
	execvp(supervisor->argv[0], supervisor->argv);
	fprintf(stderr, "stackreel-record: %s: %s\n", supervisor->argv[0], strerror(errno));
	unsetenv(RECORDER);
}

static void forward(pid_t pid, int number)
{
	if (pid)
		kill(pid, number);
}

static void take_signal(struct supervisor *supervisor)
{
	struct signalfd_siginfo signal;

	if (read(supervisor->signals, &signal, sizeof(signal)) != sizeof(signal))
		return;
	switch (signal.ssi_signo) {
	case SIGHUP:
		supervisor->restarts = true;
		break;
	case SIGTERM:
	case SIGINT:
		supervisor->ends = true;
		/* A second signal would have the ending one leave data out. */
		forward(supervisor->next, (int)signal.ssi_signo);
		/* fall through */
	case SIGUSR2:
		forward(supervisor->recorder, (int)signal.ssi_signo);
		break;
	}
}

/* The next recorder takes samples, or has ended. */
static void take_over(struct supervisor *supervisor)
{
	char byte;

	if (read(supervisor->ready, &byte, 1) == 1 && supervisor->next) {
		supervisor->ending = supervisor->recorder;
		supervisor->recorder = supervisor->next;
		supervisor->next = 0;
		forward(supervisor->ending, SIGTERM);
	}
	close(supervisor->ready);
	supervisor->ready = -1;
}

static void reap(struct supervisor *supervisor)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == supervisor->ending) {
			supervisor->ending = 0;
		} else if (pid == supervisor->next) {
			supervisor->next = 0;
			supervisor->status = status;
			if (supervisor->recorder && !supervisor->ends)
				say("going on with the previous recorder");
		} else if (pid == supervisor->recorder) {
			supervisor->recorder = supervisor->next;
			supervisor->next = 0;
			supervisor->status = status;
		}
	}
}

/* Of all its recorders: one that ends leaves it, since the next one may have begun. */
static void delete_status(void)
{
	struct reel_status_file file;

	reel_error_destroy(reel_status_file_open((uint32_t)getpid(), &file));
	reel_status_file_close(&file);
}

static void supervise(struct supervisor *supervisor)
{
	while (supervisor->recorder || supervisor->ending) {
		struct pollfd fds[] = { { supervisor->signals, POLLIN, 0 },
					{ supervisor->ready, POLLIN, 0 } };

		if (supervisor->restarts && !supervisor->ends && !supervisor->next &&
		    !supervisor->ending)
			restart(supervisor);
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			take_over(supervisor);
		if (fds[0].revents)
			take_signal(supervisor);
		reap(supervisor);
	}
	delete_status();
	exit(WIFEXITED(supervisor->status) ? WEXITSTATUS(supervisor->status)
					   : 128 + WTERMSIG(supervisor->status));
}

/* Ends the previous recorder, which has the file or FIFO that the next one writes. */
static pid_t end_first(pid_t previous)
{
	kill(previous, SIGTERM);
	while (waitpid(previous, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

bool reel_supervisor_fork(int argc, char **argv, bool may_overlap, int *takeover_ret)
{
	struct supervisor supervisor = { .argc = argc, .argv = argv, .ready = -1 };
	pid_t parent = getpid(), previous = previous_recorder(), child;
	int ends[2] = { -1, -1 };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR2);
	sigaddset(&signals, SIGCHLD);
	/* They stay blocked: one that arrives while either starts is taken afterwards. */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (previous && (!may_overlap || pipe2(ends, O_CLOEXEC)))
		previous = end_first(previous);
	child = fork();
	if (child < 0)
		say(strerror(errno));
	if (!child) {
		/* A killed parent must not leave a recorder that nobody knows. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			exit(EXIT_FAILURE);
		if (previous)
			close(ends[0]);
		*takeover_ret = ends[1];
		return true;
	}
	if (child < 0 && !previous)
		return false;
	if (previous)
		close(ends[1]);
	supervisor.ready = child > 0 ? ends[0] : -1;
	supervisor.recorder = previous ? previous : child;
	supervisor.next = previous && child > 0 ? child : 0;
	supervisor.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (supervisor.signals < 0) {
		say(strerror(errno));
		exit(EXIT_FAILURE);
	}
	supervise(&supervisor);
	return false;
}
