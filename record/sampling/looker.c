/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/looker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/quantity.h"
#include "record/host/privileges.h"
#include "record/sampling/look_copies.h"

/* How long a look may take that the recorder waits for. */
#define LOOK_TIMEOUT_MS 1000

/* Of REEL_LOOKER_SHARE, for looks at all threads if there are others in between. */
#define WALK_SHARE (REEL_LOOKER_SHARE / 4)

/* Later looks weigh more, but there are fewer. */
#define PRIORITY (-10)

/* What the recorder sends, and the answer to LOOK. */
enum message {
	BEGIN = 'b',
	LOOK = 'l',
};

struct reel_looker {
	pid_t pid;
	int socket;
	bool stuck;
};

/* ---- the process ----------------------------------------------------------------------------- */

struct looks {
	int socket, link, listed;
	volatile struct reel_bpf_control *control;
	struct reel_bpf_copies *copies; /* NULL: the BPF program reads memory itself */
	uint64_t interval;		/* ns; 0: only at the start and when asked */
	uint64_t previous;		/* time of the previous look; 0: not begun */
	uint64_t walked;		/* of the previous one at all threads */
	double cost;			/* CPU time of a look at all, in ns; a running average */
	double list_cost;		/* at listed threads */
	uint64_t random;
};

static uint64_t clock_read(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * REEL_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* xorshift64: Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t next_random(struct looks *looks)
{
	looks->random ^= looks->random << 13;
	looks->random ^= looks->random >> 7;
	looks->random ^= looks->random << 17;
	return looks->random;
}

/* The BPF program runs for each thread. */
static void iterate(const struct looks *looks)
{
	char none[64];
	ssize_t size;
	int fd;

	fd = bpf_iter_create(looks->link);
	if (fd < 0)
		_exit(1);
	/* EAGAIN after a million threads (kernel/bpf/bpf_iter.c, MAX_ITER_OBJECTS). */
	do
		size = read(fd, none, sizeof(none));
	while (size > 0 || (size < 0 && errno == EAGAIN));
	close(fd);
}

/* Passes until the memory of all threads that wait, or of as many as there is room for, is read. */
static void make_passes(struct looks *looks)
{
	volatile struct reel_bpf_control *control = looks->control;

	control->look_next = control->look_copies = 0;
	control->look_bytes = 0;
	for (uint32_t pass = 0; pass < REEL_PASSES_MAX; pass++) {
		control->look_pass = pass;
		control->look_asks = 0;
		iterate(looks);
		if (!control->look_asks)
			break;
		reel_look_copies_read(looks->copies, control->look_copies);
	}
	if (looks->copies)
		reel_look_copies_clear(looks->copies, control->look_copies);
	control->look_from = control->look_next;
}

/* Looks at all threads, and lists those of the looks until the next walk. */
static void walk(struct looks *looks)
{
	looks->control->look_walk++;
	looks->control->look_listed = 0;
	do
		make_passes(looks);
	while (looks->control->look_from);
}

static void look_at_list(const struct looks *looks)
{
	LIBBPF_OPTS(bpf_test_run_opts, none);

	if (bpf_prog_test_run_opts(looks->listed, &none))
		_exit(1);
}

static void look(struct looks *looks, bool all, bool is_last)
{
	uint64_t now = clock_read(CLOCK_MONOTONIC), start = clock_read(CLOCK_THREAD_CPUTIME_ID);
	double *cost = all ? &looks->cost : &looks->list_cost;

	looks->control->look_time = now;
	looks->control->look_weight = now - looks->previous;
	looks->control->look_rest_weight = now - looks->walked;
	looks->control->look_arrival = 0;
	looks->control->is_last_look = is_last;
	looks->control->looks++;
	looks->previous = now;
	if (all) {
		looks->walked = now;
		walk(looks);
	} else {
		look_at_list(looks);
	}
	looks->control->look_pending = 0;
	*cost += ((double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - start) - *cost) / 8;
}

/* How long it has to be until the next look of this cost, in ns. */
static uint64_t at_least(double cost, double share)
{
	return (uint64_t)(cost / share);
}

/* Whether there are so many threads that looks at all would be too rare, and those at listed ones
 * are a lot cheaper. */
static bool uses_list(const struct looks *looks)
{
	return looks->listed >= 0 && looks->interval && looks->cost > 3 * looks->list_cost &&
	       at_least(looks->cost, REEL_LOOKER_SHARE) > looks->interval;
}

/*
 * At random intervals, half to one and a half of the average, so that no program is in step with
 * the looks.  With many threads those at all are rare, and in between, threads of processes and users
 * with few of them are looked at.
 */
static struct timespec until_next(struct looks *looks)
{
	bool list = uses_list(looks);
	uint64_t least = list ? at_least(looks->list_cost, REEL_LOOKER_SHARE - WALK_SHARE)
			      : at_least(looks->cost, REEL_LOOKER_SHARE);
	uint64_t interval = least > looks->interval ? least : looks->interval;
	uint64_t wait = interval / 2 + next_random(looks) % (interval + 1);

	return (struct timespec){
		.tv_sec = (time_t)(wait / REEL_NS_PER_SECOND),
		.tv_nsec = (long)(wait % REEL_NS_PER_SECOND),
	};
}

static bool walk_is_due(const struct looks *looks)
{
	return !uses_list(looks) ||
	       clock_read(CLOCK_MONOTONIC) - looks->walked >= at_least(looks->cost, WALK_SHARE);
}

/* Until the recorder ends or closes the socket. */
static void look_on(struct looks *looks)
{
	for (;;) {
		struct pollfd ready = { .fd = looks->socket, .events = POLLIN };
		struct timespec wait = until_next(looks);
		int n = ppoll(&ready, 1, looks->previous && looks->interval ? &wait : NULL, NULL);
		char message;

		if (n < 0 && errno != EINTR)
			return;
		if (n <= 0) {
			if (!n)
				look(looks, walk_is_due(looks), false);
			continue;
		}
		if (read(looks->socket, &message, 1) != 1)
			return;
		if (message == LOOK && looks->previous)
			look(looks, true, true);
		if (message == LOOK && write(looks->socket, &message, 1) != 1)
			return;
		if (message == BEGIN) {
			looks->previous = looks->walked = clock_read(CLOCK_MONOTONIC);
			looks->control->looks_began = looks->previous;
			if (!looks->interval)
				look(looks, true, false);
		}
	}
}

/* The recorder's pipes and files must close when it closes them. */
static void keep_only(int *fds, size_t n)
{
	unsigned int next = 3;

	while (n) {
		size_t least = 0;

		for (size_t i = 1; i < n; i++)
			least = fds[i] < fds[least] ? i : least;
		if (fds[least] > (int)next)
			close_range(next, (unsigned int)fds[least] - 1, 0);
		if (fds[least] >= (int)next)
			next = (unsigned int)fds[least] + 1;
		fds[least] = fds[--n];
	}
	close_range(next, ~0u, 0);
}

static _Noreturn void process(struct looks *looks, bool sandboxed)
{
	const struct reel_privileges kept = {
		.roles = REEL_ROLE_LOOKER | (looks->copies ? REEL_ROLE_COPIER : 0),
	};
	int fds[] = { looks->socket, looks->link, looks->listed };
	struct reel_error *error;
	const char *lacks;

	keep_only(fds, sizeof(fds) / sizeof(*fds));
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "stackreel-look");
	looks->random = clock_read(CLOCK_MONOTONIC) | 1;
	error = sandboxed ? reel_privileges_drop(&kept, &lacks) : NULL;
	if (!error)
		look_on(looks);
	_exit(error != NULL);
}

/* ---- the recorder ---------------------------------------------------------------------------- */

struct reel_error *reel_looker_start(int link, int listed,
				     volatile struct reel_bpf_control *control,
				     struct reel_bpf_copies *copies, uint64_t frequency,
				     bool sandboxed, struct reel_looker **ret)
{
	struct reel_looker *looker = calloc(1, sizeof(*looker));
	int sockets[2];

	*ret = NULL;
	if (!looker)
		return reel_error_no_memory();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
		free(looker);
		return reel_error_os(errno, "cannot make a socket");
	}
	looker->socket = sockets[0];
	looker->pid = fork();
	if (!looker->pid) {
		close(sockets[0]);
		process(&(struct looks){ .socket = sockets[1],
					 .link = link,
					 .listed = listed,
					 .control = control,
					 .copies = copies,
					 .interval =
						 frequency ? REEL_NS_PER_SECOND / frequency : 0 },
			sandboxed);
	}
	close(sockets[1]);
	if (looker->pid < 0) {
		struct reel_error *error = reel_error_os(errno, "cannot start a process");

		reel_looker_stop(looker);
		return error;
	}
	*ret = looker;
	return NULL;
}

void reel_looker_stop(struct reel_looker *looker)
{
	if (!looker)
		return;
	close(looker->socket);
	if (looker->pid > 0) {
		kill(looker->pid, SIGKILL);
		/* One that is stuck in the kernel ends later. */
		waitpid(looker->pid, NULL, looker->stuck ? WNOHANG : 0);
	}
	free(looker);
}

void reel_looker_begin(struct reel_looker *looker)
{
	const char message = BEGIN;

	looker->stuck = write(looker->socket, &message, 1) != 1;
}

bool reel_looker_look(struct reel_looker *looker)
{
	struct pollfd ready = { .fd = looker->socket, .events = POLLIN };
	char message = LOOK;

	if (looker->stuck || send(looker->socket, &message, 1, MSG_NOSIGNAL) != 1)
		return false;
	looker->stuck =
		poll(&ready, 1, LOOK_TIMEOUT_MS) != 1 || read(looker->socket, &message, 1) != 1;
	return !looker->stuck;
}
