/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope.app's own format: a profile for each thread and event; docs/exports.md. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/export/stack_store.h"
#include "cli/export/tracks.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

struct speedscope {
	FILE *file;
	struct stack_store stacks;
	struct tracks tracks;
	/* While a profile is written. */
	const struct track *track;
	uint64_t sum;
	const char *separator;
	/* Of a stack. */
	uint32_t *frames;
	size_t capacity;
};

static void *speedscope_open(const struct export_target *target)
{
	struct speedscope *speedscope = memory_get(sizeof(*speedscope));

	speedscope->file = target->file;
	stack_store_init(&speedscope->stacks);
	if (tracks_open(&speedscope->tracks))
		return speedscope;
	stack_store_free(&speedscope->stacks);
	tracks_close(&speedscope->tracks);
	free(speedscope);
	return NULL;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct speedscope *speedscope = state;

	(void)path;
	stack_store_begin_capture(&speedscope->stacks);
	tracks_begin_capture(&speedscope->tracks, session);
	return true;
}

static bool speedscope_add(void *state, const struct reel_trace *trace,
			   const struct reel_event_info *event)
{
	struct speedscope *speedscope = state;
	uint32_t stack;

	return stack_store_add(&speedscope->stacks, trace, &stack) &&
	       tracks_add(&speedscope->tracks, trace, event, stack);
}

/* ---- output -------------------------------------------------------------------------------- */

static void print_stack(void *context, const struct track_sample *sample)
{
	struct speedscope *speedscope = context;
	const struct stack_store *stacks = &speedscope->stacks;
	size_t n = stack_store_frames(stacks, sample->stack, &speedscope->frames,
				      &speedscope->capacity);
	FILE *file = speedscope->file;

	speedscope->sum += track_weight(speedscope->track, sample);
	fputs_unlocked(speedscope->separator, file);
	speedscope->separator = ",\n";
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%c%" PRIu32, i ? ',' : '[',
			stacks->frames[speedscope->frames[i]].function);
	fputc_unlocked(']', file);
}

static void print_weight(void *context, const struct track_sample *sample)
{
	struct speedscope *speedscope = context;

	fprintf(speedscope->file, "%s%" PRIu64, speedscope->separator,
		track_weight(speedscope->track, sample));
	speedscope->separator = ",";
}

static void print_name(const struct speedscope *speedscope)
{
	const struct track *track = speedscope->track;
	_cleanup_free_ char *thread = memory_print("%s (%" PRIu32 "/%" PRIu32 ")", track->comm,
						   track->key.pid, track->key.tid);
	_cleanup_free_ char *name =
		memory_print("%s%s%s", thread, speedscope->tracks.several_events ? " " : "",
			     speedscope->tracks.several_events ? track->event : "");

	json_escaped_text(name, speedscope->file);
}

static bool print_profile(struct speedscope *speedscope)
{
	const struct track *track = speedscope->track;
	FILE *file = speedscope->file;
	bool ok;

	fputs("{\"type\":\"sampled\",\"name\":", file);
	print_name(speedscope);
	fprintf(file, ",\"unit\":\"%s\",\"samples\":[",
		track_is_time(track) ? "nanoseconds" : "none");
	speedscope->separator = "\n";
	speedscope->sum = 0;
	ok = tracks_visit(&speedscope->tracks, track, print_stack, speedscope);
	fputs("\n],\"weights\":[", file);
	speedscope->separator = "";
	ok = ok && tracks_visit(&speedscope->tracks, track, print_weight, speedscope);
	fprintf(file, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", speedscope->sum);
	return ok;
}

static bool print_profiles(struct speedscope *speedscope)
{
	struct tracks *tracks = &speedscope->tracks;

	for (size_t i = 0; i < tracks->count && !ferror(speedscope->file); i++) {
		fputs(i ? ",\n" : "\n", speedscope->file);
		speedscope->track = tracks->items[i];
		if (!print_profile(speedscope))
			return false;
	}
	return true;
}

/* A frame is a function here, as in report: the viewer adds up frames with the same number. */
static void print_function(const struct stored_frame *frame, FILE *file)
{
	const struct symbol *symbol = frame->symbol;
	_cleanup_free_ char *name =
		memory_print("%s%s", symbol->name, symbol->inlined ? " (inlined)" : "");

	fputs("{\"name\":", file);
	json_escaped_text(name, file);
	if (frame->file || *symbol->module) {
		fputs(",\"file\":", file);
		json_escaped_text(frame->file ? frame->file : symbol->module, file);
	}
	fputc('}', file);
}

static void print_functions(const struct speedscope *speedscope)
{
	const struct stack_store *stacks = &speedscope->stacks;

	/* Frames are numbered in order of arrival. */
	for (size_t i = 1, next = 0; i < stacks->n_frames; i++) {
		if (stacks->frames[i].function != next)
			continue;
		fputs(next++ ? ",\n" : "\n", speedscope->file);
		print_function(&stacks->frames[i], speedscope->file);
	}
}

static bool speedscope_close(void *state, bool ok)
{
	struct speedscope *speedscope = state;
	FILE *file = speedscope->file;

	if (ok) {
		fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		      "\"exporter\":\"stackreel " REEL_VERSION_STRING "\",\"profiles\":[",
		      file);
		ok = print_profiles(speedscope);
		fputs("\n],\"shared\":{\"frames\":[", file);
		print_functions(speedscope);
		fputs("\n]}}\n", file);
	}
	tracks_close(&speedscope->tracks);
	stack_store_free(&speedscope->stacks);
	free(speedscope->frames);
	free(speedscope);
	return ok;
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.summary = "stacks of each thread in time order, for speedscope",
	.open = speedscope_open,
	.begin_capture = begin_capture,
	.add = speedscope_add,
	.close = speedscope_close,
};
