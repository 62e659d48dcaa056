/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crosses the gap of a cut stack, of whose far end, the root part, the recorder has kept some
 * kilobytes (SPEC.md, section 8).  The frame in which they begin is unknown.  So this searches for
 * return addresses from which the walk reaches the root by calls that can all have led to their
 * callees.  Words left by earlier calls mostly fail that test, but frames with arrays that were
 * never written also keep whole old chains, which end in a live frame.  So this takes the frames
 * that all ways to the root share, however much of the code is known, and none if several calls
 * lead to a frame that only lacks a register to go on: that may be the live way.  They are likely
 * live but not proved, and the number of frames in between is unknown, so a trace that continues
 * here is never complete.
 */
#include "replay/unwind/unwind_internal.h"

/* For all walks together, to limit the work for a sample of some kilobytes. */
#define STEPS_MAX 8192
/* Recorded frames of a way. */
#define WAY_MAX 512

/* Frames of a way that was hardly made of words that happen to be there. */
#define CALLS_IN_ORDER 3

/* From a word to the root: the stack pointers of its frames, ascending. */
struct way {
	uint64_t sps[WAY_MAX];
	unsigned n;	     /* all frames, recorded or not */
	bool lacks_register; /* in its last frame, so it does not come to the root */
};

static bool is_on(const struct way *way, uint64_t sp)
{
	for (unsigned i = 0; i < way->n && i < WAY_MAX && way->sps[i] <= sp; i++) {
		if (way->sps[i] == sp)
			return true;
	}
	return false;
}

static void way_add(struct way *way, uint64_t sp)
{
	if (way->n < WAY_MAX)
		way->sps[way->n] = sp;
	way->n++;
}

/* Whether the call that returns to `caller` can have led to `callee`. */
static bool can_have_called(const struct reel_walk *walk, struct reel_unwind_state *callee,
			    const struct reel_unwind_state *caller)
{
	struct reel_walk at = *walk;
	struct reel_code here = { 0 };
	bool agrees;

	at.state = callee;
	walk->input->find_code(walk->input->context, reel_walk_lookup(&at), &here);
	return reel_walk_is_behind_call(&at, caller->pc, NULL) &&
	       reel_walk_call_leads_here(&at, &here, caller, &agrees) != REEL_LEADS_NOT;
}

/* Where a way meets another one; 0: nowhere. */
static uint64_t first_common(const struct way *way, const struct way *other)
{
	for (unsigned i = 0, j = 0; i < way->n && i < WAY_MAX && j < other->n && j < WAY_MAX;) {
		if (way->sps[i] == other->sps[j])
			return way->sps[i];
		if (way->sps[i] < other->sps[j])
			i++;
		else
			j++;
	}
	return 0;
}

static bool comes_to_root(const struct reel_walk *walk, const struct reel_unwind_state *begin,
			  unsigned *steps_left, struct way *way)
{
	struct reel_unwind_state state = *begin, callee;
	struct reel_walk trial = *walk;
	enum reel_next next;
	enum reel_step step;

	trial.state = &state;
	trial.on_trial = true;
	way->n = 0;
	way->lacks_register = false;
	while (*steps_left) {
		--*steps_left;
		callee = state;
		way_add(way, state.registers[walk->programs->sp]);
		next = reel_walk_advance(&trial, &step);
		/* A return address of 0 normally marks the root, but here any word can be 0. */
		if (next == REEL_NEXT_ROOT)
			return !trial.guessed && state.pc;
		way->lacks_register =
			next == REEL_NEXT_STOP && trial.stop == REEL_STOP_REGISTER_UNKNOWN;
		if (next != REEL_NEXT_CALLER || trial.guessed ||
		    (step != REEL_STEP_CFI && step != REEL_STEP_SYNTHESIZED) ||
		    !can_have_called(&trial, &callee, &state))
			return false;
	}
	return false;
}

/* The frame pointer is also unknown; a callee with a frame pointer has saved the old one below its
 * return address. */
static bool take_frame_pointer(const struct reel_walk *walk, uint64_t at,
			       struct reel_unwind_state *state)
{
	const struct reel_memory_region *part = walk->input->root_part;
	uint8_t size = walk->input->arch->word_size, fp = walk->programs->fp;
	uint64_t word;

	if (!reel_memory_read(walk->input->memory, at - size, size, &word) ||
	    word - at >= part->size - (at - part->address))
		return false;
	state->registers[fp] = word;
	state->known |= (uint64_t)1 << fp;
	return true;
}

/* Goes on from the way's beginning to its frame with this sp. */
static bool go_to(struct reel_walk *walk, uint64_t sp)
{
	enum reel_step step;

	while (walk->state->registers[walk->programs->sp] < sp) {
		if (reel_walk_advance(walk, &step) != REEL_NEXT_CALLER)
			return false;
	}
	return true;
}

bool reel_walk_cross_gap(struct reel_walk *walk)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_memory_region *part = input->root_part;
	uint8_t size = input->arch->word_size, sp = walk->programs->sp;
	unsigned steps_left = STEPS_MAX;
	struct reel_walk beyond = *walk;
	struct reel_unwind_state found;
	struct way longest = { .n = 0 }, way;
	uint64_t word, common = 0, meeting;

	/* On other CPUs, the place of a return address does not give the caller's sp. */
	if (!part || walk->is_beyond_gap || input->arch->flags & REEL_ARCH_LINK_REGISTER ||
	    !reel_walk_knows(walk->state, sp) || walk->state->registers[sp] >= part->address)
		return false;
	beyond.first = beyond.exact = beyond.sp_assumed = beyond.guessed = false;
	beyond.is_beyond_gap = true;
	beyond.callee = 0;
	for (uint64_t into = 0; into + size <= part->size && steps_left; into += size) {
		struct reel_unwind_state state = *walk->state;

		steps_left--;
		if (!reel_memory_read(input->memory, part->address + into, size, &word))
			continue;
		state.pc = reel_walk_strip(walk, word);
		state.known = (uint64_t)1 << sp;
		state.registers[sp] = part->address + into + size;
		if (is_on(&longest, state.registers[sp]) ||
		    !reel_walk_is_behind_call(walk, state.pc, NULL))
			continue;
		if (!comes_to_root(&beyond, &state, &steps_left, &way) &&
		    (!take_frame_pointer(walk, part->address + into, &state) ||
		     !comes_to_root(&beyond, &state, &steps_left, &way))) {
			if (way.lacks_register && way.n >= CALLS_IN_ORDER)
				return false;
			continue;
		}
		meeting = longest.n ? first_common(&way, &longest) : state.registers[sp];
		/* Two ways to different roots. */
		if (!meeting)
			return false;
		common = meeting > common ? meeting : common;
		if (way.n > longest.n) {
			longest = way;
			found = state;
		}
	}
	beyond.state = &found;
	if (!longest.n || !go_to(&beyond, common))
		return false;
	*walk->state = found;
	beyond.state = walk->state;
	*walk = beyond;
	return true;
}
