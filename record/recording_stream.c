/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the kernel into the file.  A sample is placed by the process events up to its time: these
 * are applied in order of time, and before each sample, all that are not later.  A sample's events
 * were in perf's buffers before the sample was taken (a mapping's event is written before mmap
 * returns, a fork's before the child runs), so it is enough to take those buffers after the sample
 * was seen, on whatever CPU the event was.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/recording_internal.h"
#include "record/sampling/scanner.h"

/* How long a sample may take from its time stamp until it can be read, on a busy host. */
#define SAMPLE_DELAY (2 * REEL_NS_PER_MS)

/* How long the images may take at the end of a file; for one of several parts, a tenth of the time
 * that the part took. */
#define EMBED_MAX   (5 * REEL_NS_PER_SECOND)
#define EMBED_MIN   (250 * REEL_NS_PER_MS)
#define EMBED_SHARE 10
/* The same for a part that is ending when a signal stops the recording. */
#define EMBED_STOPPED REEL_NS_PER_SECOND

/* How long each kind of names is read before the rings and signals are looked at again, when a part
 * ends, and in the end. */
#define NAMES_TURN (10 * REEL_NS_PER_MS)
#define NAMES_PART (100 * REEL_NS_PER_MS)
#define NAMES_END  REEL_NS_PER_SECOND

/* ---- the head of a file ------------------------------------------------------------- */

static struct reel_error *write_record(struct recording *recording,
				       const struct reel_record *record)
{
	return recording->sink.put(recording->sink.context, record);
}

/* "prev_comm,,next_pid", without commas at the end.  Each comma has the room of a NUL. */
static struct reel_bytes value_names_of(const struct reel_sampler_event *event,
					char text[sizeof(event->value_names)])
{
	size_t size = 0, used = 0;

	for (size_t i = 0; i < REEL_BPF_VALUES_MAX; i++) {
		size_t length = strlen(event->value_names[i]);

		memcpy(text + size, event->value_names[i], length);
		size += length;
		if (length)
			used = size;
		text[size++] = ',';
	}
	return (struct reel_bytes){ (const uint8_t *)text, used };
}

/* Why data is missing. */
static struct reel_error *write_note(struct recording *recording, uint64_t time, const char *text)
{
	struct reel_record record = {
		.id = REEL_RECORD_MARK,
		.mark = { time, REEL_MARK_NOTE, reel_bytes_of_string(text) },
	};

	return write_record(recording, &record);
}

struct reel_error *recording_write_head(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	const struct reel_target *target = &recording->target;
	struct reel_record record = { .id = REEL_RECORD_CAPTURE };

	record.capture = (struct reel_record_capture){
		.start_time = reel_now(),
		.start_wall_time = reel_clock_now(CLOCK_REALTIME),
		.clock = CLOCK_MONOTONIC,
		.machine = target->elf.machine,
		.word_bits = target->elf.word_bits,
		.byte_order = target->elf.byte_order,
		.page_size = target->page_size,
		.cpus_possible = target->cpus_possible,
		.cpus_online = target->cpus_online,
		.max_stack = options->max_stack,
		.ring_size = recording->ring_size,
		.rings = options->rings,
		.part = reel_output_part(recording->output),
		.recording = { reel_output_recording_id(recording->output), REEL_FILE_ID_SIZE },
		.hostname = reel_bytes_of_string(target->hostname),
		.kernel_release = reel_bytes_of_string(target->kernel_release),
		.kernel_version = reel_bytes_of_string(target->kernel_version),
		.kernel_build_id = reel_build_id_bytes(&target->kernel_build_id),
		.tool_version = reel_bytes_of_string("stackreel-record " REEL_VERSION_STRING),
		.command_line = { (const uint8_t *)options->command_line,
				  options->command_line_size > REEL_TEXT_MAX
					  ? REEL_TEXT_MAX
					  : options->command_line_size },
	};
	recording->stream.part_begin = record.capture.start_time;
	TRY(write_record(recording, &record));
	for (size_t i = 0; i < options->n_events; i++) {
		const struct reel_sampler_event *event = &recording->events[i];

		char value_names[sizeof(event->value_names)];

		record = (struct reel_record){ .id = REEL_RECORD_EVENT };
		record.event = (struct reel_record_event){
			.id = i,
			.perf_type = event->type,
			.perf_config = event->config,
			.waits = event->waits,
			.frequency = event->frequency,
			.period = event->frequency ? 0 : event->period,
			.weight_unit =
				event->weight_is_time ? REEL_WEIGHT_NANOSECONDS : REEL_WEIGHT_COUNT,
			.name = reel_bytes_of_string(event->name),
			.value_names = value_names_of(event, value_names),
		};
		TRY(write_record(recording, &record));
	}
	if (recording->unreadable)
		TRY(write_note(recording, recording->stream.part_begin, recording->unreadable));
	TRY(recording_mark_clock(recording));
	/* The ring has the head in its own block. */
	return options->overwrite_time ? reel_output_flush(recording->output) : NULL;
}

/* ---- process events ----------------------------------------------------------------- */

struct reel_error *recording_process_event(void *context, const struct reel_process_event *event)
{
	struct recording *recording = context;

	if (event->kind != REEL_PROCESS_KERNEL_SYMBOL)
		return reel_tracker_event(recording->tracker, event);
	return recording->symbols ? reel_kernel_symbols_event(recording->symbols, event) : NULL;
}

struct reel_error *recording_process_details(void *context, const struct reel_bpf_process *details)
{
	return reel_tracker_process(((struct recording *)context)->tracker, details);
}

/* Takes process events if some may be missing up to `time`; *ret: up to when they are complete. */
static struct reel_error *take_until(struct recording *recording, uint64_t time, uint64_t *ret)
{
	if (time > recording->stream.taken) {
		uint64_t now = reel_now();

		TRY(reel_process_events_read(recording->process_events));
		/* A later event may be here already, while an earlier one from another CPU is
		 * not. */
		recording->stream.taken = now;
	}
	*ret = time < recording->stream.taken ? time : recording->stream.taken;
	return NULL;
}

/* Applies process events up to `time`. */
static struct reel_error *apply_until(struct recording *recording, uint64_t time)
{
	TRY(take_until(recording, time, &time));
	return reel_process_events_apply(recording->process_events, time);
}

/* The same, but events of programs that begin within them wait: a sample from another ring may
 * follow. */
static struct reel_error *advance_until(struct recording *recording, uint64_t time)
{
	TRY(take_until(recording, time, &time));
	return reel_process_events_advance(recording->process_events, time);
}

static struct reel_error *count_lost_events(struct recording *recording)
{
	size_t count;
	const struct reel_process_cpu *cpus =
		reel_process_events_cpus(recording->process_events, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += cpus[i].lost;
		TRY(reel_losses_set(recording->losses, recording->process_events, cpus[i].cpu,
				    REEL_LOSS_THROTTLED, cpus[i].throttled));
		TRY(reel_losses_set(recording->losses, recording->process_events, cpus[i].cpu,
				    REEL_LOSS_PROCESS_EVENTS, cpus[i].lost));
	}
	if (sum == recording->stream.lost_events)
		return NULL;
	recording->stream.lost_events = sum;
	recording_note(recording, "process events lost: reading /proc instead");
	reel_tracker_resync(recording->tracker);
	return NULL;
}

/* ---- samples ------------------------------------------------------------------------ */

/* Deferred samples and events, one after another: size, then the bytes as in the ring. */
static struct reel_error *defer(struct recording *recording, const void *bytes, size_t size)
{
	static const uint8_t padding[8];

	reel_buffer_u64(&recording->stream.deferred, size);
	reel_buffer_append(&recording->stream.deferred, bytes, size);
	reel_buffer_append(&recording->stream.deferred, padding, -size & 7);
	return recording->stream.deferred.failed ? reel_error_no_memory() : NULL;
}

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* A sample that does not fit into the file counts as lost. */
static struct reel_error *refuse(struct recording *recording, uint32_t cpu,
				 struct reel_error *error)
{
	if (error && !recording->stream.said_refused) {
		recording->stream.said_refused = true;
		recording_note(recording, reel_error_message(error));
	}
	reel_error_destroy(error);
	return reel_losses_add(recording->losses, cpu, REEL_LOSS_RECORDER, 1);
}

/* Whether a stack was cut below the requested limit because the file is slow. */
static bool is_cut_short(const struct recording *recording, const struct reel_bpf_sample *sample)
{
	uint32_t root;

	if (!recording_limited_at(recording, sample->time))
		return false;
	root = sample->flags & REEL_BPF_ROOT_PART ? sample->regions[REEL_BPF_ROOT].size : 0;

	for (uint32_t i = 0; i < sample->n_regions; i++) {
		if (sample->regions[i].size + root >= recording->options->max_stack)
			return false;
	}
	return true;
}

static struct reel_error *append_sample(struct recording *recording, struct reel_sample *sample,
					const char *comm)
{
	struct reel_error *error;

	sample->id = recording->stream.last_sample + 1;
	error = reel_output_sample(recording->output, sample);
	if (error && reel_error_code(error) == REEL_ERROR_INVALID)
		return refuse(recording, (uint32_t)sample->cpu, error);
	recording->stream.last_sample++;
	if (!error && recording->triggers)
		reel_triggers_sample(recording->triggers, sample->event, sample->weight,
				     sample->time, comm);
	return error;
}

/* The lock is the first label, if there is one. */
static struct reel_lock lock_of(const struct reel_sample *sample, uint32_t owner)
{
	bool has_lock = sample->n_labels && sample->labels[0].key == REEL_LABEL_LOCK;

	return (struct reel_lock){ has_lock ? sample->labels[0].number : 0, owner };
}

/* A wait that is over; after a wakeup it goes on as another sample, until the thread got a CPU. */
static struct reel_error *append_whole_wait(struct recording *recording,
					    const struct reel_bpf_sample *from,
					    struct reel_sample *sample, const char *comm)
{
	struct reel_held_samples *held = &recording->stream.held;
	const struct reel_sample *woken = reel_held_samples_find(held, from->tid);
	const struct reel_waker *found = reel_held_samples_waker(held, from->tid);
	/* A copy: labels borrow its name. */
	const struct reel_waker waker = found ? *found : (struct reel_waker){ 0 };
	uint64_t began = from->time - from->weight - from->woken_weight;
	struct reel_lock lock = lock_of(sample, from->lock_owner);

	/* The waker of a wait whose sample was lost is still there. */
	if (found && woken->time >= began)
		reel_sample_labels_set_wait(&recording->labels, recording->tracker, from->pid, lock,
					    &waker, sample);
	reel_held_samples_remove(held, from->tid);
	sample->time = from->time - from->woken_weight;
	if (from->weight)
		TRY(append_sample(recording, sample, comm));
	if (!from->woken_weight)
		return NULL;
	sample->time = from->time;
	sample->weight = from->woken_weight;
	sample->flags = (sample->flags & ~(uint64_t)REEL_SAMPLE_STATE) |
			(uint64_t)REEL_BPF_WOKEN << REEL_SAMPLE_STATE_SHIFT;
	return append_sample(recording, sample, comm);
}

/* A scan's sample of a thread that sleeps. */
static bool is_wait(const struct recording *recording, const struct reel_sample *sample)
{
	return sample->event < recording->options->n_events &&
	       recording->events[sample->event].off_cpu &&
	       (sample->flags & REEL_SAMPLE_STATE) >> REEL_SAMPLE_STATE_SHIFT == REEL_BPF_BLOCKED;
}

static struct reel_error *write_sample(struct recording *recording,
				       const struct reel_sampler_parts *parts)
{
	struct reel_sample *sample = reel_sample_translate(&recording->translator, parts);
	struct reel_tracker_place place = { 0 };
	struct reel_waker waker;
	bool early;

	if (!sample)
		return refuse(recording, parts->sample->cpu, NULL);
	TRY(reel_tracker_place(recording->tracker, parts->sample, &place));
	sample->thread = place.thread;
	if (parts->sample->flags & REEL_BPF_LOCK)
		reel_sample_labels_set_wait(
			&recording->labels, recording->tracker, parts->sample->pid,
			(struct reel_lock){ parts->sample->lock, parts->sample->lock_owner }, NULL,
			sample);
	if (parts->values && sample->event < recording->options->n_events)
		reel_sample_labels_set_values(&recording->labels,
					      recording->events[sample->event].values,
					      parts->values, sample);
	if (parts->sample->flags & REEL_BPF_HAS_REQUEST)
		reel_sample_labels_set_request(&recording->labels, &parts->sample->request, sample);
	if (place.service)
		reel_sample_labels_set_service(&recording->labels, place.service, sample);
	if (recording->functions && parts->sample->n_frames)
		TRY(reel_function_table_set_frames(
			recording->functions, &place.space, parts->sample->interpreter,
			parts->frames, parts->sample->n_frames,
			parts->sample->flags & REEL_BPF_FRAMES_CUT, sample));
	if (recording->symbols && sample->n_kernel_chain)
		TRY(reel_kernel_symbols_write(recording->symbols, sample->kernel_chain,
					      sample->n_kernel_chain));
	/* Raw values reach no more than the ring buffer and the recorder's memory. */
	if (recording->scrubber)
		TRY(reel_scrub_sample(recording->scrubber, &place.space, sample));
	if (recording->jit_code)
		TRY(reel_jit_code_scan(recording->jit_code, &place.space, sample,
				       parts->sample->flags & REEL_BPF_CODE_CHECKED));
	if (recording->embedding)
		TRY(reel_embedding_note(recording->embedding, &place.space, sample));
	if (parts->sample->flags & REEL_BPF_STACK_CUT && is_cut_short(recording, parts->sample))
		recording->backlog.n_cut++;
	if (parts->sample->flags & REEL_BPF_WAIT_WHOLE)
		return append_whole_wait(recording, parts->sample, sample, place.comm);
	early = is_wait(recording, sample) &&
		reel_held_samples_remove_early(&recording->stream.held, parts->sample->tid,
					       parts->sample->time, &waker);
	if (parts->sample->flags & REEL_BPF_WAIT_BEGINS) {
		if (reel_held_samples_put(&recording->stream.held, parts->sample->tid, sample)) {
			if (early)
				reel_held_samples_set_waker(&recording->stream.held,
							    parts->sample->tid, parts->sample->time,
							    &waker);
			return NULL;
		}
		sample->weight =
			reel_sampler_forget_wait(recording->sampler, parts->sample->kernel_tid);
	}
	if (early)
		reel_sample_labels_set_wait(
			&recording->labels, recording->tracker, parts->sample->pid,
			lock_of(sample, parts->sample->lock_owner), &waker, sample);
	return append_sample(recording, sample, place.comm);
}

static void name_waker(const struct reel_bpf_sample *from, char *ret, size_t size)
{
	/* include/linux/interrupt.h; as in /proc/softirqs. */
	static const char *const soft[] = { "hi",	"timer",   "net_tx", "net_rx",	"block",
					    "irq_poll", "tasklet", "sched",  "hrtimer", "rcu" };
	int length = (int)strnlen(from->comm, sizeof(from->comm) - 1);

	if (!(from->flags & REEL_BPF_INTERRUPT))
		snprintf(ret, size, "%.*s", length, from->comm);
	else if (length)
		snprintf(ret, size, "[interrupt: %.*s]", length, from->comm);
	else if (from->soft_interrupt - 1 < sizeof(soft) / sizeof(soft[0]))
		snprintf(ret, size, "[softirq: %s]", soft[from->soft_interrupt - 1]);
	else
		snprintf(ret, size, "[interrupt]");
}

/* The end of a wait whose sample is held: the waker's sample is written if it has one. */
static struct reel_error *write_waker(struct recording *recording,
				      const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *from = parts->sample;
	struct reel_waker waker = { .tid = from->flags & REEL_BPF_INTERRUPT ? 0 : from->tid };
	uint64_t last = recording->stream.last_sample;

	name_waker(from, waker.name, sizeof(waker.name));
	if (from->flags & REEL_BPF_WAKER_SAMPLED) {
		TRY(write_sample(recording, parts));
		if (recording->stream.last_sample != last)
			waker.sample = recording->stream.last_sample;
	}
	/* The sample of an exact wait comes later. */
	if (recording->options->all_waits)
		reel_held_samples_put(&recording->stream.held, from->woken_tid,
				      &(struct reel_sample){ .time = from->time });
	reel_held_samples_set_waker(&recording->stream.held, from->woken_tid, from->time, &waker);
	return NULL;
}

/* A sample, of a wait that took `waiting` ns. */
static struct reel_error *drop(struct recording *recording, uint32_t cpu, uint64_t waiting)
{
	TRY(reel_losses_add(recording->losses, cpu, REEL_LOSS_RECORDER, 1));
	return waiting ? reel_losses_add(recording->losses, cpu, REEL_LOSS_WAITING, waiting) : NULL;
}

static struct reel_error *handle_sample(void *context, const struct reel_sampler_parts *parts)
{
	struct recording *recording = context;

	if (parts->sample->time > recording->stream.cut)
		return defer(recording, parts->sample, parts->size);
	TRY(advance_until(recording, parts->sample->time));
	TRY(reel_process_events_sampled(recording->process_events, parts->sample->pid));
	if (recording_drops(recording))
		TRY(drop(recording, parts->sample->cpu,
			 parts->sample->flags & REEL_BPF_WAIT_WHOLE
				 ? parts->sample->weight + parts->sample->woken_weight
				 : 0));
	else if (parts->sample->flags & REEL_BPF_WAKER)
		TRY(write_waker(recording, parts));
	else
		TRY(write_sample(recording, parts));
	reel_ring_users_add(&recording->stream.ring_users, parts->sample->pid, parts->size);
	recording_relieve(recording);
	if (reel_now() >= reel_output_flush_time(recording->output))
		TRY(recording_flush(recording));
	return NULL;
}

static struct reel_error *append_wait(struct recording *recording, struct reel_sample sample,
				      const struct reel_bpf_wait *wait)
{
	const struct reel_waker *waker =
		wait->is_over ? reel_held_samples_waker(&recording->stream.held, wait->tid) : NULL;
	/* The lock may have another owner by now. */
	struct reel_lock lock = lock_of(&sample, wait->lock_owner);

	if (lock.address || waker)
		reel_sample_labels_set_wait(&recording->labels, recording->tracker, wait->pid, lock,
					    waker, &sample);
	return append_sample(recording, &sample, "");
}

/* Writes the thread's held sample with the weight of a part of its wait. */
static struct reel_error *handle_wait(void *context, const struct reel_bpf_wait *wait)
{
	struct recording *recording = context;
	struct reel_sample *sample = reel_held_samples_find(&recording->stream.held, wait->tid);

	if (wait->time > recording->stream.cut)
		return defer(recording, wait, sizeof(*wait));
	/* Without it, it counts as lost already. */
	if (!sample)
		return NULL;
	sample->time = wait->time;
	sample->cpu = wait->cpu;
	sample->weight = wait->weight;
	sample->flags = (sample->flags & ~(uint64_t)REEL_SAMPLE_STATE) |
			(uint64_t)(wait->state & 3) << REEL_SAMPLE_STATE_SHIFT;
	if (recording_drops(recording))
		TRY(drop(recording, wait->cpu, wait->weight));
	else if (wait->weight)
		TRY(append_wait(recording, *sample, wait));
	if (wait->is_over)
		reel_held_samples_remove(&recording->stream.held, wait->tid);
	if (reel_now() >= reel_output_flush_time(recording->output))
		TRY(recording_flush(recording));
	return NULL;
}

static struct reel_error *handle_process(void *context, const struct reel_bpf_process *process)
{
	struct recording *recording = context;

	if (process->time > recording->stream.cut)
		return defer(recording, process, sizeof(*process));
	if (process->is_exec) {
		TRY(advance_until(recording, process->time));
		return reel_process_events_details(recording->process_events, process);
	}
	/* A fork's event uses the information stored here. */
	TRY(reel_process_events_details(recording->process_events, process));
	return advance_until(recording, process->time);
}

/* Files have the paths that their samples need, so this has no time. */
static struct reel_error *handle_cgroup(void *context, const struct reel_bpf_cgroup *cgroup)
{
	return reel_tracker_cgroup(((struct recording *)context)->tracker, cgroup);
}

/* A later file reads code anew. */
static struct reel_error *handle_code(void *context, const struct reel_bpf_code *code)
{
	struct recording *recording = context;

	if (code->time > recording->stream.cut || !recording->jit_code)
		return NULL;
	TRY(advance_until(recording, code->time));
	return reel_jit_code_seen(recording->jit_code, code);
}

static const struct reel_sampler_handler *handler(struct recording *recording,
						  struct reel_sampler_handler *ret)
{
	*ret = (struct reel_sampler_handler){
		.sample = handle_sample,
		.process = handle_process,
		.wait = handle_wait,
		.cgroup = handle_cgroup,
		.code = handle_code,
		.context = recording,
	};
	return ret;
}

/* Handles the samples and events deferred while a part ended. */
static struct reel_error *replay_deferred(struct recording *recording)
{
	_cleanup_buffer_ struct reel_buffer deferred = recording->stream.deferred;

	recording->stream.deferred = (struct reel_buffer){ 0 };
	for (size_t at = 0; at < deferred.size;) {
		size_t size = (size_t)reel_load64(deferred.bytes + at);
		const uint8_t *bytes = deferred.bytes + at + 8;
		struct reel_sampler_parts parts = { .sample = (const void *)bytes };

		at += 8 + padded(size);
		if (parts.sample->kind == REEL_BPF_PROCESS) {
			TRY(handle_process(recording, (const void *)bytes));
			continue;
		}
		if (parts.sample->kind == REEL_BPF_WAIT) {
			TRY(handle_wait(recording, (const void *)bytes));
			continue;
		}
		if (!reel_sampler_parts_parse(parts.sample, size, &parts))
			continue; /* it was whole when it was deferred */
		TRY(handle_sample(recording, &parts));
	}
	return NULL;
}

/* ---- losses ------------------------------------------------------------------------- */

static struct reel_error *count_losses(struct recording *recording)
{
	const struct reel_bpf_counts *counts;
	size_t n_cpus = 0;

	TRY(reel_sampler_counts(recording->sampler, &counts, &n_cpus));
	TRY(reel_losses_set(recording->losses, recording->sampler, UINT32_MAX, REEL_LOSS_MISSED,
			    reel_sampler_missed(recording->sampler)));
	TRY(reel_losses_set(recording->losses, recording->tracker, UINT32_MAX, REEL_LOSS_LEFT_OUT,
			    reel_tracker_left_out(recording->tracker)));
	TRY(reel_losses_set(recording->losses, recording->inspector, UINT32_MAX, REEL_LOSS_LEFT_OUT,
			    reel_inspector_left_out(recording->inspector)));
	TRY(reel_losses_set(recording->losses, recording->output, UINT32_MAX, REEL_LOSS_RECORDER,
			    reel_output_counts(recording->output).lost));
	if (recording->jit_code)
		TRY(reel_losses_set(recording->losses, recording->jit_code, UINT32_MAX,
				    REEL_LOSS_CODE, reel_jit_code_left_out(recording->jit_code)));
	if (recording->embedding)
		TRY(reel_losses_set(recording->losses, recording->embedding, UINT32_MAX,
				    REEL_LOSS_IMAGES,
				    reel_embedding_counts(recording->embedding).left_out));
	if (recording->functions)
		TRY(reel_losses_set(recording->losses, recording->functions, UINT32_MAX,
				    REEL_LOSS_JIT,
				    reel_function_table_left_out(recording->functions)));
	if (recording->jit_names)
		TRY(reel_losses_set(recording->losses, recording->jit_names, UINT32_MAX,
				    REEL_LOSS_JIT, reel_jit_names_left_out(recording->jit_names)));
	recording->stream.above_rate = 0;
	for (size_t i = 0; i < n_cpus; i++)
		recording->stream.above_rate += counts[i].above_rate;
	for (size_t i = 0; i < n_cpus; i++) {
		const struct {
			enum reel_loss cause;
			uint64_t count;
		} causes[] = {
			{ REEL_LOSS_RING_FULL, counts[i].ring_full },
			{ REEL_LOSS_RING_BUSY, counts[i].ring_busy },
			{ REEL_LOSS_COPY_FAILED, counts[i].copy_failed },
			{ REEL_LOSS_STACK_CUT, counts[i].stack_cut },
			{ REEL_LOSS_MISSED, counts[i].above_rate + counts[i].waits_missed },
			{ REEL_LOSS_WAITING, counts[i].waiting },
			{ REEL_LOSS_PROCESS_EVENTS,
			  counts[i].process_lost + counts[i].not_followed },
		};

		for (size_t j = 0; j < sizeof(causes) / sizeof(*causes); j++)
			TRY(reel_losses_set(recording->losses, recording->sampler, (uint32_t)i,
					    causes[j].cause, causes[j].count));
	}
	return NULL;
}

/* ---- names -------------------------------------------------------------------------- */

/* How much is read, the processes choose: how long, the time until the rings and signals wait for
 * this, and the budget. */
static void begin_names(struct recording *recording)
{
	recording->stream.names_until =
		reel_now() + (recording->end.asked		    ? NAMES_END
			      : recording->stream.cut != UINT64_MAX ? NAMES_PART
								    : NAMES_TURN);
}

/* Another signal ends the last reads. */
static bool may_read_names(struct recording *recording)
{
	if (recording->end.asked)
		recording_read_signals(recording);
	if (reel_now() < recording->stream.names_until && !recording->end.hurries)
		return true;
	recording->stream.has_more = true;
	return false;
}

/* Events during the read decide whether the code is still the sampled code.  `is_last`: the file
 * ends. */
static struct reel_error *read_code(struct recording *recording, bool is_last)
{
	begin_names(recording);
	while (recording->jit_code && may_read_names(recording) &&
	       reel_jit_code_read(recording->jit_code, is_last)) {
		TRY(apply_until(recording, reel_now()));
		TRY(reel_jit_code_write(recording->jit_code));
	}
	return recording->jit_code && is_last ? reel_jit_code_end(recording->jit_code) : NULL;
}

static struct reel_error *read_names(struct recording *recording)
{
	struct reel_jit_names *names = recording->jit_names;

	begin_names(recording);
	while (names && may_read_names(recording) && reel_jit_names_read(names, false)) {
		TRY(apply_until(recording, reel_now()));
		reel_jit_names_apply(names);
	}
	return names ? reel_jit_names_write(names) : NULL;
}

/* The file ends: samples that arrive meanwhile are later than the cut, or there are none. */
static struct reel_error *read_last_names(struct recording *recording)
{
	struct reel_jit_names *names = recording->jit_names;
	struct reel_sampler_handler functions;

	while (names && !recording->end.hurries && reel_jit_names_read(names, true)) {
		TRY(reel_sampler_drain(recording->sampler, handler(recording, &functions)));
		TRY(apply_until(recording, reel_now()));
		reel_jit_names_apply(names);
		if (recording->end.asked)
			recording_read_signals(recording);
	}
	return names ? reel_jit_names_write(names) : NULL;
}

/* For reel_function_table_read. */
static struct reel_runtime_place interpreter_of(void *context, uint32_t pid)
{
	return reel_tracker_interpreter(((struct recording *)context)->tracker, pid);
}

/* Names of functions of interpreters. */
static struct reel_error *read_functions(struct recording *recording)
{
	bool read = recording->functions;

	begin_names(recording);
	while (read && may_read_names(recording))
		TRY(reel_function_table_read(recording->functions, interpreter_of, recording,
					     &read));
	return NULL;
}

/* For reel_java_asker_wait. */
static void not_asked(void *context, uint32_t pid, const char *why)
{
	struct recording *recording = context;

	if (!recording->options->quiet)
		recording_say(recording, "--java-perfmap: process %u: %s", pid, why);
}

/* For reel_jit_names_visit. */
static void ask_jvm(void *context, uint32_t pid)
{
	struct recording *recording = context;
	const char *why = reel_java_asker_ask(recording->java_asker, pid);

	if (why)
		not_asked(recording, pid, why);
}

static void ask_jvms(struct recording *recording)
{
	reel_jit_names_visit(recording->jit_names, ask_jvm, recording);
	reel_java_asker_wait(recording->java_asker, not_asked, recording);
}

/* ---- cycles ------------------------------------------------------------------------- */

struct reel_error *recording_cycle(struct recording *recording)
{
	struct reel_sampler_handler functions;
	uint64_t start = reel_now();

	recording->stream.has_more = false;
	recording_relieve(recording);
	TRY(reel_sampler_drain(recording->sampler, handler(recording, &functions)));
	TRY(reel_process_events_settle(recording->process_events, start - SAMPLE_DELAY));
	TRY(apply_until(recording, reel_now()));
	reel_tracker_tell_heirs(recording->tracker);
	TRY(read_functions(recording));
	if (recording->jit_code)
		reel_jit_code_watch(recording->jit_code, recording->stream.previous_cycle);
	TRY(read_code(recording, false));
	if (recording->embedding)
		TRY(reel_embedding_work(recording->embedding));
	TRY(read_names(recording));
	TRY(count_lost_events(recording));
	TRY(reel_tracker_work(recording->tracker));
	TRY(reel_output_check(recording->output));
	/* All samples taken up to the previous cycle have arrived. */
	reel_tracker_forget(recording->tracker, recording->stream.previous_cycle);
	recording->stream.previous_cycle = start;
	return NULL;
}

struct reel_error *recording_flush(struct recording *recording)
{
	TRY(count_losses(recording));
	reel_ring_users_end(&recording->stream.ring_users,
			    reel_losses_sum(recording->losses, REEL_LOSS_RING_FULL));
	if (recording->symbols)
		TRY(reel_kernel_symbols_refresh(recording->symbols));
	if (recording->jit_code)
		reel_jit_code_forget_ended(recording->jit_code);
	if (recording->embedding)
		reel_embedding_forget_ended(recording->embedding);
	TRY(reel_losses_write(recording->losses, reel_now(), &recording->sink));
	return reel_output_flush(recording->output);
}

/* ---- ends --------------------------------------------------------------------------- */

/* Whose samples filled the rings, if samples of this file were lost that way. */
static struct reel_error *write_ring_users(struct recording *recording)
{
	struct reel_ring_users *users = &recording->stream.ring_users;
	char text[REEL_RING_USERS_TEXT_SIZE];

	if (!reel_ring_users_text(users, text))
		return NULL;
	users->full = (struct reel_ring_tally){ 0 };
	if (!recording->options->quiet)
		recording_say(recording, "%s", text);
	return write_note(recording, reel_now(), text);
}

static struct reel_error *note_activation(struct recording *recording)
{
	char text[128];

	if (!recording->options->activate_time)
		return NULL;
	recording_describe_activation(recording, text);
	return write_note(recording, reel_now(), text);
}

static struct reel_error *end_dump(struct recording *recording, const struct reel_record_end *end)
{
	if (!recording->flight.end)
		return NULL;
	TRY(reel_output_end_dump(recording->output, end));
	recording->flight.end = 0;
	recording->flight.n_files++;
	return NULL;
}

/* With --overwrite, a file ends only if one is being written. */
static struct reel_error *write_end(struct recording *recording, enum reel_end_reason reason)
{
	struct reel_record record = { .id = REEL_RECORD_END };

	if (recording->functions)
		reel_function_table_end(recording->functions);
	TRY(recording_flush(recording));
	TRY(write_ring_users(recording));
	TRY(note_activation(recording));
	TRY(recording_mark_clock(recording));
	record.end = (struct reel_record_end){
		.time = reel_now(),
		.reason = reason,
		.samples = reel_output_counts(recording->output).part_samples,
		.exit_status = recording->command.ended ? (uint64_t)recording->command.status : 0,
	};
	if (recording->options->overwrite_time)
		return end_dump(recording, &record.end);
	TRY(write_record(recording, &record));
	return reel_output_finish(recording->output);
}

/* A part of a rotated recording ends while sampling continues, so its images get a share of the
 * part's time. */
static uint64_t embedding_time(const struct recording *recording)
{
	uint64_t part = recording->stream.cut - recording->stream.part_begin;
	uint64_t time = part / EMBED_SHARE;
	double limit = recording->cpu_limit;

	if (limit > 0 && limit / 2 < 1.0 / EMBED_SHARE)
		return (uint64_t)((double)part * limit / 2);
	return time < EMBED_MIN ? EMBED_MIN : time < EMBED_MAX ? time : EMBED_MAX;
}

/* A second signal skips the images; a signal while a part ends leaves little time for that part's
 * images. */
static void hurry_embedding(struct recording *recording)
{
	recording_read_signals(recording);
	if (recording->end.hurries)
		reel_embedding_hurry(recording->embedding, reel_now());
	else if (recording->end.asked && recording->stream.cut != UINT64_MAX)
		reel_embedding_hurry(recording->embedding, recording->end.time + EMBED_STOPPED);
}

/* Writes the last images of a file, until `deadline`: samples that arrive meanwhile are later than
 * the cut, or there are none. */
static struct reel_error *embed(struct recording *recording, uint64_t deadline)
{
	struct reel_sampler_handler functions;

	if (!recording->embedding)
		return NULL;
	TRY(reel_embedding_end(recording->embedding, deadline));
	for (;;) {
		hurry_embedding(recording);
		TRY(reel_embedding_work(recording->embedding));
		if (reel_embedding_is_done(recording->embedding))
			return NULL;
		reel_embedding_wait(recording->embedding);
		TRY(reel_sampler_drain(recording->sampler, handler(recording, &functions)));
		TRY(reel_process_events_read(recording->process_events));
	}
}

/* Waits count up to now. */
static void end_waits(struct recording *recording)
{
	if (!reel_sampler_report_waits(recording->sampler) && !recording->options->quiet)
		recording_say(recording, "off-cpu: looking at the waiting threads takes too long: "
					 "the last waits are missing");
}

static struct reel_error *mark(struct recording *recording, uint64_t time, enum reel_mark kind,
			       const char *text, struct recording_last *last)
{
	const struct reel_record record = {
		.id = REEL_RECORD_MARK,
		.mark = { time, kind, reel_bytes_of_string(text) },
	};

	last->n++;
	last->time = reel_clock_now(CLOCK_REALTIME) / REEL_NS_PER_SECOND;
	snprintf(last->text, sizeof(last->text), "%s", text);
	free(last->file);
	last->file = NULL;
	return write_record(recording, &record);
}

struct reel_error *recording_mark_trigger(struct recording *recording, uint64_t time,
					  const char *text)
{
	return mark(recording, time, REEL_MARK_TRIGGER, text, &recording->last_trigger);
}

void recording_note_trigger_file(struct recording *recording)
{
	const char *path = reel_parts_final_path(reel_output_parts(recording->output));

	recording->last_trigger.file = path ? strdup(path) : NULL;
}

struct reel_error *recording_mark_step(struct recording *recording, const char *text)
{
	recording_note(recording, text);
	return mark(recording, reel_now(), REEL_MARK_STEP, text, &recording->last_step);
}

/* Of a round, nothing is lost if it has no end: its data is restated or follows in the next one,
 * which each file of it has as well. */
static struct reel_error *embed_part(struct recording *recording, uint64_t cut)
{
	if (!recording->options->overwrite_time)
		return embed(recording, cut + embedding_time(recording));
	return recording->flight.end ? embed(recording, cut + EMBED_MAX) : NULL;
}

void recording_free_unused(struct recording *recording)
{
	/* Its copies have the size of the largest stack that their thread ever had. */
	if (recording->scrubber)
		reel_scrubber_forget(recording->scrubber);
	reel_tracker_trim(recording->tracker);
	/* What a busy time needed lies in pieces between what is in use. */
	malloc_trim(0);
}

/*
 * Divides the parts at one moment: everything up to it goes to the old part, and the new part
 * begins with the state at that time.  Later samples wait.
 */
struct reel_error *recording_rotate(struct recording *recording)
{
	bool is_ring = recording->options->overwrite_time;
	struct reel_sampler_handler functions;
	uint64_t cut;

	end_waits(recording);
	cut = reel_now();
	TRY(apply_until(recording, cut));
	recording->stream.cut = cut;
	usleep(SAMPLE_DELAY / 1000);
	TRY(reel_sampler_drain(recording->sampler, handler(recording, &functions)));
	TRY(read_functions(recording));
	TRY(read_code(recording, true));
	TRY(embed_part(recording, cut));
	TRY(read_last_names(recording));
	TRY(write_end(recording, REEL_END_ROTATED));
	if (is_ring)
		TRY(reel_output_begin_round(recording->output));
	else
		TRY(reel_output_next(recording->output));
	TRY(recording_write_head(recording));
	if (recording->jit_code)
		reel_jit_code_restart(recording->jit_code);
	if (recording->functions)
		reel_function_table_restart(recording->functions);
	if (recording->embedding)
		reel_embedding_restart(recording->embedding);
	if (recording->jit_names)
		reel_jit_names_restart(recording->jit_names);
	if (recording->symbols)
		TRY(reel_kernel_symbols_restart(recording->symbols));
	if (is_ring)
		TRY(reel_tracker_begin_round(recording->tracker, cut));
	else
		reel_tracker_restart(recording->tracker, cut);
	reel_held_samples_free(&recording->stream.held);
	recording->stream.cut = UINT64_MAX;
	recording_free_unused(recording);
	return replay_deferred(recording);
}

/* Rarer scans than asked for: each represents more time. */
static void say_scan_rate(struct recording *recording)
{
	double rate = reel_sampler_scan_rate(recording->sampler);
	uint64_t wanted = recording->options->off_cpu_frequency;

	if (rate > 0 && rate < 0.9 * (double)wanted && !recording->options->all_waits &&
	    !recording->options->quiet)
		recording_say(recording,
			      "off-cpu: looked at the waiting threads %.0f times per second, not "
			      "%" PRIu64 ": more would take over %.0f %% of a CPU",
			      rate, wanted, 100 * REEL_SCANNER_SHARE);
}

struct reel_error *recording_finish(struct recording *recording)
{
	end_waits(recording);
	say_scan_rate(recording);
	reel_sampler_disable(recording->sampler);
	reel_budget_hurry(recording->budget, false);
	TRY(recording_cycle(recording));
	TRY(read_code(recording, true));
	TRY(embed(recording, reel_now() + EMBED_MAX));
	if (recording->java_asker && recording->jit_names)
		ask_jvms(recording);
	TRY(read_last_names(recording));
	return write_end(recording, recording->end.reason);
}
