/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guesses where the function with an address begins if that is unknown: for functions that never
 * return, so that following the code to a return fails (musl's start of a thread, which ends in a
 * call of pthread_exit).  Compilers place functions, mostly aligned, after code that does not
 * continue.  They do the same with the heads of loops, but those are jumped to.  JITs also place
 * them after data, so their functions are recognized by their first instructions.
 */
#include <stdlib.h>

#include "replay/synthesis/entries.h"
#include "replay/synthesis/synthesis_internal.h"

/* Bytes to search backwards, and alignment of functions. */
#define SPAN  4096
#define ALIGN 16
/* Limit of places to consider, the nearest first. */
#define PLACES_MAX 16
/* The same for functions that make a frame record.  A few places that do not reach the address show
 * that the search has left this function's code. */
#define RECORD_SPAN	  65536
#define RECORD_PLACES_MAX 4
/* Bytes to decode before such a place.  Wherever decoding begins, it soon finds the right
 * instructions. */
#define BEFORE_PLACE 64
/* Limit of cached addresses; beyond it, all are dropped. */
#define BEGINNINGS_MAX (1u << 16)
/* Limit of instructions in code that only ends the thread. */
#define END_MAX 16

struct beginnings {
	struct reel_id_entry entry; /* by address; by its complement: those with a frame record */
	const struct reel_row *rows[REEL_SYNTHESIZED_MAX];
	unsigned n;
};

/* A ring of the last places. */
struct places {
	uint64_t at[PLACES_MAX];
	size_t n;
};

static uint64_t place(const struct places *places, size_t back)
{
	return places->at[(places->n - 1 - back) % PLACES_MAX];
}

/* Skips data and invalid instructions, where functions cannot begin. */
static void append_place(struct reel_synthesis *synthesis, struct places *places, uint64_t address)
{
	struct reel_instruction instruction;

	if (reel_code_decode(&synthesis->reader, address, &instruction) &&
	    instruction.flow != REEL_FLOW_END)
		places->at[places->n++ % PLACES_MAX] = address;
}

/* Whether there is only padding up to the alignment of functions. */
static bool is_padding(struct reel_synthesis *synthesis, uint64_t from, uint64_t to)
{
	struct reel_instruction instruction;

	for (; from < to; from += instruction.size) {
		if (!reel_code_decode(&synthesis->reader, from, &instruction) ||
		    instruction.n_effects || instruction.by_fp ||
		    (instruction.flow != REEL_FLOW_NEXT && instruction.flow != REEL_FLOW_END))
			return false;
	}
	return from == to;
}

/* Adds the place after an instruction if a function may begin there. */
static void look_behind(struct reel_synthesis *synthesis, uint8_t flow, uint64_t next,
			struct places *places)
{
	uint64_t aligned = (next + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);

	switch ((enum reel_flow)flow) {
	case REEL_FLOW_JUMP:
	case REEL_FLOW_RETURN:
	case REEL_FLOW_END:
		append_place(synthesis, places,
			     is_padding(synthesis, next, aligned) ? aligned : next);
		break;
	case REEL_FLOW_CALL:
		/* The call may never return. */
		if (aligned != next && is_padding(synthesis, next, aligned))
			append_place(synthesis, places, aligned);
		break;
	default:
		break;
	}
}

static void find_places(struct reel_synthesis *synthesis, uint64_t address, struct places *places)
{
	uint8_t align = synthesis->reader.input.arch->code_align;
	uint64_t at = address > SPAN ? (address - SPAN) & ~(uint64_t)(ALIGN - 1) : 0;
	struct reel_instruction instruction;

	while (at < address) {
		if (!reel_code_decode(&synthesis->reader, at, &instruction)) {
			at += align;
			continue;
		}
		at += instruction.size;
		if (at <= address)
			look_behind(synthesis, instruction.flow, at, places);
	}
}

/* Excludes one of two places if the code of one reaches the other. */
static void compare(struct reel_synthesis *synthesis, const struct places *places, bool *begins,
		    size_t near, size_t far)
{
	if (!begins[near] || !begins[far])
		return;
	switch (reel_entry_reaches(synthesis, place(places, far), place(places, near))) {
	case REEL_ENTRY_APART:
		break;
	case REEL_ENTRY_JUMPS:
		begins[near] = false;
		break;
	/* Only by running on from preceding code, which never gets there. */
	case REEL_ENTRY_RUNS_ON:
		begins[far] = false;
		break;
	}
}

/* The instructions before the place end there, so it is not within one. */
static bool is_boundary(struct reel_synthesis *synthesis, uint64_t place)
{
	struct reel_instruction instruction;
	uint64_t at = place > BEFORE_PLACE ? place - BEFORE_PLACE : 0;

	while (at < place) {
		if (reel_code_decode(&synthesis->reader, at, &instruction))
			at += instruction.size;
		else if (synthesis->reader.is_readable)
			at += synthesis->reader.input.arch->code_align;
		else
			return false;
	}
	return at == place;
}

/* The nearest place whose code makes a frame record and reaches the address. */
static void find_record(struct reel_synthesis *synthesis, uint64_t address,
			struct beginnings *found)
{
	uint64_t at = address & ~(uint64_t)(ALIGN - 1);
	uint64_t end = at > RECORD_SPAN ? at - RECORD_SPAN : 0;

	for (unsigned n = 0; at > end && n < RECORD_PLACES_MAX && !found->n; at -= ALIGN) {
		const struct reel_row *row;

		/* Stop where code was not recorded: the function may begin there. */
		if (!reel_entry_makes_record(synthesis, at)) {
			if (!synthesis->reader.is_readable)
				break;
			continue;
		}
		if (!is_boundary(synthesis, at))
			continue;
		row = reel_entry_row(synthesis, at, address);
		if (row)
			found->rows[found->n++] = row;
		n++;
	}
}

static void find_beginnings(struct reel_synthesis *synthesis, uint64_t address,
			    struct beginnings *found)
{
	struct places places = { .n = 0 };
	bool begins[PLACES_MAX];
	size_t n;

	find_places(synthesis, address, &places);
	n = places.n < PLACES_MAX ? places.n : PLACES_MAX;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = place(&places, i);

		begins[i] = at <= address && (!i || at != place(&places, i - 1)) &&
			    reel_entry_reaches(synthesis, at, address) != REEL_ENTRY_APART &&
			    reel_entry_reaches(synthesis, at, at) != REEL_ENTRY_JUMPS;
	}
	for (size_t near = 0; near < n; near++) {
		for (size_t far = near + 1; far < n; far++)
			compare(synthesis, &places, begins, near, far);
	}
	for (size_t i = 0; i < n && found->n < REEL_SYNTHESIZED_MAX; i++) {
		const struct reel_row *row =
			begins[i] ? reel_entry_row(synthesis, place(&places, i), address) : NULL;

		if (row)
			found->rows[found->n++] = row;
	}
}

/* ---- cache ------------------------------------------------------------------------------ */

static void free_beginnings(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

void reel_beginnings_free(struct reel_synthesis *synthesis)
{
	reel_id_table_visit(&synthesis->beginnings, free_beginnings, NULL);
	reel_id_table_free(&synthesis->beginnings);
	synthesis->beginnings = (struct reel_id_table){ 0 };
	synthesis->n_beginnings = 0;
}

unsigned reel_synthesis_beginnings(struct reel_synthesis *synthesis, uint64_t address,
				   bool by_record,
				   const struct reel_row *rows_ret[REEL_SYNTHESIZED_MAX])
{
	uint64_t id = by_record ? ~address : address;
	struct beginnings *found, made = { .entry = { .id = id } };

	pthread_mutex_lock(&synthesis->lock);
	found = (struct beginnings *)reel_id_table_find(&synthesis->beginnings, id);
	if (!found) {
		(by_record ? find_record : find_beginnings)(synthesis, address, &made);
		if (synthesis->n_beginnings == BEGINNINGS_MAX)
			reel_beginnings_free(synthesis);
		found = malloc(sizeof(*found));
		if (found) {
			*found = made;
			if (reel_id_table_insert(&synthesis->beginnings, &found->entry))
				synthesis->n_beginnings++;
			else
				free(found);
		}
		found = &made;
	}
	for (unsigned i = 0; i < found->n; i++)
		rows_ret[i] = found->rows[i];
	pthread_mutex_unlock(&synthesis->lock);
	return found->n;
}

bool reel_synthesis_only_ends(struct reel_synthesis *synthesis, uint64_t address, bool by_loop)
{
	struct reel_instruction instruction = { .flow = REEL_FLOW_NEXT };
	uint64_t begin = address;

	pthread_mutex_lock(&synthesis->lock);
	for (unsigned i = 0; i < END_MAX && instruction.flow == REEL_FLOW_NEXT; i++) {
		if (!reel_code_decode(&synthesis->reader, address, &instruction))
			instruction.flow = REEL_FLOW_CALL;
		address += instruction.size;
	}
	pthread_mutex_unlock(&synthesis->lock);
	return instruction.flow == REEL_FLOW_END ||
	       (by_loop && instruction.flow == REEL_FLOW_JUMP && instruction.has_target &&
		instruction.target - begin < address - begin);
}
