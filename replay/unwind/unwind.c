/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/unwind/unwind_cache.h"
#include "replay/unwind/waiting_stack.h"

#define MAX_FRAMES_DEFAULT 16384
/* Room at first. */
#define FRAMES_MIN 128
/* Consecutive frames that may leave sp unchanged: leaf functions of CPUs with a link register do,
 * one at a time. */
#define STALLED_MAX 8
/* Frames to follow from one of several callers: wrong walks end earlier. */
#define TRIAL_FRAMES_MAX 256
/* Trials per walk. */
#define TRIALS_MAX 32

/* ---- programs ------------------------------------------------------------------------ */

static struct reel_error *compile_program(const struct reel_arch *arch,
					  struct reel_arch_program program, bool is_fallback,
					  struct reel_row **ret)
{
	struct reel_cfi_row cfi_row;

	if (!reel_cfi_run_program(arch, program, &cfi_row))
		return reel_error_create(REEL_ERROR_INVALID, "arch/%s: malformed program",
					 arch->name);
	/* Code without CFI may have saved and changed any register: only those in its frame record
	 * are known. */
	for (size_t i = 0; is_fallback && i < REEL_ARCH_DWARF_MAX; i++) {
		if (cfi_row.rules[i].kind == REEL_RULE_SAME)
			cfi_row.rules[i].kind = REEL_RULE_UNDEFINED;
	}
	return reel_row_create(arch, &cfi_row, ret);
}

struct reel_error *reel_unwind_programs_create(const struct reel_arch *arch,
					       struct reel_unwind_programs **ret)
{
	struct reel_unwind_programs *programs = calloc(
		1, sizeof(*programs) + arch->n_signal_frames * sizeof(programs->signal_frames[0]));
	struct reel_error *error;

	if (!programs)
		return reel_error_no_memory();
	programs->arch = arch;
	programs->sp = reel_arch_slot(arch, arch->sp);
	programs->fp = reel_arch_slot(arch, arch->fp);
	programs->pc = reel_arch_slot(arch, arch->pc);
	programs->link = arch->flags & REEL_ARCH_LINK_REGISTER
				 ? reel_arch_slot(arch, arch->return_column)
				 : REEL_ARCH_NO_SLOT;
	error = compile_program(arch, arch->undo_call, false, &programs->undo_call);
	if (!error)
		error = compile_program(arch, arch->frame_step, true, &programs->frame_step);
	for (size_t i = 0; !error && i < arch->n_signal_frames; i++)
		error = compile_program(arch, arch->signal_frames[i].program, false,
					&programs->signal_frames[i]);
	if (error) {
		reel_unwind_programs_destroy(programs);
		return error;
	}
	*ret = programs;
	return NULL;
}

void reel_unwind_programs_destroy(struct reel_unwind_programs *programs)
{
	if (!programs)
		return;
	for (size_t i = 0; i < programs->arch->n_signal_frames; i++)
		reel_row_destroy(programs->signal_frames[i]);
	reel_row_destroy(programs->undo_call);
	reel_row_destroy(programs->frame_step);
	free(programs);
}

/* ---- frames -------------------------------------------------------------------------- */

void reel_unwind_frames_free(struct reel_unwind_frames *frames)
{
	free(frames->addresses);
	free(frames->lookups);
	free(frames->sps);
	free(frames->steps);
	free(frames->states);
	*frames = (struct reel_unwind_frames){ 0 };
}

/* Of a frame whose caller's sp is unknown. */
#define FRAME_SIZE_MAX 4096

size_t reel_unwind_frames_find(const struct reel_unwind_frames *frames, size_t from,
			       uint64_t address)
{
	for (size_t i = from; i < frames->n; i++) {
		uint64_t sp = frames->sps[i], size = FRAME_SIZE_MAX;

		if (i + 1 < frames->n && frames->sps[i + 1] > sp)
			size = frames->sps[i + 1] - sp;
		if (sp && address - sp < size)
			return i;
	}
	return SIZE_MAX;
}

struct reel_error *reel_unwind_frames_fit(struct reel_unwind_frames *frames, size_t n)
{
	size_t capacity = frames->capacity;

	if (n <= capacity)
		return NULL;
	n = n < FRAMES_MIN ? FRAMES_MIN : n;
	if (!reel_array_fit(&frames->addresses, n, &(size_t){ capacity }, sizeof(uint64_t)) ||
	    !reel_array_fit(&frames->lookups, n, &(size_t){ capacity }, sizeof(uint64_t)) ||
	    !reel_array_fit(&frames->sps, n, &(size_t){ capacity }, sizeof(uint64_t)) ||
	    !reel_array_fit(&frames->steps, n, &capacity, 1))
		return reel_error_no_memory();
	frames->capacity = capacity;
	return NULL;
}

static struct reel_error *append_frame(const struct reel_walk *walk,
				       struct reel_unwind_frames *frames, enum reel_step step)
{
	const struct reel_unwind_state *state = walk->state;
	size_t n = frames->n;

	if (n == frames->capacity)
		TRY(reel_unwind_frames_fit(frames, n + 1));
	frames->addresses[n] = state->pc;
	frames->lookups[n] = reel_walk_lookup(walk);
	frames->sps[n] = reel_walk_knows(state, walk->programs->sp)
				 ? state->registers[walk->programs->sp]
				 : 0;
	frames->steps[n] = (uint8_t)step;
	if (frames->keeps_states) {
		if (!reel_array_reserve(&frames->states, n, &frames->states_capacity,
					sizeof(*state)))
			return reel_error_no_memory();
		frames->states[n] = *state;
	}
	frames->n = n + 1;
	return NULL;
}

/* ---- steps --------------------------------------------------------------------------- */

static enum reel_next stop(struct reel_walk *walk, enum reel_stop why)
{
	walk->stop = why;
	return REEL_NEXT_STOP;
}

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
	if (reel_walk_fall_back(walk, code, step_ret))
		return REEL_NEXT_CALLER;
	return reel_walk_begins_thread(walk, code) || reel_walk_ends_thread(walk, code, false)
		       ? REEL_NEXT_ROOT
		       : stop(walk, otherwise);
}

static enum reel_next take_step(struct reel_walk *walk, enum reel_step *step_ret);

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
	if (reel_walk_by_code(walk, code, 0, false)) {
		*step_ret = REEL_STEP_SYNTHESIZED;
		return;
	}
	*walk->state = root;
	walk->guessed = true;
}

static bool is_mapped(const struct reel_walk *walk, uint64_t address)
{
	struct reel_code ignored = { 0 };

	return walk->input->find_code(walk->input->context, address, &ignored) !=
	       REEL_CODE_NO_MAPPING;
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
	if (reel_walk_fall_back(walk, code, &step) && walk->state->pc != by_cfi.pc) {
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

static enum reel_next row_step(struct reel_walk *walk, const struct reel_code *code,
			       enum reel_step *step_ret)
{
	struct reel_unwind_state callee;
	const struct reel_row *pattern,
		*row = reel_rows_at(code->rows, reel_walk_lookup(walk) - code->bias);
	enum reel_next next;

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
	if (reel_walk_was_entered(walk, code, row))
		return REEL_NEXT_ROOT;
	*step_ret = REEL_STEP_CFI;
	walk->is_computed = !reel_row_saves_return_address(row);
	if (walk->first || reel_row_computes_cfa(row))
		callee = *walk->state;
	next = walk->follows_scratch ? apply_and_keep(walk, row, code)
				     : apply(walk, row, code->bias);
	if (next == REEL_NEXT_STOP && walk->stop == REEL_STOP_REGISTER_UNKNOWN &&
	    reel_walk_find_sp(walk, row)) {
		*step_ret = REEL_STEP_FRAME_POINTER;
		next = apply(walk, row, code->bias);
	}
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

/* Sets the state to the caller's. */
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

/* ---- the loop ------------------------------------------------------------------------ */

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
	/* Nowhere is a call: Go's CFI finds the number of arguments in rt0_go. */
	if (*step_ret != REEL_STEP_SIGNAL && !is_mapped(walk, walk->state->pc - 1) &&
	    !reel_walk_match_signal_frame(walk, NULL))
		return stop(walk, REEL_STOP_NO_MAPPING);
	/* Code without CFI may have moved sp before it called or was interrupted. */
	if (walk->sp_assumed && *step_ret == REEL_STEP_CFI && !reel_walk_is_return_address(walk))
		return stop(walk, REEL_STOP_REGISTER_UNKNOWN);
	walk->sp_assumed = *step_ret == REEL_STEP_LINK_REGISTER;
	if (!makes_progress(walk, &before, *step_ret))
		return stop(walk, REEL_STOP_NO_PROGRESS);
	walk->exact = *step_ret == REEL_STEP_SIGNAL ||
		      (walk->first && *step_ret == REEL_STEP_CFI && reel_walk_is_landing_pad(walk));
	walk->first = *step_ret == REEL_STEP_SIGNAL;
	walk->callee = before.pc;
	return REEL_NEXT_CALLER;
}

bool reel_walk_reaches_root(struct reel_walk *walk, const struct reel_unwind_state *caller)
{
	struct reel_unwind_state state = *caller;
	struct reel_walk trial = *walk;
	enum reel_next next;
	enum reel_step step;
	unsigned n = 0;

	if (walk->trials == TRIALS_MAX)
		return false;
	walk->trials++;
	trial.state = &state;
	trial.callee = walk->state->pc;
	trial.first = trial.exact = trial.sp_assumed = trial.guessed = false;
	trial.on_trial = true;
	do {
		next = reel_walk_advance(&trial, &step);
	} while (next == REEL_NEXT_CALLER && n++ < TRIAL_FRAMES_MAX && !trial.guessed);
	return next == REEL_NEXT_ROOT && !trial.guessed;
}

/* Appends a frame for the gap. */
static struct reel_error *append_gap(struct reel_unwind_frames *frames)
{
	size_t n = frames->n;

	if (n == frames->capacity)
		TRY(reel_unwind_frames_fit(frames, n + 1));
	if (frames->keeps_states) {
		if (!reel_array_reserve(&frames->states, n, &frames->states_capacity,
					sizeof(*frames->states)))
			return reel_error_no_memory();
		frames->states[n] = (struct reel_unwind_state){ 0 };
	}
	frames->addresses[n] = frames->lookups[n] = frames->sps[n] = 0;
	frames->steps[n] = REEL_STEP_GAP;
	frames->n = n + 1;
	return NULL;
}

static struct reel_error *unwind(struct reel_walk *walk, size_t max_frames,
				 struct reel_unwind_frames *ret, enum reel_stop *stop_ret)
{
	enum reel_step step = REEL_STEP_SAMPLE;
	enum reel_next next;

	ret->n = 0;
	do {
		if (ret->n == max_frames) {
			*stop_ret = REEL_STOP_DEPTH_LIMIT;
			return NULL;
		}
		/* The trampoline just left was not called: the byte before its first instruction,
		 * where the handler returns, is another function's. */
		if (step == REEL_STEP_SIGNAL && ret->n > 1)
			ret->lookups[ret->n - 1] = ret->addresses[ret->n - 1];
		TRY(append_frame(walk, ret, step));
		next = !walk->follows_scratch && !ret->keeps_states &&
				       reel_walk_fast(walk, ret, max_frames)
			       ? REEL_NEXT_ROOT
			       : reel_walk_advance(walk, &step);
		if (next == REEL_NEXT_STOP && walk->stop == REEL_STOP_STACK_CUT &&
		    ret->n < max_frames && reel_walk_cross_gap(walk)) {
			TRY(append_gap(ret));
			step = REEL_STEP_BEYOND_GAP;
			next = REEL_NEXT_CALLER;
		}
	} while (next == REEL_NEXT_CALLER);
	if (walk->is_beyond_gap) {
		next = REEL_NEXT_STOP;
		walk->stop = REEL_STOP_STACK_CUT;
	}
	if (next == REEL_NEXT_ROOT && walk->exact && ret->n)
		ret->lookups[ret->n - 1] = ret->addresses[ret->n - 1];
	*stop_ret = next != REEL_NEXT_ROOT ? walk->stop
		    : walk->guessed	   ? REEL_STOP_GUESSED_ROOT
					   : REEL_STOP_ROOT;
	return NULL;
}

struct reel_error *reel_unwind_trace(const struct reel_unwind_input *input,
				     const struct reel_unwind_programs *programs,
				     struct reel_unwind_state *state,
				     struct reel_unwind_frames *ret, enum reel_stop *stop_ret)
{
	size_t max_frames = input->max_frames ? input->max_frames : MAX_FRAMES_DEFAULT;
	struct reel_unwind_state begin = *state;
	struct reel_walk walk = {
		.input = input,
		.programs = programs,
		.state = state,
		.code_mask = input->code_mask ? input->code_mask : input->arch->default_code_mask,
		.first = true,
		.exact = true,
	};
	struct reel_walk again;

	state->pc = reel_walk_strip(&walk, state->pc);
	reel_walk_read_places(&walk);
	walk.exact = !input->after_syscall || !reel_cached_is_behind_system_call(&walk);
	if (input->cache) {
		walk.seen = &input->cache->seen;
		walk.seen->begun = false;
	}
	again = walk;
	TRY(unwind(&walk, max_frames, ret, stop_ret));
	if (*stop_ret != REEL_STOP_REGISTER_UNKNOWN)
		return NULL;
	/* Perhaps a register that callees need not keep was kept. */
	begin.pc = reel_walk_strip(&again, begin.pc);
	*state = begin;
	again.follows_scratch = true;
	return unwind(&again, max_frames, ret, stop_ret);
}

/* ---- chains walked by the recorder ------------------------------------------------------ */

/*
 * In such a chain, a leaf function without a frame is followed by its caller's caller.  If by CFI
 * the return address is still in the link register, the frame pointer is the caller's, and the
 * chain begins with the caller's caller (the same address if it recurses).  Only registers are
 * needed, so sp may be any value.
 */
static bool find_leaf_caller(struct reel_walk *walk)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_unwind_state *state = walk->state;
	struct reel_unwind_state caller = *state;
	uint8_t link = walk->programs->link, sp = walk->programs->sp;
	const struct reel_row *row;
	struct reel_code code = { 0 };
	enum reel_stop ignored;

	if (link == REEL_ARCH_NO_SLOT || !reel_walk_knows(state, link) ||
	    input->find_code(input->context, reel_walk_lookup(walk), &code) != REEL_CODE_FOUND ||
	    !code.rows)
		return false;
	row = reel_rows_at(code.rows, reel_walk_lookup(walk) - code.bias);
	if (reel_row_outcome(row) != REEL_ROW_STEP || reel_row_is_signal_frame(row))
		return false;
	caller.known |= 1ull << sp;
	if (reel_row_apply(row, &caller, true, code.bias, &ignored) != REEL_NEXT_CALLER)
		return false;
	state->pc = reel_walk_strip(walk, caller.pc);
	return state->pc != 0;
}

/* Only the outermost function's CFI shows whether it has a caller that the chain lacks. */
static enum reel_stop end_of_recorded(struct reel_walk *walk)
{
	const struct reel_unwind_input *input = walk->input;
	uint64_t lookup = reel_walk_lookup(walk);
	struct reel_code code = { 0 };
	enum reel_code_found found = input->find_code(input->context, lookup, &code);

	if (found == REEL_CODE_MODULE_MISSING || (found == REEL_CODE_FOUND && !code.rows))
		return REEL_STOP_MODULE_MISSING;
	if (found == REEL_CODE_FOUND &&
	    reel_row_outcome(reel_rows_at(code.rows, lookup - code.bias)) == REEL_ROW_ROOT)
		return REEL_STOP_ROOT;
	return REEL_STOP_RECORDED_END;
}

struct reel_error *reel_unwind_recorded(const struct reel_unwind_input *input,
					const struct reel_unwind_programs *programs,
					struct reel_unwind_state *state, const uint64_t *chain,
					size_t count, enum reel_step step,
					struct reel_unwind_frames *ret, enum reel_stop *stop_ret)
{
	size_t max_frames = input->max_frames ? input->max_frames : MAX_FRAMES_DEFAULT;
	struct reel_walk walk = {
		.input = input,
		.programs = programs,
		.state = state,
		.code_mask = input->code_mask ? input->code_mask : input->arch->default_code_mask,
	};

	ret->n = 0;
	for (size_t i = 0; i < count; i++) {
		if (ret->n >= max_frames) {
			*stop_ret = REEL_STOP_DEPTH_LIMIT;
			return NULL;
		}
		state->pc = reel_walk_strip(&walk, chain[i]);
		walk.exact = i ? step == REEL_STEP_RECORDED_CALL
			       : !input->after_syscall || !reel_cached_is_behind_system_call(&walk);
		TRY(append_frame(&walk, ret, i ? step : REEL_STEP_SAMPLE));
		if (!i && step == REEL_STEP_RECORDED && find_leaf_caller(&walk)) {
			walk.exact = false;
			TRY(append_frame(&walk, ret, REEL_STEP_CFI));
		}
	}
	*stop_ret = count ? end_of_recorded(&walk) : REEL_STOP_RECORDED_END;
	return NULL;
}
