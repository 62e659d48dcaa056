/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/export/trace_facts.h"
#include "cli/flamegraph/flame_frames.h"
#include "cli/print/text.h"

const char *const flame_kind_marks[FLAME_KINDS] = {
	[FLAME_PLAIN] = "",
	[FLAME_INLINED] = " [inlined]",
	[FLAME_KERNEL] = " [kernel]",
	[FLAME_GUESSED] = " [guessed]",
	/* Their names already state this. */
	[FLAME_INCOMPLETE] = "",
	[FLAME_PYTHON] = "",
};

void flame_frames_init(struct flame_frames *frames, bool by_line)
{
	*frames = (struct flame_frames){ .by_line = by_line };
	symbol_table_init(&frames->symbols, SYMBOLS_BY_FUNCTION);
}

void flame_frames_free(struct flame_frames *frames)
{
	for (struct flame_frame *frame = frames->all, *next; frame; frame = next) {
		next = frame->next;
		free(frame);
	}
	for (struct flame_place *place = frames->places, *next; place; place = next) {
		next = place->next;
		free(place);
	}
	pointer_map_free(&frames->by_symbol);
	pointer_map_free(&frames->by_place);
	symbol_table_free(&frames->symbols);
}

struct flame_frame *flame_frame_get(struct flame_frames *frames, const struct symbol *symbol,
				    bool guessed)
{
	const void *key = (const char *)symbol + guessed;
	struct flame_frame *frame = pointer_map_get(&frames->by_symbol, key);

	if (frame)
		return frame;
	frame = memory_get(sizeof(*frame));
	*frame = (struct flame_frame){ symbol, guessed, .file = "", .next = frames->all };
	frame->function = frame;
	frames->all = frame;
	pointer_map_put(&frames->by_symbol, key, frame);
	return frame;
}

/* The frame of one of the function's lines. */
static struct flame_frame *line_get(struct flame_frames *frames, struct flame_frame *function,
				    const char *file, uint32_t line)
{
	struct flame_frame *frame = function->next_line;

	while (frame && (frame->line != line || strcmp(frame->file, file) != 0))
		frame = frame->next_line;
	if (frame)
		return frame;
	frame = memory_get(sizeof(*frame));
	*frame = *function;
	frame->file = file;
	frame->line = line;
	frame->next = frames->all;
	frames->all = frame;
	function->next_line = frame;
	return frame;
}

static struct flame_frame *frame_of_place(struct flame_frames *frames,
					  const struct reel_frame *frame, bool guessed)
{
	struct flame_frame *function =
		flame_frame_get(frames, symbol_of_frame(&frames->symbols, frame), guessed);

	if (!function->module_id)
		function->module_id = frame->module_id;
	if (!frames->by_line || !*frame->file)
		return function;
	return line_get(frames, function, frame->file, frame->line);
}

struct flame_place *flame_place_get(struct flame_frames *frames, const struct reel_frame *frame,
				    enum reel_step step)
{
	bool guessed = step_is_guess(step);
	const void *key = (const char *)frame + guessed;
	struct flame_place *place = pointer_map_get(&frames->by_place, key);

	if (place)
		return place;
	place = memory_get(sizeof(*place));
	*place = (struct flame_place){
		.frame = frame,
		.of = frame_of_place(frames, frame, guessed),
		.next = frames->places,
	};
	frames->places = place;
	frames->n_places++;
	pointer_map_put(&frames->by_place, key, place);
	return place;
}

/* ---- lines ------------------------------------------------------------------------------- */

static int compare_lines(const struct flame_place *x, const struct flame_place *y)
{
	int order = strcmp(x->frame->file, y->frame->file);

	return order ? order
		     : (x->frame->line > y->frame->line) - (x->frame->line < y->frame->line);
}

static int compare_places(const void *a, const void *b)
{
	const struct flame_place *x = *(struct flame_place *const *)a;
	const struct flame_place *y = *(struct flame_place *const *)b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return compare_lines(x, y);
}

/* Chooses each function's line with the most samples, and the first among equals. */
static void choose_lines(struct flame_place **places, size_t n)
{
	uint64_t samples = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		struct flame_frame *of = places[i]->of;

		if (i && places[i - 1]->of != of)
			most = 0;
		if (!i || places[i - 1]->of != of || compare_lines(places[i - 1], places[i]) != 0)
			samples = 0;
		samples += places[i]->samples;
		if (samples > most && *places[i]->frame->file) {
			most = samples;
			of->file = places[i]->frame->file;
			of->line = places[i]->frame->line;
		}
	}
}

void flame_frames_finish(struct flame_frames *frames)
{
	_cleanup_free_ struct flame_place **places =
		memory_resize(NULL, frames->n_places + 1, sizeof(struct flame_place *));
	size_t n = 0;

	for (struct flame_place *place = frames->places; place; place = place->next)
		places[n++] = place;
	qsort(places, n, sizeof(struct flame_place *), compare_places);
	choose_lines(places, n);
}

void flame_frames_join_lines(struct flame_frames *frames)
{
	frames->by_line = false;
	for (struct flame_place *place = frames->places; place; place = place->next)
		place->of = place->of->function;
	flame_frames_finish(frames);
}

/* ---- what they are -------------------------------------------------------------------------- */

int flame_frame_compare(const void *a, const void *b)
{
	const struct flame_frame *x = a, *y = b;
	int order = symbol_compare(x->symbol, y->symbol);

	if (!order)
		order = x->guessed - y->guessed;
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

enum flame_kind flame_frame_kind(const struct flame_frame *frame)
{
	const struct symbol *symbol = frame->symbol;

	if (symbol->pseudo)
		return FLAME_INCOMPLETE;
	if (frame->guessed)
		return FLAME_GUESSED;
	if (symbol->kernel)
		return FLAME_KERNEL;
	if (!strcmp(symbol->module, "[python]") || !strcmp(symbol->module, "[ruby]"))
		return FLAME_PYTHON;
	return symbol->inlined ? FLAME_INLINED : FLAME_PLAIN;
}
