/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crosses the gap of a cut stack.  Of a stack that is too deep, the recorder keeps the near end and
 * some kilobytes at the far end, the root part (SPEC.md, section 8).  The walk has come to the end
 * of the near part.  It can go on in the root part, but nothing says where a frame begins there:
 *
 *   1. Each word of the root part that follows a call instruction may be a return address, with its
 *      caller's frame right above it.  From there, a trial walks on to the root, and each of its
 *      calls must be able to lead to its callee.  Its frames are a path.
 *   2. Words left by earlier calls mostly fail that test, but a frame with an array that was never
 *      written also keeps whole old chains.  Such a path joins the live one farther up, in the
 *      frame that made both calls.  So only frames that are on all paths are taken.
 *   3. Without a frame on all paths nothing is taken, nor if a path that is too long for a chance
 *      fails only because a register is unknown: that may be the live one.
 *
 * The frames taken are likely live but not proved, and the number of frames in the gap is unknown,
 * so a trace that continues here is never complete.
 */
#include "replay/unwind/unwind_internal.h"

/* For all trials together, to limit the work for a sample of some kilobytes. */
#define STEPS_MAX 8192
/* Recorded frames of a path. */
#define PATH_FRAMES_MAX 512
/* Frames of a path that hardly arises from words that happen to be there. */
#define FRAMES_BY_CHANCE 3

/* From a word towards the root: the stack pointers of its frames, ascending. */
struct path {
	uint64_t sps[PATH_FRAMES_MAX];
	unsigned n;	     /* all frames, recorded or not */
	bool lacks_register; /* in its last frame, so it does not reach the root */
};

static unsigned recorded(const struct path *path)
{
	return path->n < PATH_FRAMES_MAX ? path->n : PATH_FRAMES_MAX;
}

static void append(struct path *path, uint64_t sp)
{
	if (path->n < PATH_FRAMES_MAX)
		path->sps[path->n] = sp;
	path->n++;
}

static bool is_on(const struct path *path, uint64_t sp)
{
	for (unsigned i = 0; i < recorded(path) && path->sps[i] <= sp; i++) {
		if (path->sps[i] == sp)
			return true;
	}
	return false;
}

/* The sp of the first frame that is on both paths; 0: none. */
static uint64_t first_shared(const struct path *a, const struct path *b)
{
	for (unsigned i = 0; i < recorded(a); i++) {
		if (is_on(b, a->sps[i]))
			return a->sps[i];
	}
	return 0;
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

/* Walks from `begin` to the root, only by rows and by calls that can have led to their callees. */
static bool walk_to_root(const struct reel_walk *walk, const struct reel_unwind_state *begin,
			 unsigned *steps_left, struct path *path)
{
	struct reel_unwind_state state = *begin, callee;
	struct reel_walk trial = *walk;
	enum reel_next next;
	enum reel_step step;

	trial.state = &state;
	trial.on_trial = true;
	path->n = 0;
	path->lacks_register = false;
	while (*steps_left) {
		--*steps_left;
		callee = state;
		append(path, state.registers[walk->programs->sp]);
		next = reel_walk_advance(&trial, &step);
		/* A return address of 0 normally marks the root, but here any word can be 0. */
		if (next == REEL_NEXT_ROOT)
			return !trial.guessed && state.pc;
		path->lacks_register =
			next == REEL_NEXT_STOP && trial.stop == REEL_STOP_REGISTER_UNKNOWN;
		if (next != REEL_NEXT_CALLER || trial.guessed ||
		    (step != REEL_STEP_CFI && step != REEL_STEP_SYNTHESIZED) ||
		    !can_have_called(&trial, &callee, &state))
			return false;
	}
	return false;
}

/* A callee with a frame pointer has saved its caller's below the return address at `at`. */
static bool read_frame_pointer(const struct reel_walk *walk, uint64_t at,
			       struct reel_unwind_state *caller)
{
	const struct reel_memory_region *part = walk->input->root_part;
	uint8_t size = walk->input->arch->word_size, fp = walk->programs->fp;
	uint64_t word;

	if (!reel_memory_read(walk->input->memory, at - size, size, &word) ||
	    word - at >= part->size - (at - part->address))
		return false;
	caller->registers[fp] = word;
	caller->known |= (uint64_t)1 << fp;
	return true;
}

/* The frame above the word at `at`, of which only pc and sp are known; false if the word does not
 * follow a call, or `known` has the frame. */
static bool read_caller(const struct reel_walk *walk, uint64_t at, const struct path *known,
			struct reel_unwind_state *ret)
{
	uint8_t size = walk->input->arch->word_size, sp = walk->programs->sp;
	uint64_t word;

	if (is_on(known, at + size) || !reel_memory_read(walk->input->memory, at, size, &word))
		return false;
	*ret = *walk->state;
	ret->pc = reel_walk_strip(walk, word);
	ret->known = (uint64_t)1 << sp;
	ret->registers[sp] = at + size;
	return reel_walk_is_behind_call(walk, ret->pc, NULL);
}

/* Goes on along a path, from its beginning to its frame with this sp. */
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
	const struct reel_memory_region *part = walk->input->root_part;
	uint8_t size = walk->input->arch->word_size, sp = walk->programs->sp;
	unsigned steps_left = STEPS_MAX;
	struct reel_walk beyond = *walk;
	struct reel_unwind_state caller, begin; /* begin: of the longest path */
	struct path longest = { .n = 0 }, path;
	uint64_t meeting, shared = 0; /* the first frame on all paths */

	/* On other CPUs, the place of a return address does not give the caller's sp. */
	if (!part || walk->is_beyond_gap || walk->input->arch->flags & REEL_ARCH_LINK_REGISTER ||
	    !reel_walk_knows(walk->state, sp) || walk->state->registers[sp] >= part->address)
		return false;
	beyond.first = beyond.exact = beyond.sp_assumed = beyond.guessed = false;
	beyond.is_beyond_gap = true;
	beyond.callee = 0;
	for (uint64_t into = 0; into + size <= part->size && steps_left; into += size) {
		uint64_t at = part->address + into;

		steps_left--;
		if (!read_caller(walk, at, &longest, &caller))
			continue;
		if (!walk_to_root(&beyond, &caller, &steps_left, &path) &&
		    (!read_frame_pointer(walk, at, &caller) ||
		     !walk_to_root(&beyond, &caller, &steps_left, &path))) {
			if (path.lacks_register && path.n >= FRAMES_BY_CHANCE)
				return false;
			continue;
		}
		meeting = longest.n ? first_shared(&path, &longest) : caller.registers[sp];
		if (!meeting)
			return false;
		shared = meeting > shared ? meeting : shared;
		if (path.n > longest.n) {
			longest = path;
			begin = caller;
		}
	}
	beyond.state = &begin;
	if (!longest.n || !go_to(&beyond, shared))
		return false;
	*walk->state = begin;
	beyond.state = walk->state;
	*walk = beyond;
	return true;
}
