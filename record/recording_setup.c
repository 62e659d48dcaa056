/* SPDX-License-Identifier: Apache-2.0 */
/* Opens everything before the first sample, in an order that loses nothing. */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quantity.h"
#include "bpf/settings.h"
#include "include/commands.h"
#include "record/options/cgroup_search.h"
#include "record/helper/family.h"
#include "record/host/helper_limits.h"
#include "record/host/kernel.h"
#include "record/host/privileges.h"
#include "record/probes/filter.h"
#include "record/probes/probe_values.h"
#include "record/probes/probes.h"
#include "record/recording_internal.h"
#include "record/turns.h"
#include "record/sampling/programs.h"

/*
 * Priority of the thread that empties the rings; the compressing thread keeps its own.  With -10,
 * it got half of a CPU that eight others want (kernel/sched/core.c, sched_prio_to_weight), and a
 * ring that fills within 20 ms overflowed; with -20 it gets nine tenths, if it needs them.
 */
#define PRIORITY (-20)

/*
 * The limit of -F max.  The kernel's limit is mostly 100,000: a timer each 10 us.  A stack of 64
 * KiB takes 7 us, one of 1 MiB 65 us, and the rest is left to the program.  At this limit, the
 * largest stack takes two thirds.
 */
#define FREQUENCY_MAX 10000u

/* The longest time until samples are put into the ring of --overwrite. */
#define FLUSH_RING (5 * REEL_NS_PER_SECOND)

/* Opening events for this many takes so long that a message is printed. */
#define MANY_THREADS 1000

/* Bytes of a ring, and of one for at most RARE_RATE samples per second on all CPUs: hardly any has
 * more than 64 KB. */
#define RING_SIZE      (16u << 20)
#define RING_SIZE_RARE (4u << 20)
#define RARE_RATE      100

/* Of --cpu-limit, what images of modules may take while sampling. */
#define IMAGES_SHARE 4

/* ---- events and targets --------------------------------------------------------------- */

static void say_frequency(struct recording *recording, uint64_t limit)
{
	char taken[REEL_COUNT_TEXT_SIZE], allowed[REEL_COUNT_TEXT_SIZE];

	recording_say(recording,
		      "-F max: taking %s samples per second and CPU (the kernel allows %s, which "
		      "can use a whole CPU; use -F HZ for more)",
		      reel_count_text(FREQUENCY_MAX, taken), reel_count_text(limit, allowed));
}

static struct reel_error *check_frequency(struct recording *recording, uint64_t *ret)
{
	const struct reel_options *options = recording->options;
	long value = reel_number_read("/proc/sys/kernel/perf_event_max_sample_rate", 0);
	uint64_t limit = value > 0 ? (uint64_t)value : 0;

	*ret = options->frequency_max ? limit : options->frequency;
	if (options->frequency_max && limit > FREQUENCY_MAX) {
		*ret = FREQUENCY_MAX;
		if (!options->quiet)
			say_frequency(recording, limit);
	}
	if (options->frequency_max && !limit)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"-F max: cannot read /proc/sys/kernel/perf_event_max_sample_rate");
	if (limit && *ret > limit)
		return reel_error_create(REEL_ERROR_INVALID,
					 "-F %llu exceeds this kernel's limit of %llu "
					 "(/proc/sys/kernel/perf_event_max_sample_rate)",
					 (unsigned long long)*ret, (unsigned long long)limit);
	return NULL;
}

static struct reel_error *resolve_event(struct recording *recording, const char *name,
					struct reel_sampler_event *ret)
{
	const struct reel_probe_targets targets = reel_options_probe_targets(recording->options);

	if (reel_probe_event_is(name)) {
		TRY(reel_probe_event_resolve(name, &targets, ret));
		if (ret->warning && !recording->options->quiet)
			recording_say(recording, "-e %s: %s", name, ret->warning);
		return NULL;
	}
	return reel_sampler_event_resolve(name, ret);
}

static struct reel_error *add_values(struct recording *recording)
{
	const struct reel_options *options = recording->options;

	for (size_t i = 0; i < options->n_values; i++) {
		const struct reel_option_value *value = &options->values[i];

		for (size_t event = 0; event < value->n_events; event++)
			TRY((value->is_filter ? reel_filter_set : reel_probe_value_add)(
				&recording->events[value->first_event + event], value->text));
	}
	return NULL;
}

/* Whether --max-rate applies to an event: to some also by default. */
static bool is_limited(const struct reel_options *options, const struct reel_sampler_event *event)
{
	if (event->probe || event->all_waits || (event->waker && options->all_waits))
		return true;
	return options->has_max_rate && reel_sampler_event_is_hit(event);
}

static struct reel_error *resolve_events(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	uint64_t frequency;

	/* Checked first, since looking events up takes time. */
	if (options->n_events > REEL_BPF_EVENTS_MAX)
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid number of events: %zu (expected 1 to %d)",
					 options->n_events, REEL_BPF_EVENTS_MAX);
	TRY(check_frequency(recording, &frequency));
	recording->events = calloc(options->n_events, sizeof(*recording->events));
	if (!recording->events)
		return reel_error_no_memory();
	for (size_t i = 0; i < options->n_events; i++) {
		struct reel_sampler_event *event = &recording->events[i];
		struct reel_error *error = resolve_event(recording, options->events[i], event);
		bool has_own = true;

		if (error)
			return reel_error_prefix(error, "-e %s", options->events[i]);
		if (event->off_cpu && options->all_waits) {
			error = reel_sampler_event_set_all_waits(event, options->min_block);
			if (error)
				return reel_error_prefix(error, "--off-cpu=all");
		}
		if (!event->frequency && !event->period) {
			event->frequency = event->off_cpu ? options->off_cpu_frequency : frequency;
			event->period = event->off_cpu ? 0 : options->period;
			has_own = false;
		}
		if (is_limited(options, event))
			event->max_rate = options->max_rate;
		/* Each of these events is a sample unless -c sets a period. */
		if (event->waker || (reel_sampler_event_is_hit(event) && frequency && !has_own)) {
			event->frequency = 0;
			event->period = 1;
		}
	}
	return add_values(recording);
}

/* Rare samples need no large ring. */
static uint64_t find_ring_size(const struct recording *recording)
{
	const struct reel_options *options = recording->options;
	uint64_t rate = 0;

	if (options->ring_size)
		return options->ring_size;
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &recording->events[i];

		rate += event->frequency && !event->off_cpu ? event->frequency : RARE_RATE + 1;
	}
	if (options->target_samples || rate * recording->target.cpus_online > RARE_RATE)
		return RING_SIZE;
	return RING_SIZE_RARE;
}

/* Called before anything is written: a wrong number must not rename the last recording's file. */
static struct reel_error *check_targets(const struct reel_options *options)
{
	for (size_t i = 0; i < options->n_pids; i++) {
		if (kill((pid_t)options->pids[i], 0) && errno == ESRCH)
			return reel_error_create(REEL_ERROR_NOT_FOUND, "-p %u: no such process",
						 options->pids[i]);
	}
	for (size_t i = 0; i < options->n_tids; i++) {
		if (kill((pid_t)options->tids[i], 0) && errno == ESRCH)
			return reel_error_create(REEL_ERROR_NOT_FOUND, "-t %u: no such thread",
						 options->tids[i]);
	}
	return NULL;
}

/* Whether a requested process is another user's. */
static bool targets_others(const struct reel_options *options)
{
	const struct reel_probe_targets targets = reel_options_probe_targets(options);
	char path[32];
	struct stat status;

	for (size_t i = 0; i < targets.n_pids; i++) {
		snprintf(path, sizeof(path), "/proc/%u", targets.pids[i]);
		if (!stat(path, &status) && status.st_uid != getuid())
			return true;
	}
	return options->system_wide || options->cgroup;
}

/* For a recorder with some capabilities (setcap), which records samples that nobody can unwind. */
static void say_unreadable(struct recording *recording)
{
	if (reel_privileges_reads_others() || !targets_others(recording->options))
		return;
	recording->unreadable =
		"without CAP_SYS_PTRACE, mappings of other users' processes cannot be "
		"read: their traces end with \"no mapping\"";
	if (!recording->options->quiet)
		recording_say(recording, "%s", recording->unreadable);
}

/* ---- existing processes --------------------------------------------------------------- */

/* Living children that are not recorded yet. */
static struct reel_error *find_children(struct recording *recording, uint32_t **ret, size_t *n_ret)
{
	*ret = NULL;
	*n_ret = 0;
	if (!reel_proc_is_ours())
		return NULL;
	return reel_family_children(recording->inspector, recording->pids, recording->n_pids, ret,
				    n_ret);
}

static struct reel_error *follow_process(struct recording *recording, uint32_t pid)
{
	_cleanup_free_ uint32_t *tids = NULL;
	size_t n = 0;

	if (reel_sampler_has_thread_events(recording->sampler))
		TRY(reel_family_threads(recording->inspector, pid, &tids, &n));
	if (n > MANY_THREADS && !recording->options->quiet)
		recording_say(recording,
			      "process %u: opening events for %zu threads; this may take a while",
			      pid, n);
	return reel_sampler_add_process(recording->sampler, pid, tids, n);
}

/*
 * Follows the requested processes and their existing children.  The kernel's side follows new
 * children from then on, so once a pass finds no new child, all are followed.
 */
static struct reel_error *follow_processes(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	size_t followed = 0, n = 0;

	for (;;) {
		_cleanup_free_ uint32_t *children = NULL;
		uint32_t *grown;

		for (; followed < recording->n_pids; followed++)
			TRY(follow_process(recording, recording->pids[followed]));
		TRY(find_children(recording, &children, &n));
		if (!n || !options->children)
			break;
		grown = reallocarray(recording->pids, recording->n_pids + n, sizeof(*grown));
		if (!grown)
			return reel_error_no_memory();
		memcpy(grown + recording->n_pids, children, n * sizeof(*grown));
		recording->pids = grown;
		recording->n_pids += n;
	}
	if (n && !options->quiet)
		recording_say(recording,
			      "-p: %zu existing child%s not recorded; use --children to "
			      "include %s",
			      n, n == 1 ? "" : "ren", n == 1 ? "it" : "them");
	return NULL;
}

static struct reel_error *prepare_command(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	const struct reel_command_options command = {
		.signals = recording->signals.old,
		.prints_to_stderr = !strcmp(options->output, "-"),
	};

	return reel_command_prepare(options->command, &command, &recording->command);
}

/* ---- opening -------------------------------------------------------------------------- */

/* Only a map that the user names must be usable. */
static struct reel_error *open_request_map(struct recording *recording, int *fd_ret)
{
	const struct reel_options *options = recording->options;
	const char *path = options->otel_map ? options->otel_map : REEL_REQUEST_MAP;
	char line[PATH_MAX + 64];
	struct reel_error *error;

	*fd_ret = -1;
	if (!strcmp(path, "none") || (!options->otel_map && access(path, F_OK)))
		return NULL;
	error = reel_request_map_open(path, fd_ret);
	if (error && options->otel_map)
		return reel_error_prefix(error, "--otel-map");
	if (error && !options->quiet)
		recording_say(recording, "no trace ids from %s", reel_error_message(error));
	reel_error_destroy(error);
	if (*fd_ret < 0)
		return NULL;
	snprintf(line, sizeof(line), "trace ids: also from %s", path);
	recording_note(recording, line);
	return NULL;
}

static struct reel_error *open_sampler(struct recording *recording)
{
	_cleanup_fd_ int request_map = -1;
	const struct reel_options *options = recording->options;
	struct reel_sampler_options sampler = {
		.events = recording->events,
		.n_events = options->n_events,
		.cpus = options->cpus,
		.n_cpus = options->n_cpus,
		.system_wide = options->system_wide && !recording->cgroup,
		.cgroup = recording->cgroup,
		.kernel_chain = options->kernel_chain,
		.frame_chain = options->frame_chain,
		.max_stack = (uint32_t)options->max_stack,
		.ring_size = recording->ring_size,
		.rings = (uint32_t)options->rings,
		.btf = options->btf,
		.sandboxed = !options->no_sandbox,
		.verbose = options->verbose,
		.log = recording_note,
		.log_context = recording,
	};

	TRY(open_request_map(recording, &request_map));
	sampler.request_map = request_map;
	return reel_sampler_open(&sampler, &recording->sampler);
}

static struct reel_error *write_record(void *context, const struct reel_record *record)
{
	return reel_output_record(((struct recording *)context)->output, record);
}

static struct reel_error *enter_writer(void)
{
	const struct reel_privileges none = { .roles = REEL_ROLE_WRITER };
	const char *lacks; /* the main thread finds the same */

	return reel_privileges_drop(&none, &lacks);
}

/* Without a place for it, nothing is published. */
static void open_status(struct recording *recording)
{
	bool is_service = reel_options_is_service(recording->options);
	struct reel_error *error = reel_status_file_open(
		(uint32_t)(is_service ? getppid() : getpid()), &recording->status);

	if (error)
		recording_note(recording, reel_error_message(error));
	reel_error_destroy(error);
}

static struct reel_error *drop_privileges(struct recording *recording)
{
	const struct reel_parts *parts = reel_output_parts(recording->output);
	const struct reel_privileges kept = {
		.roles = REEL_ROLE_MAIN,
		.command = recording->command.pid,
		.parts = parts ? reel_parts_place(parts) : NULL,
		.status = recording->status.place.folder >= 0 ? &recording->status.place : NULL,
	};
	const char *lacks;

	if (recording->options->no_sandbox)
		return NULL;
	TRY(reel_privileges_drop(&kept, &lacks));
	if (lacks && !recording->options->quiet)
		recording_say(recording, "%s", lacks);
	return NULL;
}

/* Larger blocks compress better, and those of a ring are lost with the recorder anyway. */
static uint64_t flush_interval(const struct reel_options *options)
{
	uint64_t share = options->overwrite_time / 16;
	uint64_t longest = share < FLUSH_RING ? share : FLUSH_RING;

	uint64_t usual = options->flush_interval ? options->flush_interval
						 : REEL_FLUSH_USUAL * REEL_NS_PER_MS;

	return longest > usual ? longest : usual;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Of a ring, what has to be stated anew may take half of a round. */
static uint64_t ring_share(const struct reel_options *options)
{
	return options->overwrite_size ? options->overwrite_size / 4 : UINT64_MAX;
}

static struct reel_error *open_output(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	struct reel_output_options output = {
		.path = options->output,
		.level = options->level,
		.flush_interval = flush_interval(options),
		.target = {
			.word_bits = recording->target.elf.word_bits,
			.big_endian = recording->target.elf.byte_order == REEL_BYTE_ORDER_BIG,
		},
		.recipients = &options->recipients,
		.rotate_time = options->rotate_time,
		.rotate_size = options->rotate_size,
		.parts = {
			.path = options->output,
			.keep = options->rotate_keep,
			.total = options->rotate_total,
			.min_free = options->min_free,
			.min_free_percent = options->min_free_percent,
			.takes_over = options->takeover >= 0,
		},
		.ring_time = options->overwrite_time,
		.ring_size = options->overwrite_size,
		.enter_writer = options->no_sandbox ? NULL : enter_writer,
	};
	return reel_output_open(&output, &recording->output);
}

static struct reel_error *begin_output(struct recording *recording)
{
	TRY(reel_output_begin(recording->output));
	return recording_write_head(recording);
}

static void say_threads(void *context, uint32_t pid, size_t n_threads)
{
	reel_progress_threads(&((struct recording *)context)->progress, pid, n_threads);
}

/* For the tracker. */
static void publish(void *context, uint32_t pid, const struct reel_bpf_publisher *publisher)
{
	struct recording *recording = context;

	if (!reel_sampler_set_publisher(recording->sampler, pid, publisher) &&
	    !recording->said_publishers) {
		recording->said_publishers = true;
		recording_say(recording,
			      "more than %d processes publish their requests, or run OCaml: "
			      "samples of the others have no request, or no stack of OCaml's",
			      REEL_PUBLISHERS_MAX);
	}
}

/* For the tracker. */
static void interpret(void *context, uint32_t pid, const struct reel_bpf_interpreter *interpreter)
{
	struct recording *recording = context;

	if (!reel_sampler_set_interpreter(recording->sampler, pid, interpreter) &&
	    !recording->said_interpreters) {
		recording->said_interpreters = true;
		recording_say(recording,
			      "more than %d processes run interpreters: samples of the others have "
			      "native frames only",
			      REEL_INTERPRETERS_MAX);
	}
}

static struct reel_error *open_tracker(struct recording *recording)
{
	const struct reel_tracker_options options = {
		.target = &recording->target,
		.modules = recording->modules,
		.inspector = recording->inspector,
		.budget = recording->budget,
		.sink = recording->sink,
		.memory = recording->options->memory_limit / RECORDING_MEMORY_SHARE,
		.everything = recording->options->system_wide && !recording->cgroup,
		.on_first_sample = recording->cgroup != NULL,
		.progress = say_threads,
		.progress_context = recording,
		.publish = publish,
		.interpret = recording->functions ? interpret : NULL,
		.callbacks = recording,
	};

	if (!reel_proc_is_ours())
		recording_note(recording, "/proc belongs to a different PID namespace: existing "
					  "processes are unknown");
	TRY(reel_tracker_create(&options, &recording->tracker));
	recording->stream.ring_users = (struct reel_ring_users){ .name = reel_tracker_name,
								 .context = recording->tracker };
	return NULL;
}

static struct reel_error *open_functions(struct recording *recording)
{
	const struct reel_function_table_options options = {
		.inspector = recording->inspector,
		.budget = recording->budget,
		.sink = recording->sink,
	};

	/* As for JIT code. */
	if (recording->options->no_interpreters || !reel_proc_is_ours())
		return NULL;
	return reel_function_table_create(&options, &recording->functions);
}

static struct reel_error *open_jit_names(struct recording *recording)
{
	const struct reel_jit_names_options options = {
		.inspector = recording->inspector,
		.budget = recording->budget,
		.modules = recording->modules,
		.sink = recording->sink,
		.memory = recording->options->memory_limit / RECORDING_MEMORY_SMALL,
	};

	return reel_jit_names_create(&options, &recording->jit_names);
}

/* For JIT code. */
static void watch(void *context, uint32_t pid, const uint32_t *number)
{
	(void)reel_sampler_watch(((struct recording *)context)->sampler, pid, number);
}

static void watch_page(void *context, uint32_t number, uint32_t place,
		       const struct reel_bpf_watched *page)
{
	reel_sampler_watch_page(((struct recording *)context)->sampler, number, place, page);
}

static struct reel_error *open_jit_code(struct recording *recording)
{
	struct reel_jit_code_options options = {
		.inspector = recording->inspector,
		.budget = recording->budget,
		.modules = recording->modules,
		.sink = recording->sink,
		.native = recording->target.elf,
		.limit = least(recording->options->jit_code, ring_share(recording->options)),
		.watch = watch,
		.watch_page = watch_page,
		.watch_context = recording,
	};

	/* Without our own /proc, the kernel's process numbers do not match /proc's. */
	if ((!options.limit && recording->options->no_jit_names) || !reel_proc_is_ours())
		return NULL;
	if (!recording->options->no_jit_names) {
		TRY(open_jit_names(recording));
		options.hit = reel_jit_names_hit;
		options.hit_context = recording->jit_names;
	}
	return reel_jit_code_create(&options, &recording->jit_code);
}

static struct reel_error *open_embedding(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	const struct reel_embedding_options embedding = {
		.asker = recording->image_asker,
		.modules = recording->modules,
		.sink = recording->sink,
		.native = recording->target.elf,
		.limit = least(options->embed_limit, ring_share(options)),
		.work_share = recording->cpu_limit / IMAGES_SHARE,
		.has_rounds = options->overwrite_time,
		.everything = options->embed == REEL_EMBED_MODULES,
		.no_symbols = options->no_symbols,
		.note = recording_note,
		.note_context = recording,
	};

	if (!recording->image_asker)
		return NULL;
	TRY(reel_embedding_create(&embedding, &recording->embedding));
	reel_module_table_give_files(recording->modules, reel_embedding_take_file,
				     recording->embedding);
	return NULL;
}

static bool wants_kernel_symbols(const struct recording *recording)
{
	bool has_chains = recording->options->kernel_chain;

	for (size_t i = 0; i < recording->options->n_events; i++)
		has_chains |= reel_sampler_event_is_in_kernel(&recording->events[i]);
	return recording->options->kallsyms == REEL_KALLSYMS_ALL ||
	       (has_chains && recording->options->kallsyms == REEL_KALLSYMS_NEEDED);
}

static struct reel_error *open_process_events(struct recording *recording)
{
	const struct reel_options *options = recording->options;

	return reel_process_events_open(
		&(struct reel_process_events_options){
			.build_ids = options->build_id_events,
			.kernel_symbols = wants_kernel_symbols(recording),
			.skips_unsampled = options->system_wide || recording->cgroup,
			.memory = options->memory_limit / RECORDING_MEMORY_SMALL,
			.note = recording_note,
			.handle = recording_process_event,
			.handle_details = recording_process_details,
			.context = recording,
		},
		&recording->process_events);
}

static void load_kernel_symbols(struct recording *recording)
{
	_cleanup_error_ struct reel_error *error = NULL;

	if (!wants_kernel_symbols(recording))
		return;
	error = reel_kernel_symbols_load(&recording->target, recording->modules,
					 recording->inspector,
					 recording->options->kallsyms == REEL_KALLSYMS_ALL,
					 &recording->sink, &recording->symbols);
	/* Continue with addresses only. */
	if (error)
		recording_say(recording, "%s", reel_error_message(error));
}

/* The kernel reports stopped events in the buffers of process events. */
static void redirect(struct recording *recording)
{
	size_t n;
	const struct reel_process_cpu *cpus =
		reel_process_events_cpus(recording->process_events, &n);

	for (size_t i = 0; i < n; i++)
		reel_sampler_redirect(recording->sampler, cpus[i].cpu, cpus[i].fd);
}

/* Called before the file is made, so that unsupported requests fail early. */
static struct reel_error *add_to_sampler(struct recording *recording)
{
	const struct reel_options *options = recording->options;

	if (options->n_pids) {
		recording->pids = calloc(options->n_pids, sizeof(*recording->pids));
		if (!recording->pids)
			return reel_error_no_memory();
		memcpy(recording->pids, options->pids, options->n_pids * sizeof(*recording->pids));
		recording->n_pids = options->n_pids;
		TRY(follow_processes(recording));
	}
	for (size_t i = 0; i < options->n_tids; i++)
		TRY(reel_sampler_add_thread(recording->sampler, options->tids[i]));
	if (options->command && !reel_options_has_target(options))
		TRY(reel_sampler_add_command(recording->sampler, (uint32_t)recording->command.pid));
	return NULL;
}

/* The events are already open, so /proc and new events overlap, and nothing is missed. */
static struct reel_error *add_to_tracker(struct recording *recording)
{
	const struct reel_options *options = recording->options;

	if (recording->options->system_wide || recording->cgroup)
		return reel_tracker_add_all(recording->tracker);
	for (size_t i = 0; i < recording->n_pids; i++) {
		if (kill((pid_t)recording->pids[i], 0) && errno == ESRCH) {
			/* Not of children, which nobody named. */
			if (i < options->n_pids)
				recording_say(recording, "-p %u: ended before the recording began",
					      recording->pids[i]);
			continue;
		}
		TRY(reel_tracker_add_process(recording->tracker, recording->pids[i]));
	}
	for (size_t i = 0; i < options->n_tids; i++)
		TRY(reel_tracker_add_thread(recording->tracker, options->tids[i]));
	if (options->command && !reel_options_has_target(options))
		TRY(reel_tracker_add_command(recording->tracker, (uint32_t)recording->command.pid));
	return NULL;
}

/*
 * Data in the rings is lost unless it is drained in time, and on a busy host the recorder is one of
 * many. Raises this thread only; without permission, the priority stays.
 */
static void raise_priority(struct recording *recording)
{
	if (setpriority(PRIO_PROCESS, 0, PRIORITY))
		recording_note(recording, "cannot raise the priority (CAP_SYS_NICE missing)");
}

static struct reel_error *find_target(struct recording *recording)
{
	struct reel_target *target = &recording->target;

	TRY(reel_target_find(target));
	if (target->compat_machine && !target->compat_vdso)
		recording_note(recording, "cannot start and inspect a 32-bit program: functions in "
					  "32-bit vDSOs will have no names");
	return NULL;
}

struct reel_error *recording_open(struct recording *recording)
{
	const struct reel_options *options = recording->options;

	TRY(check_targets(options));
	/* Fork while there is little memory to copy. */
	reel_helper_limits_data(options->memory_limit / RECORDING_MEMORY_SMALL * 3);
	TRY(reel_budget_create(options->side_limit, &recording->budget));
	TRY(reel_inspector_create(recording->budget, !options->no_sandbox, recording_note,
				  recording, &recording->inspector));
	if (options->embed != REEL_EMBED_NONE)
		TRY(reel_image_asker_create(!options->no_sandbox, &recording->image_asker));
	reel_helper_limits_data(0);
	if (options->java_perfmap)
		TRY(reel_java_asker_create(&recording->java_asker));
	if (options->cgroup)
		TRY(reel_cgroup_search(options->cgroup, recording->inspector, &recording->cgroup));
	TRY(find_target(recording));
	recording->cpu_limit =
		(double)options->cpu_limit / 1e6 * (double)recording->target.cpus_online;
	TRY(resolve_events(recording));
	recording->ring_size = find_ring_size(recording);
	/* Opening a FIFO may wait for its reader: signals still end the recorder. */
	TRY(open_output(recording));
	say_unreadable(recording);
	TRY(recording_block_signals(recording));
	if (options->command)
		TRY(prepare_command(recording));
	/* Watch before the CPUs are listed. */
	TRY(reel_cpu_watch_create(&recording->cpu_watch));
	TRY(open_sampler(recording));
	TRY(open_process_events(recording));
	TRY(add_to_sampler(recording));
	if (options->cpu_limit && !reel_sampler_measure(recording->sampler))
		recording_say(recording,
			      "--cpu-limit: this kernel does not measure BPF programs, so "
			      "their time is not in the limit");
	TRY(reel_losses_create(&recording->losses));
	TRY(reel_module_table_create(recording->inspector, &recording->modules));
	redirect(recording);
	recording->sink = (struct reel_record_sink){ write_record, recording };
	recording->translator.page_size = recording->target.page_size;
	recording->stream.cut = UINT64_MAX;
	recording->backlog.stack_limit = (uint32_t)options->max_stack;
	load_kernel_symbols(recording);
	TRY(open_functions(recording));
	TRY(open_tracker(recording));
	reel_budget_set_users(recording->budget, reel_tracker_user, recording->tracker);
	TRY(open_jit_code(recording));
	TRY(open_embedding(recording));
	if (!recording->options->raw_stacks)
		TRY(reel_scrubber_create(&recording->target.elf, &recording->scrubber));
	TRY(recording_begin_memory(recording));
	TRY(begin_output(recording));
	/* The writing thread keeps the previous priority. */
	raise_priority(recording);
	if (recording->symbols)
		TRY(reel_kernel_symbols_restart(recording->symbols));
	if (options->n_triggers)
		TRY(reel_triggers_create(options->triggers, options->n_triggers,
					 &recording->triggers));
	open_status(recording);
	TRY(drop_privileges(recording));
	TRY(add_to_tracker(recording));
	/* Makes the file valid, however soon the recording ends. */
	return recording_flush(recording);
}

void recording_close(struct recording *recording)
{
	/* It ends what the sampler watches for it. */
	reel_jit_code_destroy(recording->jit_code);
	reel_sampler_close(recording->sampler);
	reel_process_events_close(recording->process_events);
	reel_output_close(recording->output);
	reel_status_file_close(&recording->status);
	reel_scrubber_destroy(recording->scrubber);
	reel_function_table_destroy(recording->functions);
	reel_embedding_destroy(recording->embedding);
	reel_image_asker_destroy(recording->image_asker);
	reel_java_asker_destroy(recording->java_asker);
	reel_jit_names_destroy(recording->jit_names);
	reel_triggers_destroy(recording->triggers);
	reel_tracker_destroy(recording->tracker);
	reel_kernel_symbols_destroy(recording->symbols);
	reel_module_table_destroy(recording->modules);
	reel_inspector_destroy(recording->inspector);
	reel_budget_destroy(recording->budget);
	reel_sample_translator_free(&recording->translator);
	reel_target_free(&recording->target);
	reel_losses_destroy(recording->losses);
	reel_cpu_watch_destroy(recording->cpu_watch);
	reel_cpus_destroy(&recording->unwatched);
	reel_buffer_free(&recording->stream.deferred);
	reel_held_samples_free(&recording->stream.held);
	for (size_t i = 0; i < recording->options->n_events && recording->events; i++)
		reel_sampler_event_free(&recording->events[i]);
	free(recording->events);
	free(recording->last_trigger.file);
	free(recording->cgroup);
	free(recording->pids);
	if (recording->signals.fd >= 0)
		close(recording->signals.fd);
}
