/* SPDX-License-Identifier: Apache-2.0 */
/* One line per sample, with its stack as in `stackreel folded': RFC 4180, except for Unix line
 * ends; docs/sql.md. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/export/rendered.h"
#include "cli/export/trace_facts.h"
#include "cli/print/csv.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

struct csv {
	FILE *file;
	char *capture;
	const struct reel_capture_info *info;
	struct rendered texts, events;
	/* Of frames: the columns of a leaf, and the name in a stack, within quotes. */
	struct rendered leaves, names;
};

static void print_text(const char *text, FILE *file)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	csv_print(escaped, file);
}

static void render_text(const void *key, FILE *file)
{
	print_text(key, file);
}

static void render_event(const void *key, FILE *file)
{
	const struct reel_event_info *event = key;

	print_text(event_name(event), file);
	fputc(',', file);
	print_text(event->weight_unit, file);
}

static void render_leaf(const void *key, FILE *file)
{
	const struct reel_frame *frame = key;
	_cleanup_free_ char *name = frame_name(frame);

	print_text(name, file);
	fputc(',', file);
	print_text(frame->module_path, file);
	fputc(',', file);
	print_text(frame->file, file);
	fputc(',', file);
	if (frame->line)
		fprintf(file, "%" PRIu32, frame->line);
}

static void render_name(const void *key, FILE *file)
{
	_cleanup_free_ char *name = frame_name(key), *escaped = text_escape(name, "");

	for (char *c = escaped; (c = strchr(c, ';'));)
		*c = ':';
	csv_print_quoted(escaped, file);
}

static void *csv_open(const struct export_target *target)
{
	struct csv *csv = memory_get(sizeof(*csv));

	csv->file = target->file;
	csv->texts.render = render_text;
	csv->events.render = render_event;
	csv->leaves.render = render_leaf;
	csv->names.render = render_name;
	fputs("capture,sample,time,wall_time,event,unit,weight,cpu,pid,tid,comm,ran_in,state,stop,"
	      "whole,"
	      "frames,function,module,file,line,stack,labels\n",
	      csv->file);
	return csv;
}

static void clear(struct csv *csv)
{
	free(csv->capture);
	csv->capture = NULL;
	rendered_clear(&csv->texts);
	rendered_clear(&csv->events);
	rendered_clear(&csv->leaves);
	rendered_clear(&csv->names);
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct csv *csv = state;

	clear(csv);
	csv->capture = memory_print("%s", path);
	csv->info = session->info;
	return true;
}

static void print_stack(struct csv *csv, const struct reel_trace *trace)
{
	FILE *file = csv->file;

	fputc('"', file);
	if (trace_is_cut(trace))
		fprintf(file, "[incomplete: %s]%s", reel_stop_name(trace->stop),
			trace->n_frames ? ";" : "");
	else if (!trace->n_frames)
		fputs("[no frames]", file);
	for (size_t i = trace->n_frames; i--;) {
		fputs_unlocked(rendered_text(&csv->names, trace->frames[i]), file);
		if (i)
			fputc_unlocked(';', file);
	}
	fputs("\",", file);
}

static void print_labels(const struct reel_trace *trace, FILE *file)
{
	_cleanup_free_ char *text = labels_text(trace);

	csv_print(text, file);
	fputc('\n', file);
}

static bool csv_add(void *state, const struct reel_trace *trace,
		    const struct reel_event_info *event)
{
	struct csv *csv = state;
	FILE *file = csv->file;
	uint64_t wall_time;

	fputs(rendered_text(&csv->texts, csv->capture), file);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",", trace->id, trace->time);
	if (wall_time_of(csv->info, trace->time, &wall_time))
		fprintf(file, "%" PRIu64, wall_time);
	fputc(',', file);
	fputs(event ? rendered_text(&csv->events, event) : "unknown,", file);
	fprintf(file, ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",", trace->weight,
		trace->cpu, trace->pid, trace->tid);
	fputs(rendered_text(&csv->texts, trace->comm), file);
	fprintf(file, ",%s,%s,%s,%s,%zu,", where_name(trace->where), reel_state_name(trace->state),
		reel_stop_name(trace->stop), trace_is_cut(trace) ? "false" : "true",
		trace->n_frames);
	fputs(trace->n_frames ? rendered_text(&csv->leaves, trace->frames[0]) : ",,,", file);
	fputc(',', file);
	print_stack(csv, trace);
	print_labels(trace, file);
	return !ferror(file);
}

static bool csv_close(void *state, bool ok)
{
	clear(state);
	free(state);
	return ok;
}

const struct export_format export_csv = {
	.name = "csv",
	.summary = "one line per sample, with its stack as folded prints it",
	.open = csv_open,
	.begin_capture = begin_capture,
	.add = csv_add,
	.close = csv_close,
};
