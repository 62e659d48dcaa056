/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step: from a frame to its caller.  take_step(), at the end, finds the frame's code; the
 * ways to the caller, in the order in which they are tried:
 *
 * Code with a CFI row (row_step):
 *   1. the code is a signal trampoline's, and its CFI does not say so
 *   2. the address was stored for the outermost function to return to: the root
 *   3. the function switches stacks (switch_step): by the code, or by the program's own notes
 *   4. the row is a signal frame's
 *   5. the instruction returns, against the row: undo the call
 *   6. the ELF entry leads to the code without a call: the root
 *   7. the row.  If its result is doubtful (a prologue or epilogue that the CFI does not describe, a
 *      root, a frame that may not be there, an address without code, a computed CFA), the code
 *      decides (check_*)
 * Code without a row (fallback_step):
 *   1. a signal trampoline's code
 *   2. a JIT's row, if it leads to code after a call
 *   3. the outermost function, or the code at the ELF entry: the root
 *   4. known code that describes the stack (arch's entries: PLT stubs, function entries)
 *   5. the code's analysis (unwind_code.c)
 *   6. a frame record that the code uses, SpiderMonkey's descriptor, a JIT's function from its
 *      beginning, any other frame record, or the link register
 *   7. code that begins or ends a thread: the root
 * No mapping (nowhere_step): a signal trampoline on the stack, or a call through a bad pointer.
 *
 * Without a way, the walk stops, with the reason.
 */
#include "replay/unwind/unwind_cache.h"
#include "replay/unwind/unwind_internal.h"

/* Consecutive frames that may leave sp unchanged: leaf functions of CPUs with a link register do,
 * one at a time. */
#define STALLED_MAX 8
/* Words above sp to search if the code gives no caller (the frame of GHC's StgRun has 16 KiB). */
#define SEARCHED_WORDS_FAR 4096

static enum reel_next stop(struct reel_walk *walk, enum reel_stop why)
{
	walk->stop = why;
	return REEL_NEXT_STOP;
}

/* ---- one step after another --------------------------------------------------------------- */

/* Sets the state to the caller's. */
static enum reel_next take_step(struct reel_walk *walk, enum reel_step *step_ret);

static bool is_mapped(const struct reel_walk *walk, uint64_t address)
{
	struct reel_code ignored = { 0 };

	return walk->input->find_code(walk->input->context, address, &ignored) !=
	       REEL_CODE_NO_MAPPING;
}

struct position {
	uint64_t pc, sp;
	bool has_sp;
};

static struct position position_of(const struct reel_walk *walk)
{
	const struct reel_unwind_state *state = walk->state;
	uint8_t sp = walk->programs->sp;

	return (struct position){ state->pc, state->registers[sp], reel_walk_knows(state, sp) };
}

/*
 * A caller's sp is above its callee's on the same stack; an interrupted frame, or another stack,
 * may be anywhere.  Frames that do not move sp up must be few, or the walk goes in circles (musl's
 * __clone, llvm #103476).
 */
static bool makes_progress(struct reel_walk *walk, const struct position *before,
			   enum reel_step step)
{
	struct position after = position_of(walk);

	/* The CFI of glibc's _L_lock_* (lowlevellock.h, before 2.20) removes the red zone in a
	 * first step, to another address of the same function. */
	if (walk->first && walk->is_computed && step == REEL_STEP_CFI && before->has_sp &&
	    after.has_sp && after.sp < before->sp &&
	    before->sp - after.sp <= walk->input->arch->red_zone)
		return ++walk->stalled <= STALLED_MAX;
	/* That step has checked that the frame pointer moves up. */
	if (step == REEL_STEP_FRAME_POINTER && !after.has_sp)
		return true;
	if (before->has_sp && after.has_sp) {
		if (after.sp > before->sp) {
			walk->stalled = 0;
			return true;
		}
		if (after.sp == before->sp && after.pc == before->pc)
			return false;
		if (after.sp < before->sp && step != REEL_STEP_SIGNAL &&
		    reel_memory_same_region(walk->input->memory, after.sp, before->sp))
			return false;
	}
	return ++walk->stalled <= STALLED_MAX;
}

enum reel_next reel_walk_advance(struct reel_walk *walk, enum reel_step *step_ret)
{
	struct position before = position_of(walk);
	enum reel_next next = take_step(walk, step_ret);

	if (next == REEL_NEXT_STOP && walk->input->stack_cut &&
	    (walk->stop == REEL_STOP_STACK_END || walk->stop == REEL_STOP_SCRUBBED))
		walk->stop = REEL_STOP_STACK_CUT;
	if (next != REEL_NEXT_CALLER)
		return next;
	/* No function returns to 0, but a signal may have interrupted a jump to it. */
	if (!walk->state->pc && *step_ret != REEL_STEP_SIGNAL)
		return REEL_NEXT_ROOT;
	/* Code without CFI may have moved sp before it called or was interrupted. */
	if (walk->sp_assumed && *step_ret == REEL_STEP_CFI && !reel_walk_is_return_address(walk))
		return stop(walk, REEL_STOP_REGISTER_UNKNOWN);
	/* Nowhere is a call: Go's CFI finds the number of arguments in rt0_go. */
	if (*step_ret != REEL_STEP_SIGNAL && !is_mapped(walk, walk->state->pc - 1) &&
	    !reel_walk_match_signal_frame(walk, NULL))
		return stop(walk, REEL_STOP_NO_MAPPING);
	walk->sp_assumed = *step_ret == REEL_STEP_LINK_REGISTER;
	if (!makes_progress(walk, &before, *step_ret))
		return stop(walk, REEL_STOP_NO_PROGRESS);
	walk->exact = *step_ret == REEL_STEP_SIGNAL ||
		      (walk->first && *step_ret == REEL_STEP_CFI && reel_walk_is_landing_pad(walk));
	walk->first = *step_ret == REEL_STEP_SIGNAL;
	walk->callee = before.pc;
	return REEL_NEXT_CALLER;
}

/* ---- the ways to a caller ------------------------------------------------------------------- */

/* Applies a row for the frame's code; `bias` as in struct reel_code. */
static enum reel_next apply(struct reel_walk *walk, const struct reel_row *row, uint64_t bias)
{
	enum reel_next next = reel_row_apply(row, walk->state, walk->first, bias, &walk->stop);

	if (next == REEL_NEXT_CALLER)
		walk->state->pc = reel_walk_strip(walk, walk->state->pc);
	return next;
}

static enum reel_next apply_and_keep(struct reel_walk *walk, const struct reel_row *row,
				     const struct reel_code *code)
{
	struct reel_unwind_state callee = *walk->state;
	enum reel_next next = apply(walk, row, code->bias);

	if (next == REEL_NEXT_CALLER)
		reel_walk_keep_scratch(walk, code, &callee);
	return next;
}

static enum reel_next signal_step(struct reel_walk *walk, const struct reel_row *row, uint64_t bias,
				  enum reel_step *step_ret)
{
	*step_ret = REEL_STEP_SIGNAL;
	return apply(walk, row, bias);
}

/* The outermost frame was not called, so look up its own address, not pc - 1. */
static enum reel_next outermost(struct reel_walk *walk)
{
	walk->exact = true;
	return REEL_NEXT_ROOT;
}

/* Whether the frame reached from `callee` may be its caller: a call precedes it, or is unknown. */
static bool may_have_called(const struct reel_walk *walk, const struct reel_unwind_state *callee)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_unwind_state *state = walk->state;
	uint8_t sp = walk->programs->sp, byte;
	struct reel_code there = { 0 };

	if (!state->pc ||
	    input->find_code(input->context, state->pc - 1, &there) == REEL_CODE_NO_MAPPING ||
	    (reel_walk_knows(state, sp) && reel_walk_knows(callee, sp) &&
	     state->registers[sp] < callee->registers[sp]))
		return false;
	return reel_walk_is_return_address(walk) || reel_walk_resumes(walk, state) ||
	       !there.read_code ||
	       !there.read_code(there.module, state->pc - 1 - there.bias, 1, &byte);
}

/*
 * JITs' rows are not always right (synthesis/README.md), and may claim to be outermost for frames
 * called from C.  So they are used only if they give a caller.
 */
static bool jit_step(struct reel_walk *walk, const struct reel_code *code, enum reel_step *step_ret)
{
	struct reel_unwind_state callee = *walk->state;
	const struct reel_row *row = reel_rows_at(code->jit_rows, reel_walk_lookup(walk));

	if (reel_row_outcome(row) != REEL_ROW_STEP || reel_row_is_signal_frame(row) ||
	    apply(walk, row, 0) != REEL_NEXT_CALLER)
		return false;
	*step_ret = REEL_STEP_CFI;
	if (may_have_called(walk, &callee))
		return true;
	*walk->state = callee;
	return false;
}

/*
 * A guessed caller: refused if its call cannot have led here; proved if it has, or if the code can
 * only be the function that it called.
 */
static bool accept(struct reel_walk *walk, const struct reel_code *code,
		   const struct reel_unwind_state *caller, bool certain)
{
	bool ignored;

	switch (reel_walk_call_leads_here(walk, code, caller, &ignored)) {
	case REEL_LEADS_THERE:
		break;
	case REEL_LEADS_PERHAPS:
		walk->guessed |= !certain;
		break;
	case REEL_LEADS_NOT:
		return false;
	}
	*walk->state = *caller;
	return true;
}

/* The candidate whose walk reaches the root without a guess; the first if none or several do. */
static const struct reel_candidate *choose(struct reel_walk *walk,
					   const struct reel_candidate *candidates, unsigned n,
					   bool *certain_ret)
{
	const struct reel_candidate *chosen = NULL;

	*certain_ret = n == 1;
	if (n == 1 || walk->on_trial)
		return &candidates[0];
	for (unsigned i = 0; i < n; i++) {
		if (!walk->reaches_root(walk, &candidates[i].caller))
			continue;
		if (chosen) {
			*certain_ret = false;
			return chosen;
		}
		chosen = &candidates[i];
		*certain_ret = true;
	}
	return chosen ? chosen : &candidates[0];
}

/*
 * Finds the caller without CFI by analyzing the code; false, and nothing is changed, if that is
 * impossible.  `certain` is a certain return address (the link register's), or 0.
 * `has_frame_record`: the frame pointer points to an apparent frame record.
 */
static bool by_code(struct reel_walk *walk, const struct reel_code *code, uint64_t certain,
		    bool has_frame_record)
{
	struct reel_candidate candidates[2 * REEL_SYNTHESIZED_MAX];
	const struct reel_candidate *chosen;
	struct reel_unwind_state caller;
	struct reel_synthesized_rows rows;
	enum reel_led_by most = REEL_LED_BY_CALL;
	bool is_one, unsure;
	unsigned n;

	if (!code || !code->synthesis)
		return false;
	reel_synthesis_at(code->synthesis, walk->state->pc - code->bias, &rows);
	n = reel_walk_find_candidates(walk, code, &rows, candidates);
	/* If the code has a frame pointer, it gives the same result faster. */
	if (!n && rows.by_fp && has_frame_record)
		return false;
	if (!n)
		most = code->rows || has_frame_record ? REEL_LED_BY_LEAVE : REEL_LED_BY_INNER;
	else if (candidates[0].by == REEL_BY_JUMP)
		most = REEL_LED_BY_LEAVE;
	unsure = !n || (rows.calls && candidates[0].proof != REEL_CALLER_PROVED);
	if ((n > 1 || unsure) &&
	    reel_walk_search(walk, code, &rows, n ? REEL_SEARCHED_WORDS : SEARCHED_WORDS_FAR, most))
		return true;
	/* A row to a return whose walk reaches the root is as good as one from a beginning, which
	 * is also a guess. */
	if (unsure && n == 1 && !walk->on_trial)
		walk->on_trial = walk->reaches_root(walk, &candidates[0].caller);
	/* Only compilers' functions: JITs' begin anywhere.  Not if a process's first function is
	 * reached by a jump with an arbitrary link register (musl on s390x). */
	if ((!n || (unsure && !walk->on_trial)) && code->rows &&
	    !(walk->input->arch->flags & REEL_ARCH_BACK_CHAIN))
		n = reel_walk_add_by_beginnings(walk, code, &rows, candidates, n);
	if (!n)
		return false;
	chosen = choose(walk, candidates, n, &is_one);
	walk->on_trial |= n > 1 && is_one;
	walk->guessed |=
		chosen->caller.pc != certain &&
		(!is_one || (chosen->by == REEL_BY_JUMP && chosen->proof != REEL_CALLER_PROVED));
	caller = chosen->caller;
	if (rows.by_fp)
		reel_walk_take_record(walk, &caller);
	*walk->state = caller;
	return true;
}

static bool fall_back(struct reel_walk *walk, const struct reel_code *code,
		      enum reel_step *step_ret)
{
	struct reel_unwind_state by_link, by_frame;
	bool certain = false, has_link, has_frame, same, uses_frame;

	if (reel_walk_undo_entry(walk, code)) {
		*step_ret = REEL_STEP_UNDO_CALL;
		return true;
	}
	has_link = reel_walk_by_link_register(walk, code, &by_link, &certain);
	has_frame = reel_walk_by_frame_record(walk, &by_frame);
	if (by_code(walk, code, has_link && certain ? by_link.pc : 0, has_frame)) {
		*step_ret = REEL_STEP_SYNTHESIZED;
		return true;
	}
	/* If both give the same caller, the frame record is the function's own, so sp is no longer
	 * the caller's. */
	same = has_link && has_frame && by_frame.pc == by_link.pc;
	/* The last record is all zeros. */
	uses_frame = has_frame &&
		     (same || !by_frame.pc || reel_walk_uses_frame_pointer(walk, code, &by_frame));
	if (!uses_frame &&
	    (reel_walk_by_descriptor(walk, code) || reel_walk_by_beginning(walk, code))) {
		*step_ret = REEL_STEP_SYNTHESIZED;
		return true;
	}
	if (has_frame && (!has_link || !certain || same) &&
	    (reel_walk_note_other_sps(walk, code, &by_frame),
	     accept(walk, code, &by_frame, uses_frame))) {
		*step_ret = REEL_STEP_FRAME_POINTER;
		return true;
	}
	*step_ret = REEL_STEP_LINK_REGISTER;
	return has_link && accept(walk, code, &by_link, certain);
}

/* `otherwise` is the reason for the missing row. */
static enum reel_next fallback_step(struct reel_walk *walk, const struct reel_code *code,
				    enum reel_stop otherwise, enum reel_step *step_ret)
{
	const struct reel_row *row = reel_walk_match_signal_frame(walk, code);

	if (row)
		return signal_step(walk, row, code ? code->bias : 0, step_ret);
	if (code && code->jit_rows && jit_step(walk, code, step_ret))
		return REEL_NEXT_CALLER;
	if (code && !walk->exact && !walk->first &&
	    reel_walk_is_outermost(walk, walk->state->pc, code))
		return outermost(walk);
	if (code && reel_walk_is_entry(walk, code))
		return REEL_NEXT_ROOT;
	if (fall_back(walk, code, step_ret))
		return REEL_NEXT_CALLER;
	return reel_walk_begins_thread(walk, code) || reel_walk_ends_thread(walk, code, false)
		       ? REEL_NEXT_ROOT
		       : stop(walk, otherwise);
}

static bool leads_here(const struct reel_walk *walk, const struct reel_code *code,
		       const struct reel_unwind_state *state)
{
	bool ignored;

	return reel_walk_call_leads_here(walk, code, state, &ignored) == REEL_LEADS_THERE;
}

/*
 * The noted pc may be within an instruction: Go 1.26 on x86-64 notes systemstack_switch + 8, and the
 * sp of systemstack's frame record.  So takes the caller from that record.  The frame pointer here
 * is a callee's, so the check also uses the record's.
 */
static bool takes_over_by_record(const struct reel_walk *walk, const struct reel_code *code,
				 struct reel_unwind_state *state)
{
	const struct reel_unwind_programs *programs = walk->programs;
	struct reel_unwind_state here = *state;
	struct reel_walk other = *walk;

	here.pc = walk->state->pc;
	here.registers[programs->fp] = here.registers[programs->sp];
	here.known |= (uint64_t)1 << programs->fp;
	other.state = &here;
	return reel_walk_try(&other, programs->frame_step, state) &&
	       leads_here(&other, code, state);
}

/*
 * Whether `state` called, or only represents its own caller: a runtime may note a function that
 * never called as the place where the stack continues.
 */
static bool takes_over(const struct reel_walk *walk, const struct reel_code *code,
		       struct reel_unwind_state *state)
{
	struct reel_unwind_state noted = *state;
	struct reel_walk other = *walk;
	enum reel_step step;

	if (leads_here(walk, code, state))
		return true;
	other.state = state;
	other.first = other.exact = true;
	if (take_step(&other, &step) == REEL_NEXT_CALLER && leads_here(walk, code, state))
		return true;
	*state = noted;
	return takes_over_by_record(walk, code, state);
}

static struct reel_unwind_state state_at(const struct reel_walk *walk,
					 const struct reel_place *place)
{
	const struct reel_unwind_programs *programs = walk->programs;
	struct reel_unwind_state state = *walk->state;

	state.known = (uint64_t)1 << programs->sp;
	state.registers[programs->sp] = place->sp;
	if (place->pc)
		state.pc = place->pc;
	if (place->fp) {
		state.registers[programs->fp] = place->fp;
		state.known |= (uint64_t)1 << programs->fp;
	}
	return state;
}

/*
 * A function that was called on the waiting stack, and has made a frame of the same size on this
 * one, above the place where this one continues.
 */
static bool called_back(const struct reel_walk *walk, const struct reel_code *code,
			struct reel_unwind_state *state, struct reel_place *here_ret)
{
	const struct reel_row *row = reel_rows_at(code->rows, reel_walk_lookup(walk) - code->bias);
	struct reel_unwind_state here = *walk->state;
	enum reel_stop ignored;

	if (reel_row_apply_switch(row, &here, code->bias, &ignored) != REEL_NEXT_CALLER ||
	    reel_row_apply_switch(row, state, code->bias, &ignored) != REEL_NEXT_CALLER)
		return false;
	state->pc = reel_walk_strip(walk, state->pc);
	here_ret->pc = reel_walk_strip(walk, here.pc);
	here_ret->sp = here.registers[walk->programs->sp];
	return reel_walk_call_leads_here(walk, code, state, NULL) == REEL_LEADS_THERE;
}

/*
 * Follows the program's own notes of its stacks when one is left for another.  A stack that was
 * left is entered again farther up, so this ends.
 */
static enum reel_next leave_stack(struct reel_walk *walk, const struct reel_code *code)
{
	uint8_t sp = walk->programs->sp;
	struct reel_place waiting = walk->waiting, here = walk->own, own = { 0 };
	struct reel_unwind_state state;

	if (!reel_walk_knows(walk->state, sp))
		return stop(walk, REEL_STOP_OTHER_STACK);
	if (reel_walk_begins_stack(walk))
		return REEL_NEXT_ROOT;
	/* The waiting stack calls functions on this one, but is not called from here. */
	state = state_at(walk, &waiting);
	if (!waiting.sp || waiting.sp < walk->left ||
	    !(waiting.pc ? takes_over(walk, code, &state)
			 : called_back(walk, code, &state, &here)) ||
	    state.registers[sp] <= walk->left)
		return stop(walk, REEL_STOP_OTHER_STACK);
	if (!waiting.pc)
		own = reel_walk_place_before(walk, waiting.sp);
	walk->left = walk->state->registers[sp];
	walk->waiting = here;
	walk->own = own;
	*walk->state = state;
	return REEL_NEXT_CALLER;
}

/* Where the function switches stacks: uses the code's analysis if it suffices. */
static enum reel_next switch_step(struct reel_walk *walk, const struct reel_code *code,
				  enum reel_step *step_ret)
{
	bool ignored;

	*step_ret = REEL_STEP_SYNTHESIZED;
	if (reel_walk_by_code_alone(walk, code, &ignored))
		return REEL_NEXT_CALLER;
	if (reel_walk_ends_thread(walk, code, true))
		return REEL_NEXT_ROOT;
	*step_ret = REEL_STEP_OTHER_STACK;
	return leave_stack(walk, code);
}

/*
 * By CFI, the innermost function returns to 0.  This is right for a thread's first function, but
 * hand-written code (an interpreter) also has one row for all its subroutines, for which it is
 * wrong.  So use the code's analysis; otherwise the root is a guess.
 */
static void check_first_root(struct reel_walk *walk, const struct reel_code *code,
			     const struct reel_unwind_state *callee, enum reel_step *step_ret)
{
	struct reel_unwind_state root = *walk->state;

	*walk->state = *callee;
	if (by_code(walk, code, 0, false)) {
		*step_ret = REEL_STEP_SYNTHESIZED;
		return;
	}
	*walk->state = root;
	walk->guessed = true;
}

static bool is_known(const struct reel_code *code)
{
	return code->read_code || code->jit_rows;
}

/* False if nothing is mapped there, or the mapping has no known code. */
static bool is_code(const struct reel_walk *walk, uint64_t address)
{
	struct reel_code code = { 0 };

	switch (walk->input->find_code(walk->input->context, address, &code)) {
	case REEL_CODE_NO_MAPPING:
		return false;
	case REEL_CODE_ANONYMOUS:
		return is_known(&code);
	default:
		return true;
	}
}

/*
 * By CFI, the innermost function returns to an address without code.  Hand-written code may lack
 * rows (glibc's memcpy on i386 pushes without one), or have one for a function and its subroutines
 * (LuaJIT's lj_vm_mod).  So this takes the only caller by the code, without a search: the mapping
 * may also be unknown.  It is a guess unless the call there is proved to have led here.
 */
static void check_first_caller(struct reel_walk *walk, const struct reel_code *code,
			       const struct reel_unwind_state *callee, enum reel_step *step_ret)
{
	struct reel_unwind_state nowhere = *walk->state;
	bool is_proved;

	*walk->state = *callee;
	if (!reel_walk_by_code_alone(walk, code, &is_proved)) {
		*walk->state = nowhere;
		return;
	}
	*step_ret = REEL_STEP_SYNTHESIZED;
	walk->guessed |= !is_proved;
}

/*
 * Dart's compiler writes one row for all code, by the frame pointer.  It skips the caller of an
 * innermost function without a frame of its own, which the code shows.
 */
static void check_assumed_frame(struct reel_walk *walk, const struct reel_code *code,
				const struct reel_unwind_state *callee, enum reel_step *step_ret)
{
	struct reel_unwind_state by_cfi = *walk->state;
	bool guessed = walk->guessed, on_trial = walk->on_trial;
	enum reel_step step;

	*walk->state = *callee;
	if (fall_back(walk, code, &step) && walk->state->pc != by_cfi.pc) {
		*step_ret = step;
		return;
	}
	*walk->state = by_cfi;
	walk->guessed = guessed;
	walk->on_trial = on_trial;
}

/*
 * CFI that finds the CFA in the word that the frame pointer points to is right only until the first
 * call if the called code does not keep to the ABI and changes that register.  So if the caller
 * cannot have called this, takes the one that the code alone leads to.
 */
static enum reel_next check_computed(struct reel_walk *walk, const struct reel_code *code,
				     const struct reel_unwind_state *callee,
				     enum reel_step *step_ret)
{
	struct reel_unwind_state caller = *walk->state;
	bool ignored;

	*walk->state = *callee;
	if (reel_walk_call_leads_here(walk, code, &caller, &ignored) != REEL_LEADS_NOT) {
		*walk->state = caller;
		return REEL_NEXT_CALLER;
	}
	*step_ret = REEL_STEP_SYNTHESIZED;
	return reel_walk_by_code_alone(walk, code, &ignored)
		       ? REEL_NEXT_CALLER
		       : stop(walk, REEL_STOP_BAD_UNWIND_INFO);
}

/*
 * By the code, the CFI does not describe this instruction of a prologue or epilogue (yet).  If its
 * caller is another one, takes the code's; a guess if that is in doubt.  `next` is the result by the
 * CFI, which may also be that it leads nowhere.
 */
static enum reel_next check_edge(struct reel_walk *walk, const struct reel_row *by_code,
				 bool certain, const struct reel_unwind_state *callee,
				 enum reel_next next, enum reel_step *step_ret)
{
	uint8_t sp = walk->programs->sp;
	struct reel_unwind_state by_cfi = *walk->state, caller;

	*walk->state = *callee;
	if (!reel_walk_try(walk, by_code, &caller)) {
		*walk->state = by_cfi;
		walk->guessed = true;
		return next;
	}
	if (next == REEL_NEXT_CALLER && caller.pc == by_cfi.pc &&
	    caller.registers[sp] == by_cfi.registers[sp]) {
		*walk->state = by_cfi;
		return next;
	}
	*walk->state = caller;
	*step_ret = REEL_STEP_SYNTHESIZED;
	walk->guessed |= !certain;
	return REEL_NEXT_CALLER;
}

static enum reel_next row_step(struct reel_walk *walk, const struct reel_code *code,
			       enum reel_step *step_ret)
{
	struct reel_unwind_state callee;
	const struct reel_row *pattern, *edge,
		*row = reel_rows_at(code->rows, reel_walk_lookup(walk) - code->bias);
	enum reel_next next;
	bool certain;

	if (reel_row_outcome(row) == REEL_ROW_NONE)
		return fallback_step(walk, code, REEL_STOP_NO_UNWIND_INFO, step_ret);
	if (reel_walk_wants_signal_pattern(walk, row)) {
		pattern = reel_walk_match_signal_frame(walk, code);
		if (pattern)
			return signal_step(walk, pattern, code->bias, step_ret);
	}
	if (reel_row_ends_function(row) && !walk->exact && !walk->first &&
	    reel_walk_is_outermost(walk, walk->state->pc, code))
		return outermost(walk);
	if (reel_row_outcome(row) == REEL_ROW_SWITCHES)
		return switch_step(walk, code, step_ret);
	if (reel_row_is_signal_frame(row))
		return signal_step(walk, row, code->bias, step_ret);
	/* The instruction shows, against the CFI, that the function is about to return. */
	if (reel_row_denies_return(row, walk->input->arch) && reel_walk_undo_return(walk, code)) {
		*step_ret = REEL_STEP_UNDO_CALL;
		return REEL_NEXT_CALLER;
	}
	if (reel_walk_was_entered(walk, code, row) || reel_walk_was_stored(walk, code, row))
		return REEL_NEXT_ROOT;
	*step_ret = REEL_STEP_CFI;
	walk->is_computed = !reel_row_saves_return_address(row);
	if (walk->first || reel_row_computes_cfa(row))
		callee = *walk->state;
	edge = reel_walk_edge_row(walk, code, row, &certain);
	next = walk->follows_scratch ? apply_and_keep(walk, row, code)
				     : apply(walk, row, code->bias);
	if (next == REEL_NEXT_STOP && walk->stop == REEL_STOP_REGISTER_UNKNOWN &&
	    reel_walk_find_sp(walk, row)) {
		*step_ret = REEL_STEP_FRAME_POINTER;
		next = apply(walk, row, code->bias);
	}
	if (edge)
		next = check_edge(walk, edge, certain, &callee, next, step_ret);
	if (next == REEL_NEXT_CALLER && walk->first && !walk->state->pc)
		check_first_root(walk, code, &callee, step_ret);
	else if (next == REEL_NEXT_CALLER && walk->first &&
		 reel_row_assumes_frame(row, walk->input->arch))
		check_assumed_frame(walk, code, &callee, step_ret);
	else if (next == REEL_NEXT_CALLER && walk->first && !is_code(walk, walk->state->pc - 1))
		check_first_caller(walk, code, &callee, step_ret);
	else if (next == REEL_NEXT_CALLER && !walk->exact && reel_row_computes_cfa(row))
		next = check_computed(walk, code, &callee, step_ret);
	return next;
}

/* Without code: a trampoline on the stack, or a call through a bad pointer. */
static enum reel_next nowhere_step(struct reel_walk *walk, enum reel_step *step_ret)
{
	const struct reel_row *row = reel_walk_match_signal_frame(walk, NULL);

	if (row)
		return signal_step(walk, row, 0, step_ret);
	*step_ret = REEL_STEP_UNDO_CALL;
	return walk->first && reel_walk_undo_call(walk) ? REEL_NEXT_CALLER
							: stop(walk, REEL_STOP_NO_MAPPING);
}

static enum reel_next take_step(struct reel_walk *walk, enum reel_step *step_ret)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_code code = { 0 };

	switch (input->find_code(input->context, reel_walk_lookup(walk), &code)) {
	case REEL_CODE_FOUND:
		if (code.rows)
			return row_step(walk, &code, step_ret);
		return fallback_step(walk, &code, REEL_STOP_MODULE_MISSING, step_ret);
	/* Its bytes or a JIT's rows may have been recorded. */
	case REEL_CODE_MODULE_MISSING:
		return fallback_step(walk, is_known(&code) ? &code : NULL, REEL_STOP_MODULE_MISSING,
				     step_ret);
	case REEL_CODE_ANONYMOUS:
		return fallback_step(walk, is_known(&code) ? &code : NULL, REEL_STOP_NO_UNWIND_INFO,
				     step_ret);
	case REEL_CODE_NO_MAPPING:
		break;
	}
	return nowhere_step(walk, step_ret);
}
