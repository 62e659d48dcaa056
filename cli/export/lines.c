/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per sample (docs/sql.md): a JSON object with its frames; or RFC 4180, except for Unix line
 * ends, with its stack as in `stackreel folded'.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/export/trace_facts.h"
#include "cli/print/json.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* Texts made once for each frame, thread name or event of a capture, and printed often. */
struct rendered {
	/* Writes the text for `key`. */
	void (*render)(const void *key, FILE *file);
	struct pointer_map texts;
};

struct lines {
	FILE *file;
	char *capture;
	const struct reel_capture_info *info;
	/* Of frames: JSON's objects, or CSV's columns of a leaf; and the names in CSV's stacks. */
	struct rendered texts, events, frames, names;
};

static const char *rendered_text(struct rendered *rendered, const void *key)
{
	char *text = pointer_map_get(&rendered->texts, key);
	FILE *file;
	size_t size;

	if (text)
		return text;
	file = open_memstream(&text, &size);
	memory_check(file);
	rendered->render(key, file);
	fclose(file);
	memory_check(text);
	pointer_map_put(&rendered->texts, key, text);
	return text;
}

static void rendered_clear(struct rendered *rendered)
{
	for (size_t i = 0; i < rendered->texts.n_slots; i++)
		free(rendered->texts.slots[i].value);
	pointer_map_free(&rendered->texts);
}

/* ---- both formats -------------------------------------------------------------------------- */

static void clear(struct lines *lines)
{
	free(lines->capture);
	rendered_clear(&lines->texts);
	rendered_clear(&lines->events);
	rendered_clear(&lines->frames);
	rendered_clear(&lines->names);
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct lines *lines = state;

	clear(lines);
	lines->capture = memory_print("%s", path);
	lines->info = session->info;
	return true;
}

static bool lines_close(void *state, bool ok)
{
	clear(state);
	free(state);
	return ok;
}

/* ---- NDJSON -------------------------------------------------------------------------------- */

static void json_text(const void *key, FILE *file)
{
	_cleanup_free_ char *escaped = text_escape(key, "");

	json_escaped_text(escaped, file);
}

/* Without the fields that differ between traces. */
static void json_frame(const void *key, FILE *file)
{
	const struct reel_frame *frame = key;
	_cleanup_free_ char *name = frame_name(frame);

	fputs("{\"function\":", file);
	json_text(name, file);
	fputs(",\"module\":", file);
	json_text(frame->module_path, file);
	fprintf(file, ",\"module_address\":\"0x%" PRIx64 "\",\"file\":", frame->module_address);
	json_text(frame->file, file);
	fprintf(file, ",\"line\":%" PRIu32 ",\"inlined\":%s,\"kernel\":%s", frame->line,
		frame->inlined ? "true" : "false", frame->kernel ? "true" : "false");
}

static void json_event(const void *key, FILE *file)
{
	const struct reel_event_info *event = key;

	fputs(",\"event\":", file);
	json_text(event_name(event), file);
	fputs(",\"unit\":", file);
	json_text(event->weight_unit, file);
}

static void *ndjson_open(const struct export_target *target)
{
	struct lines *lines = memory_get(sizeof(*lines));

	lines->file = target->file;
	lines->texts.render = json_text;
	lines->events.render = json_event;
	lines->frames.render = json_frame;
	return lines;
}

/* Addresses and texts are strings. */
static void json_labels(const struct reel_trace *trace, FILE *file)
{
	fputs(",\"labels\":{", file);
	for (size_t i = 0; i < trace->n_labels; i++) {
		const struct reel_label *label = &trace->labels[i];

		fputs(i ? "," : "", file);
		json_text(label->key, file);
		fputc(':', file);
		if (label->kind == REEL_LABEL_UNSIGNED || label->kind == REEL_LABEL_SIGNED)
			fputs(label->text, file);
		else
			json_text(label->text, file);
	}
	fputc('}', file);
}

static void json_head(struct lines *lines, const struct reel_trace *trace,
		      const struct reel_event_info *event)
{
	FILE *file = lines->file;
	uint64_t wall_time;

	fprintf(file, "{\"capture\":%s,\"sample\":%" PRIu64 ",\"time\":%" PRIu64,
		rendered_text(&lines->texts, lines->capture), trace->id, trace->time);
	if (wall_time_of(lines->info, trace->time, &wall_time))
		fprintf(file, ",\"wall_time\":%" PRIu64, wall_time);
	else
		fputs(",\"wall_time\":null", file);
	fputs(event ? rendered_text(&lines->events, event) : ",\"event\":\"unknown\",\"unit\":\"\"",
	      file);
	fprintf(file,
		",\"weight\":%" PRIu64 ",\"cpu\":%" PRIu32 ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"comm\":%s,\"ran_in\":\"%s\",\"state\":\"%s\",\"stop\":\"%s\",\"whole\":%s",
		trace->weight, trace->cpu, trace->pid, trace->tid,
		rendered_text(&lines->texts, trace->comm), where_name(trace->where),
		reel_state_name(trace->state), reel_stop_name(trace->stop),
		trace_is_cut(trace) ? "false" : "true");
	json_labels(trace, file);
	fputs(",\"frames\":[", file);
}

static bool ndjson_add(void *state, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct lines *lines = state;
	FILE *file = lines->file;

	json_head(lines, trace, event);
	for (size_t i = 0; i < trace->n_frames; i++) {
		enum reel_step step = trace->steps[i];

		if (i)
			fputc_unlocked(',', file);
		fputs_unlocked(rendered_text(&lines->frames, trace->frames[i]), file);
		fputs_unlocked(step_is_guess(step) ? ",\"guessed\":true,\"found_by\":\""
						   : ",\"guessed\":false,\"found_by\":\"",
			       file);
		fputs_unlocked(step_name(step), file);
		fputs_unlocked("\"}", file);
	}
	fputs_unlocked("]}\n", file);
	return !ferror(file);
}

const struct export_format export_ndjson = {
	.name = "ndjson",
	.summary = "one JSON object per sample and line, with its frames",
	.open = ndjson_open,
	.begin_capture = begin_capture,
	.add = ndjson_add,
	.close = lines_close,
};

/* ---- CSV ----------------------------------------------------------------------------------- */

static void csv_text(const void *key, FILE *file)
{
	_cleanup_free_ char *escaped = text_escape(key, "");

	csv_print(escaped, file);
}

static void csv_event(const void *key, FILE *file)
{
	const struct reel_event_info *event = key;

	csv_text(event_name(event), file);
	fputc(',', file);
	csv_text(event->weight_unit, file);
}

static void csv_leaf(const void *key, FILE *file)
{
	const struct reel_frame *frame = key;
	_cleanup_free_ char *name = frame_name(frame);

	csv_text(name, file);
	fputc(',', file);
	csv_text(frame->module_path, file);
	fputc(',', file);
	csv_text(frame->file, file);
	fputc(',', file);
	if (frame->line)
		fprintf(file, "%" PRIu32, frame->line);
}

static void csv_name(const void *key, FILE *file)
{
	_cleanup_free_ char *name = frame_name(key), *escaped = text_escape(name, "");

	for (char *c = escaped; (c = strchr(c, ';'));)
		*c = ':';
	csv_print_quoted(escaped, file);
}

static void *csv_open(const struct export_target *target)
{
	struct lines *lines = memory_get(sizeof(*lines));

	lines->file = target->file;
	lines->texts.render = csv_text;
	lines->events.render = csv_event;
	lines->frames.render = csv_leaf;
	lines->names.render = csv_name;
	fputs("capture,sample,time,wall_time,event,unit,weight,cpu,pid,tid,comm,ran_in,state,stop,"
	      "whole,"
	      "frames,function,module,file,line,stack,labels\n",
	      lines->file);
	return lines;
}

static void csv_stack(struct lines *lines, const struct reel_trace *trace)
{
	FILE *file = lines->file;

	fputc('"', file);
	if (trace_is_cut(trace))
		fprintf(file, "[incomplete: %s]%s", reel_stop_name(trace->stop),
			trace->n_frames ? ";" : "");
	else if (!trace->n_frames)
		fputs("[no frames]", file);
	for (size_t i = trace->n_frames; i--;) {
		fputs_unlocked(rendered_text(&lines->names, trace->frames[i]), file);
		if (i)
			fputc_unlocked(';', file);
	}
	fputs("\",", file);
}

static bool csv_add(void *state, const struct reel_trace *trace,
		    const struct reel_event_info *event)
{
	struct lines *lines = state;
	FILE *file = lines->file;
	_cleanup_free_ char *labels = labels_text(trace);
	uint64_t wall_time;

	fprintf(file, "%s,%" PRIu64 ",%" PRIu64 ",", rendered_text(&lines->texts, lines->capture),
		trace->id, trace->time);
	if (wall_time_of(lines->info, trace->time, &wall_time))
		fprintf(file, "%" PRIu64, wall_time);
	fprintf(file, ",%s,%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%s,%s,%s,%s,%s,%zu,%s,",
		event ? rendered_text(&lines->events, event) : "unknown,", trace->weight,
		trace->cpu, trace->pid, trace->tid, rendered_text(&lines->texts, trace->comm),
		where_name(trace->where), reel_state_name(trace->state),
		reel_stop_name(trace->stop), trace_is_cut(trace) ? "false" : "true",
		trace->n_frames,
		trace->n_frames ? rendered_text(&lines->frames, trace->frames[0]) : ",,,");
	csv_stack(lines, trace);
	csv_print(labels, file);
	fputc('\n', file);
	return !ferror(file);
}

const struct export_format export_csv = {
	.name = "csv",
	.summary = "one line per sample, with its stack as folded prints it",
	.open = csv_open,
	.begin_capture = begin_capture,
	.add = csv_add,
	.close = lines_close,
};
