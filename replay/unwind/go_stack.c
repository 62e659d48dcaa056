/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's scheduler has a stack of its own, on which goroutines call some functions (systemstack), and
 * C functions (asmcgocall).  It notes in a gobuf where the waiting goroutine continues, or where its
 * own stack begins.  C functions call back into Go on the goroutine's stack again (cgocallback);
 * the scheduler's gobuf then has the sp of cgocallback's frame, whose first word is the one that the
 * gobuf had before.
 */
#include <elf.h>

#include "replay/unwind/unwind_internal.h"

/* Words of a gobuf (runtime/runtime2.go); the frame pointer is the first one since Go 1.25. */
enum { GOBUF_SP, GOBUF_PC, GOBUF_FP_1_25 = 5, GOBUF_FP, GOBUF_WORDS };

/* Bytes of the scheduler's stack between its beginning and the first call at most. */
#define BELOW_FIRST_CALL_MAX 64

static void read_gobuf(const struct reel_walk *walk, const struct reel_memory_region *gobuf,
		       struct reel_place *ret)
{
	unsigned size = walk->input->arch->word_size;
	uint64_t words[GOBUF_WORDS];

	for (unsigned i = 0; i < GOBUF_WORDS; i++) {
		if (!gobuf || !reel_memory_read(walk->input->memory, gobuf->address + i * size,
						size, &words[i]))
			return;
	}
	ret->sp = words[GOBUF_SP];
	ret->pc = reel_walk_strip(walk, words[GOBUF_PC]);
	for (unsigned i = GOBUF_FP_1_25; i <= GOBUF_FP && !ret->fp; i++) {
		if (words[i] >= ret->sp &&
		    reel_memory_same_region(walk->input->memory, ret->sp, words[i]))
			ret->fp = words[i];
	}
}

void reel_walk_read_places(struct reel_walk *walk)
{
	read_gobuf(walk, walk->input->waiting, &walk->waiting);
	read_gobuf(walk, walk->input->own, &walk->own);
}

bool reel_walk_begins_stack(const struct reel_walk *walk)
{
	uint64_t sp = walk->state->registers[walk->programs->sp];

	/* The scheduler has stored the calling goroutine and looks for another. */
	return !walk->input->waiting && walk->own.sp && walk->own.sp - sp <= BELOW_FIRST_CALL_MAX &&
	       reel_memory_same_region(walk->input->memory, sp, walk->own.sp);
}

struct reel_place reel_walk_place_before(const struct reel_walk *walk, uint64_t sp)
{
	const struct reel_arch *arch = walk->input->arch;
	/* Above the saved link register (asm_*.s, cgocallback). */
	unsigned word = arch->elf_machine == EM_AARCH64		? 2
			: arch->flags & REEL_ARCH_LINK_REGISTER ? 1
								: 0;
	struct reel_place place = { 0 };

	if (!reel_memory_read(walk->input->memory, sp + word * arch->word_size, arch->word_size,
			      &place.sp) ||
	    place.sp <= sp)
		return (struct reel_place){ 0 };
	return place;
}
