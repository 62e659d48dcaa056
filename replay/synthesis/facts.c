/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "replay/synthesis/facts.h"

/* ---- through an instruction ------------------------------------------------------------ */

static struct reel_value plus(struct reel_value value, int64_t constant)
{
	if (value.kind == REEL_VALUE_REGISTER)
		return reel_value_of_register(value.slot, value.plus + constant);
	if (value.kind == REEL_VALUE_MEMORY)
		return reel_value_of_memory(value.slot, value.at, value.plus + constant);
	return (struct reel_value){ 0 };
}

/* The word at register `slot` + `at` after the instruction's stores. */
static struct reel_value word_at(const struct reel_arch *arch,
				 const struct reel_instruction *instruction, uint8_t slot,
				 int64_t at)
{
	for (unsigned i = 0; i < instruction->n_effects; i++) {
		const struct reel_effect *effect = &instruction->effects[i];

		if (!effect->size || effect->slot != slot || effect->at >= at + arch->word_size ||
		    effect->at + effect->size <= at)
			continue;
		return effect->at == at && effect->size == arch->word_size
			       ? effect->value
			       : (struct reel_value){ 0 };
	}
	return reel_value_of_memory(slot, at, 0);
}

/*
 * Converts a value from terms of the registers after the instruction to terms of the registers
 * before the instruction, where the CFA is `cfa`.
 */
static struct reel_value before(const struct reel_arch *arch,
				const struct reel_instruction *instruction, struct reel_value cfa,
				struct reel_value value)
{
	struct reel_value held;

	if (value.kind == REEL_VALUE_AT_CFA && cfa.kind == REEL_VALUE_REGISTER)
		/* Stores to it are tracked once a register has it. */
		return reel_value_of_memory(cfa.slot, (int64_t)cfa.plus + value.at, 0);
	if (value.kind == REEL_VALUE_UNKNOWN || value.kind == REEL_VALUE_AT_CFA)
		return cfa.kind ? value : (struct reel_value){ 0 };
	held = reel_instruction_sets(instruction, value.slot);
	if (value.kind == REEL_VALUE_REGISTER)
		return plus(held, value.plus);
	if (held.kind == REEL_VALUE_REGISTER)
		return plus(word_at(arch, instruction, held.slot, (int64_t)held.plus + value.at),
			    value.plus);
	/* A word at a word: on the caller's stack if sp is loaded from the frame. */
	if (held.kind && held.kind == cfa.kind && !value.plus && held.slot == cfa.slot &&
	    held.at == cfa.at)
		return reel_value_at_cfa((int64_t)held.plus + value.at - cfa.plus);
	return (struct reel_value){ 0 };
}

static bool is_sum(struct reel_value value)
{
	return value.kind == REEL_VALUE_SUM || value.kind == REEL_VALUE_SUM_MEMORY;
}

/* The same for a sum. */
static struct reel_value sum_before(const struct reel_arch *arch,
				    const struct reel_instruction *instruction,
				    struct reel_value sum)
{
	struct reel_value base = reel_instruction_sets(instruction, sum.slot), added;
	unsigned shift = reel_value_shift(sum);
	int place = reel_value_place(sum);

	if (base.kind != REEL_VALUE_REGISTER)
		return (struct reel_value){ 0 };
	added = sum.kind == REEL_VALUE_SUM
			? reel_instruction_sets(instruction, (uint8_t)place)
			: word_at(arch, instruction, base.slot, (int64_t)base.plus + place);
	if (added.kind == REEL_VALUE_SHIFTED) {
		shift += (unsigned)added.at;
		added = reel_value_of_register(added.slot, 0);
	}
	return reel_value_of_sum(base.slot, added, shift, (int64_t)base.plus + sum.plus);
}

/* The same for the CFA. */
static struct reel_value cfa_before(const struct reel_arch *arch,
				    const struct reel_instruction *instruction,
				    struct reel_value cfa)
{
	struct reel_value held = reel_instruction_sets(instruction, cfa.slot);

	if (is_sum(cfa))
		return sum_before(arch, instruction, cfa);
	if (cfa.kind == REEL_VALUE_REGISTER && is_sum(held)) {
		held.plus = cfa.plus; /* instructions add no constant to a sum */
		return held;
	}
	return before(arch, instruction, cfa, cfa);
}

/*
 * A register is stored by sp and restored by another register (a new frame pointer), or vice versa:
 * whether both are the same place is unknown, and so is the place of the register's old value.  But
 * the word that it points to is not itself: V8 keeps a copy of the frame pointer, while the
 * caller's is in the frame.  Stores by other registers are data: registers are saved by sp or the
 * frame pointer, and GMP's loops store data with registers that were saved before.
 */
static void lose_stored(const struct reel_arch *arch, const struct reel_instruction *instruction,
			struct reel_facts *facts)
{
	uint8_t column = reel_arch_slot(arch, arch->return_column);
	uint8_t sp = reel_arch_slot(arch, arch->sp), fp = reel_arch_slot(arch, arch->fp);

	for (unsigned i = 0; i < instruction->n_effects; i++) {
		const struct reel_effect *effect = &instruction->effects[i];
		struct reel_value *value = effect->value.slot == column
						   ? &facts->return_address
						   : &facts->registers[effect->value.slot];

		if (effect->size && (effect->slot == sp || effect->slot == fp) &&
		    effect->value.kind == REEL_VALUE_REGISTER && !effect->value.plus &&
		    value->kind == REEL_VALUE_MEMORY && value->slot != effect->slot &&
		    value->slot != effect->value.slot)
			*value = (struct reel_value){ 0 };
	}
}

bool reel_facts_before(const struct reel_arch *arch, const struct reel_instruction *instruction,
		       struct reel_facts *facts)
{
	uint64_t changed = 0;

	if (!instruction->n_effects)
		return true;
	/* Registers that it sets, or that it stores at. */
	for (unsigned i = 0; i < instruction->n_effects; i++)
		changed |= (uint64_t)1 << instruction->effects[i].slot;
	lose_stored(arch, instruction, facts);
	facts->cfa = cfa_before(arch, instruction, facts->cfa);
	facts->return_address = before(arch, instruction, facts->cfa, facts->return_address);
	for (uint8_t i = 0; i < arch->n_registers; i++) {
		struct reel_value *value = &facts->registers[i];

		/* Others stay as they are. */
		if (value->kind == REEL_VALUE_AT_CFA || changed >> value->slot & 1)
			*value = before(arch, instruction, facts->cfa, *value);
	}
	/* If calls push it, the CFA is right above the return address, whatever else the function
	 * pops: V8's builtins return by `pop %rcx; lea (%rsp,%rdx),%rsp; push %rcx; ret`. */
	if (!facts->cfa.kind && facts->return_address.kind == REEL_VALUE_MEMORY &&
	    !facts->return_address.plus && !(arch->flags & REEL_ARCH_LINK_REGISTER))
		facts->cfa =
			reel_value_of_register(facts->return_address.slot,
					       (int64_t)facts->return_address.at + arch->word_size);
	return facts->return_address.kind != REEL_VALUE_UNKNOWN &&
	       (facts->cfa.kind != REEL_VALUE_UNKNOWN || !(arch->flags & REEL_ARCH_LINK_REGISTER));
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The word at CFA + offset. */
static struct reel_value at_cfa(struct reel_value cfa, int64_t offset)
{
	if (cfa.kind != REEL_VALUE_REGISTER)
		return (struct reel_value){ 0 };
	return reel_value_of_memory(cfa.slot, (int64_t)cfa.plus + offset, 0);
}

static struct reel_value of_rule(const struct reel_arch *arch, const struct reel_facts *facts,
				 uint8_t slot, const struct reel_cfi_rule *rule)
{
	switch ((enum reel_rule_kind)rule->kind) {
	case REEL_RULE_OFFSET:
		return at_cfa(facts->cfa, rule->offset);
	case REEL_RULE_VAL_OFFSET:
		return plus(facts->cfa, rule->offset);
	case REEL_RULE_REGISTER:
		return reel_value_of_register(reel_arch_slot(arch, rule->reg), 0);
	case REEL_RULE_SAME:
	case REEL_RULE_UNSPECIFIED:
		return reel_value_of_register(slot, 0);
	default:
		return (struct reel_value){ 0 };
	}
}

bool reel_facts_of_row(const struct reel_arch *arch, const struct reel_cfi_row *row,
		       struct reel_facts *ret)
{
	uint8_t column = reel_arch_slot(arch, row->return_column);

	*ret = (struct reel_facts){ 0 };
	if (row->signal_frame || row->cfa.kind != REEL_RULE_REGISTER_OFFSET ||
	    row->rules[row->return_column].kind == REEL_RULE_UNDEFINED)
		return false;
	ret->cfa = reel_value_of_register(reel_arch_slot(arch, row->cfa.reg), row->cfa.offset);
	ret->return_address = of_rule(arch, ret, column, &row->rules[row->return_column]);
	if (row->rules[row->return_column].kind != REEL_RULE_OFFSET &&
	    !(arch->flags & REEL_ARCH_LINK_REGISTER))
		return false;
	for (uint8_t i = 0; i < arch->n_registers; i++) {
		uint16_t dwarf = arch->registers[i].dwarf;

		if (dwarf != arch->sp && dwarf != arch->pc && dwarf != row->return_column)
			ret->registers[i] = of_rule(arch, ret, i, &row->rules[dwarf]);
	}
	return ret->cfa.kind && ret->return_address.kind;
}

bool reel_facts_at_return(const struct reel_arch *arch, uint8_t through, struct reel_facts *ret)
{
	struct reel_cfi_row row;

	if (!reel_cfi_run_program(arch, arch->undo_call, &row) ||
	    !reel_facts_of_row(arch, &row, ret))
		return false;
	if (through != REEL_ARCH_NO_SLOT)
		ret->return_address = reel_value_of_register(through, 0);
	return true;
}

static size_t write_sleb(uint8_t *bytes, int64_t value)
{
	size_t n = 0;

	while (value < -64 || value > 63) {
		bytes[n++] = (uint8_t)((value & 0x7f) | 0x80);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)(value & 0x7f);
	return n;
}

static uint8_t *write_register(const struct reel_arch *arch, uint8_t slot, int64_t offset,
			       uint8_t *p)
{
	uint16_t dwarf = arch->registers[slot].dwarf;

	if (dwarf < 32) {
		*p++ = (uint8_t)(DW_OP_breg0 + dwarf);
	} else {
		*p++ = DW_OP_bregx;
		*p++ = (uint8_t)dwarf; /* of CPUs whose table has numbers below 128 */
	}
	return p + write_sleb(p, offset);
}

/* DW_OP_breg n, place[; deref]; const1u shift; shr; plus. */
static uint8_t *write_added(const struct reel_arch *arch, struct reel_value sum, uint8_t *p)
{
	int place = reel_value_place(sum);

	if (sum.kind == REEL_VALUE_SUM) {
		p = write_register(arch, (uint8_t)place, 0, p);
	} else {
		p = write_register(arch, sum.slot, place, p);
		*p++ = DW_OP_deref;
	}
	*p++ = DW_OP_const1u;
	*p++ = (uint8_t)reel_value_shift(sum);
	*p++ = DW_OP_shr;
	*p++ = DW_OP_plus;
	return p;
}

/* DW_OP_breg n, at[; deref][; plus]: the value or its address. */
static void write_expression(const struct reel_arch *arch, struct reel_value value, bool is_place,
			     uint8_t *bytes, size_t *size, struct reel_cfi_rule *rule)
{
	uint8_t *start = bytes + *size, *p = start;
	bool memory = value.kind == REEL_VALUE_MEMORY;
	int64_t offsets[2] = { memory ? value.at : value.plus, value.plus };

	p = write_register(arch, value.slot, offsets[0], p);
	if (is_sum(value))
		p = write_added(arch, value, p);
	if (memory && !is_place) {
		*p++ = DW_OP_deref;
		if (offsets[1]) {
			*p++ = DW_OP_consts;
			p += write_sleb(p, offsets[1]);
			*p++ = DW_OP_plus;
		}
	}
	rule->expression.bytes = start;
	rule->expression.size = (size_t)(p - start);
	rule->kind = is_place ? REEL_RULE_EXPRESSION : REEL_RULE_VAL_EXPRESSION;
	*size += rule->expression.size;
}

/* The rule for a register's value. */
static void to_rule(const struct reel_arch *arch, const struct reel_facts *facts, uint8_t slot,
		    struct reel_value value, uint8_t *expressions, size_t *size,
		    struct reel_cfi_rule *ret)
{
	*ret = (struct reel_cfi_rule){ .kind = REEL_RULE_UNDEFINED };
	if (value.kind == REEL_VALUE_REGISTER && !value.plus) {
		ret->kind = value.slot == slot ? REEL_RULE_SAME : REEL_RULE_REGISTER;
		ret->reg = arch->registers[value.slot].dwarf;
	} else if (value.kind == REEL_VALUE_AT_CFA) {
		ret->kind = REEL_RULE_OFFSET;
		ret->offset = value.at;
	} else if (value.kind == REEL_VALUE_MEMORY && !value.plus &&
		   facts->cfa.kind == REEL_VALUE_REGISTER && facts->cfa.slot == value.slot) {
		ret->kind = REEL_RULE_OFFSET;
		ret->offset = (int64_t)value.at - facts->cfa.plus;
	} else if (value.kind != REEL_VALUE_UNKNOWN) {
		write_expression(arch, value, value.kind == REEL_VALUE_MEMORY && !value.plus,
				 expressions, size, ret);
	}
}

bool reel_facts_to_row(const struct reel_arch *arch, const struct reel_facts *facts,
		       uint8_t *expressions, size_t *size_ret, struct reel_cfi_row *ret)
{
	uint16_t column = arch->return_column;

	*size_ret = 0;
	if (!facts->cfa.kind || !reel_cfi_run_program(arch, arch->undo_call, ret))
		return false;
	if (facts->cfa.kind == REEL_VALUE_REGISTER) {
		ret->cfa.kind = REEL_RULE_REGISTER_OFFSET;
		ret->cfa.reg = arch->registers[facts->cfa.slot].dwarf;
		ret->cfa.offset = facts->cfa.plus;
	} else {
		write_expression(arch, facts->cfa, false, expressions, size_ret, &ret->cfa);
	}
	for (uint8_t i = 0; i < arch->n_registers; i++) {
		uint16_t dwarf = arch->registers[i].dwarf;

		if (dwarf != arch->sp && dwarf != arch->pc && dwarf != column)
			to_rule(arch, facts, i, facts->registers[i], expressions, size_ret,
				&ret->rules[dwarf]);
	}
	ret->return_column = column;
	to_rule(arch, facts, reel_arch_slot(arch, column), facts->return_address, expressions,
		size_ret, &ret->rules[column]);
	return ret->rules[column].kind != REEL_RULE_UNDEFINED;
}
