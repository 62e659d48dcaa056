/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/unwind/unwind_cache.h"
#include "replay/unwind/unwind_internal.h"
#include "replay/unwind/unwind_trial.h"

#define MAX_FRAMES_DEFAULT 16384
/* Frames of a trial: wrong walks end earlier. */
#define TRIAL_FRAMES_MAX 257
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

/* ---- the loop ------------------------------------------------------------------------ */

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

/* In the first `scratch_frames` frames, also follows registers for which CFI has no rule.  A trial ends
 * at its first guess. */
static struct reel_error *unwind(struct reel_walk *walk, bool is_trial, size_t max_frames,
				 size_t scratch_frames, struct reel_unwind_frames *ret,
				 enum reel_stop *stop_ret)
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
		walk->follows_scratch = ret->n <= scratch_frames;
		if (!walk->follows_scratch && !ret->keeps_states &&
		    reel_walk_fast(walk, ret, max_frames)) {
			next = REEL_NEXT_ROOT;
		} else if (walk->trials && reel_trials_know_rest(walk, ret, max_frames)) {
			next = REEL_NEXT_ROOT;
			walk->exact = false; /* the last frame has its look-up */
		} else {
			next = reel_walk_advance(walk, &step);
		}
		if (next == REEL_NEXT_STOP && walk->stop == REEL_STOP_STACK_CUT && !is_trial &&
		    ret->n < max_frames && reel_walk_cross_gap(walk)) {
			TRY(append_gap(ret));
			step = REEL_STEP_BEYOND_GAP;
			next = REEL_NEXT_CALLER;
		}
	} while (next == REEL_NEXT_CALLER && !(is_trial && walk->guessed));
	if (walk->is_beyond_gap && !is_trial) {
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

static bool reaches_root(struct reel_walk *walk, const struct reel_unwind_state *caller)
{
	struct reel_unwind_state state = *caller;
	struct reel_walk trial = *walk;
	struct reel_unwind_frames own = { 0 };
	struct reel_error *error;
	enum reel_stop stop;

	if (walk->n_trials == TRIALS_MAX)
		return false;
	walk->n_trials++;
	trial.state = &state;
	trial.callee = walk->state->pc;
	trial.first = trial.exact = trial.sp_assumed = trial.guessed = false;
	trial.on_trial = true;
	error = unwind(&trial, true, TRIAL_FRAMES_MAX, walk->follows_scratch ? SIZE_MAX : 0,
		       walk->trials ? reel_trials_next(walk->trials) : &own, &stop);
	reel_unwind_frames_free(&own);
	/* Without memory, the walk itself fails as well. */
	reel_error_destroy(error);
	if (error || trial.guessed || stop != REEL_STOP_ROOT)
		return false;
	if (walk->trials)
		reel_trials_keep(walk->trials, &trial);
	return true;
}

/* Without the room for registers that this CPU has not. */
static void copy_state(struct reel_unwind_state *to, const struct reel_unwind_state *from)
{
	memcpy(to, from,
	       offsetof(struct reel_unwind_state, registers) +
		       from->arch->n_registers * sizeof(from->registers[0]));
}

struct reel_error *reel_unwind_trace(const struct reel_unwind_input *input,
				     const struct reel_unwind_programs *programs,
				     struct reel_unwind_state *state,
				     struct reel_unwind_frames *ret, enum reel_stop *stop_ret)
{
	size_t max_frames = input->max_frames ? input->max_frames : MAX_FRAMES_DEFAULT;
	struct reel_unwind_state begin;
	struct reel_walk walk = {
		.input = input,
		.programs = programs,
		.state = state,
		.code_mask = input->code_mask ? input->code_mask : input->arch->default_code_mask,
		.first = true,
		.exact = true,
		.reaches_root = reaches_root,
	};
	struct reel_walk again;
	size_t n;

	state->pc = reel_walk_strip(&walk, state->pc);
	reel_walk_read_places(&walk);
	walk.exact = !input->after_syscall || !reel_cached_is_behind_system_call(&walk);
	if (input->cache) {
		walk.seen = &input->cache->seen;
		walk.seen->begun = false;
		walk.trials = input->cache->trials;
		reel_trials_begin(walk.trials);
		input->cache->trace = (input->cache->trace + 1) | CACHED_TRACE;
	}
	again = walk;
	copy_state(&begin, state);
	TRY(unwind(&walk, false, max_frames, 0, ret, stop_ret));
	if (*stop_ret != REEL_STOP_REGISTER_UNKNOWN)
		return NULL;
	/* Perhaps a register that callees need not keep was kept.  That is shown by analyzing the
	 * code of each frame, so first do so only for the frames up to the one that needs it. */
	n = ret->n;
	walk = again;
	copy_state(state, &begin);
	TRY(unwind(&walk, false, max_frames, n, ret, stop_ret));
	if (*stop_ret != REEL_STOP_REGISTER_UNKNOWN || ret->n <= n)
		return NULL;
	copy_state(state, &begin);
	return unwind(&again, false, max_frames, SIZE_MAX, ret, stop_ret);
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
