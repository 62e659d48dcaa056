/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence for a caller found without CFI, and for an outermost frame. */
#include "replay/unwind/unwind_internal.h"

/* ---- calls ----------------------------------------------------------------------------- */

static enum reel_leads best(enum reel_leads a, enum reel_leads b)
{
	return a > b ? a : b;
}

bool reel_walk_finds(const struct reel_walk *walk, const struct reel_row *row,
		     const struct reel_unwind_state *caller)
{
	uint8_t sp = walk->programs->sp;
	struct reel_unwind_state found;

	return reel_walk_try(walk, row, &found) && found.pc == caller->pc &&
	       (!reel_walk_knows(caller, sp) || !reel_walk_knows(&found, sp) ||
		found.registers[sp] == caller->registers[sp]);
}

enum reel_leads reel_walk_target_leads(const struct reel_walk *walk, const struct reel_code *here,
				       uint64_t target, const struct reel_row **row_ret)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_code there = { 0 };
	enum reel_leads leads;

	*row_ret = NULL;
	/* Code without a file is known only by its bytes. */
	input->find_code(input->context, target, &there);
	if (!there.synthesis)
		return REEL_LEADS_PERHAPS;
	/* Code jumps to another module through addresses in memory. */
	if (!here || !reel_code_is_same(here, &there))
		return reel_synthesis_leads(there.synthesis, target - there.bias, UINT64_MAX,
					    row_ret);
	leads = reel_synthesis_leads(there.synthesis, target - there.bias,
				     walk->state->pc - there.bias, row_ret);
	/* A probe's trap leaves pc within an instruction. */
	return leads == REEL_LEADS_NOT && reel_synthesis_holds(there.synthesis, target - there.bias,
							       walk->state->pc - there.bias)
		       ? REEL_LEADS_PERHAPS
		       : leads;
}

enum reel_leads reel_walk_call_leads_here(const struct reel_walk *walk,
					  const struct reel_code *here,
					  const struct reel_unwind_state *caller, bool *agrees_ret)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_arch *arch = input->arch;
	enum reel_leads leads = REEL_LEADS_NOT;
	struct reel_code code = { 0 };
	uint32_t calls;

	if (agrees_ret)
		*agrees_ret = false;
	input->find_code(input->context, caller->pc - 1, &code);
	if (!code.synthesis)
		return REEL_LEADS_PERHAPS;
	calls = reel_walk_calls_before(walk, &code, caller->pc);
	if (!calls || calls == UINT32_MAX)
		return REEL_LEADS_PERHAPS;
	for (; calls; calls &= calls - 1) {
		const struct reel_arch_call *call = &arch->calls[__builtin_ctz(calls)];
		uint64_t target;
		enum reel_leads by_this = REEL_LEADS_PERHAPS;
		const struct reel_row *row = NULL;

		if (reel_synthesis_call_target(code.synthesis, caller->pc - code.bias, call->size,
					       &target))
			by_this = reel_walk_target_leads(walk, here, target + code.bias, &row);
		/* If it leads here, its changes to the stack must give this caller. */
		if (agrees_ret && row && reel_walk_finds(walk, row, caller))
			*agrees_ret = true;
		else if (agrees_ret && row)
			by_this = REEL_LEADS_NOT;
		leads = best(leads, by_this);
	}
	return leads;
}

/* ---- late CFI ---------------------------------------------------------------------------- */

const struct reel_row *reel_walk_edge_row(const struct reel_walk *walk,
					  const struct reel_code *code, const struct reel_row *row,
					  bool *certain_ret)
{
	uint64_t address = walk->state->pc - code->bias, begin, end;
	enum reel_row_edge edge;

	if (!walk->first || !walk->exact || walk->programs->link == REEL_ARCH_NO_SLOT ||
	    !code->synthesis)
		return NULL;
	edge = reel_row_edge(row, walk->programs->undo_call);
	if (edge == REEL_ROW_INNER || !reel_rows_function_at(code->rows, address, &begin, &end))
		return NULL;
	return reel_synthesis_edge(code->synthesis, begin, end, address, edge, certain_ret);
}

/* ---- the outermost function -------------------------------------------------------------- */

bool reel_code_never_returns(const struct reel_code *code, uint64_t address)
{
	struct reel_synthesized_rows rows;

	/* JITs push where to continue, and leave from there by jumps. */
	if (!code->rows)
		return false;
	if (reel_row_outcome(reel_rows_at(code->rows, address - code->bias)) == REEL_ROW_ROOT)
		return true;
	if (!code->synthesis)
		return false;
	reel_synthesis_at(code->synthesis, address - code->bias, &rows);
	return rows.whole && !rows.n;
}

/* A call before the address may have led to the callee's pc (0: unknown). */
static bool call_may_lead_to(const struct reel_walk *walk, uint64_t address, uint64_t callee_pc)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_unwind_state callee = { .pc = callee_pc }, caller = { .pc = address };
	struct reel_walk other = *walk;
	struct reel_code here = { 0 };

	if (!reel_walk_is_behind_call(walk, address, NULL))
		return false;
	if (!callee_pc)
		return true;
	other.state = &callee;
	input->find_code(input->context, callee_pc, &here);
	return reel_walk_call_leads_here(&other, &here, &caller, NULL) != REEL_LEADS_NOT;
}

bool reel_walk_is_outermost(const struct reel_walk *walk, uint64_t address,
			    const struct reel_code *code)
{
	if (!reel_code_never_returns(code, address))
		return false;
	if (!reel_walk_is_behind_call(walk, address, NULL))
		return true;
	/* Without a row, it is padding behind a call that does not return. */
	return reel_row_outcome(reel_rows_at(code->rows, address - code->bias)) != REEL_ROW_NONE &&
	       !call_may_lead_to(walk, address, walk->callee);
}

bool reel_walk_was_stored(const struct reel_walk *walk, const struct reel_code *code,
			  const struct reel_row *row)
{
	return reel_row_begins_function(row) && !walk->first &&
	       !reel_walk_is_behind_call(walk, walk->state->pc, NULL) &&
	       reel_code_never_returns(code, walk->state->pc);
}

/* The entry of a dynamically linked program may jump back to the static one's (Free Pascal). */
#define ENTRY_CODE_MAX 256

bool reel_walk_is_entry(const struct reel_walk *walk, const struct reel_code *code)
{
	uint64_t address = reel_walk_lookup(walk) - code->bias, entry;

	if (!code->rows || !code->synthesis)
		return false;
	entry = reel_rows_entry(code->rows);
	return entry && address - entry + ENTRY_CODE_MAX < 2 * ENTRY_CODE_MAX &&
	       reel_synthesis_is_until_call(code->synthesis, entry, address);
}

bool reel_code_is_entered(const struct reel_code *code, uint64_t address)
{
	uint64_t entry = reel_rows_entry(code->rows);
	const struct reel_row *ignored;

	return entry && code->synthesis &&
	       reel_synthesis_leads(code->synthesis, entry, address - code->bias, &ignored) ==
		       REEL_LEADS_THERE;
}

bool reel_walk_was_entered(const struct reel_walk *walk, const struct reel_code *code,
			   const struct reel_row *row)
{
	struct reel_unwind_state caller;

	return reel_code_is_entered(code, walk->state->pc) &&
	       !(reel_walk_try(walk, row, &caller) &&
		 call_may_lead_to(walk, caller.pc, walk->state->pc));
}

bool reel_walk_ends_thread(const struct reel_walk *walk, const struct reel_code *code,
			   bool has_switched)
{
	uint8_t fp = walk->programs->fp;

	return code && code->synthesis && !walk->exact &&
	       !(walk->input->arch->flags & REEL_ARCH_BACK_CHAIN) &&
	       (has_switched ||
		(reel_walk_knows(walk->state, fp) && !walk->state->registers[fp])) &&
	       reel_synthesis_only_ends(code->synthesis, walk->state->pc - code->bias,
					has_switched);
}

/* Bytes of instructions that check a result (x86: test, jl, je). */
#define LOOKS_AT_RESULT_MAX 12

/* After a system call, except for instructions that only check its result. */
static bool has_made_system_call(const struct reel_walk *walk, const struct reel_code *code)
{
	uint64_t pc = walk->state->pc;

	for (unsigned i = 0; i <= LOOKS_AT_RESULT_MAX; i += walk->input->arch->code_align) {
		if (reel_walk_is_behind_system_call(walk, pc - i) &&
		    reel_synthesis_only_looks(code->synthesis, pc - i - code->bias,
					      pc - code->bias))
			return true;
	}
	return false;
}

bool reel_walk_begins_thread(const struct reel_walk *walk, const struct reel_code *code)
{
	uint8_t result = reel_arch_slot(walk->input->arch, walk->input->arch->result);
	bool knows = reel_walk_knows(walk->state, result);
	struct reel_synthesized_rows rows;

	/* Without a file, what precedes pc is unknown. */
	if (!code || !code->rows || !code->synthesis || !walk->first ||
	    (knows && walk->state->registers[result]))
		return false;
	/* Until the kernel has returned, the result is unknown. */
	if (walk->exact && !(knows && has_made_system_call(walk, code)))
		return false;
	reel_synthesis_at(code->synthesis, walk->state->pc - code->bias, &rows);
	return rows.n && rows.rows[0].by == REEL_BY_RETURN;
}

/* ---- frame records ------------------------------------------------------------------------ */

bool reel_walk_resumes(const struct reel_walk *walk, const struct reel_unwind_state *caller)
{
	const struct reel_unwind_input *input = walk->input;
	uint8_t fp = walk->programs->fp, sp = walk->programs->sp;
	unsigned word = input->arch->word_size;
	struct reel_synthesized_rows rows;
	struct reel_code there = { 0 };

	if (input->no_frame_pointers || !reel_walk_knows(caller, fp) ||
	    caller->registers[fp] % word ||
	    (reel_walk_knows(caller, sp) && caller->registers[fp] < caller->registers[sp]))
		return false;
	input->find_code(input->context, caller->pc, &there);
	if (there.rows || !there.read_code || !there.synthesis)
		return false;
	reel_synthesis_at(there.synthesis, caller->pc - there.bias, &rows);
	return rows.by_fp;
}

static bool may_be_returned_to(const struct reel_walk *walk, uint64_t word)
{
	struct reel_unwind_state caller = { .pc = reel_walk_strip(walk, word) };
	uint8_t fp = walk->programs->fp;

	/* Assume a known frame pointer for reel_walk_resumes, whatever its value. */
	caller.known = (uint64_t)1 << fp;
	return reel_walk_is_behind_call(walk, caller.pc, NULL) || reel_walk_resumes(walk, &caller);
}

bool reel_walk_is_nothing_between(const struct reel_walk *walk, uint64_t at, uint64_t end,
				  uint64_t pc)
{
	unsigned size = walk->input->arch->word_size;
	uint64_t word;

	for (; at < end; at += size) {
		if (!reel_memory_read(walk->input->memory, at, size, &word) ||
		    (reel_walk_strip(walk, word) != pc && may_be_returned_to(walk, word)))
			return false;
	}
	return true;
}

/*
 * No frame is between sp and the frame record: no word there can be a return address, and in a
 * first frame no register can hold one that the code still needs.
 */
static bool is_next_to_record(const struct reel_walk *walk, uint64_t passed_on)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_unwind_state *state = walk->state;
	uint8_t fp = walk->programs->fp, sp = walk->programs->sp;
	unsigned size = input->arch->word_size;

	if (input->arch->flags & REEL_ARCH_LINK_REGISTER || !reel_walk_knows(state, sp) ||
	    !reel_walk_knows(state, fp) || state->registers[sp] % size ||
	    state->registers[fp] < state->registers[sp] ||
	    state->registers[fp] - state->registers[sp] > REEL_SEARCHED_WORDS * size ||
	    !reel_walk_is_nothing_between(walk, state->registers[sp], state->registers[fp], 0))
		return false;
	passed_on &= state->known & ~((uint64_t)1 << sp | (uint64_t)1 << fp);
	for (uint8_t i = 0; walk->first && i < input->arch->n_registers; i++) {
		if (passed_on >> i & 1 && may_be_returned_to(walk, state->registers[i]))
			return false;
	}
	return true;
}

bool reel_walk_is_known_return(const struct reel_walk *walk, const struct reel_unwind_state *caller)
{
	struct reel_code there = { 0 };
	uint8_t byte;

	if (!reel_walk_is_behind_call(walk, caller->pc, &there))
		return reel_walk_resumes(walk, caller);
	return there.read_code &&
	       there.read_code(there.module, caller->pc - 1 - there.bias, 1, &byte);
}

bool reel_walk_uses_frame_pointer(const struct reel_walk *walk, const struct reel_code *code,
				  const struct reel_unwind_state *caller)
{
	struct reel_synthesized_rows rows;

	if (!code || !code->synthesis || !reel_walk_is_known_return(walk, caller))
		return false;
	reel_synthesis_at(code->synthesis, walk->state->pc - code->bias, &rows);
	/* A return that leads to no caller shows that the frame pointer is another function's. */
	for (unsigned i = 0; i < rows.n; i++) {
		if (rows.rows[i].by == REEL_BY_RETURN)
			return false;
	}
	return rows.by_fp || (!code->rows && is_next_to_record(walk, rows.passed_on));
}
