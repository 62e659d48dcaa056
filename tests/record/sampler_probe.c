/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records child processes that know the expected contents of their samples, using only
 * record/sampling/sampler.h.  It needs root, so tests/run.sh does not build it into the unit tests;
 * tests/vm/ runs it, linked statically, on other kernels.
 *
 *   sampler_probe             all checks, then again in a new PID namespace
 *   sampler_probe --bench     only children for `bpf_stats_enabled` to measure
 *
 * PROBE_EMULATED=1: on a slow CPU. Samples before a case's first good one do not count, and only
 * cases about processes run in a new PID namespace.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/record/sampler_probe.h"

volatile struct shared *shared;
static bool is_emulated;
static unsigned passed, failed, skipped;
char message[256];

/* ---- recording ------------------------------------------------------------------ */

struct probe_state state;
unsigned good;
struct reel_bpf_process processes[PROCESSES_MAX];
unsigned n_processes;

static void die(const char *what, struct reel_error *error)
{
	printf("FAIL %s: %s\n", what, reel_error_message(error));
	exit(1);
}

/* The cgroups of samples, and those reported. */
#define CGROUPS_MAX 256
static uint64_t named[CGROUPS_MAX], reported[CGROUPS_MAX];
static unsigned n_named, n_reported;

static bool is_in(const uint64_t *ids, unsigned n, uint64_t id)
{
	while (n && ids[n - 1] != id)
		n--;
	return n;
}

static void note_cgroup(uint64_t id)
{
	if (n_named < CGROUPS_MAX && !is_in(named, n_named, id))
		named[n_named++] = id;
}

/* Each name ends with a NUL, and has no slash. */
static struct reel_error *on_cgroup(void *context, const struct reel_bpf_cgroup *cgroup)
{
	const char *names = (const char *)(cgroup + 1);

	if (cgroup->is_whole && (!cgroup->size || !names[cgroup->size - 1]) &&
	    !memchr(names, '/', cgroup->size) && n_reported < CGROUPS_MAX)
		reported[n_reported++] = cgroup->id;
	return NULL;
}

/* Samples from another ring may come before a report. */
static bool cgroups_are_reported(void)
{
	for (unsigned i = 0; i < n_named; i++) {
		if (named[i] && is_in(reported, n_reported, named[i]))
			continue;
		snprintf(message, sizeof(message), "no path of cgroup %llu",
			 (unsigned long long)named[i]);
		return false;
	}
	return true;
}

static struct reel_error *on_sample(void *context, const struct reel_sampler_parts *parts)
{
	unsigned before = good;

	state.samples++;
	note_cgroup(parts->sample->cgroup);
	if (state.probe->check && !state.probe->check(parts) && !state.wrong) {
		printf("FAIL %s: sample %u: %s\n", state.probe->name, state.samples, message);
		state.wrong = true;
	}
	if (good == before + 1)
		state.good++;
	/* On a slow CPU, a child takes long to touch its pages. */
	if (state.good || !state.probe->check || !is_emulated)
		state.counted++;
	return NULL;
}

static struct reel_error *on_process(void *context, const struct reel_bpf_process *process)
{
	if (n_processes < PROCESSES_MAX)
		processes[n_processes++] = *process;
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/*
 * Reads each page from here to the stack's end.  Fork leaves them marked as old,
 * and where the CPU does not manage the access flag (before Armv8.1, as QEMU's
 * cortex-a57) such a page cannot be read without a fault, which no sample may take.
 */
static void stack_touch(void)
{
	volatile char here = 0;
	long page = sysconf(_SC_PAGESIZE);

	for (volatile char *at = &here; at < (char *)environ; at += page)
		here = *at;
	here = *(volatile char *)environ;
}

pid_t child_start(void (*worker)(void), int *go_ret)
{
	int pipe_fds[2];
	pid_t child;
	char byte;

	if (pipe(pipe_fds))
		exit(1);
	fflush(stdout);
	child = fork();
	if (!child) {
		/* Its own group, so that its children are ended with it. */
		setpgid(0, 0);
		close(pipe_fds[1]);
		if (read(pipe_fds[0], &byte, 1) != 1)
			_exit(1);
		stack_touch();
		worker();
		_exit(0);
	}
	setpgid(child, child);
	close(pipe_fds[0]);
	*go_ret = pipe_fds[1];
	return child;
}

static struct reel_bpf_counts counts_sum(struct reel_sampler *sampler)
{
	const struct reel_bpf_counts *counts;
	struct reel_bpf_counts sum = { 0 };
	struct reel_error *error;
	size_t n;

	error = reel_sampler_counts(sampler, &counts, &n);
	if (error)
		die("counts", error);
	for (size_t i = 0; i < n; i++) {
		sum.ring_full += counts[i].ring_full;
		sum.ring_busy += counts[i].ring_busy;
		sum.copy_failed += counts[i].copy_failed;
		sum.stack_cut += counts[i].stack_cut;
		sum.not_followed += counts[i].not_followed;
		sum.process_lost += counts[i].process_lost;
	}
	return sum;
}

static void log_line(void *context, const char *line)
{
	printf("%s\n", line);
}

static struct reel_sampler *sampler_start(const struct probe *probe)
{
	/* The sampler refers to it until it is closed. */
	static struct reel_sampler_event event;
	struct reel_sampler_options options = {
		.request_map = -1,
		.events = &event,
		.n_events = 1,
		.system_wide = probe->system_wide,
		.kernel_chain = probe->kernel_chain,
		.frame_chain = probe->frame_chain,
		.max_stack = probe->max_stack ? probe->max_stack : 65536,
		.ring_size = probe->ring_size ? probe->ring_size : 8 << 20,
		.rings = 2,
		.verbose = getenv("PROBE_VERBOSE") != NULL,
		.log = log_line,
	};
	struct reel_sampler *sampler;
	struct reel_error *error;

	error = reel_sampler_event_resolve(probe->event ? probe->event : "cpu-clock", &event);
	if (error)
		die("reel_sampler_event_resolve", error);
	if (event.type == 2)
		event.period = 1;
	else
		event.frequency = 999;
	error = reel_sampler_open(&options, &sampler);
	if (error)
		die("reel_sampler_open", error);
	reel_sampler_event_free(&event);
	return sampler;
}

static void drain_until(struct reel_sampler *sampler, const struct probe *probe, pid_t child)
{
	struct reel_sampler_handler handler = {
		.sample = on_sample,
		.process = on_process,
		.cgroup = on_cgroup,
	};
	uint64_t end = now_ms() + 8000;
	struct reel_error *error;

	for (;;) {
		struct pollfd poll_fd = { .fd = reel_sampler_fd(sampler), .events = POLLIN };
		bool over = now_ms() >= end || waitpid(child, NULL, WNOHANG) == child;

		if (probe->no_drain && !over) {
			usleep(500000);
			over = true;
		} else {
			poll(&poll_fd, 1, 20);
		}
		over = over || state.counted >= probe->samples;
		if (over)
			reel_sampler_disable(sampler);
		error = reel_sampler_drain(sampler, &handler);
		if (error)
			die("reel_sampler_drain", error);
		if (over)
			return;
	}
}

static void probe_run(const struct probe *probe)
{
	struct reel_sampler *sampler = sampler_start(probe);
	struct reel_bpf_counts counts;
	struct reel_error *error = NULL;
	int go;

	memset((void *)shared, 0, sizeof(*shared));
	n_processes = n_named = n_reported = 0;
	good = 0;
	state = (struct probe_state){ .probe = probe };
	state.child = child_start(probe->worker, &go);
	if (probe->thread)
		error = reel_sampler_add_thread(sampler, (uint32_t)state.child);
	else if (!probe->system_wide)
		error = reel_sampler_add_process(sampler, (uint32_t)state.child,
						 &(uint32_t){ (uint32_t)state.child }, 1);
	if (!error)
		error = reel_sampler_enable(sampler);
	if (error)
		die("start", error);
	if (write(go, "x", 1) != 1)
		exit(1);
	drain_until(sampler, probe, state.child);
	kill(-state.child, SIGKILL);
	waitpid(state.child, NULL, 0);
	close(go);

	counts = counts_sum(sampler);
	reel_sampler_close(sampler);
	if (!state.wrong && !counts.ring_full && !cgroups_are_reported()) {
		printf("FAIL %s: %s\n", probe->name, message);
		state.wrong = true;
	}
	if (!state.wrong && probe->check_counts && !probe->check_counts(&counts)) {
		printf("FAIL %s: counts: %s\n", probe->name, message);
		state.wrong = true;
	}
	if (!state.wrong &&
	    (!state.counted ||
	     state.good * UINT64_C(100) < state.counted * (uint64_t)probe->good_percent)) {
		printf("FAIL %s: %u of %u samples are correct, after %u at the start\n",
		       probe->name, state.good, state.counted, state.samples - state.counted);
		state.wrong = true;
	}
	if (!state.wrong)
		printf("ok   %s: %u of %u samples checked in full, copy_failed %lu\n", probe->name,
		       state.good, state.counted, (unsigned long)counts.copy_failed);
	if (state.wrong)
		failed++;
	else
		passed++;
}

static void skip(const char *name, const char *why)
{
	printf("skip %s: %s\n", name, why);
	skipped++;
}

static void probe_all(bool initial)
{
	printf("-- in %s PID namespace\n", initial ? "this" : "a new");
	for (size_t i = 0; i < probe_n_cases; i++) {
		struct probe probe = probe_cases[i];

		if (!initial && is_emulated && !probe.about_processes)
			continue;
		if (!probe.samples)
			probe.samples = 200;
		probe_run(&probe);
	}
	if (compat_possible()) {
		struct probe probe = probe_compat;

		probe.samples = 200;
		probe_run(&probe);
		unlink("/tmp/sampler_probe.32");
	} else {
		skip("32-bit code", "the kernel does not start it");
	}
	if (access("/sys/kernel/tracing/events/sched/sched_switch/id", R_OK) == 0) {
		struct probe probe = probe_tracepoint;

		probe.samples = 200;
		probe_run(&probe);
	} else {
		skip("tracepoint", "no tracefs");
	}
}

static void bench(void)
{
	for (size_t i = 0; i < 3; i++)
		probe_run(&probe_bench[i]);
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	is_emulated = getenv("PROBE_EMULATED");
	if (argc > 1 && strcmp(argv[1], "--vdso") == 0)
		vdso_main();
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
		bench();
		return 0;
	}
	probe_all(true);
	fflush(stdout);
	if (unshare(CLONE_NEWPID) == 0) {
		child = fork();
		if (!child) {
			probe_all(false);
			printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
			exit(failed != 0);
		}
		waitpid(child, &status, 0);
	} else {
		skip("all of the above in a new PID namespace", strerror(errno));
		printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	}
	return failed || status ? 1 : 0;
}
