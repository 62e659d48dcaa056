/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf events of a sampler: one per event and CPU, with an exception.
 *
 * The kernel keeps a frequency by adapting how many events make a sample, and a CPU's event counts
 * all tasks: page faults of one program would hardly be sampled among others with many.  So if only
 * some tasks are recorded, the kernel counts only these (counts_own), by an event per thread,
 * inherited by the threads that it starts, or by events of the cgroup.  That makes thread switches
 * slower. The clocks, which tick for any running task, do not need it, and a fixed period samples
 * all tasks alike.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "record/processes/process_events.h"
#include "record/host/kernel.h"
#include "record/sampling/sampler_internal.h"

/* The kernel's errno.h (include/linux/errno.h); unknown to strerror. */
#define KERNEL_ENOTSUPP 524

/* ---- opening ---------------------------------------------------------------- */

static struct reel_error *too_many_files(void)
{
	return reel_error_create(REEL_ERROR_OS,
				 "too many open files; raise ulimit -n above events × CPUs "
				 "(× threads for events with a frequency, except clocks)");
}

static struct reel_error *event_refusal(const struct reel_sampler_event *event, int errnum)
{
	char what[160];

	snprintf(what, sizeof(what), "opening event %s", event->name);
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
			"event %s is not supported here (%s): hardware counters may be missing, as "
			"in many virtual machines; -e cpu-clock needs none",
			event->name, strerror(errnum));
	case EINVAL:
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"event %s (type %" PRIu32 ", config %#" PRIx64
			"): the kernel rejects this frequency, period or modifiers",
			event->name, event->type, event->config);
	case EBUSY:
		return reel_error_create(
			REEL_ERROR_OS,
			"event %s is busy: another program uses the counter, such as perf or the "
			"NMI watchdog (sysctl kernel.nmi_watchdog=0 stops it)",
			event->name);
	case EMFILE:
		return too_many_files();
	default:
		return reel_error_os(errnum, "%s", what);
	}
}

/* `save_registers`: have the kernel save all registers of user code if it can. */
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
		/* Written to another event's buffer, see reel_sampler_redirect. */
		.sample_type = REEL_PROCESS_SAMPLE_TYPE,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	if (event->frequency)
		attr.sample_freq = event->frequency;
	else
		attr.sample_period = event->period;
	/* For precise events, bpf_get_stack gets a chain only with this (kernel/events/core.c,
	 * perf_event_set_bpf_handler). */
	if (event->precise && chains)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (save_registers) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER;
		/* Any register will do: the sample is ours, not perf's. */
		attr.sample_regs_user = 1;
	}
	return attr;
}

/* Takes ownership of event->fd. */
static struct reel_error *add_event(struct reel_sampler *sampler, const struct cpu_event *event)
{
	if (!reel_array_reserve(&sampler->cpu_events, sampler->n_cpu_events,
				&sampler->cpu_events_capacity, sizeof(*sampler->cpu_events))) {
		close(event->fd);
		return reel_error_no_memory();
	}
	sampler->cpu_events[sampler->n_cpu_events++] = *event;
	return NULL;
}

/* Opens an event and sets its program; *fd_ret is -1 on failure. */
static int event_open(struct perf_event_attr *attr, int pid, int cpu, unsigned long flags,
		      const struct bpf_program *program, int *fd_ret)
{
	int fd =
		(int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);

	*fd_ret = -1;
	if (fd < 0)
		return errno;
	/*
	 * Not bpf_program__attach_perf_event: it enables the event at once, and the programs need
	 * no link, since they end with the event.
	 */
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program))) {
		int errnum = errno;

		close(fd);
		return errnum;
	}
	*fd_ret = fd;
	return 0;
}

/* The CPU is offline by now, or of another kind (big.LITTLE). */
static bool is_no_such_cpu(int errnum)
{
	return errnum == ENODEV || errnum == ENXIO || errnum == ENOENT;
}

/* Whether to count the targets only, see above. */
static bool counts_own(const struct reel_sampler *sampler, const struct reel_sampler_event *event)
{
	return !sampler->system_wide && event->frequency && !event->weight_is_time;
}

/* Whether to use an event per thread instead of per CPU. */
static bool is_of_threads(const struct reel_sampler *sampler,
			  const struct reel_sampler_event *event)
{
	return sampler->cgroup < 0 && counts_own(sampler, event);
}

bool reel_sampler_can_slow_down(const struct reel_sampler *sampler, size_t index)
{
	const struct reel_sampler_event *event = &sampler->events[index];

	return event->off_cpu ? !event->all_waits : event->frequency && !counts_own(sampler, event);
}

static void slow_down(const struct reel_sampler *sampler, size_t index,
		      struct perf_event_attr *attr)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	double frequency;

	if (!sampler->slowness || !reel_sampler_can_slow_down(sampler, index))
		return;
	frequency = (double)event->frequency / sampler->slowness;
	if (event->weight_is_time) {
		/* The frequency may be below 1 Hz. */
		attr->freq = 0;
		attr->sample_period = (uint64_t)(1e9 / frequency);
	} else {
		attr->sample_freq = frequency < 1 ? 1 : (uint64_t)frequency;
	}
}

/* Opens the cgroup's event, or the CPU's if the kernel does not support cgroup events. */
static int event_open_for(struct reel_sampler *sampler, size_t index, uint32_t cpu,
			  struct perf_event_attr *attr, int *fd_ret)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	const struct bpf_program *program = sampler->programs.events[index];
	int errnum;

	if (!counts_own(sampler, event))
		return event_open(attr, -1, (int)cpu, 0, program, fd_ret);
	if (!event_open(attr, sampler->cgroup, (int)cpu, PERF_FLAG_PID_CGROUP, program, fd_ret))
		return 0;
	errnum = event_open(attr, -1, (int)cpu, 0, program, fd_ret);
	/* Without CONFIG_CGROUP_PERF, or with the controller in use by cgroup v1. */
	if (!errnum)
		sampler->log(sampler->log_context,
			     "this kernel cannot count a cgroup's events separately: the frequency "
			     "is based on all processes");
	return errnum;
}

/* *errnum_ret is 0, or the reason for a missing event on that CPU. */
static struct reel_error *event_open_on(struct reel_sampler *sampler, size_t index, uint32_t cpu,
					int *errnum_ret)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	struct perf_event_attr attr =
		event_attr(event, sampler->has_chains, sampler->programs.save_registers != NULL);
	struct cpu_event opened = {
		.cpu = cpu,
		.event = (uint32_t)index,
		.output = -1,
		/* A tracepoint's program runs for all CPUs. */
		.of_all = event->type == PERF_TYPE_TRACEPOINT,
		.reports = true,
	};

	slow_down(sampler, index, &attr);
	*errnum_ret = event_open_for(sampler, index, cpu, &attr, &opened.fd);
	if (!*errnum_ret)
		return add_event(sampler, &opened);
	return is_no_such_cpu(*errnum_ret) ? NULL : event_refusal(event, *errnum_ret);
}

static struct reel_error *event_open_all(struct reel_sampler *sampler, size_t index)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	int errnum = ENODEV;
	bool opened = false;

	for (size_t i = 0; i < sampler->cpus.n; i++) {
		int result;

		TRY(event_open_on(sampler, index, sampler->cpus.numbers[i], &result));
		opened |= !result;
		errnum = result ? result : errnum;
		if (opened && event->type == PERF_TYPE_TRACEPOINT)
			break;
	}
	return opened ? NULL : event_refusal(event, errnum);
}

/* ---- probes -------------------------------------------------------------------- */

#define PMU "/sys/bus/event_source/devices/"

static struct reel_error *probe_refusal(const struct reel_sampler_event *event,
					const struct reel_sampler_place *place, int errnum)
{
	char what[160];

	snprintf(what, sizeof(what), "placing the probe %s", event->name);
	switch (errnum) {
	case EPERM:
	case EACCES:
		return reel_refusal_permission(errnum, REEL_REFUSAL_OF_EVENT, what);
	case EMFILE:
		return reel_error_create(
			REEL_ERROR_OS,
			"too many open files for %zu probes; raise ulimit -n, or name fewer "
			"functions",
			event->n_places);
	case ENOENT:
		if (!event->symbol)
			break;
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "%s: this kernel has no function %s that it can probe, or "
					 "its compiler inlined all calls",
					 event->name, event->symbol);
	case EINVAL:
	case EILSEQ:
	case EOPNOTSUPP:
	case KERNEL_ENOTSUPP:
		if (event->symbol)
			return reel_error_create(
				REEL_ERROR_UNSUPPORTED,
				"%s: the kernel cannot place a probe at %s+%#" PRIx64
				": not an instruction's first byte, or code that it must not probe",
				event->name, event->symbol, place->offset);
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"%s: the kernel cannot place a probe at byte %#" PRIx64
			" of the file: the instruction there, or this file system, does not "
			"support it",
			event->name, place->offset);
	default:
		break;
	}
	return reel_error_os(errnum, "%s", what);
}

/*
 * Places one probe; one of user code in all processes that map the file, now and later.  The
 * program runs at each hit on any CPU, whatever CPU the event is on (kernel/trace/trace_uprobe.c,
 * __uprobe_perf_func), and selects the recorded threads.
 */
static struct reel_error *probe_open(struct reel_sampler *sampler, size_t index, uint32_t type,
				     const struct reel_sampler_place *place, bool at_return,
				     const struct bpf_program *program)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	struct cpu_event opened = { .of_all = true, .cpu = UINT32_MAX };
	char path[40];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		/* format/retprobe: bit 0; format/ref_ctr_offset: bits 32 to 63. */
		.config = at_return | place->counter << 32,
		/* kprobe_func or uprobe_path */
		.config1 = (uintptr_t)(event->symbol ? event->symbol : path),
		.config2 = place->offset, /* probe_offset */
		.disabled = 1,
	};
	int errnum = ENODEV;

	if (place->counter > UINT32_MAX)
		return probe_refusal(event, place, EINVAL);
	/* The file that was read, whatever its name is by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->file);
	for (size_t i = 0; i < sampler->cpus.n && errnum == ENODEV; i++)
		errnum = event_open(&attr, -1, (int)sampler->cpus.numbers[i], 0, program,
				    &opened.fd);
	return errnum ? probe_refusal(event, place, errnum) : add_event(sampler, &opened);
}

/* BPF_LINK_CREATE's part of union bpf_attr for uprobe_multi, newer than some headers. */
struct uprobe_multi {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t n, multi_flags, pid, reserved;
};
#define UPROBE_MULTI_RETURN 1

/* Returns a descriptor, or -1. */
static int file_link(const struct reel_sampler_event *event, int file, bool at_return,
		     const struct bpf_program *program)
{
	_cleanup_free_ uint64_t *words = calloc(event->n_places, 2 * sizeof(*words));
	char path[40];
	struct uprobe_multi link = {
		.program = (uint32_t)bpf_program__fd(program),
		.attach_type = REEL_BPF_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)words,
		.counters = (uintptr_t)(words + event->n_places),
		.multi_flags = at_return ? UPROBE_MULTI_RETURN : 0,
	};

	if (!words)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	for (size_t i = 0; i < event->n_places; i++) {
		if (event->places[i].file != file)
			continue;
		words[link.n] = event->places[i].offset;
		words[event->n_places + link.n++] = event->places[i].counter;
	}
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
}

/*
 * Places an event's probes by one link per file, since 6.6; false: not all can be placed, none is.
 * The end of each perf event of a probe waits until no CPU runs a program any more: the end of a
 * recording with 490 of them took 92 s, a link for 1,000 places takes 0.02 s.
 */
static bool probes_link(struct reel_sampler *sampler, size_t index, bool at_return,
			const struct bpf_program *program)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	size_t before = sampler->n_cpu_events;

	for (size_t i = 0; i < event->n_files; i++) {
		struct cpu_event link = {
			.fd = file_link(event, event->files[i], at_return, program),
			.cpu = UINT32_MAX,
			.of_all = true,
			.enables_itself = true,
		};
		struct reel_error *error =
			link.fd < 0 ? reel_error_no_memory() : add_event(sampler, &link);

		if (!error)
			continue;
		reel_error_destroy(error);
		while (sampler->n_cpu_events > before)
			close(sampler->cpu_events[--sampler->n_cpu_events].fd);
		return false;
	}
	return true;
}

/* At all places of an event.  Perf events, one by one, find out which one the kernel refuses. */
static struct reel_error *probes_place(struct reel_sampler *sampler, size_t index, uint32_t type,
				       bool at_return, const struct bpf_program *program)
{
	const struct reel_sampler_event *event = &sampler->events[index];

	if (sampler->programs.has_uprobe_multi && event->n_files &&
	    probes_link(sampler, index, at_return, program))
		return NULL;
	for (size_t i = 0; i < event->n_places; i++)
		TRY(probe_open(sampler, index, type, &event->places[i], at_return, program));
	return NULL;
}

/* Each wait ends in the kernel's function event->symbol, without a tracepoint. */
static struct reel_error *switches_open(struct reel_sampler *sampler, size_t index)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	long type = reel_number_read(PMU "kprobe/type", -1);

	TRY(reel_programs_attach_switches(&sampler->programs, event->symbol != NULL));
	sampler->log(sampler->log_context,
		     event->symbol ? "off-cpu: waits end at a kprobe of finish_task_switch"
				   : "off-cpu: waits end at the tracepoint sched_exit_tp");
	if (!event->symbol)
		return NULL;
	if (type < 0)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"off-cpu: sampling all waits requires Linux 6.15, or probes "
			"in the kernel (CONFIG_KPROBE_EVENTS)");
	return probe_open(sampler, index, (uint32_t)type,
			  &(struct reel_sampler_place){ .file = -1 }, false,
			  sampler->programs.switched);
}

static struct reel_error *probes_open(struct reel_sampler *sampler, size_t index)
{
	const struct reel_sampler_event *event = &sampler->events[index];
	bool in_kernel = reel_sampler_event_is_in_kernel(event);
	bool at_return = event->probe == REEL_SAMPLER_URETPROBE ||
			 event->probe == REEL_SAMPLER_KRETPROBE ||
			 event->probe == REEL_SAMPLER_LATENCY;
	long type = reel_number_read(in_kernel ? PMU "kprobe/type" : PMU "uprobe/type", -1);

	if (type < 0)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: this kernel has no such probes (no " PMU "%s)",
					 event->name,
					 in_kernel ? "kprobe: CONFIG_KPROBE_EVENTS"
						   : "uprobe: CONFIG_UPROBE_EVENTS");
	/* Returns first: all are known for a call that is seen. */
	TRY(probes_place(sampler, index, (uint32_t)type, at_return,
			 sampler->programs.events[index]));
	return sampler->programs.entries[index]
		       ? probes_place(sampler, index, (uint32_t)type, false,
				      sampler->programs.entries[index])
		       : NULL;
}

/* ---- events of a sampler ------------------------------------------------------ */

/* The event for which the kernel saves registers still in the CPU; false without tracefs. */
static bool save_registers_attr(struct perf_event_attr *ret)
{
	struct reel_sampler_event event;
	struct reel_error *error = reel_sampler_event_resolve("timer:hrtimer_expire_entry", &event);

	if (error) {
		reel_error_destroy(error);
		return false;
	}
	event.period = 1;
	*ret = event_attr(&event, false, true);
	reel_sampler_event_free(&event);
	return true;
}

/* `program`: NULL if a program that filters the events of all CPUs is already attached. */
static struct reel_error *save_registers_on(struct reel_sampler *sampler,
					    struct perf_event_attr *attr, uint32_t cpu,
					    const struct bpf_program *program, bool *opened_ret)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	*opened_ret = false;
	if (fd < 0)
		return errno == EMFILE ? too_many_files() : NULL;
	if (program && ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program))) {
		close(fd);
		return NULL;
	}
	*opened_ret = true;
	/* It must not write samples into other events' buffers. */
	return add_event(sampler,
			 &(struct cpu_event){ .fd = fd, .cpu = cpu, .of_all = program != NULL });
}

/*
 * Opens the event on every CPU, but with one program, as a tracepoint's program filters the events
 * of all CPUs.  Without it (no tracefs), these registers are unknown in samples of user code.
 */
static struct reel_error *save_registers_open(struct reel_sampler *sampler)
{
	struct bpf_program *program = sampler->programs.save_registers;
	struct reel_error *error = NULL;
	struct perf_event_attr attr;

	if (!program || !save_registers_attr(&attr))
		return NULL;
	for (size_t i = 0; i < sampler->cpus.n && !error; i++) {
		bool opened;

		error = save_registers_on(sampler, &attr, sampler->cpus.numbers[i], program,
					  &opened);
		if (opened)
			program = NULL;
	}
	return error;
}

struct reel_error *reel_sampler_open_events(struct reel_sampler *sampler,
					    const struct reel_sampler_options *options)
{
	struct rlimit files;

	/* One descriptor per event and CPU. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	sampler->events = options->events;
	sampler->n_events = options->n_events;
	sampler->has_chains = options->kernel_chain || options->frame_chain;
	sampler->system_wide = options->system_wide;
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &options->events[i];

		if (is_of_threads(sampler, event) || (event->off_cpu && !event->all_waits))
			continue;
		if (event->all_waits)
			TRY(switches_open(sampler, i));
		else if (event->waker)
			TRY(reel_programs_attach_waker(&sampler->programs));
		else if (event->hook)
			TRY(reel_programs_attach_function(&sampler->programs, event, i));
		else if (event->probe)
			TRY(probes_open(sampler, i));
		else
			TRY(event_open_all(sampler, i));
	}
	return save_registers_open(sampler);
}

/*
 * Opens events for all CPUs at once: as many as threads, not times CPUs.  They cannot report when
 * the kernel stops them, since buffers belong to CPUs (perf_event_set_output).
 */
struct reel_error *reel_sampler_open_thread(struct reel_sampler *sampler, uint32_t tid,
					    enum thread_events kind)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; i < sampler->n_events && !error; i++) {
		const struct reel_sampler_event *event = &sampler->events[i];
		struct perf_event_attr attr = event_attr(event, sampler->has_chains,
							 sampler->programs.save_registers != NULL);
		struct cpu_event opened = { .cpu = UINT32_MAX, .of_all = true };
		int errnum;

		if (!is_of_threads(sampler, event))
			continue;
		attr.inherit = kind != THREAD_ALONE;
		/* Code before the exec is the recorder's own. */
		attr.enable_on_exec = kind == THREAD_OF_COMMAND;
		opened.enables_itself = attr.enable_on_exec;
		errnum =
			event_open(&attr, (int)tid, -1, 0, sampler->programs.events[i], &opened.fd);
		if (!errnum)
			error = add_event(sampler, &opened);
		else if (errnum != ESRCH)
			error = event_refusal(event, errnum);
	}
	return error;
}

bool reel_sampler_has_thread_events(const struct reel_sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_events; i++) {
		if (is_of_threads(sampler, &sampler->events[i]))
			return true;
	}
	return false;
}

/* ---- other frequencies ------------------------------------------------------------ */

/*
 * Replaces an event by one of the new frequency.  PERF_EVENT_IOC_PERIOD would change the event
 * itself, but a clock's samples keep the weight of the period that it was opened with
 * (kernel/events/core.c, perf_swevent_hrtimer: hw.last_period).
 */
static void reopen(struct reel_sampler *sampler, struct cpu_event *old)
{
	struct perf_event_attr attr = event_attr(&sampler->events[old->event], sampler->has_chains,
						 sampler->programs.save_registers != NULL);
	int fd;

	slow_down(sampler, old->event, &attr);
	/* CPU offline, too many files: the old one goes on, with its own weights. */
	if (event_open(&attr, -1, (int)old->cpu, 0, sampler->programs.events[old->event], &fd))
		return;
	if (old->output >= 0)
		ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, old->output);
	close(old->fd);
	if (sampler->is_enabled)
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	old->fd = fd;
}

void reel_sampler_slow_down(struct reel_sampler *sampler, double slowness)
{
	sampler->slowness = slowness;
	for (size_t i = 0; i < sampler->n_cpu_events; i++) {
		struct cpu_event *event = &sampler->cpu_events[i];

		if (event->reports && reel_sampler_can_slow_down(sampler, event->event))
			reopen(sampler, event);
	}
	for (size_t i = 0; i < sampler->n_events && sampler->scanner; i++)
		if (sampler->events[i].off_cpu && sampler->events[i].frequency)
			sampler->control->scan_least =
				(uint64_t)(1e9 * slowness / (double)sampler->events[i].frequency);
}

/* ---- CPUs that come and go -------------------------------------------------- */

void reel_sampler_redirect(struct reel_sampler *sampler, uint32_t cpu, int fd)
{
	for (size_t i = 0; i < sampler->n_cpu_events && fd >= 0; i++) {
		struct cpu_event *event = &sampler->cpu_events[i];

		if (event->cpu != cpu || !event->reports)
			continue;
		/* If this fails, it is unknown how often the kernel stops the event. */
		ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, fd);
		event->output = fd;
	}
}

/* It is already sampled, or was not requested. */
static bool has_no_use_for(const struct reel_sampler *sampler, uint32_t cpu)
{
	for (size_t i = 0; i < sampler->n_cpu_events; i++) {
		if (sampler->cpu_events[i].cpu == cpu && !sampler->cpu_events[i].of_all)
			return true;
	}
	for (size_t i = 0; i < sampler->cpus.n && !sampler->all_cpus; i++) {
		if (sampler->cpus.numbers[i] == cpu)
			return false;
	}
	return !sampler->all_cpus;
}

/* Opens the events of a single CPU. */
static struct reel_error *events_open_on(struct reel_sampler *sampler, uint32_t cpu, bool *gone_ret)
{
	struct reel_error *error = NULL;
	struct perf_event_attr attr;

	for (size_t i = 0; i < sampler->n_events && !error; i++) {
		int errnum;

		if (sampler->events[i].hook || sampler->events[i].off_cpu ||
		    sampler->events[i].waker || sampler->events[i].probe ||
		    sampler->events[i].type == PERF_TYPE_TRACEPOINT ||
		    is_of_threads(sampler, &sampler->events[i]))
			continue;
		error = event_open_on(sampler, i, cpu, &errnum);
		if (!error && errnum == ENODEV) {
			*gone_ret = true;
			return NULL;
		}
	}
	if (!error && sampler->programs.save_registers && save_registers_attr(&attr)) {
		bool opened;

		error = save_registers_on(sampler, &attr, cpu, NULL, &opened);
	}
	return error;
}

struct reel_error *reel_sampler_add_cpu(struct reel_sampler *sampler, uint32_t cpu, int fd,
					bool *gone_ret)
{
	size_t first = sampler->n_cpu_events;
	struct reel_error *error;

	*gone_ret = false;
	if (has_no_use_for(sampler, cpu))
		return NULL;
	if (cpu >= sampler->n_cpus)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "no room for this CPU: only CPUs below %" PRIu32
					 " fit; start a new recording",
					 sampler->n_cpus);
	error = events_open_on(sampler, cpu, gone_ret);
	if (error || *gone_ret) {
		reel_sampler_drop_cpu(sampler, cpu);
		return error;
	}
	reel_sampler_redirect(sampler, cpu, fd);
	for (size_t i = first; i < sampler->n_cpu_events && sampler->is_enabled; i++)
		ioctl(sampler->cpu_events[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return NULL;
}

void reel_sampler_drop_cpu(struct reel_sampler *sampler, uint32_t cpu)
{
	size_t kept = 0;

	for (size_t i = 0; i < sampler->n_cpu_events; i++) {
		const struct cpu_event event = sampler->cpu_events[i];

		if (event.cpu == cpu && !event.of_all)
			close(event.fd);
		else
			sampler->cpu_events[kept++] = event;
	}
	sampler->n_cpu_events = kept;
}
