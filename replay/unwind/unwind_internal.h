/* SPDX-License-Identifier: Apache-2.0 */
/* A walk up a stack, and its steps without CFI.  Internal to unwind*.c. */
#ifndef REPLAY_UNWIND_UNWIND_INTERNAL_H
#define REPLAY_UNWIND_UNWIND_INTERNAL_H

#include "replay/synthesis/synthesis.h"
#include "replay/unwind/unwind.h"

struct reel_unwind_programs {
	const struct reel_arch *arch;
	uint8_t sp, fp, pc; /* slots */
	uint8_t link;	    /* the link register's, or REEL_ARCH_NO_SLOT */
	struct reel_row *undo_call, *frame_step;
	struct reel_row *signal_frames[]; /* arch->n_signal_frames */
};

/*
 * For a step by frame pointer between functions with recorded code: the caller's sp may not be
 * right above the frame record, since adapters between calling conventions move it (between
 * HotSpot's compiled code and the interpreter, arguments are pushed onto the stack).  The callee's
 * frame then contains the old sp.
 */
#define REEL_OTHER_SPS_MAX 4

struct reel_other_sps {
	uint64_t pc, sp; /* of the frame with these sps */
	uint64_t sps[REEL_OTHER_SPS_MAX];
	unsigned n;
};

/*
 * Stack words already examined by searches of one walk and its trials: every frame without CFI
 * searches the same words, few of them are return addresses of calls with a known target, and fewer
 * of calls that lead to the frame's code.
 */
#define REEL_SEEN_WORDS	  8192
#define REEL_SEEN_ORIGINS 4

struct reel_word_bits {
	uint64_t bits[REEL_SEEN_WORDS / 64];
};

struct reel_seen_words {
	bool begun;
	uint64_t begin;		      /* of the stack words with bits */
	struct reel_word_bits passed; /* words to skip */
	/* Words to skip by searches from some code (unwind_code.c). */
	struct {
		uint64_t code; /* 0: empty */
		struct reel_word_bits passed;
	} origins[REEL_SEEN_ORIGINS];
};

/* Where a stack continues (go_stack.c); sp 0: unknown. */
struct reel_place {
	uint64_t sp, fp; /* fp 0: unknown */
	uint64_t pc;	 /* 0: within the function that leaves the other stack */
};

struct reel_walk {
	const struct reel_unwind_input *input;
	const struct reel_unwind_programs *programs;
	struct reel_unwind_state *state; /* of the current frame */
	uint64_t callee; /* pc of the frame that led to the current one; 0: unknown */
	uint64_t code_mask;
	bool first;	  /* not calling: the sample's own frame, or one interrupted by a signal */
	bool exact;	  /* pc is the next instruction; otherwise it follows a call */
	bool sp_assumed;  /* found by the link register, assuming that its callee left sp alone */
	bool is_computed; /* the last step by CFI did not read the return address from memory */
	bool guessed;	  /* an unproven step was taken */
	bool is_beyond_gap; /* in the root part of a stack that was cut */
	/* Takes the first of several callers: this walk only tests whether it reaches the root, or
	 * a trial has reached the root from here. */
	bool on_trial;
	unsigned n_trials;
	/* The loop's: whether a trial walk from `caller` on reaches the root without a guess. */
	bool (*reaches_root)(struct reel_walk *walk, const struct reel_unwind_state *caller);
	/* Also follows registers for which CFI has no rule, as far as the code shows their values:
	 * some CFI finds the CFA by such a register. */
	bool follows_scratch;
	unsigned stalled;
	unsigned searched;	      /* words of the stack, for return addresses */
	struct reel_seen_words *seen; /* NULL: not recorded */
	struct reel_trials *trials;   /* unwind_trial.h; NULL: none are kept */
	/* The stack that waits for this one, and this one when it has been left; and the sp at
	 * which the waiting one was left. */
	struct reel_place waiting, own;
	uint64_t left;
	struct reel_other_sps other_sps;
	enum reel_stop stop; /* reason for not finding the caller */
};

static inline uint64_t reel_walk_strip(const struct reel_walk *walk, uint64_t address)
{
	return address & ~walk->code_mask;
}

/* The address for look-ups of rows and symbols: a function may end with a call. */
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
 * If a trampoline has no CFI, the preceding function's, or only the S augmentation (vDSO of
 * arm64 and riscv64), it is identified by its code.
 */
static inline bool reel_walk_wants_signal_pattern(const struct reel_walk *walk,
						  const struct reel_row *row)
{
	return reel_row_is_signal_frame(row) || (!walk->exact && reel_row_ends_function(row));
}

/* Whether `address` may be a return address; *code_ret is find_code's result for its call. */
bool reel_walk_is_behind_call(const struct reel_walk *walk, uint64_t address,
			      struct reel_code *code_ret);

/* The CPU's calls that end at `address`, as bits (a call may end with the bytes of a shorter one);
 * UINT32_MAX if the code is unreadable. */
uint32_t reel_walk_calls_before(const struct reel_walk *walk, const struct reel_code *code,
				uint64_t address);

/* Applies a row to a copy of the state.  All that it reads must have been recorded: unlike with
 * CFI, registers are not assumed to be popped already. */
bool reel_walk_try(const struct reel_walk *walk, const struct reel_row *row,
		   struct reel_unwind_state *ret);

/* Words above sp to search, since the size of a frame is unknown. */
#define REEL_SEARCHED_WORDS 512

/* Whether the row finds the given caller. */
bool reel_walk_finds(const struct reel_walk *walk, const struct reel_row *row,
		     const struct reel_unwind_state *caller);
/* Whether both are the same module at the same place. */
static inline bool reel_code_is_same(const struct reel_code *a, const struct reel_code *b)
{
	return a->synthesis == b->synthesis && a->bias == b->bias;
}

/* Does a call to the runtime address `target` lead to the walk's position?  *row_ret is as in
 * reel_synthesis_leads. */
enum reel_leads reel_walk_target_leads(const struct reel_walk *walk, const struct reel_code *here,
				       uint64_t target, const struct reel_row **row_ret);
/* Can the call that returns to `caller` have led to the walk's position?  *agrees_ret: the changes
 * of the stack on that way give the same caller; NULL if they need not. */
enum reel_leads reel_walk_call_leads_here(const struct reel_walk *walk,
					  const struct reel_code *here,
					  const struct reel_unwind_state *caller, bool *agrees_ret);

/* The evidence for a caller. */
enum reel_proof {
	REEL_CALLER_REFUSED = 0, /* code there cannot have called this */
	REEL_CALLER_POSSIBLE,	 /* a call there may have led here */
	REEL_CALLER_PROVED,	 /* it has, and the changes of the stack since then agree */
};

struct reel_candidate {
	struct reel_unwind_state caller;
	enum reel_proof proof;
	enum reel_synthesized_by by;
};

/* How a word is the return address. */
enum reel_led_by {
	REEL_LED_BY_CALL, /* the called function leads here */
	REEL_LED_BY_LEAVE, /* it leaves by a jump through a register, which led here (GHC's StgRun) */
	REEL_LED_BY_INNER, /* the same in hand-written code, which jumps only to code that belongs to it */
};

/* The callers by the code, each caller once; only the proved ones if there are any.  `candidates` has
 * room for 2 * REEL_SYNTHESIZED_MAX. */
unsigned reel_walk_find_candidates(const struct reel_walk *walk, const struct reel_code *code,
				   const struct reel_synthesized_rows *rows,
				   struct reel_candidate *candidates);
/* Adds those by the function's possible beginnings, which work without returns. */
unsigned reel_walk_add_by_beginnings(const struct reel_walk *walk, const struct reel_code *code,
				     const struct reel_synthesized_rows *here,
				     struct reel_candidate *candidates, unsigned n);
/* Searches this many words of the stack for the return address; never if the frame's sp has several
 * candidates. */
bool reel_walk_search(struct reel_walk *walk, const struct reel_code *code,
		      const struct reel_synthesized_rows *rows, unsigned words,
		      enum reel_led_by most);
/* The caller if only one is possible, without a search: in functions that switch stacks, which
 * contain old return addresses.  *proved_ret: the call there has led here, and the changes of the
 * stack since then agree. */
bool reel_walk_by_code_alone(struct reel_walk *walk, const struct reel_code *code,
			     bool *proved_ret);

/* By the size of the frame that SpiderMonkey's code has pushed; false, and nothing is changed, if that
 * does not lead to the first return address (spidermonkey.c). */
bool reel_walk_by_descriptor(struct reel_walk *walk, const struct reel_code *code);

/*
 * The caller of a JIT's function without a return, by the code since its beginning, where it makes a
 * frame record; false, and nothing is changed, if that does not lead to a return address.  A guess if
 * a word below may be another return address.  It may be the same one: when HotSpot replaces an
 * interpreter's frame within a loop (OSR), the new frame contains the old one's return address.
 */
bool reel_walk_by_beginning(struct reel_walk *walk, const struct reel_code *code);

/*
 * For code with a frame pointer that found `caller` but not the caller's frame pointer: if the
 * frame record here has the same return address and ends where the caller's frame begins, its other
 * word is the frame pointer.
 */
void reel_walk_take_record(const struct reel_walk *walk, struct reel_unwind_state *caller);

/*
 * The return address does not follow a call, but code may have stored it: the code there has no
 * CFI, and finds all that it needs by the frame pointer, which is known.
 */
bool reel_walk_resumes(const struct reel_walk *walk, const struct reel_unwind_state *caller);

/* Searches the callee's frame, left by its frame pointer, for possible sps of `caller`. */
void reel_walk_note_other_sps(struct reel_walk *walk, const struct reel_code *code,
			      const struct reel_unwind_state *caller);

/* Whether the words from `at` to `end` are recorded, and none can be a return address, except for
 * `pc` (0: none). */
bool reel_walk_is_nothing_between(const struct reel_walk *walk, uint64_t at, uint64_t end,
				  uint64_t pc);

/* Whether the return address follows a call or resumes, by code that is known. */
bool reel_walk_is_known_return(const struct reel_walk *walk,
			       const struct reel_unwind_state *caller);

/* Whether the code here uses a frame pointer that leads to a known call. */
bool reel_walk_uses_frame_pointer(const struct reel_walk *walk, const struct reel_code *code,
				  const struct reel_unwind_state *caller);

/* The code at the address has no caller by its CFI, or never returns. */
bool reel_code_never_returns(const struct reel_code *code, uint64_t address);

/*
 * Such code did not leave the return address by a call: it was stored for the outermost function to
 * return to (makecontext's __start_context in glibc, boost's make_fcontext, Go's goexit).  It may
 * follow another function's last call (Coro's is abort), which did not lead to the callee.
 */
bool reel_walk_is_outermost(const struct reel_walk *walk, uint64_t address,
			    const struct reel_code *code);
/*
 * The same for a return address after the first instruction of such a function (goexit): the words above
 * its frame may be left from the stack's last user.  Depends only on the code.
 */
bool reel_walk_was_stored(const struct reel_walk *walk, const struct reel_code *code,
			  const struct reel_row *row);

/*
 * A new thread's first instructions, after the system call that created it, where it checks whether
 * it is the child: the result is 0 (clone(2)), and it is on its own stack, without a caller.  Call
 * this if the code shows where the caller would be, but nothing is there.
 */
bool reel_walk_begins_thread(const struct reel_walk *walk, const struct reel_code *code);

/*
 * The row by the code for a frame that made no call, and whose CFI may be late (enum reel_row_edge);
 * NULL if the code shows none.  *certain_ret: without a doubt.  Depends only on the code.
 */
const struct reel_row *reel_walk_edge_row(const struct reel_walk *walk,
					  const struct reel_code *code, const struct reel_row *row,
					  bool *certain_ret);

/*
 * The frame is the ELF entry's, no later than its first call: the kernel or the dynamic loader
 * jumped there.  For code without CFI (Free Pascal's _start).
 */
bool reel_walk_is_entry(const struct reel_walk *walk, const struct reel_code *code);

/* The ELF entry leads to the address without a call. */
bool reel_code_is_entered(const struct reel_code *code, uint64_t address);
/*
 * The frame is of such code, and its row finds no function that may have called it: the kernel or
 * the dynamic loader jumped to the entry (Go's rt0_go, whose CFI takes what was below the program's
 * arguments for a return address).
 */
bool reel_walk_was_entered(const struct reel_walk *walk, const struct reel_code *code,
			   const struct reel_row *row);

/*
 * The thread ends after this call: the code only ends it, and either there is no frame pointer, as
 * psABIs require in the outermost frame (musl's __clone), or `has_switched`: it has switched to its
 * own stack (Go's runtime.clone).  Call this if no step leads to a caller.
 */
bool reel_walk_ends_thread(const struct reel_walk *walk, const struct reel_code *code,
			   bool has_switched);

/* Keeps registers that callees need not keep if the callee's code has left them alone, and takes
 * those that it restores without saying so in CFI (Go's, for its callers in C); call when `walk` has
 * reached the caller. */
void reel_walk_keep_scratch(struct reel_walk *walk, const struct reel_code *code,
			    const struct reel_unwind_state *callee);

/* Goes to the next frame, or the end. */
enum reel_next reel_walk_advance(struct reel_walk *walk, enum reel_step *step_ret);

/*
 * The fast path (FAST_PATH.md).  Takes steps from the last appended frame while frames are plain (unwind_cache.h) and appends
 * them, up to `max_frames` and the frames' capacity.  The walk and its state become as if the steps
 * had been taken one by one.  True: the last frame has no caller.  False: continue with its step.
 */
bool reel_walk_fast(struct reel_walk *walk, struct reel_unwind_frames *frames, size_t max_frames);

/* At the end of a cut stack's bytes: sets the state to a frame's in its root part.  False,
 * and nothing is changed, if no frame there begins a walk to the root. */
bool reel_walk_cross_gap(struct reel_walk *walk);

/* Undoes what arch's entry for the code at the pc (a PLT stub, a function's entry) has pushed, and the
 * call.  False, and nothing is changed, if the code is not known. */
bool reel_walk_undo_entry(struct reel_walk *walk, const struct reel_code *code);
/* By the frame record; false if its contents do not look like a caller.  `ret` may be the outermost
 * frame: its pc is then 0. */
bool reel_walk_by_frame_record(const struct reel_walk *walk, struct reel_unwind_state *ret);
/* By the link register, if it follows a call.  `certain`: the call is in another function. */
bool reel_walk_by_link_register(const struct reel_walk *walk, const struct reel_code *here,
				struct reel_unwind_state *ret, bool *certain_ret);

/*
 * A step by the frame pointer has lost sp, which the frame's row needs.  This recovers sp if the
 * row has a frame record and the frame pointer points to one.  A function without a record leaves
 * the frame pointer to some caller, and following it would skip the frames in between.
 */
bool reel_walk_find_sp(struct reel_walk *walk, const struct reel_row *row);

/* Could a call, or the kernel for a signal's handler, have left this pc as a return address? */
bool reel_walk_is_return_address(const struct reel_walk *walk);

/* Do the instructions show that the function has restored everything and is about to return? */
bool reel_walk_is_at_return(const struct reel_walk *walk, const struct reel_code *code);
/* Sets the state to its caller in that case. */
bool reel_walk_undo_return(struct reel_walk *walk, const struct reel_code *code);

/* The caller of a function that does not exist; false if it does not look like one. */
bool reel_walk_undo_call(struct reel_walk *walk);

/*
 * Does the return address found from the first frame point into a function, but not after a call?
 * Then no call pushed it, and the address is exact: a landing pad, to which _Unwind_Resume and
 * _Unwind_RaiseException jump (__builtin_eh_return).  A personality routine has chosen it (libgcc's
 * unwind.inc installs no other context): functions without one have no landing pads, and their code
 * need not be read.  Uncalled code (signal trampolines, makecontext's __start_context) begins a
 * function.
 */
bool reel_walk_is_landing_pad(const struct reel_walk *walk);

/*
 * Whether `address`, where a task continues after a system call, follows the instruction.  At the
 * start of a program (execve) or a signal handler, the kernel has set pc, and another function
 * precedes it.  True if the code is unreadable.
 */
bool reel_walk_is_behind_system_call(const struct reel_walk *walk, uint64_t address);

/*
 * A runtime may run functions on a stack of its own while the stack that needs them waits.  How it
 * notes where the waiting stack continues is known only to files that carry the runtime's name.
 */

/* By the runtime's notes in the walk's input, sets `waiting` and `own`. */
void reel_walk_read_places(struct reel_walk *walk);

/* No stack waits, and this one begins here.  sp must be known. */
bool reel_walk_begins_stack(const struct reel_walk *walk);

/* Where the stack continues that has been entered at `sp` for a place without a pc. */
struct reel_place reel_walk_place_before(const struct reel_walk *walk, uint64_t sp);

#endif
