/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first and the last instructions of functions with CFI, which may describe them too late.
 * Few instructions, in one straight way, show the row there without a doubt.
 */
#include "replay/synthesis/entries.h"
#include "replay/synthesis/facts.h"
#include "replay/synthesis/synthesis_internal.h"

/* An epilogue restores at most some 20 registers, two at a time, and adds to sp. */
#define EPILOGUE_MAX 16
/* Bytes from the beginning; shrink-wrapped functions make their frame late. */
#define PROLOGUE_MAX 4096

struct function {
	uint64_t begin, end;
};

/*
 * The facts where a function leaves by a jump to `target`: those of the code there.  Its CFI alone
 * is no proof: LLVM's outliner moves ends of functions into functions of their own, whose CFI does
 * not say that they remove another function's frame.
 */
static bool facts_at_target(struct reel_synthesis *synthesis, uint64_t target,
			    struct reel_facts *ret)
{
	const struct reel_synthesis_input *input = &synthesis->reader.input;
	struct reel_facts by_cfi;
	struct reel_cfi_row row;

	if (!input->find_row || input->find_row(input->rows, target, &row) != REEL_CFI_FOUND)
		return reel_returns_facts(synthesis, target, NULL, ret);
	return reel_facts_of_row(input->arch, &row, &by_cfi) &&
	       reel_returns_facts(synthesis, target, &by_cfi, ret);
}

/* The code from the function's beginning on restores everything before the jump at `address`, which
 * does not show its target. */
static bool is_restored_at(struct reel_synthesis *synthesis, const struct function *function,
			   uint64_t address)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	uint8_t sp = reel_arch_slot(arch, arch->sp);
	uint8_t link = reel_arch_slot(arch, arch->return_column);
	const struct reel_entry_state *state;

	if (!reel_entry_reaches(synthesis, function->begin, address))
		return false;
	state = reel_synthesis_state(synthesis, function->begin, address);
	return state && state->placed >> sp & 1 && state->place[sp] == synthesis->sp_at_entry &&
	       state->intact >> link & 1;
}

/* The facts at the instruction at `address` if it leaves the function. */
static bool facts_at_leave(struct reel_synthesis *synthesis, const struct function *function,
			   const struct reel_instruction *instruction, uint64_t address,
			   struct reel_facts *ret)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;

	if (instruction->flow == REEL_FLOW_RETURN)
		return reel_facts_at_return(arch, instruction->through, ret);
	if (instruction->flow != REEL_FLOW_JUMP)
		return false;
	if (instruction->has_target)
		return facts_at_target(synthesis, instruction->target, ret);
	return is_restored_at(synthesis, function, address) &&
	       reel_facts_at_return(arch, REEL_ARCH_NO_SLOT, ret);
}

static bool is_within(const struct function *function, uint64_t address)
{
	return address - function->begin < function->end - function->begin;
}

static bool facts_until_leave(struct reel_synthesis *synthesis, const struct function *function,
			      uint64_t address, struct reel_facts *ret)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	struct reel_instruction way[EPILOGUE_MAX];
	unsigned n = 0;

	for (;; n++) {
		if (n == EPILOGUE_MAX || !is_within(function, address) ||
		    !reel_code_decode(&synthesis->reader, address, &way[n]))
			return false;
		if (way[n].flow == REEL_FLOW_NEXT)
			address += way[n].size;
		else if (way[n].flow == REEL_FLOW_JUMP && way[n].has_target &&
			 is_within(function, way[n].target))
			address = way[n].target;
		else
			break;
	}
	if (!facts_at_leave(synthesis, function, &way[n], address, ret))
		return false;
	while (n) {
		if (!reel_facts_before(arch, &way[--n], ret))
			return false;
	}
	return ret->cfa.kind == REEL_VALUE_REGISTER;
}

/* Whether the instructions before `address` change sp or the link register.  *straight_ret: they are
 * one straight way. */
static bool is_changed_before(struct reel_synthesis *synthesis, const struct function *function,
			      uint64_t address, bool *straight_ret)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	uint8_t slots[2] = { reel_arch_slot(arch, arch->sp),
			     reel_arch_slot(arch, arch->return_column) };
	struct reel_instruction instruction;
	uint64_t at = function->begin;
	bool changed = false;

	*straight_ret = true;
	for (; at < address && at - function->begin < PROLOGUE_MAX; at += instruction.size) {
		if (!reel_code_decode(&synthesis->reader, at, &instruction))
			return false;
		*straight_ret &=
			instruction.flow == REEL_FLOW_NEXT || instruction.flow == REEL_FLOW_BRANCH;
		for (unsigned i = 0; i < 2; i++)
			changed |= !reel_value_equal(reel_instruction_sets(&instruction, slots[i]),
						     reel_value_of_register(slots[i], 0));
	}
	return changed && at == address;
}

const struct reel_row *reel_synthesis_edge(struct reel_synthesis *synthesis, uint64_t begin,
					   uint64_t end, uint64_t address, enum reel_row_edge edge,
					   bool *certain_ret)
{
	struct function function = { begin, end };
	const struct reel_row *row = NULL;
	struct reel_facts facts;
	bool straight = true;

	pthread_mutex_lock(&synthesis->lock);
	if (edge == REEL_ROW_EARLY && !is_changed_before(synthesis, &function, address, &straight))
		edge = REEL_ROW_INNER;
	*certain_ret = true;
	if (edge != REEL_ROW_INNER && facts_until_leave(synthesis, &function, address, &facts)) {
		row = reel_returns_row(synthesis, &facts);
	} else if (edge == REEL_ROW_EARLY) {
		row = reel_entry_row(synthesis, begin, address);
		*certain_ret = straight;
	}
	pthread_mutex_unlock(&synthesis->lock);
	return row;
}
