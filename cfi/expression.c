/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "cfi/expression.h"

#define STACK_MAX      64
#define OPERATIONS_MAX 256

/*
 * The machine computes in the target's words: values are unsigned numbers below 2^bits, and wrap
 * around.
 */
struct machine {
	const struct reel_unwind_state *state;
	struct reel_cursor code;
	uint64_t text_bias;
	unsigned word; /* bytes */
	uint64_t mask;
	size_t depth;
	uint64_t stack[STACK_MAX];
	enum reel_expression_result result;
};

static void fail(struct machine *m, enum reel_expression_result result)
{
	if (m->result == REEL_EXPRESSION_OK)
		m->result = result;
}

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == STACK_MAX) {
		fail(m, REEL_EXPRESSION_BAD);
		return;
	}
	m->stack[m->depth++] = value & m->mask;
}

static uint64_t pop(struct machine *m)
{
	if (!m->depth) {
		fail(m, REEL_EXPRESSION_BAD);
		return 0;
	}
	return m->stack[--m->depth];
}

/* The entry `index` below the top. */
static uint64_t pick(struct machine *m, unsigned index)
{
	if (index >= m->depth) {
		fail(m, REEL_EXPRESSION_BAD);
		return 0;
	}
	return m->stack[m->depth - 1 - index];
}

static int64_t as_signed(const struct machine *m, uint64_t value)
{
	return (int64_t)reel_sign_extend(value, m->word * 8);
}

static uint64_t fixed(struct machine *m, unsigned size)
{
	return reel_cursor_target(&m->code, size, m->state->memory->big_endian);
}

static uint64_t fixed_signed(struct machine *m, unsigned size)
{
	return reel_sign_extend(fixed(m, size), size * 8);
}

static uint64_t register_value(struct machine *m, uint64_t dwarf)
{
	const struct reel_unwind_state *state = m->state;
	uint8_t slot;

	if (dwarf == state->arch->pc)
		return state->pc;
	slot = reel_arch_slot(state->arch, dwarf);
	if (slot == REEL_ARCH_NO_SLOT || !(state->known >> slot & 1)) {
		fail(m, REEL_EXPRESSION_REGISTER_UNKNOWN);
		return 0;
	}
	/* sp is 1 if the sample has no stack, which is reported elsewhere. */
	if (state->scrubbed && state->registers[slot] == REEL_STATE_SCRUBBED &&
	    dwarf != state->arch->sp)
		fail(m, REEL_EXPRESSION_SCRUBBED);
	return state->registers[slot];
}

static void push_register(struct machine *m, uint64_t dwarf)
{
	int64_t offset = reel_cursor_sleb(&m->code);

	push(m, register_value(m, dwarf) + (uint64_t)offset);
}

/*
 * Whether the bytes are unchanged by scrubbing: their whole words are recorded, and not equal to
 * the value that scrubbing writes.
 */
static bool is_as_recorded(const struct machine *m, uint64_t address, unsigned size)
{
	uint64_t before = address % m->word, word;

	for (uint64_t at = 0; at < before + size; at += m->word) {
		if (!reel_memory_read(m->state->memory, address - before + at, m->word, &word) ||
		    word == REEL_STATE_SCRUBBED)
			return false;
	}
	return true;
}

static void dereference(struct machine *m, unsigned size)
{
	const struct reel_memory_view *memory = m->state->memory;
	uint64_t address = pop(m), value;
	uint8_t bytes[8];

	/* Do not read after a failure. */
	if (m->result != REEL_EXPRESSION_OK)
		return;
	if (!size || size > m->word) {
		fail(m, REEL_EXPRESSION_BAD);
	} else if (reel_memory_read(memory, address, size, &value)) {
		if (m->state->scrubbed && !is_as_recorded(m, address, size))
			fail(m, REEL_EXPRESSION_SCRUBBED);
		push(m, value);
	} else if (memory->read_other &&
		   memory->read_other(memory->context, address, size, bytes)) {
		push(m, reel_load_target(bytes, size, memory->big_endian));
	} else {
		fail(m, REEL_EXPRESSION_MEMORY_MISSING);
	}
}

/* Moves by a signed 16-bit offset from the operand's end; the end of the code is a valid target. */
static void jump(struct machine *m, bool taken)
{
	int64_t offset = (int64_t)fixed_signed(m, 2);
	struct reel_cursor *code = &m->code;
	int64_t target = (int64_t)reel_cursor_offset(code) + offset;

	if (!taken || code->failed)
		return;
	if (target < 0 || target > code->end - code->start)
		fail(m, REEL_EXPRESSION_BAD);
	else
		code->at = code->start + target;
}

static uint64_t divide(struct machine *m, uint64_t a, uint64_t b)
{
	bool negative = (as_signed(m, a) < 0) != (as_signed(m, b) < 0);
	uint64_t quotient;

	if (!b) {
		fail(m, REEL_EXPRESSION_BAD);
		return 0;
	}
	/* Compute with magnitudes, so that INT64_MIN / -1 wraps instead of trapping. */
	if (as_signed(m, a) < 0)
		a = (0 - a) & m->mask;
	if (as_signed(m, b) < 0)
		b = (0 - b) & m->mask;
	quotient = a / b;
	return negative ? 0 - quotient : quotient;
}

static uint64_t remainder_of(struct machine *m, uint64_t a, uint64_t b)
{
	if (!b) {
		fail(m, REEL_EXPRESSION_BAD);
		return 0;
	}
	return a % b;
}

static void binary(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m);
	unsigned bits = m->word * 8;

	switch (op) {
	case DW_OP_and:
		push(m, a & b);
		break;
	case DW_OP_or:
		push(m, a | b);
		break;
	case DW_OP_xor:
		push(m, a ^ b);
		break;
	case DW_OP_plus:
		push(m, a + b);
		break;
	case DW_OP_minus:
		push(m, a - b);
		break;
	case DW_OP_mul:
		push(m, a * b);
		break;
	case DW_OP_div:
		push(m, divide(m, a, b));
		break;
	case DW_OP_mod:
		push(m, remainder_of(m, a, b));
		break;
	case DW_OP_shl:
		push(m, b < bits ? a << b : 0);
		break;
	case DW_OP_shr:
		push(m, b < bits ? a >> b : 0);
		break;
	case DW_OP_shra:
		push(m, (uint64_t)(as_signed(m, a) >> (b < bits ? b : bits - 1)));
		break;
	/* Comparisons are signed (DWARF 5, 2.5.1.5). */
	case DW_OP_eq:
		push(m, a == b);
		break;
	case DW_OP_ne:
		push(m, a != b);
		break;
	case DW_OP_ge:
		push(m, as_signed(m, a) >= as_signed(m, b));
		break;
	case DW_OP_gt:
		push(m, as_signed(m, a) > as_signed(m, b));
		break;
	case DW_OP_le:
		push(m, as_signed(m, a) <= as_signed(m, b));
		break;
	case DW_OP_lt:
		push(m, as_signed(m, a) < as_signed(m, b));
		break;
	default:
		fail(m, REEL_EXPRESSION_BAD);
	}
}

static void rotate(struct machine *m, unsigned n)
{
	uint64_t top = pick(m, 0);

	if (m->depth < n) {
		fail(m, REEL_EXPRESSION_BAD);
		return;
	}
	for (unsigned i = 1; i < n; i++)
		m->stack[m->depth - i] = m->stack[m->depth - i - 1];
	m->stack[m->depth - n] = top;
}

static void stack_or_unary(struct machine *m, uint8_t op)
{
	uint64_t value;

	switch (op) {
	case DW_OP_dup:
		push(m, pick(m, 0));
		break;
	case DW_OP_drop:
		pop(m);
		break;
	case DW_OP_over:
		push(m, pick(m, 1));
		break;
	case DW_OP_pick:
		push(m, pick(m, reel_cursor_u8(&m->code)));
		break;
	case DW_OP_swap:
		rotate(m, 2);
		break;
	case DW_OP_rot:
		rotate(m, 3);
		break;
	case DW_OP_abs:
		value = pop(m);
		push(m, as_signed(m, value) < 0 ? 0 - value : value);
		break;
	case DW_OP_neg:
		push(m, 0 - pop(m));
		break;
	case DW_OP_not:
		push(m, ~pop(m));
		break;
	case DW_OP_plus_uconst:
		value = pop(m);
		push(m, value + reel_cursor_uleb(&m->code));
		break;
	default:
		binary(m, op);
	}
}

static void constant(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_OP_const1u:
		push(m, fixed(m, 1));
		break;
	case DW_OP_const1s:
		push(m, fixed_signed(m, 1));
		break;
	case DW_OP_const2u:
		push(m, fixed(m, 2));
		break;
	case DW_OP_const2s:
		push(m, fixed_signed(m, 2));
		break;
	case DW_OP_const4u:
		push(m, fixed(m, 4));
		break;
	case DW_OP_const4s:
		push(m, fixed_signed(m, 4));
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(m, fixed(m, 8));
		break;
	case DW_OP_constu:
		push(m, reel_cursor_uleb(&m->code));
		break;
	default:
		push(m, (uint64_t)reel_cursor_sleb(&m->code));
	}
}

/*
 * Runs one operation.  Operations that DWARF 5, 6.4.2 forbids in CFI (calls, object addresses, type
 * and location operations) are bad, like unknown ones.
 */
static void operate(struct machine *m, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_OP_lit0 ... DW_OP_lit31:
		push(m, op - DW_OP_lit0);
		break;
	case DW_OP_breg0 ... DW_OP_breg31:
		push_register(m, op - DW_OP_breg0);
		break;
	case DW_OP_bregx:
		reg = reel_cursor_uleb(&m->code);
		push_register(m, reg);
		break;
	case DW_OP_addr:
		push(m, fixed(m, m->word) + m->text_bias);
		break;
	case DW_OP_const1u ... DW_OP_consts:
		constant(m, op);
		break;
	case DW_OP_deref:
		dereference(m, m->word);
		break;
	case DW_OP_deref_size:
		dereference(m, reel_cursor_u8(&m->code));
		break;
	case DW_OP_skip:
		jump(m, true);
		break;
	case DW_OP_bra:
		jump(m, pop(m) != 0);
		break;
	case DW_OP_nop:
		break;
	default:
		stack_or_unary(m, op);
	}
}

enum reel_expression_result reel_expression_evaluate(const struct reel_unwind_state *state,
						     const uint8_t *bytes, size_t size,
						     const uint64_t *initial, uint64_t text_bias,
						     uint64_t *ret)
{
	unsigned word = state->arch->word_size;
	struct machine m;

	/* Do not clear the stack: it is large, and nothing reads above depth. */
	m.state = state;
	m.code = reel_cursor(bytes, size);
	m.text_bias = text_bias;
	m.word = word;
	m.mask = word == 8 ? UINT64_MAX : ((uint64_t)1 << word * 8) - 1;
	m.depth = 0;
	m.result = REEL_EXPRESSION_OK;
	if (initial)
		push(&m, *initial);
	for (unsigned n = 0; m.code.at < m.code.end; n++) {
		if (n == OPERATIONS_MAX)
			return REEL_EXPRESSION_BAD;
		operate(&m, *m.code.at++);
		if (m.code.failed)
			return REEL_EXPRESSION_BAD;
		if (m.result != REEL_EXPRESSION_OK)
			return m.result;
	}
	*ret = pop(&m);
	return m.result;
}
