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
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/quantity.h"

static_assert((int)REEL_BPF_WHERE_KERNEL_THREAD == (int)REEL_WHERE_KERNEL_THREAD &&
		      (int)REEL_BPF_WHERE_INTERRUPT == (int)REEL_WHERE_INTERRUPT &&
		      (int)REEL_BPF_WHERE_SYSCALL == (int)REEL_WHERE_SYSCALL &&
		      (int)REEL_BPF_WHERE_USER == (int)REEL_WHERE_USER,
	      "samples carry enum reel_where");

/* Bytes: some 500 process events. */
#define TASK_RING_MIN 65536

/* ---- records in the rings --------------------------------------------------------- */

static bool has_names(const struct reel_bpf_cgroup *cgroup, size_t size)
{
	return size >= sizeof(*cgroup) && cgroup->size <= size - sizeof(*cgroup);
}

static struct reel_error *handle_record(void *context, const void *data, size_t size)
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

/* ---- opening its parts ------------------------------------------------------ */

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
		.record = handle_record,
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

	TRY(reel_cpus_create(options->cpus, options->n_cpus, &sampler->cpus));
	TRY(reel_sampler_settings(options, &sampler->cpus, &settings));
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
	sampler->cgroup = sampler->statistics = -1;
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
	if (sampler->statistics >= 0)
		close(sampler->statistics);
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
	TRY(followed_add(sampler, "reel_processes", pid));
	for (size_t i = 0; i < n; i++)
		TRY(reel_sampler_open_thread(sampler, tids[i], THREAD_AND_STARTED));
	return NULL;
}

struct reel_error *reel_sampler_add_thread(struct reel_sampler *sampler, uint32_t tid)
{
	TRY(followed_add(sampler, "reel_threads", tid));
	return reel_sampler_open_thread(sampler, tid, THREAD_ALONE);
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

void reel_sampler_cap_stack(struct reel_sampler *sampler, uint32_t bytes)
{
	sampler->max_stack = (bytes + 7) & ~7u;
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

void reel_sampler_pause(struct reel_sampler *sampler, bool pause)
{
	sampler->control->paused = pause;
}

void reel_sampler_rest(struct reel_sampler *sampler, bool rests)
{
	for (size_t i = 0; i < sampler->n_cpu_events; i++) {
		if (!sampler->cpu_events[i].enables_itself)
			ioctl(sampler->cpu_events[i].fd,
			      rests ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	}
	/* New ones do the same. */
	sampler->is_enabled = !rests;
}

bool reel_sampler_measure(struct reel_sampler *sampler)
{
	sampler->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return sampler->statistics >= 0;
}

uint64_t reel_sampler_work(const struct reel_sampler *sampler)
{
	uint64_t work = sampler->statistics < 0 ? 0 : reel_programs_run_time(&sampler->programs);

	return sampler->scanner ? work + reel_scanner_work(sampler->scanner) : work;
}

uint64_t reel_sampler_memory(const struct reel_sampler *sampler)
{
	return sampler->scanner ? reel_scanner_memory(sampler->scanner) : 0;
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
