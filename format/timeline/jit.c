/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What JITs reported about their code (JIT_SYMBOL, JIT_UNWIND, JIT_LINE: SPEC.md, section 5).
 *
 * Spaces that fork form a tree.  A walk through it numbers all events and visits a child's events
 * at its fork.  So an event of a space counts from its number to the end of that space, for the
 * space and all that inherit from it, and a moment of a space is a number.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "format/timeline/jit_index.h"
#include "format/timeline/timeline.h"

/* In order of time. */
struct reel_jit_event {
	uint64_t time;
	struct reel_space *child; /* forks here; else NULL */
	uint64_t first, last;
	/* NULL: removes whatever was there (UNMAP, or a JIT_SYMBOL that ends others). */
	const struct reel_jit_symbol *symbol;
	const struct reel_record_jit_unwind *unwind;
	uint32_t moment;
};

struct reel_jit_line_entry {
	uint64_t space, time, function, address;
	size_t number; /* order of arrival */
	struct reel_jit_line line;
};

static struct reel_error *add_event(struct reel_space *space, const struct reel_jit_event *event)
{
	if (!reel_array_reserve(&space->jit_events, space->n_jit_events, &space->jit_capacity,
				sizeof(*space->jit_events)))
		return reel_error_no_memory();
	space->jit_events[space->n_jit_events++] = *event;
	space->has_jit = true;
	return NULL;
}

struct reel_error *reel_jit_fork(struct reel_space *parent, struct reel_space *child, uint64_t time)
{
	/* A space whose own children came first cannot be a child (a capture may be invalid). */
	if (!parent->has_jit || child->jit_forked)
		return NULL;
	parent->jit_forked = true;
	child->has_jit = true;
	child->jit_parent = parent;
	return add_event(parent, &(struct reel_jit_event){ .time = time, .child = child });
}

static struct reel_error *add_end(struct reel_space *space, uint64_t time, uint64_t address,
				  uint64_t size)
{
	return add_event(space, &(struct reel_jit_event){
					.time = time,
					.first = address,
					.last = address + (size - 1),
				});
}

struct reel_error *reel_jit_unmap(struct reel_space *space, const struct reel_record_unmap *record)
{
	if (!space->has_jit || record->how == REEL_UNMAP_INFERRED_OVERLAP)
		return NULL;
	return add_end(space, record->time, record->address, record->size);
}

static const char *intern(struct reel_timeline *timeline, struct reel_bytes text)
{
	if (!timeline->texts)
		timeline->texts = reel_texts_create();
	return timeline->texts ? reel_texts_add(timeline->texts, text.data, text.size) : NULL;
}

struct reel_error *reel_jit_add_symbol(struct reel_timeline *timeline, struct reel_space *space,
				       const struct reel_record_jit_symbol *record)
{
	struct reel_jit_symbol *symbol;
	const char *name;

	if (!record->name.size && record->source == REEL_JIT_ELF)
		return add_end(space, record->time, record->address, record->size);
	symbol = reel_arena_allocate(&timeline->jit_arena, sizeof(*symbol));
	name = intern(timeline, record->name);
	if (!symbol || !name)
		return reel_error_no_memory();
	*symbol = (struct reel_jit_symbol){
		.space = record->space,
		.time = record->time,
		.address = record->address,
		.name = name,
	};
	timeline->n_jit_symbols++;
	return add_event(space, &(struct reel_jit_event){
					.time = record->time,
					.first = record->address,
					.last = record->address + (record->size - 1),
					.symbol = symbol,
				});
}

struct reel_error *reel_jit_add_unwind(struct reel_timeline *timeline, struct reel_space *space,
				       const struct reel_record_jit_unwind *record)
{
	struct reel_record_jit_unwind *unwind =
		reel_arena_allocate(&timeline->jit_arena, sizeof(*unwind));

	if (!unwind)
		return reel_error_no_memory();
	*unwind = *record;
	/* A newer version's form of rows: nobody knows a row there. */
	if (record->section > REEL_JIT_DEBUG_FRAME)
		unwind->eh_frame = (struct reel_bytes){ 0 };
	timeline->n_jit_unwinds++;
	return add_event(space, &(struct reel_jit_event){
					.time = record->time,
					.first = record->address,
					.last = record->address + (record->size - 1),
					.unwind = unwind,
				});
}

/* ---- lines ---------------------------------------------------------------------- */

struct reel_error *reel_jit_add_line(struct reel_timeline *timeline,
				     const struct reel_record_jit_line *record)
{
	const char *file = intern(timeline, record->file);

	if (!file ||
	    !reel_array_reserve(&timeline->jit_lines, timeline->n_jit_lines,
				&timeline->jit_lines_capacity, sizeof(struct reel_jit_line_entry)))
		return reel_error_no_memory();
	timeline->jit_lines[timeline->n_jit_lines] = (struct reel_jit_line_entry){
		.space = record->space,
		.time = record->time,
		.function = record->function,
		.address = record->address,
		.number = timeline->n_jit_lines,
		.line = { file, record->line <= UINT32_MAX ? (uint32_t)record->line : 0 },
	};
	timeline->n_jit_lines++;
	return NULL;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_lines(const void *a, const void *b)
{
	const struct reel_jit_line_entry *x = a, *y = b;
	int order = compare(x->space, y->space);

	if (!order)
		order = compare(x->time, y->time);
	if (!order)
		order = compare(x->function, y->function);
	if (!order)
		order = compare(x->address, y->address);
	return order ? order : compare(x->number, y->number);
}

bool reel_jit_symbol_line(const struct reel_timeline *timeline,
			  const struct reel_jit_symbol *symbol, uint64_t address,
			  struct reel_jit_line *ret)
{
	const struct reel_jit_line_entry key = { .space = symbol->space,
						 .time = symbol->time,
						 .function = symbol->address,
						 .address = address,
						 .number = SIZE_MAX };
	const struct reel_jit_line_entry *found;
	size_t low = REEL_PARTITION_POINT(timeline->n_jit_lines, i,
					  compare_lines(&timeline->jit_lines[i], &key) <= 0);

	if (!low)
		return false;
	found = &timeline->jit_lines[low - 1];
	if (found->space != key.space || found->time != key.time || found->function != key.function)
		return false;
	*ret = found->line;
	return true;
}

/* ---- numbering ------------------------------------------------------------------ */

struct numbering {
	uint32_t last;
	/* The events of all spaces by number, and the space of each; ends come later. */
	struct reel_jit_event **events;
	struct reel_space **spaces;
	size_t n;
};

/* Numbers the space, and everything that forked from it and its children. */
static void number_space(struct numbering *numbering, struct reel_space *space)
{
	while (space) {
		struct reel_jit_event *event;

		if (!space->jit_walked)
			space->jit_begin = ++numbering->last;
		if (space->jit_walked == space->n_jit_events) {
			space->jit_end = ++numbering->last;
			space = space->jit_parent;
			/* The parent continues after the child. */
			if (space)
				space->jit_events[space->jit_walked - 1].moment = ++numbering->last;
			continue;
		}
		event = &space->jit_events[space->jit_walked++];
		if (event->child) {
			space = event->child;
			continue;
		}
		event->moment = ++numbering->last;
		numbering->spaces[numbering->n] = space;
		numbering->events[numbering->n++] = event;
	}
}

static void number_root(void *context, struct reel_id_entry *entry)
{
	struct reel_space *space = (struct reel_space *)entry;

	if (space->has_jit && !space->jit_parent)
		number_space(context, space);
}

static void count_events(void *context, struct reel_id_entry *entry)
{
	const struct reel_space *space = (const struct reel_space *)entry;

	*(size_t *)context += space->has_jit ? space->n_jit_events + 2 : 0;
}

/* Indexes either symbols or unwind information; UNMAP removes both. */
static struct reel_error *make_index(const struct numbering *numbering, bool of_symbols,
				     struct reel_jit_index **ret)
{
	struct reel_jit_range *ranges = calloc(numbering->n + 1, sizeof(*ranges));
	size_t n = 0;

	if (!ranges)
		return reel_error_no_memory();
	for (size_t i = 0; i < numbering->n; i++) {
		const struct reel_jit_event *event = numbering->events[i];

		if (of_symbols ? event->unwind != NULL : event->symbol != NULL)
			continue;
		ranges[n++] = (struct reel_jit_range){
			.first = event->first,
			.last = event->last,
			.begin = event->moment,
			.end = numbering->spaces[i]->jit_end,
			.value = of_symbols ? (const void *)event->symbol
					    : (const void *)event->unwind,
		};
	}
	return reel_jit_index_create(ranges, n, ret);
}

struct reel_error *reel_jit_seal(struct reel_timeline *timeline)
{
	_cleanup_free_ struct reel_jit_event **events = NULL;
	_cleanup_free_ struct reel_space **spaces = NULL;
	struct numbering numbering = { 0 };
	size_t n = 0;

	if (timeline->n_jit_lines)
		qsort(timeline->jit_lines, timeline->n_jit_lines,
		      sizeof(struct reel_jit_line_entry), compare_lines);
	if (!timeline->n_jit_symbols && !timeline->n_jit_unwinds)
		return NULL;
	reel_id_table_visit(&timeline->spaces, count_events, &n);
	if (n >= UINT32_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "too many records of JIT code (2^32)");
	numbering.events = events = calloc(n, sizeof(*events));
	numbering.spaces = spaces = calloc(n, sizeof(*spaces));
	if (!events || !spaces)
		return reel_error_no_memory();
	reel_id_table_visit(&timeline->spaces, number_root, &numbering);
	if (timeline->n_jit_symbols)
		TRY(make_index(&numbering, true, &timeline->jit_symbols));
	if (timeline->n_jit_unwinds)
		TRY(make_index(&numbering, false, &timeline->jit_unwinds));
	return NULL;
}

/* ---- look-ups ------------------------------------------------------------------- */

uint32_t reel_jit_moment(const struct reel_space *space, uint64_t time)
{
	size_t low =
		REEL_PARTITION_POINT(space->n_jit_events, i, space->jit_events[i].time <= time);

	return low ? space->jit_events[low - 1].moment : space->jit_begin;
}

const struct reel_jit_symbol *reel_space_view_jit_symbol(const struct reel_space_view *view,
							 uint64_t address)
{
	return reel_jit_index_find(view->timeline->jit_symbols, view->moment, address);
}

const struct reel_record_jit_unwind *reel_space_view_jit_unwind(const struct reel_space_view *view,
								uint64_t address)
{
	return reel_jit_index_find(view->timeline->jit_unwinds, view->moment, address);
}

struct reel_jit_counts reel_timeline_jit_counts(const struct reel_timeline *timeline)
{
	return (struct reel_jit_counts){ timeline->n_jit_symbols, timeline->n_jit_lines,
					 timeline->n_jit_unwinds };
}

void reel_jit_free(struct reel_timeline *timeline)
{
	reel_jit_index_destroy(timeline->jit_symbols);
	reel_jit_index_destroy(timeline->jit_unwinds);
	reel_arena_free(&timeline->jit_arena);
	reel_texts_destroy(timeline->texts);
	free(timeline->jit_lines);
}
