/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/programs.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/error.h"
#include "record/sampling/functions.h"
#include "record/host/kernel.h"

/* record/sampling/bpf_object.S */
extern const char reel_object_scratch[], reel_object_scratch_end[];
extern const char reel_object_copies[], reel_object_copies_end[];
extern const char reel_object_dynptr[], reel_object_dynptr_end[];

/* Waiting threads whose stacks are not copied again: 5 MB. */
#define WAITS_MAX 65536
/* Calls that have not returned, of latencies: 6 MB. */
#define CALLS_MAX 65536

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Global because libbpf's print callback has no context. */
static struct {
	bool verbose;
	void (*log)(void *context, const char *line);
	void *log_context;
	char warning[256]; /* the last warning, without its newline */
} libbpf_log;

static void log_lines(char *text)
{
	char *rest, *line;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		libbpf_log.log(libbpf_log.log_context, line);
}

__attribute__((format(printf, 2, 0))) static int log_libbpf(enum libbpf_print_level level,
							    const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		return 0;
	/* A verifier's log has many lines; only single lines are kept as the warning. */
	if (level == LIBBPF_WARN && !strchr(text, '\n'))
		snprintf(libbpf_log.warning, sizeof(libbpf_log.warning), "%s", text);
	else if (level == LIBBPF_WARN && strchr(text, '\n')[1] == '\0')
		snprintf(libbpf_log.warning, sizeof(libbpf_log.warning), "%.*s",
			 (int)strcspn(text, "\n"), text);
	if (libbpf_log.verbose && libbpf_log.log)
		log_lines(text);
	free(text);
	return 0;
}

static struct bpf_map *map_find(const struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	assert(map);
	return map;
}

static const char *program_kind(const struct reel_sampler_event *event)
{
	if (event->hook)
		return "function";
	if (event->probe)
		return reel_sampler_event_is_in_kernel(event) ? "kprobe" : "probe";
	return event->type == PERF_TYPE_TRACEPOINT ? "tracepoint" : "perf";
}

/* Whether a program is needed to sample all waits. */
static bool switches_select(const struct reel_sampler_event *event, struct bpf_program *program,
			    struct reel_programs *programs)
{
	const char *name = bpf_program__name(program);

	if (!strcmp(name, event->symbol ? "reel_switch_finish" : "reel_switch_exit")) {
		programs->switched = program;
		return true;
	}
	return !strcmp(name, "reel_switch") || !strcmp(name, "reel_switch_wakeup");
}

/* Whether threads that wait are scanned some times per second. */
static bool scans_by_time(const struct reel_sampler_options *options)
{
	for (size_t i = 0; i < options->n_events; i++) {
		if (options->events[i].off_cpu && !options->events[i].all_waits)
			return true;
	}
	return false;
}

/* The end of a process is of use only to those that keep something for a process or a thread. */
static bool is_of_processes(const char *name, const struct reel_bpf_settings *settings)
{
	if (!strcmp(name, "reel_process_exit"))
		return !settings->system_wide || settings->scan_slot;
	return !strncmp(name, "reel_process_", strlen("reel_process_"));
}

/* Loads only programs that are needed and that this kernel can run. */
static void programs_select(const struct reel_sampler_options *options,
			    const struct reel_bpf_settings *settings,
			    struct reel_programs *programs)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, programs->object)
	{
		const char *name = bpf_program__name(program);
		bool needed = is_of_processes(name, settings);

		for (size_t i = 0; i < options->n_events; i++) {
			char wanted[40];

			if (options->events[i].all_waits)
				needed |= switches_select(&options->events[i], program, programs);
			if (options->events[i].off_cpu || options->events[i].waker)
				snprintf(wanted, sizeof(wanted), "%s",
					 options->events[i].all_waits ? "reel_switch_scan"
					 : options->events[i].off_cpu ? "reel_scan"
								      : "reel_waking");
			else
				snprintf(wanted, sizeof(wanted), "reel_%s_%zu",
					 program_kind(&options->events[i]), i);
			if (strcmp(name, wanted) == 0) {
				programs->events[i] = program;
				needed = true;
			}
			/* Their devices are names of wakers. */
			needed |= options->events[i].waker &&
				  !strncmp(name, "reel_interrupt_", strlen("reel_interrupt_"));
			snprintf(wanted, sizeof(wanted), "reel_entry_%zu", i);
			if (options->events[i].probe == REEL_SAMPLER_LATENCY &&
			    strcmp(name, wanted) == 0) {
				programs->entries[i] = program;
				needed = true;
			}
		}
		if (strcmp(name, "reel_scan_listed_tasks") == 0 && scans_by_time(options)) {
			programs->scan_listed = program;
			needed = true;
		}
		if (strcmp(name, "reel_save_floating_point") == 0) {
			programs->save_registers = program;
			needed = true;
		}
		bpf_program__set_autoload(program, needed);
	}
}

/* Sets each program's function, which the kernel checks while loading. */
static struct reel_error *functions_select(const struct reel_programs *programs,
					   const struct reel_sampler_options *options)
{
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &options->events[i];
		struct bpf_program *program = programs->events[i];
		int error;

		if (!event->hook)
			continue;
		error = bpf_program__set_expected_attach_type(
			program,
			event->hook == REEL_SAMPLER_ENTRY ? BPF_TRACE_FENTRY : BPF_TRACE_FEXIT);
		if (error)
			return reel_error_os(-error, "cannot set up the BPF object");
		error = bpf_program__set_attach_target(program, 0, event->function);
		if (error)
			return reel_function_refusal_btf(event, -error);
	}
	return NULL;
}

/* Programs of user code's probes, for a link to many places. */
static struct reel_error *probes_select(struct reel_programs *programs,
					const struct reel_sampler_options *options,
					const struct reel_bpf_settings *settings)
{
	programs->has_uprobe_multi =
		settings->probe_slot && reel_kernel_has("bpf_uprobe_multi_link");
	for (size_t i = 0; i < options->n_events && programs->has_uprobe_multi; i++) {
		int error;

		if (!options->events[i].probe ||
		    reel_sampler_event_is_in_kernel(&options->events[i]))
			continue;
		error = bpf_program__set_expected_attach_type(programs->events[i],
							      REEL_BPF_TRACE_UPROBE_MULTI);
		if (!error && programs->entries[i])
			error = bpf_program__set_expected_attach_type(programs->entries[i],
								      REEL_BPF_TRACE_UPROBE_MULTI);
		if (error)
			return reel_error_os(-error, "cannot set up the BPF object");
	}
	return NULL;
}

static uint32_t count_slots(const struct reel_bpf_settings *settings)
{
	uint32_t highest = settings->waker_slot > settings->scan_slot ? settings->waker_slot
								      : settings->scan_slot;

	if (settings->switch_slot > highest)
		highest = settings->switch_slot;

	for (size_t i = 0; i < REEL_BPF_EVENTS_MAX; i++) {
		if (settings->slots[i] > highest)
			highest = settings->slots[i];
	}
	if (settings->probe_slot)
		highest = settings->probe_slot + REEL_PROBE_SLOTS - 1;
	return highest + 1;
}

/* The first error stays. */
static void set_entries(struct bpf_object *object, const char *name, uint32_t n, int *error)
{
	if (!*error)
		*error = bpf_map__set_max_entries(map_find(object, name), n);
}

static int maps_size(struct bpf_object *object, const struct reel_sampler_options *options,
		     const struct reel_bpf_settings *settings)
{
	uint32_t n_slots = count_slots(settings);
	struct bpf_map *scratches = bpf_object__find_map_by_name(object, "reel_scratches");
	struct bpf_map *request_map = map_find(object, "reel_request_map");
	uint32_t sample_size = REEL_BPF_ALIGNMENT + REEL_BPF_PREFIX_MAX + REEL_BPF_GAPS_MAX +
			       REEL_BPF_ROOT_SIZE + 2 * settings->max_stack + settings->page_size;
	uint32_t sample_room = (sample_size + REEL_BPF_ALIGNMENT - 1) & ~(REEL_BPF_ALIGNMENT - 1u);
	int error = options->request_map < 0 ? bpf_map__set_autocreate(request_map, false)
					     : bpf_map__reuse_fd(request_map, options->request_map);

	if (!error && !options->cgroup)
		error = bpf_map__set_autocreate(map_find(object, "reel_cgroup"), false);
	/* One more for tasks. */
	set_entries(object, "reel_rings", settings->rings + 1, &error);
	set_entries(object, "reel_slots", n_slots, &error);
	if (options->system_wide) {
		set_entries(object, "reel_processes", 1, &error);
		set_entries(object, "reel_threads", 1, &error);
	}
	if (settings->latencies)
		set_entries(object, "reel_calls", CALLS_MAX, &error);
	if (settings->scan_slot)
		set_entries(object, "reel_waits", WAITS_MAX, &error);
	if (!error && settings->scan_slot)
		error = bpf_map__set_value_size(map_find(object, "reel_scan_scratch"), sample_room);
	if (scratches)
		set_entries(object, "reel_scratches", n_slots * settings->n_cpus, &error);
	if (!error && scratches)
		error = bpf_map__set_value_size(scratches, sample_room);
	return error;
}

static struct reel_error *object_open(const struct reel_sampler_options *options, bool has_copies,
				      struct bpf_object **ret)
{
	const char *object = reel_object_scratch, *end = reel_object_scratch_end;
	/*
	 * libbpf searches all modules for types missing in vmlinux, which takes CAP_SYS_ADMIN; with
	 * a file it does not, so CAP_BPF is enough.
	 */
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "stackreel",
		    .btf_custom_path = options->btf			    ? options->btf
				       : access(REEL_KERNEL_BTF, R_OK) == 0 ? REEL_KERNEL_BTF
									    : NULL);

	if (has_copies) {
		object = reel_object_copies;
		end = reel_object_copies_end;
	} else if (reel_kernel_has("bpf_probe_read_user_dynptr")) {
		object = reel_object_dynptr;
		end = reel_object_dynptr_end;
	}
	*ret = bpf_object__open_mem(object, (size_t)(end - object), &opts);
	if (!*ret)
		return reel_error_os(errno, "cannot open the BPF object");
	return NULL;
}

struct reel_error *reel_programs_load(const struct reel_sampler_options *options,
				      const struct reel_bpf_settings *settings,
				      struct reel_programs *ret)
{
	const struct reel_sampler_event *hooked = NULL;
	struct reel_error *error;
	struct bpf_map *map;
	int result;

	for (size_t i = 0; i < options->n_events; i++) {
		if (options->events[i].hook)
			hooked = &options->events[i];
	}
	libbpf_log.verbose = options->verbose;
	libbpf_log.log = options->log;
	libbpf_log.log_context = options->log_context;
	libbpf_log.warning[0] = '\0';
	libbpf_set_print(log_libbpf);

	*ret = (struct reel_programs){
		.has_copies = settings->scan_slot && !reel_scans_may_sleep(),
	};
	error = object_open(options, ret->has_copies, &ret->object);
	if (error)
		return error;
	programs_select(options, settings, ret);
	map = map_find(ret->object, ".rodata.settings");
	result = bpf_map__set_initial_value(map, settings, sizeof(*settings));
	if (!result)
		result = maps_size(ret->object, options, settings);
	if (result)
		error = reel_error_os(-result, "cannot set up the BPF object");
	else
		error = functions_select(ret, options);
	if (!error)
		error = probes_select(ret, options, settings);
	if (!error) {
		result = bpf_object__load(ret->object);
		if (result == -EPERM && hooked)
			error = reel_refusal_permission(EPERM, REEL_REFUSAL_OF_FUNCTION,
							hooked->name);
		else if (result)
			error = reel_refusal_load(-result, options->btf, libbpf_log.warning);
	}
	if (error)
		reel_programs_unload(ret);
	return error;
}

struct reel_error *reel_programs_attach_scans(struct reel_programs *programs, size_t index,
					      int *link_ret)
{
	struct bpf_link *link = bpf_program__attach_iter(programs->events[index], NULL);

	if (!link)
		return reel_error_os(errno, "off-cpu: cannot attach to the kernel's threads");
	programs->links[programs->n_links++] = link;
	*link_ret = bpf_link__fd(link);
	return NULL;
}

/* The loaded ones of some programs whose section says where; `what`: of the message. */
static struct reel_error *attach_all(struct reel_programs *programs, const char *const *names,
				     size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(programs->object, names[i]);
		struct bpf_link *link;
		int errnum;

		if (!bpf_program__autoload(program))
			continue;
		link = bpf_program__attach(program);
		errnum = errno;
		if (!link && (errnum == EPERM || errnum == EACCES))
			return reel_refusal_permission(errnum, REEL_REFUSAL_OF_BPF, what);
		if (!link)
			return reel_error_os(errnum, "%s (%s)", what, names[i]);
		programs->links[programs->n_links++] = link;
	}
	return NULL;
}

struct reel_error *reel_programs_attach_switches(struct reel_programs *programs, bool is_kprobe)
{
	static const char *const names[] = { "reel_switch", "reel_switch_wakeup",
					     "reel_switch_exit" };

	return attach_all(programs, names, is_kprobe ? 2 : 3,
			  "off-cpu: attaching to the kernel's switches");
}

struct reel_error *reel_programs_attach_waker(struct reel_programs *programs)
{
	static const char *const names[] = { "reel_interrupt_begin", "reel_interrupt_end",
					     "reel_interrupt_soft_begin", "reel_interrupt_soft_end",
					     "reel_waking" };

	return attach_all(programs, names, COUNT(names),
			  "waker: attaching to the kernel's wakeups");
}

struct reel_error *reel_programs_attach_processes(struct reel_programs *programs)
{
	static const char *const names[] = { "reel_process_fork", "reel_process_exec",
					     "reel_process_exit" };

	return attach_all(programs, names, COUNT(names), "attaching to process events");
}

struct reel_error *reel_programs_attach_function(struct reel_programs *programs,
						 const struct reel_sampler_event *event,
						 size_t index)
{
	struct bpf_link *link = bpf_program__attach_trace(programs->events[index]);

	if (!link)
		return reel_function_refusal_attach(event, errno);
	programs->links[programs->n_links++] = link;
	programs->is_function[index] = true;
	return NULL;
}

uint64_t reel_programs_missed(const struct reel_programs *programs)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < REEL_BPF_EVENTS_MAX; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		/* Since 5.12; older kernels leave it 0. */
		if (programs->is_function[i] &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(programs->events[i]), &info, &size))
			missed += info.recursion_misses;
	}
	return missed;
}

uint64_t reel_programs_run_time(const struct reel_programs *programs)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, programs->object)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		if (program != programs->scan_listed &&
		    bpf_program__expected_attach_type(program) != BPF_TRACE_ITER &&
		    bpf_program__fd(program) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			sum += info.run_time_ns;
	}
	return sum;
}

void reel_programs_unload(struct reel_programs *programs)
{
	for (size_t i = 0; i < programs->n_links; i++)
		bpf_link__destroy(programs->links[i]);
	bpf_object__close(programs->object);
	*programs = (struct reel_programs){ 0 };
	/* The next user of libbpf has a log of its own. */
	libbpf_log.log = NULL;
}

int reel_programs_map(const struct reel_programs *programs, const char *name)
{
	return bpf_map__fd(map_find(programs->object, name));
}

/* ---- the map of requests ---------------------------------------------------------- */

static struct reel_error *check_request_map(const char *path, int fd)
{
	const uint32_t key_size = 8, value_size = sizeof(struct reel_bpf_request);
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return reel_error_os(errno, "%s", path);
	if (info.type != BPF_MAP_TYPE_LRU_HASH || info.key_size != key_size ||
	    info.value_size != value_size)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"%s: a BPF map of type %u with keys of %u and values of %u bytes (expected "
			"type %u, an LRU hash, with %u and %u)",
			path, info.type, info.key_size, info.value_size, BPF_MAP_TYPE_LRU_HASH,
			key_size, value_size);
	if (info.map_flags & BPF_F_WRONLY_PROG)
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: BPF programs must not read this map", path);
	return NULL;
}

struct reel_error *reel_request_map_open(const char *path, int *fd_ret)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = BPF_F_RDONLY);
	_cleanup_fd_ int fd = -1;
	struct statfs status;

	*fd_ret = -1;
	if (statfs(path, &status))
		return reel_error_os(errno, "%s", path);
	/* Pinned programs cannot be opened for reading only. */
	fd = status.f_type == BPF_FS_MAGIC ? bpf_obj_get_opts(path, &opts) : -EINVAL;
	if (fd == -EINVAL)
		return reel_error_create(REEL_ERROR_INVALID, "%s: not a pinned BPF map", path);
	if (fd < 0)
		return reel_error_os(-fd, "%s", path);
	TRY(check_request_map(path, fd));
	*fd_ret = fd;
	fd = -1;
	return NULL;
}
