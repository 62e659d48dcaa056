/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/sampler_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/quantity.h"
#include "bpf/settings.h"
#include "record/host/kernel.h"
#include "record/sampling/functions.h"

static_assert((int)REEL_BPF_WHERE_KERNEL_THREAD == (int)REEL_WHERE_KERNEL_THREAD &&
		      (int)REEL_BPF_WHERE_INTERRUPT == (int)REEL_WHERE_INTERRUPT &&
		      (int)REEL_BPF_WHERE_SYSCALL == (int)REEL_WHERE_SYSCALL &&
		      (int)REEL_BPF_WHERE_USER == (int)REEL_WHERE_USER,
	      "samples carry enum reel_where");

/* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define INITIAL_PID_NAMESPACE 0xeffffffcu

/* Room for CPU numbers above those online. */
#define CPUS_TO_COME 64

/* Bytes: some 500 process events. */
#define TASK_RING_MIN 65536

/* ---- opening ---------------------------------------------------------------- */

static struct reel_error *options_check(const struct reel_sampler_options *options)
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
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &options->events[i];

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
						 "%s: a frequency or a period is required",
						 event->name);
		if (max_rate > 0 && event->frequency > (uint64_t)max_rate)
			return reel_error_create(
				REEL_ERROR_INVALID,
				"%" PRIu64
				" samples per second of %s: the kernel allows %ld; raise the limit "
				"with sysctl kernel.perf_event_max_sample_rate=%" PRIu64,
				event->frequency, event->name, max_rate, event->frequency);
	}
	return NULL;
}

static uint64_t round_up_power(uint64_t value)
{
	uint64_t power = 1;

	while (power < value)
		power *= 2;
	return power;
}

/* bpf_get_stack stops at the limit kernel.perf_event_max_stack. */
static struct reel_error *frame_chain_limit(uint32_t *ret)
{
	long limit = reel_number_read("/proc/sys/kernel/perf_event_max_stack", 127);

	if (limit <= 0)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "the kernel's limit for frame-pointer walks is 0; raise "
					 "it with sysctl kernel.perf_event_max_stack=127");
	*ret = limit < REEL_BPF_FRAME_CHAIN_MAX ? (uint32_t)limit : REEL_BPF_FRAME_CHAIN_MAX;
	return NULL;
}

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

/*
 * The cgroup's id, which is its inode's number (fs/kernfs/dir.c, 64-bit hosts), and its depth below
 * the root of cgroup2.
 */
static void cgroup_find(const char *path, struct reel_bpf_settings *settings)
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

static struct reel_error *settings_make(const struct reel_sampler_options *options,
					const struct reel_cpus *cpus,
					struct reel_bpf_settings *settings)
{
	uint32_t page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	uint64_t ring_size = options->ring_size, largest;
	struct stat status;
	uint32_t slots = 0;

	*settings = (struct reel_bpf_settings){
		.system_wide = options->system_wide,
		.use_cgroup = options->cgroup != NULL,
		.kernel_chain = options->kernel_chain,
		/* Keep sizes of regions multiples of 8. */
		.max_stack = (options->max_stack + 7) & ~7u,
		.page_size = page_size,
		/* 16 KiB or a page, on all 64-bit CPUs: asm/thread_info.h, asm/memory.h. */
		.thread_size = page_size > 16384 ? page_size : 16384,
		.rings = options->rings,
		.has_request_map = options->request_map >= 0,
		.check_cpu = options->cpus && !options->system_wide && !options->cgroup,
	};
	TRY(count_cpus(options, cpus, &settings->n_cpus));
	/* A ring holds at least two of the largest samples. */
	largest = REEL_BPF_PREFIX_MAX + REEL_BPF_GAPS_MAX + REEL_BPF_ROOT_SIZE +
		  2 * (uint64_t)settings->max_stack;
	if (ring_size < 2 * largest)
		ring_size = 2 * largest;
	if (ring_size < page_size)
		ring_size = page_size;
	settings->ring_size = round_up_power(ring_size);
	if (settings->ring_size > UINT32_C(1) << 31)
		return reel_error_create(REEL_ERROR_INVALID,
					 "ring buffer of %" PRIu64
					 " bytes is too large (at most 2 GiB)",
					 options->ring_size);
	if (stat("/proc/self/ns/pid", &status))
		return reel_error_os(errno, "cannot read /proc/self/ns/pid (is /proc mounted?)");
	if (status.st_ino != INITIAL_PID_NAMESPACE)
		settings->pid_namespace = (uint32_t)status.st_ino;
	for (size_t i = 0; i < options->n_events; i++) {
		if (options->events[i].off_cpu) {
			settings->scan_event = (uint32_t)i;
			settings->scan_slot = ++slots;
			settings->all_waits = options->events[i].all_waits;
			settings->switch_slot = settings->all_waits ? ++slots : 0;
			settings->min_block = options->events[i].min_block;
		}
		if (options->events[i].waker) {
			settings->waker_event = (uint32_t)i;
			settings->waker_slot = ++slots;
			reel_interrupt_entries_find(settings);
		}
		settings->periods[i] = options->events[i].period;
		if (options->events[i].probe == REEL_SAMPLER_LATENCY)
			settings->latencies |= 1u << i;
		if (options->events[i].n_comparisons)
			settings->filters |= 1u << i;
		memcpy(settings->comparisons[i], options->events[i].filter,
		       sizeof(settings->comparisons[i]));
		memcpy(settings->values[i], options->events[i].values, sizeof(settings->values[i]));
		for (size_t value = 0; value < REEL_BPF_VALUES_MAX; value++)
			settings->has_values |= settings->values[i][value].kind;
		if (options->events[i].max_rate)
			settings->intervals[i] = REEL_NS_PER_SECOND / options->events[i].max_rate;
		settings->functions[i] = options->events[i].function_address;
		if (options->events[i].hook)
			settings->slots[i] = ++slots;
	}
	for (size_t i = 0; i < options->n_events && !settings->probe_slot; i++) {
		if (options->events[i].probe &&
		    !reel_sampler_event_is_in_kernel(&options->events[i]))
			settings->probe_slot = slots + 1;
	}
	if (options->cgroup)
		cgroup_find(options->cgroup, settings);
	settings->cgroup_controller = cgroup_controller();
	if (options->frame_chain) {
		struct reel_error *error = frame_chain_limit(&settings->frame_chain);

		if (error)
			return error;
	}
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

static struct reel_error *cgroup_set(struct reel_sampler *sampler, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t zero = 0;

	sampler->cgroup = fd;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return reel_error_create(
			REEL_ERROR_NOT_FOUND,
			"no such cgroup: %s (expected a directory below /sys/fs/cgroup)", path);
	if (fd < 0)
		return reel_error_os(errno, "cannot open the cgroup %s", path);
	if (!bpf_map_update_elem(reel_programs_map(&sampler->programs, "reel_cgroup"), &zero, &fd,
				 BPF_ANY))
		return NULL;
	if (errno == EBADF || errno == EINVAL)
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s is not a directory of the cgroup v2 file system",
					 path);
	return reel_error_os(errno, "cannot sample the cgroup %s", path);
}

static struct reel_error *take_record(void *context, const void *data, size_t size);

#define COPIES_SIZE (REEL_COPIES_MAX * sizeof(struct reel_bpf_copies))

/* Process events are small; scans and probes write whole stacks. */
static uint64_t task_ring_size(const struct reel_bpf_settings *settings)
{
	uint64_t quarter = settings->ring_size / 4;

	if (settings->scan_slot || settings->probe_slot)
		return settings->ring_size;
	return quarter < TASK_RING_MIN ? TASK_RING_MIN : quarter;
}

static struct reel_error *rings_create(struct reel_sampler *sampler,
				       const struct reel_bpf_settings *settings)
{
	const struct reel_rings_options options = {
		.n = settings->rings,
		.size = settings->ring_size,
		.task_size = task_ring_size(settings),
		.outer = reel_programs_map(&sampler->programs, "reel_rings"),
		.record = take_record,
		.context = sampler,
	};

	return reel_rings_create(&options, &sampler->rings);
}

/* What scans ask to be read, on older kernels. */
static struct reel_error *copies_map(struct reel_sampler *sampler)
{
	void *memory;

	if (!sampler->programs.has_copies)
		return NULL;
	memory = mmap(NULL, COPIES_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		      reel_programs_map(&sampler->programs, "reel_scan_copies"), 0);
	if (memory == MAP_FAILED)
		return reel_error_os(errno, "cannot map the BPF programs' requests");
	sampler->copies = memory;
	return NULL;
}

static struct reel_error *scans_open(const struct reel_sampler_options *options,
				     struct reel_sampler *sampler)
{
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &options->events[i];
		int link;

		if (!event->off_cpu)
			continue;
		TRY(reel_programs_attach_scans(&sampler->programs, i, &link));
		TRY(copies_map(sampler));
		return reel_scanner_start(link,
					  sampler->programs.scan_listed
						  ? bpf_program__fd(sampler->programs.scan_listed)
						  : -1,
					  sampler->control, sampler->copies, event->frequency,
					  options->sandboxed, &sampler->scanner);
	}
	return NULL;
}

static struct reel_error *counts_create(struct reel_sampler *sampler)
{
	int n = libbpf_num_possible_cpus();

	if (n < 0)
		return reel_error_os(-n, "cannot read the number of possible CPUs");
	sampler->n_counts = (size_t)n;
	sampler->counts = calloc((size_t)n, sizeof(*sampler->counts));
	return sampler->counts ? NULL : reel_error_no_memory();
}

static struct reel_error *control_map(struct reel_sampler *sampler, uint32_t max_stack)
{
	void *memory = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
			    reel_programs_map(&sampler->programs, ".bss"), 0);

	if (memory == MAP_FAILED)
		return reel_error_os(errno, "cannot map the BPF programs' variables");
	sampler->control = memory;
	sampler->max_stack = max_stack;
	sampler->control->max_stack = max_stack;
	return NULL;
}

/* ---- open and close -------------------------------------------------------- */

static struct reel_error *sampler_open(const struct reel_sampler_options *options,
				       struct reel_sampler *sampler)
{
	struct reel_bpf_settings settings;

	TRY(options_check(options));
	TRY(reel_cpus_create(options->cpus, options->n_cpus, &sampler->cpus));
	TRY(settings_make(options, &sampler->cpus, &settings));
	sampler->all_cpus = !options->cpus;
	sampler->n_cpus = settings.n_cpus;
	TRY(reel_programs_load(options, &settings, &sampler->programs));
	if (options->cgroup)
		TRY(cgroup_set(sampler, options->cgroup));
	TRY(rings_create(sampler, &settings));
	TRY(control_map(sampler, settings.max_stack));
	TRY(counts_create(sampler));
	TRY(reel_sampler_open_events(sampler, options));
	TRY(reel_programs_attach_processes(&sampler->programs));
	return scans_open(options, sampler);
}

struct reel_error *reel_sampler_open(const struct reel_sampler_options *options,
				     struct reel_sampler **ret)
{
	struct reel_sampler *sampler = calloc(1, sizeof(*sampler));
	struct reel_error *error;

	*ret = NULL;
	if (!sampler)
		return reel_error_no_memory();
	sampler->cgroup = -1;
	sampler->log = options->log;
	sampler->log_context = options->log_context;
	error = sampler_open(options, sampler);
	if (error) {
		reel_sampler_close(sampler);
		return error;
	}
	*ret = sampler;
	return NULL;
}

void reel_sampler_close(struct reel_sampler *sampler)
{
	if (!sampler)
		return;
	for (size_t i = 0; i < sampler->n_cpu_events; i++)
		close(sampler->cpu_events[i].fd);
	reel_scanner_stop(sampler->scanner);
	reel_rings_destroy(sampler->rings);
	if (sampler->cgroup >= 0)
		close(sampler->cgroup);
	if (sampler->copies)
		munmap(sampler->copies, COPIES_SIZE);
	if (sampler->control)
		munmap((void *)sampler->control, (size_t)sysconf(_SC_PAGESIZE));
	reel_programs_unload(&sampler->programs);
	reel_cpus_destroy(&sampler->cpus);
	free(sampler->cpu_events);
	free(sampler->counts);
	free(sampler);
}

/* ---- targets and start ---------------------------------------------------------- */

static struct reel_error *followed_add(struct reel_sampler *sampler, const char *map, uint32_t id)
{
	uint8_t value = 1;

	if (!bpf_map_update_elem(reel_programs_map(&sampler->programs, map), &id, &value, BPF_ANY))
		return NULL;
	if (errno == E2BIG)
		return reel_error_create(REEL_ERROR_INVALID,
					 "cannot follow %" PRIu32
					 ": too many processes or threads; record the whole system "
					 "(-a) or a cgroup (-G)",
					 id);
	return reel_error_os(errno, "cannot follow %" PRIu32, id);
}

struct reel_error *reel_sampler_add_process(struct reel_sampler *sampler, uint32_t pid,
					    const uint32_t *tids, size_t n)
{
	struct reel_error *error = followed_add(sampler, "reel_processes", pid);

	for (size_t i = 0; i < n && !error; i++)
		error = reel_sampler_open_thread(sampler, tids[i], THREAD_AND_STARTED);
	return error;
}

struct reel_error *reel_sampler_add_thread(struct reel_sampler *sampler, uint32_t tid)
{
	struct reel_error *error = followed_add(sampler, "reel_threads", tid);

	return error ? error : reel_sampler_open_thread(sampler, tid, THREAD_ALONE);
}

struct reel_error *reel_sampler_add_command(struct reel_sampler *sampler, uint32_t pid)
{
	sampler->control->command = pid;
	return reel_sampler_open_thread(sampler, pid, THREAD_OF_COMMAND);
}

/* Sets or, with NULL, deletes what a map says of a process; `count`: the map's entries. */
static bool process_set(const struct reel_sampler *sampler, const char *name,
			volatile uint32_t *count, uint32_t pid, const void *value)
{
	int map = reel_programs_map(&sampler->programs, name);

	if (!value) {
		if (!bpf_map_delete_elem(map, &pid))
			(*count)--;
		return true;
	}
	if (!bpf_map_update_elem(map, &pid, value, BPF_NOEXIST)) {
		(*count)++;
		return true;
	}
	return !bpf_map_update_elem(map, &pid, value, BPF_EXIST);
}

bool reel_sampler_set_publisher(struct reel_sampler *sampler, uint32_t pid,
				const struct reel_bpf_publisher *publisher)
{
	return process_set(sampler, "reel_publishers", &sampler->control->publishers, pid,
			   publisher);
}

bool reel_sampler_set_interpreter(struct reel_sampler *sampler, uint32_t pid,
				  const struct reel_bpf_interpreter *interpreter)
{
	return process_set(sampler, "reel_interpreters", &sampler->control->interpreters, pid,
			   interpreter);
}

bool reel_sampler_watch(struct reel_sampler *sampler, uint32_t pid, const uint32_t *number)
{
	return process_set(sampler, "reel_watches", &sampler->control->watches, pid, number);
}

void reel_sampler_watch_page(struct reel_sampler *sampler, uint32_t number, uint32_t place,
			     const struct reel_bpf_watched *page)
{
	uint32_t at = number * REEL_WATCH_PAGES + place;

	(void)bpf_map_update_elem(reel_programs_map(&sampler->programs, "reel_watched_pages"), &at,
				  page, BPF_ANY);
}

void reel_sampler_limit_stack(struct reel_sampler *sampler, uint32_t bytes)
{
	bytes = (bytes + 7) & ~7u;
	sampler->control->max_stack = bytes < sampler->max_stack ? bytes : sampler->max_stack;
}

struct reel_error *reel_sampler_enable(struct reel_sampler *sampler)
{
	sampler->missed_before = reel_programs_missed(&sampler->programs);
	sampler->control->enabled = 1;
	for (size_t i = 0; i < sampler->n_cpu_events; i++) {
		if (sampler->cpu_events[i].enables_itself)
			continue;
		/* ENODEV and others: its CPU went offline. */
		if (ioctl(sampler->cpu_events[i].fd, PERF_EVENT_IOC_ENABLE, 0) && errno != ENODEV)
			return reel_error_os(errno, "cannot start sampling");
	}
	sampler->is_enabled = true;
	if (sampler->scanner)
		reel_scanner_begin(sampler->scanner);
	return NULL;
}

bool reel_sampler_report_waits(struct reel_sampler *sampler)
{
	return !sampler->scanner || reel_scanner_scan(sampler->scanner);
}

double reel_sampler_scan_rate(const struct reel_sampler *sampler)
{
	const volatile struct reel_bpf_control *control = sampler->control;

	if (!sampler->scanner || control->scan_time <= control->scans_began)
		return 0;
	return control->scans * 1e9 / (double)(control->scan_time - control->scans_began);
}

uint64_t reel_sampler_forget_wait(struct reel_sampler *sampler, uint32_t kernel_tid)
{
	int waits = reel_programs_map(&sampler->programs, "reel_waits");
	struct reel_wait wait;

	if (bpf_map_lookup_elem(waits, &kernel_tid, &wait) ||
	    bpf_map_delete_elem(waits, &kernel_tid))
		return 0;
	return wait.weight;
}

void reel_sampler_disable(struct reel_sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_cpu_events; i++)
		ioctl(sampler->cpu_events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	sampler->is_enabled = false;
	sampler->control->enabled = 0;
	sampler->control->command = 0;
}

/* ---- draining ------------------------------------------------------------------- */

static bool has_names(const struct reel_bpf_cgroup *cgroup, size_t size)
{
	return size >= sizeof(*cgroup) && cgroup->size <= size - sizeof(*cgroup);
}

static struct reel_error *take_record(void *context, const void *data, size_t size)
{
	struct reel_sampler *sampler = context;
	const struct reel_sampler_handler *handler = sampler->handler;
	struct reel_sampler_parts parts;
	uint32_t kind = 0;

	if (size >= sizeof(kind))
		memcpy(&kind, data, sizeof(kind));
	if (kind == REEL_BPF_SAMPLE && reel_sampler_parts_parse(data, size, &parts))
		return handler->sample(handler->context, &parts);
	if (kind == REEL_BPF_WAIT && size >= sizeof(struct reel_bpf_wait))
		return handler->wait(handler->context, data);
	if (kind == REEL_BPF_PROCESS && size >= sizeof(struct reel_bpf_process))
		return handler->process(handler->context, data);
	if (kind == REEL_BPF_CODE && size >= sizeof(struct reel_bpf_code))
		return handler->code(handler->context, data);
	if (kind == REEL_BPF_CGROUP && has_names(data, size))
		return handler->cgroup(handler->context, data);
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "invalid record in the ring buffer: kind %" PRIu32 ", %zu bytes",
				 kind, size);
}

int reel_sampler_fd(const struct reel_sampler *sampler)
{
	return reel_rings_fd(sampler->rings);
}

struct reel_error *reel_sampler_drain(struct reel_sampler *sampler,
				      const struct reel_sampler_handler *handler)
{
	sampler->handler = handler;
	return reel_rings_drain(sampler->rings);
}

/* ---- counts --------------------------------------------------------------------- */

struct reel_error *reel_sampler_counts(struct reel_sampler *sampler,
				       const struct reel_bpf_counts **ret, size_t *n_cpus_ret)
{
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(reel_programs_map(&sampler->programs, "reel_counts"), &zero,
				sampler->counts))
		return reel_error_os(errno, "cannot read the BPF programs' counters");
	*ret = sampler->counts;
	*n_cpus_ret = sampler->n_counts;
	return NULL;
}

uint64_t reel_sampler_missed(const struct reel_sampler *sampler)
{
	return reel_programs_missed(&sampler->programs) - sampler->missed_before;
}
