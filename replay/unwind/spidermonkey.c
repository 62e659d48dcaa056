/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SpiderMonkey's optimized code (Ion) may have no return: while a function has not yet returned, its
 * compiler expects only ways out to the interpreter, which take the stack pointer from the heap.  But
 * before it calls, it pushes a descriptor (102, js/src/jit/JitFrames.h): bits 4 to 7 are the number
 * of words that the callee's frame begins with, the return address and the descriptor among them;
 * from bit 8 on is the size of the caller's frame above these, in bytes.
 */
#include "replay/unwind/unwind_internal.h"

#define SIZE_MAX_BYTES (1u << 20)

bool reel_walk_by_descriptor(struct reel_walk *walk, const struct reel_code *code)
{
	uint8_t sp = walk->programs->sp;
	unsigned word = walk->input->arch->word_size;
	struct reel_unwind_state caller = *walk->state;
	uint64_t descriptor, header, size, at, pc;

	if (!code || code->rows || walk->exact || !reel_walk_knows(walk->state, sp) ||
	    walk->input->arch->flags & REEL_ARCH_LINK_REGISTER ||
	    !reel_memory_read(walk->input->memory, caller.registers[sp], word, &descriptor))
		return false;
	header = descriptor >> 4 & 15;
	size = descriptor >> 8;
	at = caller.registers[sp] + (header - 1) * word + size;
	if ((header != 2 && header != 4) || !size || size >= SIZE_MAX_BYTES || size % word ||
	    !reel_memory_read(walk->input->memory, at, word, &pc))
		return false;
	caller.pc = reel_walk_strip(walk, pc);
	caller.known = (uint64_t)1 << sp;
	caller.registers[sp] = at + word;
	/* The code must return, so its return address is somewhere: it is this one if no other word
	 * up to here can be. */
	if (!reel_walk_is_behind_call(walk, caller.pc, NULL) ||
	    reel_walk_call_leads_here(walk, code, &caller, NULL) == REEL_LEADS_NOT ||
	    !reel_walk_is_nothing_between(walk, walk->state->registers[sp], at, 0))
		return false;
	*walk->state = caller;
	return true;
}
