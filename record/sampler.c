/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampler.h"

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

#include "bpf/settings.h"
#include "record/cpus.h"
#include "record/process_events.h"
#include "record/programs.h"
#include "record/refusal.h"

static_assert((int)REEL_BPF_WHERE_KERNEL_THREAD == (int)REEL_WHERE_KERNEL_THREAD &&
		      (int)REEL_BPF_WHERE_INTERRUPT == (int)REEL_WHERE_INTERRUPT &&
		      (int)REEL_BPF_WHERE_SYSCALL == (int)REEL_WHERE_SYSCALL &&
		      (int)REEL_BPF_WHERE_USER == (int)REEL_WHERE_USER,
	      "samples carry enum reel_where");

/* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define INITIAL_PID_NAMESPACE 0xeffffffcu

struct reel_sampler {
	struct reel_programs programs;
	struct reel_cpus cpus;
	/* Perf events, of all events and CPUs. */
	struct cpu_event {
		int fd;
		uint32_t cpu;
	} * cpu_events;
	size_t n_cpu_events;
	int *ring_fds;
	uint32_t n_rings;
	uint64_t ring_size;
	struct ring_buffer *rings;
	struct reel_bpf_counts *kernel_counts;
	struct reel_sampler_counts *counts;
	size_t n_counts;
	/* Of the reel_sampler_drain that runs. */
	const struct reel_sampler_handler *handler;
	struct reel_error *drain_error;
	uint64_t drain_budget;
	volatile struct reel_bpf_control *control; /* the programs' own, mapped */
	uint32_t max_stack;
	uint64_t missed_before; /* it was enabled */
};

/* ---- opening ---------------------------------------------------------------- */

static struct reel_error *options_check(const struct reel_sampler_options *options)
{
	long max_rate = reel_number_read("/proc/sys/kernel/perf_event_max_sample_rate", 0);

	if (!options->n_events || options->n_events > REEL_BPF_EVENTS_MAX)
		return reel_error_create(REEL_ERROR_INVALID, "%zu events: there can be 1 to %d",
					 options->n_events, REEL_BPF_EVENTS_MAX);
	if (!options->max_stack || options->max_stack > REEL_BPF_MAX_STACK_LIMIT)
		return reel_error_create(REEL_ERROR_INVALID,
					 "a stack limit of %" PRIu32 " bytes: it can be up to %u",
					 options->max_stack, REEL_BPF_MAX_STACK_LIMIT);
	if (!options->rings)
		return reel_error_create(REEL_ERROR_INVALID, "there must be a ring buffer");
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &options->events[i];

		if (event->frequency && (event->type == PERF_TYPE_TRACEPOINT || event->hook))
			return reel_error_create(REEL_ERROR_INVALID,
						 "%s is a %s: it has no frequency, give a period "
						 "(1 takes each)",
						 event->name,
						 event->hook ? "function" : "tracepoint");
		if (!event->frequency && !event->period)
			return reel_error_create(REEL_ERROR_INVALID,
						 "%s has neither a frequency nor a period",
						 event->name);
		if (max_rate > 0 && event->frequency > (uint64_t)max_rate)
			return reel_error_create(
				REEL_ERROR_INVALID,
				"%" PRIu64
				" samples a second of %s: the kernel allows %ld; raise it with "
				"sysctl kernel.perf_event_max_sample_rate=%" PRIu64,
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

/* bpf_get_stack fills nothing behind what kernel.perf_event_max_stack says. */
static struct reel_error *frame_chain_limit(uint32_t *ret)
{
	long limit = reel_number_read("/proc/sys/kernel/perf_event_max_stack", 127);

	if (limit <= 0)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "the kernel walks no stack by frame pointers: raise it "
					 "with sysctl kernel.perf_event_max_stack=127");
	*ret = limit < REEL_BPF_FRAME_CHAIN_MAX ? (uint32_t)limit : REEL_BPF_FRAME_CHAIN_MAX;
	return NULL;
}

static struct reel_error *settings_make(const struct reel_sampler_options *options,
					const struct reel_cpus *cpus,
					struct reel_bpf_settings *settings)
{
	uint32_t page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	uint64_t ring_size = options->ring_size;
	struct stat status;
	uint32_t slots = 0;

	*settings = (struct reel_bpf_settings){
		.system_wide = options->system_wide,
		.use_cgroup = options->cgroup != NULL,
		.kernel_chain = options->kernel_chain,
		/* Sizes of regions stay multiples of 8. */
		.max_stack = (options->max_stack + 7) & ~7u,
		.page_size = page_size,
		/* 16 KB or a page, on all 64-bit CPUs: asm/thread_info.h, asm/memory.h. */
		.thread_size = page_size > 16384 ? page_size : 16384,
		.rings = options->rings,
		.n_cpus = cpus->highest + 1,
	};
	/* A ring takes two of the largest samples at least. */
	if (ring_size < 2 * (REEL_BPF_PREFIX_MAX + 2 * (uint64_t)settings->max_stack))
		ring_size = 2 * (REEL_BPF_PREFIX_MAX + 2 * (uint64_t)settings->max_stack);
	if (ring_size < page_size)
		ring_size = page_size;
	settings->ring_size = round_up_power(ring_size);
	if (settings->ring_size > UINT32_C(1) << 31)
		return reel_error_create(REEL_ERROR_INVALID,
					 "a ring buffer of %" PRIu64
					 " bytes: it can have 2 GiB at most",
					 options->ring_size);
	if (stat("/proc/self/ns/pid", &status))
		return reel_error_os(errno, "cannot read /proc/self/ns/pid (is /proc mounted?)");
	if (status.st_ino != INITIAL_PID_NAMESPACE)
		settings->pid_namespace = (uint32_t)status.st_ino;
	for (size_t i = 0; i < options->n_events; i++) {
		settings->periods[i] = options->events[i].period;
		settings->functions[i] = options->events[i].function_address;
		if (options->events[i].hook)
			settings->slots[i] = ++slots;
	}
	if (options->frame_chain) {
		struct reel_error *error = frame_chain_limit(&settings->frame_chain);

		if (error)
			return error;
	}
	for (size_t i = 0; i < cpus->n; i++) {
		if (cpus->numbers[i] >= REEL_BPF_CPUS_MAX)
			return reel_error_create(REEL_ERROR_UNSUPPORTED,
						 "CPU %" PRIu32 ": numbers up to %d are supported",
						 cpus->numbers[i], REEL_BPF_CPUS_MAX - 1);
		settings->cpus[cpus->numbers[i] / 64] |= UINT64_C(1) << cpus->numbers[i] % 64;
	}
	return NULL;
}

static struct reel_error *cgroup_set(struct reel_sampler *sampler, const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t zero = 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return reel_error_create(
			REEL_ERROR_NOT_FOUND,
			"no such cgroup: %s (a directory below /sys/fs/cgroup is needed)", path);
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

static int drain_record(void *context, void *data, size_t size);

static struct reel_error *rings_create(struct reel_sampler *sampler, uint32_t n, uint64_t size)
{
	int outer = reel_programs_map(&sampler->programs, "reel_rings");

	sampler->ring_size = size;
	sampler->ring_fds = calloc(n, sizeof(*sampler->ring_fds));
	if (!sampler->ring_fds)
		return reel_error_no_memory();
	for (uint32_t i = 0; i < n; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "reel_ring", 0, 0, (uint32_t)size,
					NULL);

		if (fd < 0 && errno == ENOMEM)
			return reel_error_create(REEL_ERROR_NO_MEMORY,
						 "no memory for ring buffer %" PRIu32 " of %" PRIu32
						 ", of %" PRIu64 " bytes",
						 i + 1, n, size);
		if (fd < 0)
			return reel_error_os(
				errno, "cannot create a ring buffer of %" PRIu64 " bytes", size);
		sampler->ring_fds[sampler->n_rings++] = fd;
		if (bpf_map_update_elem(outer, &i, &fd, BPF_ANY))
			return reel_error_os(errno, "cannot set up the ring buffers");
		if (!sampler->rings)
			sampler->rings = ring_buffer__new(fd, drain_record, sampler, NULL);
		else if (ring_buffer__add(sampler->rings, fd, drain_record, sampler))
			return reel_error_os(errno, "cannot map a ring buffer");
		if (!sampler->rings)
			return reel_error_os(errno, "cannot map a ring buffer");
	}
	return NULL;
}

static struct reel_error *counts_create(struct reel_sampler *sampler)
{
	int n = libbpf_num_possible_cpus();

	if (n < 0)
		return reel_error_os(-n, "cannot read how many CPUs there can be");
	sampler->n_counts = (size_t)n;
	sampler->kernel_counts = calloc((size_t)n, sizeof(*sampler->kernel_counts));
	sampler->counts = calloc((size_t)n, sizeof(*sampler->counts));
	return sampler->kernel_counts && sampler->counts ? NULL : reel_error_no_memory();
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

/* ---- perf events ------------------------------------------------------------ */

static struct reel_error *event_refusal(const struct reel_sampler_event *event, int errnum)
{
	char what[160];

	snprintf(what, sizeof(what), "opening the event %s", event->name);
	switch (errnum) {
	case EPERM:
	case EACCES:
		return reel_refusal_permission(errnum, REEL_REFUSAL_OF_EVENT, what);
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"the event %s is not supported here (%s): no hardware counter, as in "
			"many virtual machines? -e cpu-clock needs none",
			event->name, strerror(errnum));
	case EINVAL:
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "the kernel rejects the event %s (type %" PRIu32
					 ", config %#" PRIx64
					 ") with this frequency, period or modifiers",
					 event->name, event->type, event->config);
	case EBUSY:
		return reel_error_create(
			REEL_ERROR_OS,
			"the event %s is busy: another program holds the counter (perf, the "
			"NMI watchdog: sysctl kernel.nmi_watchdog=0)",
			event->name);
	case EMFILE:
		return reel_error_create(
			REEL_ERROR_OS,
			"too many open files: raise ulimit -n to more than events × CPUs");
	default:
		return reel_error_os(errnum, "%s", what);
	}
}

/* `save_registers`: the kernel is to save all registers of user code where it can. */
static struct perf_event_attr event_attr(const struct reel_sampler_event *event, bool chains,
					 bool save_registers)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.disabled = 1,
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.precise_ip = event->precise,
		.freq = event->frequency != 0,
		/* What goes into another event's buffer, see reel_sampler_redirect. */
		.sample_type = REEL_PROCESS_SAMPLE_TYPE,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	if (event->frequency)
		attr.sample_freq = event->frequency;
	else
		attr.sample_period = event->period;
	/* Then only this gives bpf_get_stack a chain (kernel/events/core.c,
	 * perf_event_set_bpf_handler). */
	if (event->precise && chains)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (save_registers) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER;
		/* Any one will do: the sample is ours, not perf's. */
		attr.sample_regs_user = 1;
	}
	return attr;
}

static void add_event(struct reel_sampler *sampler, int fd, uint32_t cpu)
{
	sampler->cpu_events[sampler->n_cpu_events++] = (struct cpu_event){ fd, cpu };
}

/* Opens an event on a CPU and gives it its program; *fd_ret is -1 if that CPU went offline. */
static int event_open(struct perf_event_attr *attr, uint32_t cpu, const struct bpf_program *program,
		      int *fd_ret)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	*fd_ret = -1;
	if (fd < 0)
		return errno;
	/*
	 * Not bpf_program__attach_perf_event: it enables the event at once, and
	 * the programs need no link, since they end with the event.
	 */
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program))) {
		int errnum = errno;

		close(fd);
		return errnum;
	}
	*fd_ret = fd;
	return 0;
}

static struct reel_error *event_open_all(struct reel_sampler *sampler,
					 const struct reel_sampler_event *event,
					 const struct bpf_program *program, bool chains)
{
	struct perf_event_attr attr =
		event_attr(event, chains, sampler->programs.save_registers != NULL);
	int errnum = ENODEV;
	bool opened = false;

	for (size_t i = 0; i < sampler->cpus.n; i++) {
		int result, fd;

		result = event_open(&attr, sampler->cpus.numbers[i], program, &fd);
		if (!result) {
			add_event(sampler, fd, sampler->cpus.numbers[i]);
			opened = true;
			/* A tracepoint's program runs for all CPUs. */
			if (event->type == PERF_TYPE_TRACEPOINT)
				break;
		} else if (result == ENODEV || result == ENXIO || result == ENOENT) {
			/* Offline by now, or a CPU of another kind (big.LITTLE). */
			errnum = result;
		} else {
			return event_refusal(event, result);
		}
	}
	return opened ? NULL : event_refusal(event, errnum);
}

/*
 * On every CPU, but with one program, as a tracepoint's filters the events of all CPUs.  Without
 * this event (no tracefs) these registers are unknown where user code is sampled.
 */
static void save_registers_open(struct reel_sampler *sampler)
{
	struct bpf_program *program = sampler->programs.save_registers;
	struct reel_sampler_event event;
	struct perf_event_attr attr;
	struct reel_error *error;

	if (!program)
		return;
	error = reel_sampler_event_resolve("timer:hrtimer_expire_entry", &event);
	if (error) {
		reel_error_destroy(error);
		return;
	}
	event.period = 1;
	attr = event_attr(&event, false, true);
	for (size_t i = 0; i < sampler->cpus.n; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, sampler->cpus.numbers[i], -1,
				      PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			continue;
		if (program && ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program))) {
			close(fd);
			return;
		}
		program = NULL;
		/* Of no CPU: it must not write samples where reel_sampler_redirect lets others
		 * write. */
		add_event(sampler, fd, UINT32_MAX);
	}
}

static struct reel_error *events_open(struct reel_sampler *sampler,
				      const struct reel_sampler_options *options)
{
	struct rlimit files;

	/* A descriptor for each event and CPU. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	sampler->cpu_events =
		calloc((options->n_events + 1) * sampler->cpus.n, sizeof(*sampler->cpu_events));
	if (!sampler->cpu_events)
		return reel_error_no_memory();
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &options->events[i];
		struct reel_error *error;

		if (event->hook)
			error = reel_programs_attach_function(&sampler->programs, event, i);
		else
			error = event_open_all(sampler, event, sampler->programs.events[i],
					       options->kernel_chain || options->frame_chain);
		if (error)
			return error;
	}
	save_registers_open(sampler);
	return NULL;
}

static struct reel_error *sampler_open(const struct reel_sampler_options *options,
				       struct reel_sampler *sampler)
{
	struct reel_bpf_settings settings;
	struct reel_error *error = options_check(options);

	if (!error)
		error = reel_cpus_create(options->cpus, options->n_cpus, &sampler->cpus);
	if (!error)
		error = settings_make(options, &sampler->cpus, &settings);
	if (!error)
		error = reel_programs_load(options, &settings, &sampler->programs);
	if (!error && options->cgroup)
		error = cgroup_set(sampler, options->cgroup);
	if (!error)
		error = rings_create(sampler, settings.rings, settings.ring_size);
	if (!error)
		error = control_map(sampler, settings.max_stack);
	if (!error)
		error = counts_create(sampler);
	if (!error)
		error = events_open(sampler, options);
	if (!error)
		error = reel_programs_attach_processes(&sampler->programs);
	return error;
}

struct reel_error *reel_sampler_open(const struct reel_sampler_options *options,
				     struct reel_sampler **ret)
{
	struct reel_sampler *sampler = calloc(1, sizeof(*sampler));
	struct reel_error *error;

	*ret = NULL;
	if (!sampler)
		return reel_error_no_memory();
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
	ring_buffer__free(sampler->rings);
	for (uint32_t i = 0; i < sampler->n_rings; i++)
		close(sampler->ring_fds[i]);
	if (sampler->control)
		munmap((void *)sampler->control, (size_t)sysconf(_SC_PAGESIZE));
	reel_programs_unload(&sampler->programs);
	reel_cpus_destroy(&sampler->cpus);
	free(sampler->cpu_events);
	free(sampler->ring_fds);
	free(sampler->kernel_counts);
	free(sampler->counts);
	free(sampler);
}

/* ---- what is sampled, and when -------------------------------------------------- */

static struct reel_error *followed_add(struct reel_sampler *sampler, const char *map, uint32_t id)
{
	uint8_t value = 1;

	if (!bpf_map_update_elem(reel_programs_map(&sampler->programs, map), &id, &value, BPF_ANY))
		return NULL;
	if (errno == E2BIG)
		return reel_error_create(REEL_ERROR_INVALID,
					 "too many processes or threads to follow at %" PRIu32
					 ": record the whole system or a cgroup",
					 id);
	return reel_error_os(errno, "cannot follow %" PRIu32, id);
}

struct reel_error *reel_sampler_add_process(struct reel_sampler *sampler, uint32_t pid)
{
	return followed_add(sampler, "reel_processes", pid);
}

struct reel_error *reel_sampler_add_thread(struct reel_sampler *sampler, uint32_t tid)
{
	return followed_add(sampler, "reel_threads", tid);
}

void reel_sampler_add_command(struct reel_sampler *sampler, uint32_t pid)
{
	sampler->control->command = pid;
}

void reel_sampler_redirect(struct reel_sampler *sampler, const uint32_t *cpus, const int *fds,
			   size_t n)
{
	for (size_t i = 0; i < sampler->n_cpu_events; i++) {
		for (size_t j = 0; j < n; j++) {
			/* Where that is not possible it is not known how often this one rests. */
			if (cpus[j] == sampler->cpu_events[i].cpu)
				ioctl(sampler->cpu_events[i].fd, PERF_EVENT_IOC_SET_OUTPUT, fds[j]);
		}
	}
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
		/* ENODEV and the like: its CPU went offline. */
		if (ioctl(sampler->cpu_events[i].fd, PERF_EVENT_IOC_ENABLE, 0) && errno != ENODEV)
			return reel_error_os(errno, "cannot start sampling");
	}
	return NULL;
}

void reel_sampler_disable(struct reel_sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_cpu_events; i++)
		ioctl(sampler->cpu_events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	sampler->control->enabled = 0;
	sampler->control->command = 0;
}

/* ---- draining ------------------------------------------------------------------- */

/* Ends a drain that is not in error; libbpf hands it back. */
#define DRAIN_ENOUGH (-EAGAIN)
#define DRAIN_ERROR  (-ECANCELED)

/* The parts behind a sample's header; false if it contradicts itself. */
static bool sample_parts(const struct reel_bpf_sample *sample, size_t size,
			 struct reel_sampler_parts *ret)
{
	const uint8_t *at = (const uint8_t *)(sample + 1), *end = (const uint8_t *)sample + size;
	size_t chains;

	if (size < sizeof(*sample) || sample->n_kernel_chain > REEL_BPF_KERNEL_CHAIN_MAX ||
	    sample->n_frame_chain > REEL_BPF_FRAME_CHAIN_MAX || sample->n_regions > 2 ||
	    sample->n_registers > REEL_BPF_REGISTERS_MAX)
		return false;
	chains = sample->n_kernel_chain + sample->n_frame_chain;
	*ret = (struct reel_sampler_parts){
		.sample = sample,
		.kernel_chain = (const uint64_t *)at,
		.frame_chain = (const uint64_t *)at + sample->n_kernel_chain,
	};
	if (chains * 8 > (size_t)(end - at))
		return false;
	at += chains * 8;
	for (uint32_t i = 0; i < sample->n_regions; i++) {
		size_t room = (sample->regions[i].size + (size_t)7) & ~(size_t)7;

		if (room > (size_t)(end - at))
			return false;
		ret->region_bytes[i] = at;
		at += room;
	}
	return true;
}

static int drain_record(void *context, void *data, size_t size)
{
	struct reel_sampler *sampler = context;
	const struct reel_sampler_handler *handler = sampler->handler;
	struct reel_sampler_parts parts;
	uint32_t kind = 0;

	if (size >= sizeof(kind))
		memcpy(&kind, data, sizeof(kind));
	if (kind == REEL_BPF_SAMPLE && sample_parts(data, size, &parts))
		sampler->drain_error = handler->sample(handler->context, &parts);
	else if (kind == REEL_BPF_PROCESS && size >= sizeof(struct reel_bpf_process))
		sampler->drain_error = handler->process(handler->context, data);
	else
		sampler->drain_error = reel_error_create(REEL_ERROR_CORRUPT,
							 "a record of kind %" PRIu32
							 " and %zu bytes in the ring buffer",
							 kind, size);
	if (sampler->drain_error)
		return DRAIN_ERROR;
	if (size >= sampler->drain_budget)
		return DRAIN_ENOUGH;
	sampler->drain_budget -= size;
	return 0;
}

int reel_sampler_fd(const struct reel_sampler *sampler)
{
	return ring_buffer__epoll_fd(sampler->rings);
}

struct reel_error *reel_sampler_drain(struct reel_sampler *sampler,
				      const struct reel_sampler_handler *handler)
{
	int result;

	sampler->handler = handler;
	sampler->drain_error = NULL;
	/* What the rings can hold: a load that fills them as fast as we read must not keep us here.
	 */
	sampler->drain_budget = sampler->ring_size * sampler->n_rings;
	result = ring_buffer__consume(sampler->rings);
	sampler->handler = NULL;
	if (sampler->drain_error)
		return sampler->drain_error;
	if (result < 0 && result != DRAIN_ENOUGH)
		return reel_error_os(-result, "cannot read the ring buffers");
	return NULL;
}

/* ---- counts --------------------------------------------------------------------- */

struct reel_error *reel_sampler_counts(struct reel_sampler *sampler,
				       const struct reel_sampler_counts **ret, size_t *n_cpus_ret)
{
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(reel_programs_map(&sampler->programs, "reel_counts"), &zero,
				sampler->kernel_counts))
		return reel_error_os(errno, "cannot read the BPF programs' counters");
	for (size_t i = 0; i < sampler->n_counts; i++) {
		const struct reel_bpf_counts *from = &sampler->kernel_counts[i];

		sampler->counts[i] = (struct reel_sampler_counts){
			.samples = from->samples,
			.ring_full = from->ring_full,
			.ring_busy = from->ring_busy,
			.copy_failed = from->copy_failed,
			.stack_cut = from->stack_cut,
			.not_followed = from->not_followed,
			.process_lost = from->process_lost,
		};
	}
	*ret = sampler->counts;
	*n_cpus_ret = sampler->n_counts;
	return NULL;
}

uint64_t reel_sampler_missed(const struct reel_sampler *sampler)
{
	return reel_programs_missed(&sampler->programs) - sampler->missed_before;
}
