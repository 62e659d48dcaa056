/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF 5, 2.5 (expressions) and 2.6.1.1 (locations), on operations that libdw has decoded. */
#include <dwarf.h>

#include "tests/truth/dwarf_evaluate.h"

#define STACK_MAX 64
#define STEPS_MAX 1000

struct machine {
	const struct truth_sample *sample;
	const struct truth_registers *registers;
	const uint64_t *cfa;
	uint64_t stack[STACK_MAX];
	size_t n;
	uint64_t used;
	enum truth_evaluated result;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->n == STACK_MAX)
		m->result = TRUTH_UNSUPPORTED;
	else
		m->stack[m->n++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->n)
		return m->stack[--m->n];
	m->result = TRUTH_UNSUPPORTED;
	return 0;
}

static uint64_t pick(struct machine *m, uint64_t depth)
{
	if (depth < m->n)
		return m->stack[m->n - 1 - depth];
	m->result = TRUTH_UNSUPPORTED;
	return 0;
}

static void push_register(struct machine *m, uint64_t reg, uint64_t offset)
{
	if (reg >= TRUTH_REGISTERS_MAX || !m->registers->known[reg]) {
		m->result = TRUTH_NO_REGISTER;
		return;
	}
	if (reg < 64)
		m->used |= (uint64_t)1 << reg;
	push(m, m->registers->values[reg] + offset);
}

static void dereference(struct machine *m, unsigned size)
{
	uint64_t value;

	if (!truth_read_word(m->sample, pop(m), size, &value))
		m->result = TRUTH_NO_MEMORY;
	else
		push(m, value);
}

static uint64_t binary(struct machine *m, uint8_t atom, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (atom) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_shra:
		return (uint64_t)(sa >> (b < 64 ? b : 63));
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_lt:
		return sa < sb;
	case DW_OP_le:
		return sa <= sb;
	case DW_OP_gt:
		return sa > sb;
	case DW_OP_ge:
		return sa >= sb;
	default:
		m->result = TRUTH_UNSUPPORTED;
		return 0;
	}
}

/* One operation that does not move the position. */
static void operate(struct machine *m, const Dwarf_Op *op)
{
	uint64_t a, b;

	switch (op->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		push(m, op->atom - DW_OP_lit0);
		return;
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		push(m, op->number);
		return;
	case DW_OP_breg0 ... DW_OP_breg31:
		push_register(m, op->atom - DW_OP_breg0, op->number);
		return;
	case DW_OP_bregx:
		push_register(m, op->number, op->number2);
		return;
	case DW_OP_call_frame_cfa:
		if (m->cfa)
			push(m, *m->cfa);
		else
			m->result = TRUTH_UNSUPPORTED;
		return;
	case DW_OP_plus_uconst:
		push(m, pop(m) + op->number);
		return;
	case DW_OP_deref:
		dereference(m, m->sample->arch->word_size);
		return;
	case DW_OP_deref_size:
		dereference(m, (unsigned)op->number);
		return;
	case DW_OP_dup:
		push(m, pick(m, 0));
		return;
	case DW_OP_over:
		push(m, pick(m, 1));
		return;
	case DW_OP_pick:
		push(m, pick(m, op->number));
		return;
	case DW_OP_drop:
		pop(m);
		return;
	case DW_OP_swap:
		a = pop(m);
		b = pop(m);
		push(m, a);
		push(m, b);
		return;
	case DW_OP_neg:
		push(m, -pop(m));
		return;
	case DW_OP_not:
		push(m, ~pop(m));
		return;
	case DW_OP_nop:
		return;
	default:
		b = pop(m);
		a = pop(m);
		push(m, binary(m, op->atom, a, b));
	}
}

/* The operation at an offset of the expression; n if no operation begins there. */
static size_t operation_at(const Dwarf_Op *ops, size_t n, uint64_t offset)
{
	size_t i = 0;

	while (i < n && ops[i].offset != offset)
		i++;
	return i;
}

static enum truth_evaluated run(struct machine *m, const Dwarf_Op *ops, size_t n)
{
	size_t at = 0;

	for (int steps = 0; at < n && !m->result; steps++) {
		const Dwarf_Op *op = &ops[at++];

		if (steps == STEPS_MAX)
			return TRUTH_UNSUPPORTED;
		/* 2.5.1.5: from the end of the two-byte operand. */
		if (op->atom == DW_OP_skip || (op->atom == DW_OP_bra && pop(m)))
			at = operation_at(ops, n, op->offset + 3 + op->number);
		else if (op->atom != DW_OP_bra)
			operate(m, op);
	}
	return m->result;
}

enum truth_evaluated truth_evaluate(const struct truth_sample *sample,
				    const struct truth_registers *registers, const uint64_t *cfa,
				    const Dwarf_Op *ops, size_t n, struct truth_location *ret)
{
	struct machine m = { .sample = sample, .registers = registers, .cfa = cfa };
	enum truth_evaluated result;

	ret->kind = TRUTH_AT_ADDRESS;
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		ret->kind = TRUTH_IN_REGISTER;
		ret->value = ops[0].atom - DW_OP_reg0;
	} else if (n == 1 && ops[0].atom == DW_OP_regx) {
		ret->kind = TRUTH_IN_REGISTER;
		ret->value = ops[0].number;
	} else {
		if (n && ops[n - 1].atom == DW_OP_stack_value) {
			ret->kind = TRUTH_IS_VALUE;
			n--;
		}
		result = run(&m, ops, n);
		if (result)
			return result;
		ret->value = pop(&m);
	}
	ret->used = m.used;
	return m.result;
}
