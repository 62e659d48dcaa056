/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quantity.h"
#include "record/helper/fd_message.h"
#include "record/helper/spawner.h"
#include "record/host/kernel.h"
#include "record/host/privileges.h"

/* Same priority as the recorder, which waits for the answer (recording_setup.c). */
#define PRIORITY (-20)
/* Killed helpers that may still exist; at this number, no more are started until one ends. */
#define STUCK_MAX 16

/* Files of /proc that the spawner sends for each started helper. */
enum { BIRTH_STATUS, BIRTH_TIMES, BIRTH_FILES };

_Static_assert(BIRTH_FILES <= REEL_FD_MESSAGE_MAX, "a message has room for them");

/* What a spawner shares with the recorder, and not with its helpers. */
struct shared {
	pid_t current; /* the helper; 0: none */
	uint64_t work; /* ns of CPU time of helpers that have ended */
};

struct reel_spawner {
	struct reel_spawner *next;
	pid_t pid;
	volatile struct shared *shared;
	int control;
	uint64_t n_asked, n_begun; /* helpers */
	int files[BIRTH_FILES];	   /* of the last helper that has begun; -1: none */
	int own_times;
};

static struct reel_spawner *spawners;

/* ---- the process that starts helpers ---------------------------------------------------- */

/* A helper's function and limits. */
struct life {
	void (*serve)(int socket);
	unsigned int roles;
	const struct reel_helper_limits *limits;
};

struct children {
	pid_t current; /* 0: none */
	unsigned int count;
	volatile struct shared *shared;
};

static uint64_t ns_of(struct timeval time)
{
	return (uint64_t)time.tv_sec * REEL_NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

static void reap(struct children *children)
{
	struct rusage usage;
	pid_t pid;

	while ((pid = wait4(-1, NULL, WNOHANG, &usage)) > 0) {
		children->count--;
		children->shared->work += ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
		if (pid == children->current)
			children->current = 0;
		if (pid == children->shared->current)
			children->shared->current = 0;
	}
}

static bool send_fds(int control, uint64_t number, const int *fds, size_t count)
{
	return reel_fd_message_send(control, &number, sizeof(number), fds, count, MSG_DONTWAIT);
}

/* False at the socket's end, or with MSG_DONTWAIT if no message is waiting. */
static bool receive_fds(int control, int flags, uint64_t *number_ret, int *fds, size_t count)
{
	size_t n = count;

	return reel_fd_message_receive(control, number_ret, sizeof(*number_ret), fds, &n, flags) ==
		       sizeof(*number_ret) &&
	       n == count;
}

/* ---- the spawner's life -------------------------------------------------------------------- */

/* Ends with the parent, which may have died already. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

/* Sends files that show the recorder whether a helper hangs. */
static void tell(int control, uint64_t number, pid_t pid)
{
	static const char *const names[BIRTH_FILES] = { "stat", "schedstat" };
	int files[BIRTH_FILES];
	char path[64];

	for (size_t i = 0; i < BIRTH_FILES; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, names[i]);
		files[i] = open(path, O_RDONLY | O_CLOEXEC);
		/* /dev/null reads as empty. */
		if (files[i] < 0)
			files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	send_fds(control, number, files, BIRTH_FILES);
	for (size_t i = 0; i < BIRTH_FILES; i++)
		close(files[i]);
}

static void start_helper(struct children *children, uint64_t number, int control, int socket,
			 const struct life *life)
{
	pid_t spawner = getpid();
	pid_t pid = fork();

	if (!pid) {
		close(control);
		munmap((void *)children->shared, sizeof(*children->shared));
		end_with(spawner);
		if (life->limits)
			reel_helper_limits_set(life->limits);
		life->serve(socket);
		_exit(0);
	}
	if (pid > 0) {
		children->current = children->shared->current = pid;
		children->count++;
		tell(control, number, pid);
	}
}

/* Closes everything whose end others wait for: a pipe, or a folder to be unmounted. */
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

/* Its helpers inherit the remaining ones.  The recorder reports features that the kernel misses. */
static void drop_rights(unsigned int roles)
{
	const struct reel_privileges privileges = { .roles = roles | REEL_ROLE_SPAWNER };
	const char *lacks;
	struct reel_error *error = reel_privileges_drop(&privileges, &lacks);

	if (error)
		_exit(1);
}

static void run(int control, pid_t recorder, volatile struct shared *shared,
		const struct life *life) __attribute__((noreturn));

static void run(int control, pid_t recorder, volatile struct shared *shared,
		const struct life *life)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
	struct children children = { .shared = shared };
	uint64_t number;
	int socket;

	end_with(recorder);
	/* The recorder decides on signals that a terminal or `timeout' sends to all. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "reel-inspector");
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	let_go(control);
	if (life->roles)
		drop_rights(life->roles);
	while (receive_fds(control, 0, &number, &socket, 1)) {
		reap(&children);
		/* Not reaped, so the number is still its own. */
		if (children.current)
			kill(children.current, SIGKILL);
		children.current = 0;
		if (children.count < STUCK_MAX)
			start_helper(&children, number, control, socket, life);
		close(socket);
	}
	_exit(0);
}

/* ---- the recorder's side -------------------------------------------------------------- */

static void close_files(struct reel_spawner *spawner)
{
	for (size_t i = 0; i < BIRTH_FILES; i++) {
		if (spawner->files[i] >= 0)
			close(spawner->files[i]);
		spawner->files[i] = -1;
	}
}

static void close_all(struct reel_spawner *spawner)
{
	close(spawner->control);
	close_files(spawner);
	if (spawner->own_times >= 0)
		close(spawner->own_times);
	munmap((void *)spawner->shared, sizeof(*spawner->shared));
}

struct reel_error *reel_spawner_create(void (*serve)(int socket), unsigned int roles,
				       const struct reel_helper_limits *limits,
				       struct reel_spawner **ret)
{
	const struct life life = { serve, roles, limits };
	struct reel_spawner *spawner = calloc(1, sizeof(*spawner));
	pid_t recorder = getpid();
	int ends[2];

	if (!spawner)
		return reel_error_no_memory();
	spawner->shared = mmap(NULL, sizeof(*spawner->shared), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (spawner->shared == MAP_FAILED) {
		free(spawner);
		return reel_error_no_memory();
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		munmap((void *)spawner->shared, sizeof(*spawner->shared));
		free(spawner);
		return reel_error_os(errno, "making a socket");
	}
	spawner->control = ends[0];
	for (size_t i = 0; i < BIRTH_FILES; i++)
		spawner->files[i] = -1;
	spawner->own_times = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	spawner->pid = fork();
	if (!spawner->pid)
		run(ends[1], recorder, spawner->shared, &life);
	close(ends[1]);
	/* Other spawners have no part in it. */
	madvise((void *)spawner->shared, sizeof(*spawner->shared), MADV_DONTFORK);
	if (spawner->pid < 0) {
		struct reel_error *error = reel_error_os(errno, "starting a helper process");

		close_all(spawner);
		free(spawner);
		return error;
	}
	spawner->next = spawners;
	spawners = spawner;
	*ret = spawner;
	return NULL;
}

/* Of all spawners and their helpers that live. */
static uint64_t sum(uint64_t (*of)(pid_t pid))
{
	uint64_t all = 0;

	for (const struct reel_spawner *spawner = spawners; spawner; spawner = spawner->next) {
		pid_t current = spawner->shared->current;

		all += of(spawner->pid) + (current ? of(current) : 0);
	}
	return all;
}

uint64_t reel_spawners_work(void)
{
	uint64_t ended = 0;

	for (const struct reel_spawner *spawner = spawners; spawner; spawner = spawner->next)
		ended += spawner->shared->work;
	return ended + sum(reel_process_work);
}

uint64_t reel_spawners_memory(void)
{
	return sum(reel_process_memory);
}

void reel_spawner_destroy(struct reel_spawner *spawner)
{
	struct reel_spawner **place = &spawners;

	if (!spawner)
		return;
	while (*place != spawner)
		place = &(*place)->next;
	*place = spawner->next;
	close_all(spawner);
	/* The spawner reads no data of other processes, so it ends; its helpers end with it
	 * (PR_SET_PDEATHSIG). */
	kill(spawner->pid, SIGKILL);
	while (waitpid(spawner->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(spawner);
}

bool reel_spawner_lives(const struct reel_spawner *spawner)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)spawner->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

int reel_spawner_start(struct reel_spawner *spawner)
{
	int ends[2];
	bool sent;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	sent = send_fds(spawner->control, spawner->n_asked + 1, &ends[1], 1);
	close(ends[1]);
	if (sent) {
		spawner->n_asked++;
		return ends[0];
	}
	close(ends[0]);
	return -1;
}

/* ---- a helper's state ----------------------------------------------------------------------- */

/* Reads the current state, in kernel memory of a process that nobody else controls. */
static void read_now(int file, char *text, size_t size)
{
	ssize_t n = file < 0 ? 0 : pread(file, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
}

struct times {
	unsigned long long work, wait; /* ns */
};

static struct times times_of(int file)
{
	struct times times;
	char text[96];

	read_now(file, text, sizeof(text));
	/* fs/proc/base.c, proc_pid_schedstat */
	if (sscanf(text, "%llu %llu", &times.work, &times.wait) != 2)
		return (struct times){ 0 };
	return times;
}

static bool runs(int file)
{
	char text[256];
	const char *name_end;

	read_now(file, text, sizeof(text));
	/* "12 (reel-inspector) R …" (fs/proc/array.c, do_task_stat) */
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

struct reel_spawner_state reel_spawner_look(struct reel_spawner *spawner)
{
	struct reel_spawner_state state = { 0 };
	struct times times;
	int files[BIRTH_FILES];
	uint64_t number;

	while (receive_fds(spawner->control, MSG_DONTWAIT, &number, files, BIRTH_FILES)) {
		close_files(spawner);
		memcpy(spawner->files, files, sizeof(files));
		spawner->n_begun = number;
	}
	state.begun = spawner->n_begun == spawner->n_asked;
	if (!state.begun)
		return state;
	state.runs = runs(spawner->files[BIRTH_STATUS]);
	times = times_of(spawner->files[BIRTH_TIMES]);
	state.work = times.work;
	state.busy = times.work + times.wait + times_of(spawner->own_times).wait;
	return state;
}
