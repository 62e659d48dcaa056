/* SPDX-License-Identifier: Apache-2.0 */
/* A walk up a stack, and the steps of it that need no CFI. Internal to unwind*.c. */
#ifndef REPLAY_UNWIND_UNWIND_PARTS_H
#define REPLAY_UNWIND_UNWIND_PARTS_H

#include "replay/code/synthesis.h"
#include "replay/unwind/unwind.h"

struct reel_unwind_programs {
	const struct reel_arch *arch;
	uint8_t sp, fp, pc; /* slots */
	uint8_t link;	    /* the link register's, or REEL_ARCH_NO_SLOT */
	struct reel_row *undo_call, *frame_step;
	struct reel_row *signal_frames[]; /* arch->n_signal_frames */
};

/*
 * The frame pointer of code that was recorded has led to a caller whose code was, too: its sp need
 * not lie right above the frame record, since adapters between calling conventions move it (from
 * HotSpot's compiled code to the interpreter, arguments are put onto the stack between them).  Then
 * the callee's frame holds where it was.
 */
#define REEL_OTHER_SPS_MAX 4

struct reel_other_sps {
	uint64_t pc, sp; /* of the frame that these are for */
	uint64_t sps[REEL_OTHER_SPS_MAX];
	unsigned n;
};

/*
 * Words of the stack that searches of one walk, and of its trials, have looked at: every frame
 * without CFI searches the same words, and few of them stand behind a call with a target.
 */
#define REEL_SEEN_WORDS	 8192
#define REEL_SEEN_FAILED 256

struct reel_seen_words {
	bool begun;
	uint64_t begin;			       /* of the stack's words that bits stand for */
	uint64_t passed[REEL_SEEN_WORDS / 64]; /* bits of words that can be passed over */
	/* Searches that found nothing, by hashes of what they began with: trials search again where
	 * the walk does. */
	uint64_t failed[REEL_SEEN_FAILED];
};

struct reel_walk {
	const struct reel_unwind_input *input;
	const struct reel_unwind_programs *programs;
	struct reel_unwind_state *state; /* of the frame that the walk has reached */
	uint64_t code_mask;
	bool first;	  /* nobody called from it: the sample's own frame, or one that a signal
			     interrupted */
	bool exact;	  /* pc is the instruction that runs next; otherwise it is behind a call */
	bool sp_assumed;  /* the frame was found by the link register, as if its callee had left sp
			     alone */
	bool is_computed; /* the return address of the last step by CFI was in no memory */
	bool guessed;	  /* a step was taken that nothing proves */
	bool is_beyond_gap; /* in the root part of a stack that was cut */
	/* Of several callers it takes the first: it only finds out whether it comes to the root, or
	 * one that did has come there from here. */
	bool on_trial;
	unsigned trials;
	/* Registers that callees need not keep are followed, too, as far as the code leaves them
	 * alone: some CFI finds the CFA by such a register. */
	bool follows_scratch;
	unsigned stalled;
	unsigned searched;	      /* words of the stack, for return addresses */
	struct reel_seen_words *seen; /* NULL: nothing is remembered */
	bool has_switched;	      /* from a scheduler's stack to the goroutine's */
	struct reel_other_sps other_sps;
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

/* Where `address` may be a return address; what find_code gave for the call before it. */
bool reel_walk_is_behind_call(const struct reel_walk *walk, uint64_t address,
			      struct reel_code *code_ret);

/* Which of the CPU's calls end at `address`, by their bits (a call may end with the bytes of a
 * shorter one); UINT32_MAX if the code cannot be read. */
uint32_t reel_walk_calls_before(const struct reel_walk *walk, const struct reel_code *code,
				uint64_t address);

/* Applies a row to a copy of the state.  All that it reads must have been recorded: other than with
 * CFI, no register is taken for popped already. */
bool reel_walk_try(const struct reel_walk *walk, const struct reel_row *row,
		   struct reel_unwind_state *ret);

/* Words above sp that are looked at: nothing tells how large a frame is. */
#define REEL_SEARCHED_WORDS 512

/* The row finds the caller that is given. */
bool reel_walk_finds(const struct reel_walk *walk, const struct reel_row *row,
		     const struct reel_unwind_state *caller);
/* Does a call to the runtime address `target` come to where the walk is?  *row_ret, as
 * reel_synthesis_leads gives it. */
enum reel_leads reel_walk_target_leads(const struct reel_walk *walk, const struct reel_code *here,
				       uint64_t target, const struct reel_row **row_ret);
/* Can the call that returns to `caller` have led to where the walk is?  If it has, by what is done
 * to the stack between: *agrees_ret, that this finds the same caller. */
enum reel_leads reel_walk_call_leads_here(const struct reel_walk *walk,
					  const struct reel_code *here,
					  const struct reel_unwind_state *caller, bool *agrees_ret);

/*
 * The caller where there is no CFI, by what the code does; false, and nothing is changed, if it
 * does not tell.  `certain` is a return address that is certain (the link register's), or 0.
 * `has_frame_record`: the frame pointer points to what looks like one.
 */
bool reel_walk_by_code(struct reel_walk *walk, const struct reel_code *code, uint64_t certain,
		       bool has_frame_record);
/* The same where only one caller can be, and none is looked for: in functions that change stacks,
 * on which old return addresses lie. */
bool reel_walk_by_code_alone(struct reel_walk *walk, const struct reel_code *code);

/*
 * Code that uses the frame pointer for one has found `caller`, but not its frame pointer: where the
 * frame record here has that very return address, and ends where the caller's frame begins, its
 * other word is the frame pointer.
 */
void reel_walk_take_record(const struct reel_walk *walk, struct reel_unwind_state *caller);

/*
 * No call has left this return address, but code could have: what stands there has no CFI, and
 * finds all that it needs by the frame pointer, which is known.
 */
bool reel_walk_resumes(const struct reel_walk *walk, const struct reel_unwind_state *caller);

/* Looks in the frame that is left by its frame pointer where sp may have been at `caller`. */
void reel_walk_note_other_sps(struct reel_walk *walk, const struct reel_code *code,
			      const struct reel_unwind_state *caller);

/* The code here uses the frame pointer for one, and what it leads to is known to be a call. */
bool reel_walk_uses_frame_pointer(const struct reel_walk *walk, const struct reel_code *code,
				  const struct reel_unwind_state *caller);

/*
 * No call has left this return address: it was put there for the outermost function to return to
 * (makecontext's __start_context in glibc, boost's make_fcontext, Go's goexit), and what stands
 * there has no caller by its CFI, or never returns.
 */
bool reel_walk_is_outermost(const struct reel_walk *walk, uint64_t address,
			    const struct reel_code *code);

/*
 * A thread's first instructions, behind the system call that has made it, while it finds out which
 * of the two it is: the result is 0 there (clone(2)), the stack is its own, and no caller is on it.
 * To be asked where the code has said where one would be, and there is none.
 */
bool reel_walk_begins_thread(const struct reel_walk *walk, const struct reel_code *code);

/*
 * The frame is the ELF entry's, at its first call or before it: the kernel or the dynamic loader
 * jumped there.  For code without CFI (Free Pascal's _start).
 */
bool reel_walk_is_entry(const struct reel_walk *walk, const struct reel_code *code);

/*
 * The thread ends behind this call: the code does nothing but end, and there is no frame pointer,
 * as psABIs have it in the outermost frame (musl's __clone), or `has_switched`, it has gone to a
 * stack of its own (Go's runtime.clone).  To be asked where nothing leads to a caller.
 */
bool reel_walk_ends_thread(const struct reel_walk *walk, const struct reel_code *code,
			   bool has_switched);

/* Registers of the callee that callees need not keep, where its code has left them alone; to be
 * called when `walk` has come to the caller. */
void reel_walk_keep_scratch(struct reel_walk *walk, const struct reel_code *code,
			    const struct reel_unwind_state *callee);

/* One frame further, or the end. */
enum reel_next reel_walk_advance(struct reel_walk *walk, enum reel_step *step_ret);

/* The bytes of a cut stack have come to their end: makes the state that of a frame in its root
 * part. False, and nothing is changed, if none is there that a walk to the root begins with. */
bool reel_walk_cross_gap(struct reel_walk *walk);

/* Does the walk come to the root from `caller`, and with no guess on the way? */
bool reel_walk_reaches_root(struct reel_walk *walk, const struct reel_unwind_state *caller);

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
bool reel_walk_is_behind_system_call(const struct reel_walk *walk, uint64_t address);

#endif
