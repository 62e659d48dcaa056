/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/scanner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/quantity.h"
#include "record/host/kernel.h"
#include "record/host/privileges.h"

/* How long a scan may take that the recorder waits for. */
#define SCAN_TIMEOUT_MS 1000

/* Of REEL_SCANNER_SHARE, for scans of all threads if there are others in between. */
#define WALK_SHARE (REEL_SCANNER_SHARE / 4)

/* Smaller pieces are values, of no use in parts. */
#define PARTIAL_MIN 256

/* Later scans weigh more, but there are fewer. */
#define PRIORITY (-10)

/* What the recorder sends, and the answer to SCAN. */
enum message {
	BEGIN = 'b',
	SCAN = 'l',
};

struct reel_scanner {
	pid_t pid;
	int socket;
	bool stuck;
};

/* ---- memory that scans ask for (bpf/user_memory.h) ------------------------------------------ */

static bool read_memory(pid_t pid, uint64_t address, uint8_t *to, size_t size)
{
	const struct iovec local = { to, size };
	const struct iovec remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Page by page, as some are missing. */
static void read_pages(pid_t pid, struct reel_bpf_piece *piece, uint8_t *to)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t done = 0;

	piece->is_partial = 1;
	memset(piece->missing, 0, sizeof(piece->missing));
	for (size_t page = 0; done < piece->size; page++) {
		size_t part = page_size - ((piece->address + done) & (page_size - 1));

		if (part > piece->size - done)
			part = piece->size - done;
		if (page / 64 < REEL_BPF_MISSING_WORDS &&
		    !read_memory(pid, piece->address + done, to + done, part)) {
			piece->missing[page / 64] |= UINT64_C(1) << page % 64;
		}
		done += part;
	}
}

static void read_piece(pid_t pid, struct reel_bpf_piece *piece)
{
	uint8_t *copy;

	piece->is_done = 1;
	/* Zeroes: pages beyond those of which `missing` tells are not read. */
	copy = calloc(1, piece->size);
	if (!copy)
		return;
	if (!read_memory(pid, piece->address, copy, piece->size)) {
		if (piece->size < PARTIAL_MIN) {
			free(copy);
			return;
		}
		read_pages(pid, piece, copy);
	}
	piece->copy = (uintptr_t)copy;
}

/* Reads what the last pass has asked for, of `n` threads. */
static void read_copies(struct reel_bpf_copies *copies, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < copies[i].n_pieces; j++) {
			if (!copies[i].pieces[j].is_done)
				read_piece((pid_t)copies[i].pid, &copies[i].pieces[j]);
		}
	}
}

static void free_copies(struct reel_bpf_copies *copies, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < copies[i].n_pieces; j++)
			free((void *)(uintptr_t)copies[i].pieces[j].copy);
		copies[i].n_pieces = 0;
	}
}

/* ---- the process ----------------------------------------------------------------------------- */

struct scans {
	int socket, link, listed;
	volatile struct reel_bpf_control *control;
	struct reel_bpf_copies *copies; /* NULL: the BPF program reads memory itself */
	uint64_t interval;		/* ns; 0: only at the start and when asked */
	uint64_t previous;		/* time of the previous scan; 0: not begun */
	uint64_t walked;		/* of the previous one at all threads */
	double cost;			/* CPU time of a scan of all, in ns; a running average */
	double list_cost;		/* at listed threads */
	uint64_t random;
};

/* xorshift64: Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t next_random(struct scans *scans)
{
	scans->random ^= scans->random << 13;
	scans->random ^= scans->random >> 7;
	scans->random ^= scans->random << 17;
	return scans->random;
}

/* The BPF program runs for each thread. */
static void iterate(const struct scans *scans)
{
	char none[64];
	ssize_t size;
	int fd;

	fd = bpf_iter_create(scans->link);
	if (fd < 0)
		_exit(1);
	/* EAGAIN after a million threads (kernel/bpf/bpf_iter.c, MAX_ITER_OBJECTS). */
	do
		size = read(fd, none, sizeof(none));
	while (size > 0 || (size < 0 && errno == EAGAIN));
	close(fd);
}

/* Passes until the memory of all threads that wait, or of as many as there is room for, is read. */
static void make_passes(struct scans *scans)
{
	volatile struct reel_bpf_control *control = scans->control;

	control->scan_next = control->scan_copies = 0;
	control->scan_bytes = 0;
	for (uint32_t pass = 0; pass < REEL_PASSES_MAX; pass++) {
		control->scan_pass = pass;
		control->scan_asks = 0;
		iterate(scans);
		if (!control->scan_asks)
			break;
		read_copies(scans->copies, control->scan_copies);
	}
	if (scans->copies)
		free_copies(scans->copies, control->scan_copies);
	control->scan_from = control->scan_next;
}

/* Scans all threads, and lists those of the scans until the next walk. */
static void walk(struct scans *scans)
{
	scans->control->scan_walk++;
	scans->control->scan_listed = 0;
	do
		make_passes(scans);
	while (scans->control->scan_from);
}

static void scan_listed(const struct scans *scans)
{
	LIBBPF_OPTS(bpf_test_run_opts, none);

	if (bpf_prog_test_run_opts(scans->listed, &none))
		_exit(1);
}

static void scan(struct scans *scans, bool all, bool is_last)
{
	uint64_t now = reel_clock_now(CLOCK_MONOTONIC),
		 start = reel_clock_now(CLOCK_THREAD_CPUTIME_ID);
	double *cost = all ? &scans->cost : &scans->list_cost;

	scans->control->scan_time = now;
	scans->control->scan_weight = now - scans->previous;
	scans->control->scan_rest_weight = now - scans->walked;
	scans->control->scan_arrival = 0;
	scans->control->is_last_scan = is_last;
	scans->control->scans++;
	scans->previous = now;
	if (all) {
		scans->walked = now;
		walk(scans);
	} else {
		scan_listed(scans);
	}
	scans->control->scan_pending = 0;
	*cost += ((double)(reel_clock_now(CLOCK_THREAD_CPUTIME_ID) - start) - *cost) / 8;
}

/* How long it has to be until the next scan of this cost, in ns. */
static uint64_t at_least(double cost, double share)
{
	return (uint64_t)(cost / share);
}

/* Whether there are so many threads that scans of all would be too rare, and those of listed ones
 * are a lot cheaper. */
static bool uses_list(const struct scans *scans)
{
	return scans->listed >= 0 && scans->interval && scans->cost > 3 * scans->list_cost &&
	       at_least(scans->cost, REEL_SCANNER_SHARE) > scans->interval;
}

/*
 * At random intervals, half to one and a half of the average, so that no program is in step with
 * the scans.  With many threads, scans of all are rare, and in between, threads of processes and
 * users with few of them are scanned.
 */
static struct timespec until_next(struct scans *scans)
{
	bool list = uses_list(scans);
	uint64_t least = list ? at_least(scans->list_cost, REEL_SCANNER_SHARE - WALK_SHARE)
			      : at_least(scans->cost, REEL_SCANNER_SHARE);
	uint64_t slowed = scans->control->scan_least;
	uint64_t wanted = slowed > scans->interval ? slowed : scans->interval;
	uint64_t interval = least > wanted ? least : wanted;
	uint64_t wait = interval / 2 + next_random(scans) % (interval + 1);

	return (struct timespec){
		.tv_sec = (time_t)(wait / REEL_NS_PER_SECOND),
		.tv_nsec = (long)(wait % REEL_NS_PER_SECOND),
	};
}

static bool walk_is_due(const struct scans *scans)
{
	return !uses_list(scans) ||
	       reel_clock_now(CLOCK_MONOTONIC) - scans->walked >= at_least(scans->cost, WALK_SHARE);
}

/* Until the recorder ends or closes the socket. */
static void keep_scanning(struct scans *scans)
{
	for (;;) {
		struct pollfd ready = { .fd = scans->socket, .events = POLLIN };
		struct timespec wait = until_next(scans);
		int n = ppoll(&ready, 1, scans->previous && scans->interval ? &wait : NULL, NULL);
		char message;

		if (n < 0 && errno != EINTR)
			return;
		if (n <= 0) {
			if (!n && !scans->control->paused)
				scan(scans, walk_is_due(scans), false);
			continue;
		}
		if (read(scans->socket, &message, 1) != 1)
			return;
		if (message == SCAN && scans->previous)
			scan(scans, true, true);
		if (message == SCAN && write(scans->socket, &message, 1) != 1)
			return;
		if (message == BEGIN) {
			scans->previous = scans->walked = reel_clock_now(CLOCK_MONOTONIC);
			scans->control->scans_began = scans->previous;
			if (!scans->interval)
				scan(scans, true, false);
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

static _Noreturn void process(struct scans *scans, bool sandboxed)
{
	const struct reel_privileges kept = {
		.roles = REEL_ROLE_SCANNER | (scans->copies ? REEL_ROLE_COPIER : 0),
	};
	int fds[] = { scans->socket, scans->link, scans->listed };
	struct reel_error *error;
	const char *lacks;

	keep_only(fds, sizeof(fds) / sizeof(*fds));
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "stackreel-look");
	scans->random = reel_clock_now(CLOCK_MONOTONIC) | 1;
	error = sandboxed ? reel_privileges_drop(&kept, &lacks) : NULL;
	if (!error)
		keep_scanning(scans);
	_exit(error != NULL);
}

/* ---- the recorder ---------------------------------------------------------------------------- */

struct reel_error *reel_scanner_start(int link, int listed,
				      volatile struct reel_bpf_control *control,
				      struct reel_bpf_copies *copies, uint64_t frequency,
				      bool sandboxed, struct reel_scanner **ret)
{
	struct reel_scanner *scanner = calloc(1, sizeof(*scanner));
	int sockets[2];

	*ret = NULL;
	if (!scanner)
		return reel_error_no_memory();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
		free(scanner);
		return reel_error_os(errno, "cannot make a socket");
	}
	scanner->socket = sockets[0];
	scanner->pid = fork();
	if (!scanner->pid) {
		close(sockets[0]);
		process(&(struct scans){ .socket = sockets[1],
					 .link = link,
					 .listed = listed,
					 .control = control,
					 .copies = copies,
					 .interval =
						 frequency ? REEL_NS_PER_SECOND / frequency : 0 },
			sandboxed);
	}
	close(sockets[1]);
	if (scanner->pid < 0) {
		struct reel_error *error = reel_error_os(errno, "cannot start a process");

		reel_scanner_stop(scanner);
		return error;
	}
	*ret = scanner;
	return NULL;
}

void reel_scanner_stop(struct reel_scanner *scanner)
{
	if (!scanner)
		return;
	close(scanner->socket);
	if (scanner->pid > 0) {
		kill(scanner->pid, SIGKILL);
		/* One that is stuck in the kernel ends later. */
		waitpid(scanner->pid, NULL, scanner->stuck ? WNOHANG : 0);
	}
	free(scanner);
}

void reel_scanner_begin(struct reel_scanner *scanner)
{
	const char message = BEGIN;

	scanner->stuck = write(scanner->socket, &message, 1) != 1;
}

uint64_t reel_scanner_work(const struct reel_scanner *scanner)
{
	return reel_process_work(scanner->pid);
}

uint64_t reel_scanner_memory(const struct reel_scanner *scanner)
{
	return reel_process_memory(scanner->pid);
}

bool reel_scanner_scan(struct reel_scanner *scanner)
{
	struct pollfd ready = { .fd = scanner->socket, .events = POLLIN };
	char message = SCAN;

	if (scanner->stuck || send(scanner->socket, &message, 1, MSG_NOSIGNAL) != 1)
		return false;
	scanner->stuck =
		poll(&ready, 1, SCAN_TIMEOUT_MS) != 1 || read(scanner->socket, &message, 1) != 1;
	return !scanner->stuck;
}
