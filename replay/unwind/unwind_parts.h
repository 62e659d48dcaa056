/* SPDX-License-Identifier: Apache-2.0 */
/* A walk up a stack, and the steps of it that need no CFI. Internal to unwind*.c. */
#ifndef REPLAY_UNWIND_UNWIND_PARTS_H
#define REPLAY_UNWIND_UNWIND_PARTS_H

#include "replay/unwind/unwind.h"

struct reel_unwind_programs {
	const struct reel_arch *arch;
	uint8_t sp, fp, pc; /* slots */
	uint8_t link;	    /* the link register's, or REEL_ARCH_NO_SLOT */
	struct reel_row *undo_call, *frame_step;
	struct reel_row *signal_frames[]; /* arch->n_signal_frames */
};

struct reel_walk {
	const struct reel_unwind_input *input;
	const struct reel_unwind_programs *programs;
	struct reel_unwind_state *state; /* of the frame that the walk has reached */
	uint64_t code_mask;
	bool first;	 /* nobody called from it: the sample's own frame, or one that a signal
			    interrupted */
	bool exact;	 /* pc is the instruction that runs next; otherwise it is behind a call */
	bool sp_assumed; /* the frame was found by the link register, as if its callee had left sp
			    alone */
	unsigned stalled;
	enum reel_stop stop; /* why the caller was not found */
};

static inline uint64_t reel_walk_strip(const struct reel_walk *walk, uint64_t address)
{
	return address & ~walk->code_mask;
}

/* The address that rows and symbols are looked up with: a call's function may end with the call.
 */
static inline uint64_t reel_walk_lookup(const struct reel_walk *walk)
{
	return walk->exact ? walk->state->pc : walk->state->pc - 1;
}

static inline bool reel_walk_knows(const struct reel_unwind_state *state, uint8_t slot)
{
	return slot != REEL_ARCH_NO_SLOT && state->known >> slot & 1;
}

/* The program's row if the frame's pc is a signal trampoline's; `code` may be NULL. */
const struct reel_row *reel_walk_match_signal_frame(const struct reel_walk *walk,
						    const struct reel_code *code);

/*
 * Where the trampoline's CFI is missing, belongs to what lies before it, or
 * says S and no more (arm64's and riscv64's vDSO), its code tells.
 */
static inline bool reel_walk_wants_signal_pattern(const struct reel_walk *walk,
						  const struct reel_row *row)
{
	return reel_row_is_signal_frame(row) || (!walk->exact && reel_row_ends_function(row));
}

/*
 * The caller where there is no CFI: by the link register or the frame pointer.
 * False, and nothing is changed, if what they lead to does not look like a caller.
 */
bool reel_walk_fall_back(struct reel_walk *walk, const struct reel_code *code,
			 enum reel_step *step_ret);

/*
 * A step by the frame pointer has lost sp, and the row of the frame needs it.  It is found again
 * where the row has a frame record and the frame pointer points to one; a function without one
 * has left the frame pointer to some caller, and to go on by that would leave out those between.
 */
bool reel_walk_find_sp(struct reel_walk *walk, const struct reel_row *row);

/* Could a call, or the kernel for a signal's handler, have left this pc as a return address? */
bool reel_walk_is_return_address(const struct reel_walk *walk);

/* Has the function restored everything, and is about to return? By its instructions. */
bool reel_walk_is_at_return(const struct reel_walk *walk, const struct reel_code *code);
/* Its caller, if so. */
bool reel_walk_undo_return(struct reel_walk *walk, const struct reel_code *code);

/* The caller of a function that does not exist; false if it does not look like one. */
bool reel_walk_undo_call(struct reel_walk *walk);

/*
 * Does the return address that a frame nobody called from leads to stand in the middle of a
 * function, but behind no call?  Then it was not pushed by one, and what runs next there is exact:
 * a landing pad, which _Unwind_Resume and _Unwind_RaiseException jump to (__builtin_eh_return).
 * A personality routine has named it (libgcc's unwind.inc installs no other context): functions
 * without one have none, and their code need not be read.  What was never called at all (signal
 * trampolines, makecontext's __start_context) begins a function.
 */
bool reel_walk_is_landing_pad(const struct reel_walk *walk);

/*
 * Where a task in the kernel after a system call goes on: behind the instruction, but at the start
 * of a program (execve) or of a signal's handler the pc was set, and what stands before it is
 * another function.  True if the code cannot be read.
 */
bool reel_walk_is_behind_system_call(const struct reel_walk *walk);

#endif
