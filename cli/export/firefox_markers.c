/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/export/firefox.h"
#include "cli/export/trace_facts.h"
#include "cli/print/json.h"
#include "cli/print/text.h"
#include "cli/session/moments.h"

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

/* As the profiler's own program numbers them. */
enum phase { INSTANT, INTERVAL };

/* ---- reading ------------------------------------------------------------------------------- */

/* Of the capture that is read: the threads that have tracks. */
struct reading {
	struct firefox *firefox;
	uint64_t *threads; /* sorted */
	size_t n_threads;
};

/* Others are of threads. */
static bool is_of_recorder(enum firefox_marker_kind kind)
{
	return kind == FIREFOX_LOSS || kind == FIREFOX_MARK;
}

static int compare_numbers(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

static struct firefox_marker marker_of(const struct reading *reading, const struct moment *moment)
{
	struct firefox_marker marker = {
		.thread = moment->thread,
		.capture = reading->firefox->tracks.n_captures,
		.kind = moment->kind == MOMENT_LOSS   ? FIREFOX_LOSS
			: moment->kind == MOMENT_MARK ? FIREFOX_MARK
			: moment->kind == MOMENT_EXEC ? FIREFOX_EXEC
						      : FIREFOX_THREAD,
		.name = moment->kind == MOMENT_LOSS   ? reel_loss_name(moment->cause)
			: moment->kind == MOMENT_MARK ? moment->name
			: moment->kind == MOMENT_EXEC ? "exec"
			: moment->kind == MOMENT_EXIT ? "thread exit"
						      : "thread start",
		.count = moment->count,
		.cpu = moment->cpu,
	};

	if (!wall_time_of(reading->firefox->tracks.info, moment->time, &marker.time))
		marker.time = moment->time;
	return marker;
}

static bool has_track(const struct reading *reading, const struct moment *moment)
{
	return bsearch(&moment->thread, reading->threads, reading->n_threads, sizeof(uint64_t),
		       compare_numbers) != NULL;
}

static void add_moment(void *context, const struct moment *moment)
{
	const struct reading *reading = context;
	struct firefox *firefox = reading->firefox;
	struct firefox_marker marker = marker_of(reading, moment);
	const char *text = moment->kind == MOMENT_MARK ? moment->text : moment->program;

	if (moment->kind == MOMENT_LOSS
		    ? !moment->count
		    : moment->kind != MOMENT_MARK && !has_track(reading, moment))
		return;
	/* Others are older than the recording, or than its part. */
	if (moment->kind == MOMENT_THREAD && !moment->is_start)
		return;
	firefox->has_recorder |= is_of_recorder(marker.kind);
	/* This escapes it. */
	if (text && *text)
		marker.text = symbol_of_group(&firefox->stacks.texts, text)->name;
	firefox->markers = memory_reserve(firefox->markers, &firefox->markers_capacity,
					  firefox->n_markers, sizeof(marker));
	firefox->markers[firefox->n_markers++] = marker;
}

void firefox_markers_read(struct firefox *firefox, struct reel_capture *capture)
{
	const struct tracks *tracks = &firefox->tracks;
	struct reading reading = { .firefox = firefox };

	reading.threads = memory_resize(NULL, tracks->count + 1, sizeof(uint64_t));
	for (size_t i = 0; i < tracks->count; i++) {
		if (tracks->items[i]->key.capture == tracks->n_captures)
			reading.threads[reading.n_threads++] = tracks->items[i]->key.thread;
	}
	qsort(reading.threads, reading.n_threads, sizeof(uint64_t), compare_numbers);
	moments_visit(capture, add_moment, &reading);
	free(reading.threads);
}

/* ---- order --------------------------------------------------------------------------------- */

static int compare_markers(const void *a, const void *b)
{
	const struct firefox_marker *x = a, *y = b;
	int order = COMPARE(x->capture, y->capture);

	if (!order)
		order = COMPARE(x->thread, y->thread);
	return order ? order : COMPARE(x->time, y->time);
}

static bool is_wait(const struct track *track)
{
	return !strcmp(track->event, "off-cpu");
}

static int compare_threads(const struct track *x, const struct track *y)
{
	int order = COMPARE(x->key.capture, y->key.capture);

	if (!order)
		order = COMPARE(x->key.thread, y->key.thread);
	/* Threads without a number: of captures that do not know them. */
	if (!order)
		order = COMPARE(x->key.host, y->key.host);
	if (!order)
		order = COMPARE(x->key.pid, y->key.pid);
	return order ? order : COMPARE(x->key.tid, y->key.tid);
}

/* Of a thread, the tracks of waits come last. */
static int compare_tracks(const void *a, const void *b)
{
	const struct track *x = *(const struct track *const *)a,
			   *y = *(const struct track *const *)b;
	int order = compare_threads(x, y);

	if (!order)
		order = is_wait(x) - is_wait(y);
	return order ? order : COMPARE(x->key.event, y->key.event);
}

void firefox_markers_sort(struct firefox *firefox)
{
	const struct tracks *tracks = &firefox->tracks;

	firefox->by_thread = memory_resize(NULL, tracks->count + 1, sizeof(struct track *));
	for (size_t i = 0; i < tracks->count; i++)
		firefox->by_thread[i] = tracks->items[i];
	qsort(firefox->by_thread, tracks->count, sizeof(struct track *), compare_tracks);
	if (firefox->n_markers)
		qsort(firefox->markers, firefox->n_markers, sizeof(*firefox->markers),
		      compare_markers);
	for (size_t i = 0; i < firefox->n_markers; i++)
		firefox->markers[i].name_string = firefox_string(firefox, firefox->markers[i].name);
	for (int i = 0; i <= REEL_STATE_WOKEN; i++)
		firefox->state_strings[i] =
			firefox_string(firefox, reel_state_name((enum reel_state)i));
}

void firefox_markers_free(struct firefox *firefox)
{
	free(firefox->markers);
	free(firefox->by_thread);
}

/* ---- tables -------------------------------------------------------------------------------- */

void firefox_print_marker_schema(FILE *file)
{
	fputs("[{\"name\":\"wait\",\"display\":[\"marker-chart\",\"marker-table\","
	      "\"timeline-overview\"],\"fields\":[]},\n"
	      "{\"name\":\"exec\",\"display\":[\"marker-chart\",\"marker-table\"],"
	      "\"tableLabel\":\"{marker.data.program}\",\"chartLabel\":\"exec "
	      "{marker.data.program}\",\"fields\":[{\"key\":\"program\",\"label\":\"Program\","
	      "\"format\":\"string\"}]},\n"
	      "{\"name\":\"thread\",\"display\":[\"marker-chart\",\"marker-table\"],"
	      "\"fields\":[]},\n"
	      "{\"name\":\"mark\",\"display\":[\"marker-chart\",\"marker-table\","
	      "\"timeline-overview\"],\"tableLabel\":\"{marker.data.text}\",\"fields\":["
	      "{\"key\":\"text\",\"label\":\"Text\",\"format\":\"string\"}]},\n"
	      "{\"name\":\"loss\",\"display\":[\"marker-chart\",\"marker-table\","
	      "\"timeline-overview\"],\"tableLabel\":\"{marker.data.count}\",\"fields\":["
	      "{\"key\":\"count\",\"label\":\"Count\",\"format\":\"integer\"},"
	      "{\"key\":\"cpu\",\"label\":\"CPU\",\"format\":\"integer\"}]}]",
	      file);
}

static void print_time(const struct firefox *firefox, uint64_t time)
{
	uint64_t first = firefox->tracks.first_time, since = time > first ? time - first : 0;

	fprintf(firefox->file, "%" PRIu64 ".%06" PRIu64, since / 1000000, since % 1000000);
}

static void print_data(const struct firefox *firefox, const struct firefox_marker *marker)
{
	static const char *const types[] = {
		[FIREFOX_LOSS] = "loss",
		[FIREFOX_MARK] = "mark",
		[FIREFOX_THREAD] = "thread",
		[FIREFOX_EXEC] = "exec",
	};

	fprintf(firefox->file, "{\"type\":\"%s\"", types[marker->kind]);
	if (marker->kind == FIREFOX_LOSS)
		fprintf(firefox->file, ",\"count\":%" PRIu64, marker->count);
	if (marker->kind == FIREFOX_LOSS && marker->cpu != UINT32_MAX)
		fprintf(firefox->file, ",\"cpu\":%" PRIu32, marker->cpu);
	if (marker->kind == FIREFOX_EXEC || marker->kind == FIREFOX_MARK) {
		fputs(marker->kind == FIREFOX_EXEC ? ",\"program\":" : ",\"text\":", firefox->file);
		json_escaped_text(marker->text ? marker->text : "", firefox->file);
	}
	fputc('}', firefox->file);
}

enum column { DATA, NAME, START, END, PHASE, CATEGORY, COLUMNS };

static const char *const column_names[COLUMNS] = { "data",    "name",  "startTime",
						   "endTime", "phase", "category" };

/* A cell of any column except DATA; `end` NULL: an instant. */
static void print_cell(const struct firefox *firefox, uint32_t name, uint64_t start,
		       const uint64_t *end)
{
	switch (firefox->column) {
	case NAME:
		fprintf(firefox->file, "%" PRIu32, name);
		return;
	case START:
		print_time(firefox, start);
		return;
	case END:
		if (end)
			print_time(firefox, *end);
		else
			fputs("null", firefox->file);
		return;
	case PHASE:
		fprintf(firefox->file, "%d", end ? INTERVAL : INSTANT);
		return;
	default:
		fprintf(firefox->file, "%d", FIREFOX_OTHER);
	}
}

/* A wait ends when its sample is taken. */
static void print_wait(void *context, const struct track_sample *sample)
{
	struct firefox *firefox = context;
	uint64_t begin = sample->time > sample->weight ? sample->time - sample->weight : 0;
	FILE *file = firefox->file;

	fputs(firefox->separator, file);
	firefox->separator = ",";
	if (firefox->column != DATA) {
		print_cell(firefox, firefox->state_strings[sample->state], begin, &sample->time);
		return;
	}
	fputs("{\"type\":\"wait\"", file);
	if (sample->stack) {
		fputs(",\"cause\":{\"time\":", file);
		print_time(firefox, begin);
		fprintf(file, ",\"stack\":%" PRIu32 "}", sample->stack - 1);
	}
	fputc('}', file);
}

/* The markers and the waits of a thread. */
struct rows {
	const struct firefox_marker *markers;
	size_t n_markers;
	struct track *const *waits;
	size_t n_waits;
};

static bool print_column(struct firefox *firefox, const struct rows *rows)
{
	fprintf(firefox->file, ",\n\"%s\":[", column_names[firefox->column]);
	firefox->separator = "";
	for (size_t i = 0; i < rows->n_markers; i++) {
		fputs(firefox->separator, firefox->file);
		firefox->separator = ",";
		if (firefox->column == DATA)
			print_data(firefox, &rows->markers[i]);
		else
			print_cell(firefox, rows->markers[i].name_string, rows->markers[i].time,
				   NULL);
	}
	for (size_t i = 0; i < rows->n_waits; i++) {
		if (!tracks_visit(&firefox->tracks, rows->waits[i], print_wait, firefox))
			return false;
	}
	fputc(']', firefox->file);
	return true;
}

static bool print_table(struct firefox *firefox, const struct rows *rows)
{
	uint64_t n = rows->n_markers;

	for (size_t i = 0; i < rows->n_waits; i++)
		n += rows->waits[i]->count;
	fprintf(firefox->file, "\"markers\":{\"length\":%" PRIu64, n);
	for (int column = 0; column < COLUMNS; column++) {
		firefox->column = column;
		if (!print_column(firefox, rows))
			return false;
	}
	fputs("},\n", firefox->file);
	return true;
}

static struct rows rows_of(const struct firefox *firefox, uint32_t capture, uint64_t thread)
{
	const struct firefox_marker *all = firefox->markers;
	size_t n = firefox->n_markers, first, end;

	first = REEL_PARTITION_POINT(n, i,
				     all[i].capture < capture ||
					     (all[i].capture == capture && all[i].thread < thread));
	end = REEL_PARTITION_POINT(n, i,
				   all[i].capture < capture ||
					   (all[i].capture == capture && all[i].thread <= thread));
	return (struct rows){ .markers = n ? all + first : NULL, .n_markers = end - first };
}

bool firefox_print_markers(struct firefox *firefox)
{
	struct track *const *tracks = firefox->by_thread;
	size_t n = firefox->tracks.count, i;
	const struct track *track = firefox->track;
	struct rows rows = { 0 };

	i = REEL_PARTITION_POINT(n, j, compare_threads(tracks[j], track) < 0);
	if (tracks[i] == track) {
		/* No thread has number 0. */
		if (track->key.thread)
			rows = rows_of(firefox, track->key.capture, track->key.thread);
		for (; i < n && !compare_threads(tracks[i], track); i++) {
			if (!is_wait(tracks[i]))
				continue;
			if (!rows.n_waits)
				rows.waits = &tracks[i];
			rows.n_waits++;
		}
	}
	return print_table(firefox, &rows);
}

/* ---- the recorder -------------------------------------------------------------------------- */

void firefox_print_recorder(struct firefox *firefox)
{
	size_t n = 0;
	_cleanup_free_ struct firefox_marker *markers =
		memory_resize(NULL, firefox->n_markers + 1, sizeof(*markers));

	for (size_t i = 0; i < firefox->n_markers; i++) {
		if (is_of_recorder(firefox->markers[i].kind))
			markers[n++] = firefox->markers[i];
	}
	if (!firefox->has_recorder)
		return;
	fputs(firefox->tracks.count ? ",\n" : "\n", firefox->file);
	fputs("{\"name\":\"recorder\",\"processName\":\"stackreel-record\","
	      "\"pid\":\"recorder\",\"tid\":\"recorder\",\"isMainThread\":true,"
	      "\"showMarkersInTimeline\":true,"
	      "\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
	      "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n",
	      firefox->file);
	/* There are no waits to read. */
	(void)print_table(firefox, &(struct rows){ .markers = markers, .n_markers = n });
	fputs("\"samples\":{\"length\":0,\"weightType\":\"samples\",\"stack\":[],\"time\":[],"
	      "\"weight\":[]}}",
	      firefox->file);
}
