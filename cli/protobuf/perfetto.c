/* SPDX-License-Identifier: Apache-2.0 */
/* A trace for Perfetto: each sample at its time; docs/exports.md. */
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"
#include "cli/protobuf/interned.h"
#include "cli/protobuf/message_writer.h"

typedef Perfetto__Protos__TracePacket Packet;

/* Facts written once, besides interned data. */
enum {
	PROCESS = INTERNED_KINDS,
	SEQUENCE,
};

/* The sequence for packets without an event: clocks, processes and threads. */
#define COMMON_SEQUENCE 1

/* Maps numbers to numbers, initially 0. */
struct array {
	uint64_t *items;
	size_t capacity;
};

struct perfetto {
	struct interned interned;
	struct message_writer writer;
	/* Sequences: one for each event of each capture. */
	struct numbers sequences;
	/* For each sequence and CPU, its event's count so far. */
	struct numbers counters;
	struct array counts;
	/* For each thread, its last name + 1. */
	struct numbers threads;
	struct array thread_names;
	const struct reel_capture_info *info;
	uint32_t n_captures;
	uint32_t clock; /* the clock of times; 0: none was written */
};

static uint64_t *array_at(struct array *array, uint32_t number)
{
	array->items = memory_reserve_zeroed(array->items, &array->capacity, number,
					     sizeof(*array->items));
	return &array->items[number];
}

static void *perfetto_open(const struct export_target *target)
{
	struct perfetto *perfetto = memory_get(sizeof(*perfetto));

	interned_init(&perfetto->interned);
	numbers_init(&perfetto->sequences);
	numbers_init(&perfetto->counters);
	numbers_init(&perfetto->threads);
	message_writer_init(&perfetto->writer, target->file, false);
	return perfetto;
}

static void write_packet(struct perfetto *perfetto, Packet *packet, uint32_t sequence)
{
	Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = sequence;
	trace.n_packet = 1;
	trace.packet = &packet;
	message_write(&perfetto->writer, &trace.base);
}

/* ---- clocks ------------------------------------------------------------------------------ */

/* If the capture states when it began, use wall-clock times, so that several captures line up. */
static void write_clocks(struct perfetto *perfetto, const struct reel_capture_info *info)
{
	bool has_wall_time = info->start_wall_time != 0;
	Perfetto__Protos__ClockSnapshot__Clock wall = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__Protos__ClockSnapshot__Clock own = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__Protos__ClockSnapshot__Clock *clocks[] = { &own, &wall };
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	perfetto->clock = has_wall_time ? PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME
					: PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC;
	own.has_clock_id = own.has_timestamp = wall.has_clock_id = wall.has_timestamp = true;
	own.clock_id = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC;
	own.timestamp = info->start_time;
	wall.clock_id = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME;
	wall.timestamp = info->start_wall_time;
	snapshot.n_clocks = has_wall_time ? 2 : 1;
	snapshot.clocks = clocks;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = (Perfetto__Protos__BuiltinClock)perfetto->clock;
	packet.clock_snapshot = &snapshot;
	write_packet(perfetto, &packet, COMMON_SEQUENCE);
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct perfetto *perfetto = state;
	const struct reel_capture_info *info = session->info;

	perfetto->info = info;
	perfetto->n_captures++;
	profile_tables_begin_capture(&perfetto->interned.tables, session);
	if (perfetto->n_captures == 1) {
		write_clocks(perfetto, info);
		return true;
	}
	if (info->start_wall_time &&
	    perfetto->clock == PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME)
		return true;
	complain("%s: no start time, which a trace of several captures needs; export each capture "
		 "by itself",
		 path);
	return false;
}

/* ---- threads ----------------------------------------------------------------------------- */

static void write_thread(struct perfetto *perfetto, const struct reel_trace *trace, bool is_process)
{
	struct profile_tables *tables = &perfetto->interned.tables;
	char *name = (char *)profile_text_of(tables, profile_known_text(tables, trace->comm));
	Perfetto__Protos__ProcessTree__Process process =
		PERFETTO__PROTOS__PROCESS_TREE__PROCESS__INIT;
	Perfetto__Protos__ProcessTree__Process *processes = &process;
	Perfetto__Protos__ProcessTree__Thread thread = PERFETTO__PROTOS__PROCESS_TREE__THREAD__INIT;
	Perfetto__Protos__ProcessTree__Thread *threads = &thread;
	Perfetto__Protos__ProcessTree tree = PERFETTO__PROTOS__PROCESS_TREE__INIT;
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	process.has_pid = thread.has_tid = thread.has_tgid = true;
	process.pid = thread.tgid = (int32_t)trace->pid;
	process.n_cmdline = 1;
	process.cmdline = &name;
	thread.tid = (int32_t)trace->tid;
	thread.name = name;
	tree.n_processes = is_process;
	tree.processes = &processes;
	tree.n_threads = 1;
	tree.threads = &threads;
	packet.process_tree = &tree;
	write_packet(perfetto, &packet, COMMON_SEQUENCE);
}

/* Names change. A process is named after its main thread, or the first thread seen. */
static void describe_thread(struct perfetto *perfetto, const struct reel_trace *trace)
{
	struct interned *interned = &perfetto->interned;
	const struct {
		uint32_t pid, tid;
	} key = { trace->pid, trace->tid };
	uint32_t number = numbers_put(&perfetto->threads, &key, sizeof(key));
	uint32_t name = profile_known_text(&interned->tables, trace->comm);
	uint64_t *known = array_at(&perfetto->thread_names, number);
	bool is_process = interned_is_new(interned, PROCESS, trace->pid);

	/* Write threads without a name as well. */
	if (*known == (uint64_t)name + 1)
		return;
	*known = (uint64_t)name + 1;
	write_thread(perfetto, trace, is_process || trace->pid == trace->tid);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* The first packet of a sequence: describes its event. */
static void begin_sequence(struct perfetto *perfetto, const struct reel_event_info *event)
{
	struct profile_tables *tables = &perfetto->interned.tables;
	Perfetto__Protos__PerfEvents__Timebase timebase =
		PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INIT;
	Perfetto__Protos__PerfSampleDefaults samples = PERFETTO__PROTOS__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	timebase.name =
		(char *)profile_text_of(tables, profile_known_text(tables, event_name(event)));
	timebase.has_frequency = event && event->frequency;
	timebase.frequency = event ? event->frequency : 0;
	timebase.has_period = event && !event->frequency && event->period;
	timebase.period = event ? event->period : 0;
	samples.timebase = &timebase;
	defaults.perf_sample_defaults = &samples;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = perfetto->clock;
	packet.trace_packet_defaults = &defaults;
	packet.has_sequence_flags = true;
	packet.sequence_flags =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
	write_packet(perfetto, &packet, perfetto->interned.sequence);
}

static uint64_t count_on(struct perfetto *perfetto, const struct reel_trace *trace)
{
	const struct {
		uint32_t sequence, cpu;
	} key = { perfetto->interned.sequence, trace->cpu };
	uint32_t number = numbers_put(&perfetto->counters, &key, sizeof(key));

	return *array_at(&perfetto->counts, number) += trace->weight;
}

static Perfetto__Protos__Profiling__CpuMode mode_of(enum reel_where where)
{
	switch (where) {
	case REEL_WHERE_USER:
		return PERFETTO__PROTOS__PROFILING__CPU_MODE__MODE_USER;
	case REEL_WHERE_SYSCALL:
	case REEL_WHERE_INTERRUPT:
	case REEL_WHERE_KERNEL_THREAD:
		return PERFETTO__PROTOS__PROFILING__CPU_MODE__MODE_KERNEL;
	case REEL_WHERE_UNKNOWN:
		break;
	}
	return PERFETTO__PROTOS__PROFILING__CPU_MODE__MODE_UNKNOWN;
}

#define ERROR(name) PERFETTO__PROTOS__PROFILING__STACK_UNWIND_ERROR__UNWIND_ERROR_##name

/* The closest error; the stack's root states the exact one. */
static Perfetto__Protos__Profiling__StackUnwindError error_of(enum reel_stop stop)
{
	switch (stop) {
	case REEL_STOP_STACK_END:
	case REEL_STOP_STACK_CUT:
	case REEL_STOP_SCRUBBED:
		return ERROR(MEMORY_INVALID);
	case REEL_STOP_NO_UNWIND_INFO:
	case REEL_STOP_BAD_UNWIND_INFO:
		return ERROR(UNWIND_INFO);
	case REEL_STOP_NO_PROGRESS:
		return ERROR(REPEATED_FRAME);
	case REEL_STOP_DEPTH_LIMIT:
		return ERROR(MAX_FRAMES_EXCEEDED);
	case REEL_STOP_MODULE_MISSING:
		return ERROR(INVALID_ELF);
	case REEL_STOP_NO_MAPPING:
		return ERROR(INVALID_MAP);
	case REEL_STOP_UNKNOWN_CPU:
		return ERROR(UNSUPPORTED);
	default:
		return ERROR(UNKNOWN);
	}
}

static uint64_t time_of(const struct perfetto *perfetto, const struct reel_trace *trace)
{
	uint64_t wall_time;

	return wall_time_of(perfetto->info, trace->time, &wall_time) ? wall_time : trace->time;
}

static void write_sample(struct perfetto *perfetto, const struct reel_trace *trace)
{
	struct interned *interned = &perfetto->interned;
	Perfetto__Protos__PerfSample sample = PERFETTO__PROTOS__PERF_SAMPLE__INIT;
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	sample.has_cpu = trace->cpu != UINT32_MAX;
	sample.cpu = trace->cpu;
	sample.has_pid = sample.has_tid = sample.has_callstack_iid = true;
	sample.pid = trace->pid;
	sample.tid = trace->tid;
	sample.callstack_iid = interned_stack(interned, profile_stack(&interned->tables, trace));
	sample.has_cpu_mode = true;
	sample.cpu_mode = mode_of(trace->where);
	sample.has_timebase_count = true;
	sample.timebase_count = count_on(perfetto, trace);
	sample.has_unwind_error = trace_is_cut(trace);
	sample.unwind_error = error_of(trace->stop);
	packet.has_timestamp = packet.has_sequence_flags = true;
	packet.timestamp = time_of(perfetto, trace);
	packet.sequence_flags =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	packet.interned_data = interned_data(interned);
	packet.perf_sample = &sample;
	write_packet(perfetto, &packet, interned->sequence);
	interned_forget(interned);
}

static bool perfetto_add(void *state, const struct reel_trace *trace,
			 const struct reel_event_info *event)
{
	struct perfetto *perfetto = state;
	const struct {
		uint32_t capture, event;
	} key = { perfetto->n_captures, trace->event };

	perfetto->interned.sequence = COMMON_SEQUENCE;
	describe_thread(perfetto, trace);
	perfetto->interned.sequence =
		COMMON_SEQUENCE + numbers_put(&perfetto->sequences, &key, sizeof(key));
	if (interned_is_new(&perfetto->interned, SEQUENCE, 0))
		begin_sequence(perfetto, event);
	write_sample(perfetto, trace);
	return !ferror(perfetto->writer.file);
}

static bool perfetto_close(void *state, bool ok)
{
	struct perfetto *perfetto = state;

	message_writer_free(&perfetto->writer);
	interned_free(&perfetto->interned);
	numbers_free(&perfetto->sequences);
	numbers_free(&perfetto->counters);
	numbers_free(&perfetto->threads);
	free(perfetto->counts.items);
	free(perfetto->thread_names.items);
	free(perfetto);
	return ok;
}

const struct export_format export_perfetto = {
	.name = "perfetto",
	.summary = "a trace for Perfetto, with each sample at its time",
	.is_binary = true,
	.open = perfetto_open,
	.begin_capture = begin_capture,
	.add = perfetto_add,
	.close = perfetto_close,
};
