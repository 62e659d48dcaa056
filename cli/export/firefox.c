/* SPDX-License-Identifier: Apache-2.0 */
/* A processed profile of Firefox's profiler (profiler.firefox.com): meta, libs, tables, threads. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/firefox.h"
#include "cli/export/formats.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* Threads, as many as the viewer shows by itself. */
#define FIRST_SHOWN 15

/* The first version in which threads share their tables: later readers convert it. */
#define FIREFOX_VERSION 60

static void firefox_free(struct firefox *firefox)
{
	firefox_tables_free(firefox);
	firefox_markers_free(firefox);
	tracks_close(&firefox->tracks);
	stack_store_free(&firefox->stacks);
	free(firefox->command_line);
	free(firefox->system);
	free(firefox);
}

static void *firefox_open(const struct export_target *target)
{
	struct firefox *firefox = memory_get(sizeof(*firefox));

	firefox->file = target->file;
	firefox_tables_init(firefox);
	stack_store_init(&firefox->stacks);
	if (tracks_open(&firefox->tracks))
		return firefox;
	firefox_free(firefox);
	return NULL;
}

/* The interval between two samples of the first event with a rate; 1 ms if none has one. */
static uint64_t interval_of(const struct session *session)
{
	for (size_t i = 0; i < session->n_events; i++) {
		const struct reel_event_info *event = &session->events[i];

		if (event->frequency)
			return 1000000000 / event->frequency;
		if (event->period && !strcmp(event->weight_unit, "ns"))
			return event->period;
	}
	return 1000000;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct firefox *firefox = state;
	const struct reel_capture_info *info = session->info;

	(void)path;
	if (!firefox->command_line) {
		_cleanup_free_ char *system = memory_print("%s, Linux %s %s", info->hostname,
							   info->kernel_release, info->arch);

		firefox->command_line = text_escape(info->command_line, "");
		firefox->system = text_escape(system, "");
		firefox->cpus = info->cpus;
		firefox->interval = interval_of(session);
	}
	stack_store_begin_capture(&firefox->stacks);
	tracks_begin_capture(&firefox->tracks, session);
	return true;
}

static bool firefox_add(void *state, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct firefox *firefox = state;
	uint32_t stack;

	return stack_store_add(&firefox->stacks, trace, &stack) &&
	       tracks_add(&firefox->tracks, trace, event, stack);
}

static bool end_capture(void *state, struct session *session)
{
	firefox_markers_read(state, session->capture);
	return firefox_place_frames(state, session);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Times are milliseconds. */
static void print_ms(uint64_t ns, FILE *file)
{
	fprintf(file, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

static void print_stack(void *context, const struct track_sample *sample)
{
	struct firefox *firefox = context;

	fprintf(firefox->file, "%s%" PRIu32, firefox->separator, sample->stack - 1);
	firefox->separator = ",";
}

static void print_time(void *context, const struct track_sample *sample)
{
	struct firefox *firefox = context;

	fputs_unlocked(firefox->separator, firefox->file);
	print_ms(sample->time - firefox->tracks.first_time, firefox->file);
	firefox->separator = ",";
}

static void print_weight(void *context, const struct track_sample *sample)
{
	struct firefox *firefox = context;
	uint64_t weight = track_weight(firefox->track, sample);

	fputs_unlocked(firefox->separator, firefox->file);
	if (track_is_time(firefox->track))
		print_ms(weight, firefox->file);
	else
		fprintf(firefox->file, "%" PRIu64, weight);
	firefox->separator = ",";
}

/* Nanoseconds on a CPU since the previous sample: between distant samples the thread slept. */
static void print_cpu_time(void *context, const struct track_sample *sample)
{
	struct firefox *firefox = context;

	fprintf(firefox->file, "%s%" PRIu64, firefox->separator, sample->weight);
	firefox->separator = ",";
}

static bool print_samples(struct firefox *firefox)
{
	static const struct {
		const char *name;
		void (*print)(void *context, const struct track_sample *sample);
	} columns[] = { { "stack", print_stack },
			{ "time", print_time },
			{ "weight", print_weight },
			{ "threadCPUDelta", print_cpu_time } };
	bool is_time = track_is_time(firefox->track);
	FILE *file = firefox->file;

	fprintf(file, "\"samples\":{\"length\":%" PRIu64 ",\"weightType\":\"%s\"",
		firefox->track->count, is_time ? "tracing-ms" : "samples");
	/* The last column is for times only. */
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns) - !is_time; i++) {
		fprintf(file, ",\n\"%s\":[", columns[i].name);
		firefox->separator = "";
		if (!tracks_visit(&firefox->tracks, firefox->track, columns[i].print, firefox))
			return false;
		fputc(']', file);
	}
	fputs("}", file);
	return true;
}

/* The viewer distinguishes processes by this. */
static void print_pid(const struct firefox *firefox)
{
	const struct track_key *key = &firefox->track->key;
	_cleanup_free_ char *host = *firefox->track->host && key->host
					    ? memory_print(" on %s", firefox->track->host)
					    : memory_print("%s", "");
	_cleanup_free_ char *capture = key->capture > 1
					       ? memory_print(" (%" PRIu32 ")", key->capture)
					       : memory_print("%s", "");
	_cleanup_free_ char *pid = memory_print("%" PRIu32 "%s%s", key->pid, host, capture);

	json_escaped_text(pid, firefox->file);
}

/* Besides tracks of time on a CPU. */
static bool is_of_waits(const struct firefox *firefox, const struct track *track)
{
	return firefox->tracks.several_events && !strcmp(track->event, "off-cpu");
}

static bool print_thread(struct firefox *firefox)
{
	const struct track *track = firefox->track;
	bool several = firefox->tracks.several_events;
	_cleanup_free_ char *name = memory_print("%s%s%s", track->comm, several ? " " : "",
						 several ? track->event : "");
	FILE *file = firefox->file;

	fputs("{\"name\":", file);
	json_escaped_text(name, file);
	fputs(",\"processName\":", file);
	json_escaped_text(track->comm, file);
	fputs(",\"pid\":", file);
	print_pid(firefox);
	fprintf(file, ",\"tid\":%" PRIu32 ",\"isMainThread\":%s", track->key.tid,
		track->key.pid == track->key.tid && !is_of_waits(firefox, track) ? "true"
										 : "false");
	fputs(",\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null"
	      ",\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[]"
	      ",\"showMarkersInTimeline\":true,\n",
	      file);
	if (!firefox_print_markers(firefox) || !print_samples(firefox))
		return false;
	fputc('}', file);
	return true;
}

static bool print_threads(struct firefox *firefox)
{
	const struct tracks *tracks = &firefox->tracks;

	fputs("\"threads\":[", firefox->file);
	for (size_t i = 0; i < tracks->count && !ferror(firefox->file); i++) {
		fputs(i ? ",\n" : "\n", firefox->file);
		firefox->track = tracks->items[i];
		if (!print_thread(firefox))
			return false;
	}
	firefox_print_recorder(firefox);
	fputs("]", firefox->file);
	return true;
}

/* ---- the profile --------------------------------------------------------------------------- */

static void print_categories(FILE *file)
{
	static const char *const categories[][2] = {
		[FIREFOX_OTHER] = { "Other", "grey" },	   [FIREFOX_USER] = { "User", "yellow" },
		[FIREFOX_KERNEL] = { "Kernel", "orange" }, [FIREFOX_JIT] = { "JIT", "green" },
		[FIREFOX_GUESSED] = { "Guessed", "red" },
	};

	fputs(",\"categories\":[", file);
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		fprintf(file, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", categories[i][0], categories[i][1]);
	fputc(']', file);
}

static int by_count(const void *a, const void *b)
{
	const struct track *const *x = a, *const *y = b;

	return ((*x)->count < (*y)->count) - ((*x)->count > (*y)->count);
}

/*
 * The viewer shows the busiest threads at first, by the sums of samples' times: threads that always
 * wait would hide those that work.
 */
static void print_first_shown(const struct firefox *firefox)
{
	const struct tracks *tracks = &firefox->tracks;
	_cleanup_free_ const struct track **busiest =
		memory_resize(NULL, tracks->count + 1, sizeof(*busiest));
	const char *separator = "";
	uint64_t least;
	size_t n = 0;

	for (size_t i = 0; i < tracks->count; i++) {
		if (!is_of_waits(firefox, tracks->items[i]))
			busiest[n++] = tracks->items[i];
	}
	if (!n || n == tracks->count)
		return;
	qsort(busiest, n, sizeof(*busiest), by_count);
	least = busiest[n < FIRST_SHOWN ? n - 1 : FIRST_SHOWN - 1]->count;
	if (least < busiest[0]->count / 20)
		least = busiest[0]->count / 20;
	fputs(",\"initialVisibleThreads\":[", firefox->file);
	for (size_t i = 0, left = FIRST_SHOWN; i < tracks->count && left; i++) {
		const struct track *track = tracks->items[i];

		if (is_of_waits(firefox, track) || track->count < least)
			continue;
		fprintf(firefox->file, "%s%zu", separator, i);
		separator = ",";
		left--;
	}
	/* The recorder's thread follows the others. */
	if (firefox->has_recorder)
		fprintf(firefox->file, "%s%zu", separator, tracks->count);
	fputc(']', firefox->file);
}

static void print_meta(const struct firefox *firefox)
{
	FILE *file = firefox->file;

	fprintf(file, "\"meta\":{\"version\":29,\"preprocessedProfileVersion\":%d,\"interval\":",
		FIREFOX_VERSION);
	print_ms(firefox->interval, file);
	fputs(",\"startTime\":", file);
	print_ms(firefox->tracks.has_wall_times ? firefox->tracks.first_time : 0, file);
	fputs(",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"product\":\"stackreel\""
	      ",\"importedFrom\":\"stackreel " REEL_VERSION_STRING "\",\"symbolicated\":true"
	      ",\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true"
	      ",\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
	      "\"threadCPUDelta\":\"ns\"},\"oscpu\":",
	      file);
	json_escaped_text(firefox->system, file);
	fputs(",\"arguments\":", file);
	json_escaped_text(firefox->command_line, file);
	if (firefox->cpus)
		fprintf(file, ",\"logicalCPUs\":%" PRIu32, firefox->cpus);
	fputs(",\"markerSchema\":", file);
	firefox_print_marker_schema(file);
	print_categories(file);
	print_first_shown(firefox);
	fputs("}", file);
}

static bool firefox_close(void *state, bool ok)
{
	struct firefox *firefox = state;
	FILE *file = firefox->file;

	if (ok) {
		firefox_find_symbols(firefox);
		firefox_markers_sort(firefox);
		fputc('{', file);
		print_meta(firefox);
		fputs(",\n", file);
		firefox_print_libs(firefox);
		fputs(",\n", file);
		firefox_print_shared(firefox);
		fputs(",\n", file);
		ok = print_threads(firefox);
		fputs("}\n", file);
	}
	firefox_free(firefox);
	return ok;
}

const struct export_format export_firefox = {
	.name = "firefox",
	.summary = "threads, timelines, markers and lines, for profiler.firefox.com",
	.open = firefox_open,
	.begin_capture = begin_capture,
	.add = firefox_add,
	.end_capture = end_capture,
	.close = firefox_close,
};
