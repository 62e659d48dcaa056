/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON object per line, one line per sample, with its frames: docs/sql.md. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/export/rendered.h"
#include "cli/export/trace_facts.h"
#include "cli/print/json.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

struct ndjson {
	FILE *file;
	char *capture; /* escaped */
	const struct reel_capture_info *info;
	struct rendered frames, comms, events;
};

static void print_text(const char *text, FILE *file)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	json_escaped_text(escaped, file);
}

/* Without the fields that differ between traces. */
static void render_frame(const void *key, FILE *file)
{
	const struct reel_frame *frame = key;
	_cleanup_free_ char *name = frame_name(frame);

	fputs("{\"function\":", file);
	print_text(name, file);
	fputs(",\"module\":", file);
	print_text(frame->module_path, file);
	fprintf(file, ",\"module_address\":\"0x%" PRIx64 "\",\"file\":", frame->module_address);
	print_text(frame->file, file);
	fprintf(file, ",\"line\":%" PRIu32 ",\"inlined\":%s,\"kernel\":%s", frame->line,
		frame->inlined ? "true" : "false", frame->kernel ? "true" : "false");
}

static void render_comm(const void *key, FILE *file)
{
	print_text(key, file);
}

static void render_event(const void *key, FILE *file)
{
	const struct reel_event_info *event = key;

	fputs(",\"event\":", file);
	print_text(event_name(event), file);
	fputs(",\"unit\":", file);
	print_text(event->weight_unit, file);
}

static void *ndjson_open(const struct export_target *target)
{
	struct ndjson *ndjson = memory_get(sizeof(*ndjson));

	ndjson->file = target->file;
	ndjson->frames.render = render_frame;
	ndjson->comms.render = render_comm;
	ndjson->events.render = render_event;
	return ndjson;
}

static void clear(struct ndjson *ndjson)
{
	free(ndjson->capture);
	ndjson->capture = NULL;
	rendered_clear(&ndjson->frames);
	rendered_clear(&ndjson->comms);
	rendered_clear(&ndjson->events);
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct ndjson *ndjson = state;

	clear(ndjson);
	ndjson->capture = memory_print("%s", path);
	ndjson->info = session->info;
	return true;
}

/* Addresses and texts are strings. */
static void print_labels(const struct reel_trace *trace, FILE *file)
{
	fputs(",\"labels\":{", file);
	for (size_t i = 0; i < trace->n_labels; i++) {
		const struct reel_label *label = &trace->labels[i];

		fputs(i ? "," : "", file);
		print_text(label->key, file);
		fputc(':', file);
		if (label->kind == REEL_LABEL_UNSIGNED || label->kind == REEL_LABEL_SIGNED)
			fputs(label->text, file);
		else
			print_text(label->text, file);
	}
	fputc('}', file);
}

static void print_head(struct ndjson *ndjson, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	FILE *file = ndjson->file;
	uint64_t wall_time;

	fputs("{\"capture\":", file);
	fputs(rendered_text(&ndjson->comms, ndjson->capture), file);
	fprintf(file, ",\"sample\":%" PRIu64 ",\"time\":%" PRIu64, trace->id, trace->time);
	if (wall_time_of(ndjson->info, trace->time, &wall_time))
		fprintf(file, ",\"wall_time\":%" PRIu64, wall_time);
	else
		fputs(",\"wall_time\":null", file);
	fputs(event ? rendered_text(&ndjson->events, event)
		    : ",\"event\":\"unknown\",\"unit\":\"\"",
	      file);
	fprintf(file,
		",\"weight\":%" PRIu64 ",\"cpu\":%" PRIu32 ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"comm\":",
		trace->weight, trace->cpu, trace->pid, trace->tid);
	fputs(rendered_text(&ndjson->comms, trace->comm), file);
	fprintf(file, ",\"ran_in\":\"%s\",\"state\":\"%s\",\"stop\":\"%s\",\"whole\":%s",
		where_name(trace->where), reel_state_name(trace->state),
		reel_stop_name(trace->stop), trace_is_cut(trace) ? "false" : "true");
	print_labels(trace, file);
	fputs(",\"frames\":[", file);
}

static bool ndjson_add(void *state, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct ndjson *ndjson = state;
	FILE *file = ndjson->file;

	print_head(ndjson, trace, event);
	for (size_t i = 0; i < trace->n_frames; i++) {
		enum reel_step step = trace->steps[i];

		if (i)
			fputc_unlocked(',', file);
		fputs_unlocked(rendered_text(&ndjson->frames, trace->frames[i]), file);
		fputs_unlocked(step_is_guess(step) ? ",\"guessed\":true,\"found_by\":\""
						   : ",\"guessed\":false,\"found_by\":\"",
			       file);
		fputs_unlocked(step_name(step), file);
		fputs_unlocked("\"}", file);
	}
	fputs_unlocked("]}\n", file);
	return !ferror(file);
}

static bool ndjson_close(void *state, bool ok)
{
	clear(state);
	free(state);
	return ok;
}

const struct export_format export_ndjson = {
	.name = "ndjson",
	.summary = "one JSON object per sample and line, with its frames",
	.open = ndjson_open,
	.begin_capture = begin_capture,
	.add = ndjson_add,
	.close = ndjson_close,
};
