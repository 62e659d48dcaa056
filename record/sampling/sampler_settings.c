/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the BPF programs (struct reel_bpf_settings), from a sampler's options. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/quantity.h"
#include "record/host/kernel.h"
#include "record/sampling/functions.h"
#include "record/sampling/sampler_internal.h"

/* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define INITIAL_PID_NAMESPACE 0xeffffffcu

/* Room for CPU numbers above those online. */
#define CPUS_TO_COME 64

/* ---- checks --------------------------------------------------------------------------------- */

static struct reel_error *check_event(const struct reel_sampler_event *event, long max_rate)
{
	if (event->frequency && reel_sampler_event_is_hit(event))
		return reel_error_create(
			REEL_ERROR_INVALID,
			"%s: a %s has no frequency; use a period (1 samples each event)",
			event->name,
			event->hook    ? "function"
			: event->probe ? "probe"
				       : "tracepoint");
	if (!event->frequency && !event->period)
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: a frequency or a period is required", event->name);
	if (max_rate > 0 && event->frequency > (uint64_t)max_rate)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"%" PRIu64
			" samples per second of %s: the kernel allows %ld; raise the limit "
			"with sysctl kernel.perf_event_max_sample_rate=%" PRIu64,
			event->frequency, event->name, max_rate, event->frequency);
	return NULL;
}

static struct reel_error *check_options(const struct reel_sampler_options *options)
{
	long max_rate = reel_number_read("/proc/sys/kernel/perf_event_max_sample_rate", 0);

	if (!options->n_events || options->n_events > REEL_BPF_EVENTS_MAX)
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid number of events: %zu (expected 1 to %d)",
					 options->n_events, REEL_BPF_EVENTS_MAX);
	if (!options->max_stack || options->max_stack > REEL_BPF_MAX_STACK_LIMIT)
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid stack limit: %" PRIu32 " bytes (at most %u)",
					 options->max_stack, REEL_BPF_MAX_STACK_LIMIT);
	if (!options->rings)
		return reel_error_create(REEL_ERROR_INVALID,
					 "at least one ring buffer is required");
	for (size_t i = 0; i < options->n_events; i++)
		TRY(check_event(&options->events[i], max_rate));
	return NULL;
}

/* ---- rings ---------------------------------------------------------------------------------- */

static uint64_t round_up_power(uint64_t value)
{
	uint64_t power = 1;

	while (power < value)
		power *= 2;
	return power;
}

/* A ring holds at least two of the largest samples. */
static struct reel_error *set_rings(const struct reel_sampler_options *options,
				    struct reel_bpf_settings *settings)
{
	uint64_t least = 2 * (REEL_BPF_PREFIX_MAX + REEL_BPF_GAPS_MAX + REEL_BPF_ROOT_SIZE +
			      2 * (uint64_t)settings->max_stack);

	if (least < settings->page_size)
		least = settings->page_size;
	settings->rings = options->rings;
	settings->ring_size =
		round_up_power(options->ring_size < least ? least : options->ring_size);
	if (settings->ring_size > UINT32_C(1) << 31)
		return reel_error_create(REEL_ERROR_INVALID,
					 "ring buffer of %" PRIu64
					 " bytes is too large (at most 2 GiB)",
					 options->ring_size);
	return NULL;
}

/* ---- events ------------------------------------------------------------------------------- */

/* The program of each event that is not a perf event's has a place for the sample in progress. */
static void set_event(const struct reel_sampler_event *event, uint32_t i, uint32_t *slots,
		      struct reel_bpf_settings *settings)
{
	if (event->off_cpu) {
		settings->scan_event = i;
		settings->scan_slot = ++*slots;
		settings->all_waits = event->all_waits;
		settings->switch_slot = event->all_waits ? ++*slots : 0;
		settings->min_block = event->min_block;
	}
	if (event->waker) {
		settings->waker_event = i;
		settings->waker_slot = ++*slots;
		reel_interrupt_entries_find(settings);
	}
	if (event->hook)
		settings->slots[i] = ++*slots;
	if (event->probe == REEL_SAMPLER_LATENCY)
		settings->latencies |= 1u << i;
	if (event->n_comparisons)
		settings->filters |= 1u << i;
	memcpy(settings->comparisons[i], event->filter, sizeof(settings->comparisons[i]));
	memcpy(settings->values[i], event->values, sizeof(settings->values[i]));
	for (size_t value = 0; value < REEL_BPF_VALUES_MAX; value++)
		settings->has_values |= event->values[value].kind;
	settings->periods[i] = event->period;
	if (event->max_rate)
		settings->intervals[i] = REEL_NS_PER_SECOND / event->max_rate;
	settings->functions[i] = event->function_address;
}

static void set_events(const struct reel_sampler_options *options,
		       struct reel_bpf_settings *settings)
{
	bool has_user_probe = false;
	uint32_t slots = 0;

	for (uint32_t i = 0; i < options->n_events; i++) {
		set_event(&options->events[i], i, &slots, settings);
		has_user_probe |= options->events[i].probe &&
				  !reel_sampler_event_is_in_kernel(&options->events[i]);
	}
	/* All probes of user code share theirs. */
	if (has_user_probe)
		settings->probe_slot = slots + 1;
}

/* bpf_get_stack stops at the limit kernel.perf_event_max_stack. */
static struct reel_error *set_frame_chain(struct reel_bpf_settings *settings)
{
	long limit = reel_number_read("/proc/sys/kernel/perf_event_max_stack", 127);

	if (limit <= 0)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "the kernel's limit for frame-pointer walks is 0; raise "
					 "it with sysctl kernel.perf_event_max_stack=127");
	settings->frame_chain =
		limit < REEL_BPF_FRAME_CHAIN_MAX ? (uint32_t)limit : REEL_BPF_FRAME_CHAIN_MAX;
	return NULL;
}

/* ---- CPUs --------------------------------------------------------------------------------- */

static bool has_waker(const struct reel_sampler_options *options)
{
	for (size_t i = 0; i < options->n_events; i++)
		if (options->events[i].waker)
			return true;
	return false;
}

/*
 * CPUs on which samples are taken: those asked for, but wakers may be on any.  Includes CPUs that
 * may come online: all possible ones, but a machine of few CPUs that may have hundreds does not
 * reserve room for a sample for each (reel_scratches).
 */
static struct reel_error *count_cpus(const struct reel_sampler_options *options,
				     const struct reel_cpus *cpus, uint32_t *ret)
{
	int possible = libbpf_num_possible_cpus();
	struct reel_cpus online;

	*ret = cpus->highest + 1;
	if (options->cpus) {
		if (!has_waker(options))
			return NULL;
		TRY(reel_cpus_create(NULL, 0, &online));
		if (online.highest >= *ret)
			*ret = online.highest + 1;
		reel_cpus_destroy(&online);
	}
	if (possible > REEL_BPF_CPUS_MAX)
		possible = REEL_BPF_CPUS_MAX;
	if (possible > (int)*ret)
		*ret = possible < (int)*ret + CPUS_TO_COME ? (uint32_t)possible
							   : *ret + CPUS_TO_COME;
	return NULL;
}

/* Samples are taken on the listed CPUs; without a list, also on those that come online. */
static struct reel_error *set_cpus(const struct reel_sampler_options *options,
				   const struct reel_cpus *cpus, struct reel_bpf_settings *settings)
{
	TRY(count_cpus(options, cpus, &settings->n_cpus));
	for (size_t i = 0; i < cpus->n; i++) {
		if (cpus->numbers[i] >= REEL_BPF_CPUS_MAX)
			return reel_error_create(REEL_ERROR_UNSUPPORTED,
						 "CPU %" PRIu32
						 ": only CPU numbers up to %d are supported",
						 cpus->numbers[i], REEL_BPF_CPUS_MAX - 1);
		settings->cpus[cpus->numbers[i] / 64] |= UINT64_C(1) << cpus->numbers[i] % 64;
	}
	for (uint32_t cpu = 0; cpu < settings->n_cpus && !options->cpus; cpu++)
		settings->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	return NULL;
}

/* ---- namespaces and cgroups ----------------------------------------------------------------- */

static struct reel_error *set_pid_namespace(struct reel_bpf_settings *settings)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status))
		return reel_error_os(errno, "cannot read /proc/self/ns/pid (is /proc mounted?)");
	if (status.st_ino != INITIAL_PID_NAMESPACE)
		settings->pid_namespace = (uint32_t)status.st_ino;
	return NULL;
}

/*
 * The cgroup's id, which is its inode's number (fs/kernfs/dir.c, 64-bit hosts), and its depth below
 * the root of cgroup2.
 */
static void set_cgroup(const char *path, struct reel_bpf_settings *settings)
{
	_cleanup_free_ char *whole = realpath(path, NULL);
	struct stat status, above;

	if (!whole || stat(whole, &status))
		return;
	settings->cgroup_id = status.st_ino;
	for (char *slash; (slash = strrchr(whole, '/')) && slash > whole;) {
		*slash = '\0';
		if (stat(whole, &above) || above.st_dev != status.st_dev)
			return;
		settings->cgroup_level++;
	}
}

/* The controller that best shows what a process belongs to, if its hierarchy is of cgroup v1. */
static enum reel_bpf_controller cgroup_controller(void)
{
	/* systemd and container engines make cgroups of pids for everything, of others mostly. */
	static const char *const names[] = {
		[REEL_BPF_PIDS] = "pids",
		[REEL_BPF_MEMORY] = "memory",
		[REEL_BPF_CPU] = "cpu",
	};
	FILE *file = fopen("/proc/self/cgroup", "re");
	uint32_t best = REEL_BPF_NO_CONTROLLER;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	/* NUMBER:CONTROLLER,…:PATH; v2's are not listed. */
	while (file && getline(&line, &size, file) > 0) {
		char *rest = line, *list;

		(void)strsep(&rest, ":");
		list = strsep(&rest, ":");
		for (char *name; (name = strsep(&list, ","));) {
			for (uint32_t i = REEL_BPF_PIDS; i <= REEL_BPF_CPU; i++)
				if (!strcmp(name, names[i]) && (!best || i < best))
					best = i;
		}
	}
	if (file)
		fclose(file);
	return (enum reel_bpf_controller)best;
}

/* ---- all --------------------------------------------------------------------------------------- */

struct reel_error *reel_sampler_settings(const struct reel_sampler_options *options,
					 const struct reel_cpus *cpus,
					 struct reel_bpf_settings *ret)
{
	uint32_t page_size = (uint32_t)sysconf(_SC_PAGESIZE);

	TRY(check_options(options));
	*ret = (struct reel_bpf_settings){
		.system_wide = options->system_wide,
		.use_cgroup = options->cgroup != NULL,
		.cgroup_controller = cgroup_controller(),
		.kernel_chain = options->kernel_chain,
		/* Keep sizes of regions multiples of 8. */
		.max_stack = (options->max_stack + 7) & ~7u,
		.page_size = page_size,
		/* 16 KiB or a page, on all 64-bit CPUs: asm/thread_info.h, asm/memory.h. */
		.thread_size = page_size > 16384 ? page_size : 16384,
		.has_request_map = options->request_map >= 0,
		.check_cpu = options->cpus && !options->system_wide && !options->cgroup,
	};
	TRY(set_cpus(options, cpus, ret));
	TRY(set_rings(options, ret));
	TRY(set_pid_namespace(ret));
	set_events(options, ret);
	if (options->cgroup)
		set_cgroup(options->cgroup, ret);
	return options->frame_chain ? set_frame_chain(ret) : NULL;
}
