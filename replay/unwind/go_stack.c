/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's scheduler has a stack of its own, on which goroutines call some functions (systemstack).  It
 * notes in a gobuf where the waiting goroutine continues, or where its own stack begins.
 */
#include "replay/unwind/waiting_stack.h"

/* Words of a gobuf (runtime/runtime2.go); the frame pointer is the first one since Go 1.25. */
enum { GOBUF_SP, GOBUF_PC, GOBUF_FP_1_25 = 5, GOBUF_FP, GOBUF_WORDS };

/* Bytes of the scheduler's stack between its beginning and the first call at most. */
#define BELOW_FIRST_CALL_MAX 64

static bool read_gobuf(const struct reel_walk *walk, uint64_t words_ret[GOBUF_WORDS])
{
	const struct reel_memory_region *goroutine = walk->input->goroutine;
	unsigned size = walk->input->arch->word_size;

	for (unsigned i = 0; i < GOBUF_WORDS; i++) {
		if (!goroutine ||
		    !reel_memory_read(walk->input->memory, goroutine->address + i * size, size,
				      &words_ret[i]))
			return false;
	}
	return true;
}

static void state_of_gobuf(const struct reel_walk *walk, const uint64_t words[GOBUF_WORDS],
			   struct reel_unwind_state *ret)
{
	uint8_t sp = walk->programs->sp, fp = walk->programs->fp;
	uint64_t sp_value = words[GOBUF_SP];

	*ret = *walk->state;
	ret->pc = reel_walk_strip(walk, words[GOBUF_PC]);
	ret->registers[sp] = sp_value;
	ret->known = (uint64_t)1 << sp;
	for (unsigned i = GOBUF_FP_1_25; i <= GOBUF_FP && !reel_walk_knows(ret, fp); i++) {
		if (words[i] < sp_value ||
		    !reel_memory_same_region(walk->input->memory, sp_value, words[i]))
			continue;
		ret->registers[fp] = words[i];
		ret->known |= (uint64_t)1 << fp;
	}
}

enum reel_next reel_walk_find_waiting(const struct reel_walk *walk, struct reel_unwind_state *ret)
{
	uint64_t words[GOBUF_WORDS], sp = walk->state->registers[walk->programs->sp];

	if (!read_gobuf(walk, words))
		return REEL_NEXT_STOP;
	/* The scheduler has stored the calling goroutine and looks for another. */
	if (walk->input->is_idle && words[GOBUF_SP] - sp <= BELOW_FIRST_CALL_MAX &&
	    reel_memory_same_region(walk->input->memory, sp, words[GOBUF_SP]))
		return REEL_NEXT_ROOT;
	state_of_gobuf(walk, words, ret);
	return REEL_NEXT_CALLER;
}
