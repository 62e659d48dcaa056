/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/export/firefox.h"
#include "cli/export/trace_facts.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* As the profiler's own program numbers them. */
enum phase { INSTANT, INTERVAL };

/* ---- reading ------------------------------------------------------------------------------- */

static const struct reel_field *field_of(const struct reel_record_view *record, const char *name)
{
	static const struct reel_field none;

	for (size_t i = 0; i < record->n_fields; i++) {
		if (!strcmp(record->fields[i].name, name))
			return &record->fields[i];
	}
	return &none;
}

static void add(struct firefox *firefox, const struct reel_record_view *record,
		struct firefox_marker marker)
{
	uint64_t time = field_of(record, "time")->value;

	if (!wall_time_of(firefox->tracks.info, time, &marker.time))
		marker.time = time;
	marker.capture = firefox->tracks.n_captures;
	firefox->markers = memory_reserve(firefox->markers, &firefox->markers_capacity,
					  firefox->n_markers, sizeof(marker));
	firefox->markers[firefox->n_markers++] = marker;
}

static void add_loss(struct firefox *firefox, const struct reel_record_view *record)
{
	struct firefox_marker marker = {
		.kind = FIREFOX_LOSS,
		.count = field_of(record, "count")->value,
		.cpu = (uint32_t)field_of(record, "cpu")->value,
	};

	marker.name = reel_loss_name((enum reel_loss)field_of(record, "cause")->value);
	if (!marker.count)
		return;
	add(firefox, record, marker);
	firefox->has_losses = true;
}

/* Other threads are older than the recording, or than its part. */
static void add_start(struct firefox *firefox, const struct reel_record_view *record)
{
	const uint64_t FORK = 1;

	if (field_of(record, "origin")->value == FORK)
		add(firefox, record,
		    (struct firefox_marker){ .kind = FIREFOX_THREAD,
					     .name = "thread start",
					     .thread = field_of(record, "id")->value });
}

static void add_exit(struct firefox *firefox, const struct reel_record_view *record)
{
	add(firefox, record,
	    (struct firefox_marker){ .kind = FIREFOX_THREAD,
				     .name = "thread exit",
				     .thread = field_of(record, "thread")->value });
}

static void add_exec(struct firefox *firefox, const struct reel_record_view *record)
{
	add(firefox, record,
	    (struct firefox_marker){ .kind = FIREFOX_EXEC,
				     .name = "exec",
				     .thread = field_of(record, "thread")->value });
}

/* The thread's new name follows the exec closely, records of other threads may be between. */
static void name_exec(struct firefox *firefox, const struct reel_record_view *record)
{
	const struct reel_field *comm = field_of(record, "comm");
	uint64_t thread = field_of(record, "thread")->value;

	for (size_t i = firefox->n_markers; i && firefox->n_markers - i < 100; i--) {
		struct firefox_marker *marker = &firefox->markers[i - 1];
		_cleanup_free_ char *text = NULL;

		if (marker->thread != thread || marker->kind != FIREFOX_EXEC ||
		    marker->capture != firefox->tracks.n_captures)
			continue;
		if (marker->program)
			return;
		text = memory_print("%.*s", (int)comm->n_bytes, (const char *)comm->bytes);
		/* This escapes it. */
		marker->program = symbol_of_group(&firefox->stacks.texts, text)->name;
		return;
	}
}

static bool visit_record(void *context, const struct reel_record_view *record)
{
	static const struct {
		const char *name;
		void (*take)(struct firefox *firefox, const struct reel_record_view *record);
	} kinds[] = { { "LOSS", add_loss },
		      { "THREAD", add_start },
		      { "THREAD_EXIT", add_exit },
		      { "THREAD_EXEC", add_exec },
		      { "THREAD_COMM", name_exec } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(record->name, kinds[i].name))
			kinds[i].take(context, record);
	}
	return true;
}

void firefox_markers_read(struct firefox *firefox, struct reel_capture *capture)
{
	/* A profile is useful without markers, and the samples' visit reports damaged files. */
	reel_error_destroy(reel_capture_visit_side_records(capture, visit_record, firefox));
}

/* ---- order --------------------------------------------------------------------------------- */

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

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
	memcpy(firefox->by_thread, tracks->items, tracks->count * sizeof(struct track *));
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
		[FIREFOX_LOSS] = "loss", [FIREFOX_THREAD] = "thread", [FIREFOX_EXEC] = "exec"
	};

	fprintf(firefox->file, "{\"type\":\"%s\"", types[marker->kind]);
	if (marker->kind == FIREFOX_LOSS)
		fprintf(firefox->file, ",\"count\":%" PRIu64, marker->count);
	if (marker->kind == FIREFOX_LOSS && marker->cpu != UINT32_MAX)
		fprintf(firefox->file, ",\"cpu\":%" PRIu32, marker->cpu);
	if (marker->kind == FIREFOX_EXEC) {
		fputs(",\"program\":", firefox->file);
		json_escaped_text(marker->program ? marker->program : "", firefox->file);
	}
	fputc('}', firefox->file);
}

enum column { DATA, NAME, START, END, PHASE, CATEGORY, COLUMNS };

static const char *const column_names[COLUMNS] = { "data",    "name",  "startTime",
						   "endTime", "phase", "category" };

static void print_marker(const struct firefox *firefox, enum column column,
			 const struct firefox_marker *marker)
{
	FILE *file = firefox->file;

	switch (column) {
	case DATA:
		print_data(firefox, marker);
		return;
	case NAME:
		fprintf(file, "%" PRIu32, marker->name_string);
		return;
	case START:
		print_time(firefox, marker->time);
		return;
	case END:
		fputs("null", file);
		return;
	case PHASE:
		fprintf(file, "%d", INSTANT);
		return;
	default:
		fprintf(file, "%d", FIREFOX_OTHER);
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
	switch (firefox->column) {
	case DATA:
		fputs("{\"type\":\"wait\"", file);
		if (sample->stack) {
			fputs(",\"cause\":{\"time\":", file);
			print_time(firefox, begin);
			fprintf(file, ",\"stack\":%" PRIu32 "}", sample->stack - 1);
		}
		fputc('}', file);
		return;
	case NAME:
		fprintf(file, "%" PRIu32, firefox->state_strings[sample->state]);
		return;
	case START:
		print_time(firefox, begin);
		return;
	case END:
		print_time(firefox, sample->time);
		return;
	case PHASE:
		fprintf(file, "%d", INTERVAL);
		return;
	default:
		fprintf(file, "%d", FIREFOX_OTHER);
	}
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
		print_marker(firefox, firefox->column, &rows->markers[i]);
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
	return (struct rows){ .markers = all + first, .n_markers = end - first };
}

bool firefox_print_markers(struct firefox *firefox)
{
	struct track *const *tracks = firefox->by_thread;
	size_t n = firefox->tracks.count, i;
	const struct track *track = firefox->track;
	struct rows rows = { 0 };

	i = REEL_PARTITION_POINT(n, j, compare_threads(tracks[j], track) < 0);
	if (tracks[i] == track) {
		/* 0 is no thread's number. */
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

/* ---- losses -------------------------------------------------------------------------------- */

void firefox_print_losses(struct firefox *firefox)
{
	size_t n = 0;
	_cleanup_free_ struct firefox_marker *losses =
		memory_resize(NULL, firefox->n_markers + 1, sizeof(*losses));

	for (size_t i = 0; i < firefox->n_markers; i++) {
		if (firefox->markers[i].kind == FIREFOX_LOSS)
			losses[n++] = firefox->markers[i];
	}
	if (!firefox->has_losses)
		return;
	fputs(",\n{\"name\":\"losses\",\"processName\":\"stackreel-record\",\"pid\":\"losses\","
	      "\"tid\":\"losses\",\"isMainThread\":true,\"showMarkersInTimeline\":true,"
	      "\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
	      "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n",
	      firefox->file);
	/* There are no waits to read. */
	(void)print_table(firefox, &(struct rows){ .markers = losses, .n_markers = n });
	fputs("\"samples\":{\"length\":0,\"weightType\":\"samples\",\"stack\":[],\"time\":[],"
	      "\"weight\":[]}}",
	      firefox->file);
}
