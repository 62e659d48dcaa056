/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "cfi/expression.h"

#define OPERATIONS_MAX 256

void reel_expression_fail(struct reel_expression *m, enum reel_expression_result result)
{
	if (m->result == REEL_EXPRESSION_OK)
		m->result = result;
}

void reel_expression_push(struct reel_expression *m, uint64_t value)
{
	if (m->depth == REEL_EXPRESSION_STACK) {
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
		return;
	}
	m->types[m->depth] = 0;
	m->stack[m->depth++] = value & m->mask;
}

void reel_expression_push_typed(struct reel_expression *m, uint64_t value, uint8_t type)
{
	unsigned bits = 8u * (type & ~(unsigned)REEL_EXPRESSION_SIGNED);

	reel_expression_push(m, value);
	if (!type || m->result != REEL_EXPRESSION_OK)
		return;
	if (type & REEL_EXPRESSION_SIGNED)
		value = reel_sign_extend(value, bits);
	else if (bits < 64)
		value &= ((uint64_t)1 << bits) - 1;
	m->stack[m->depth - 1] = value;
	m->types[m->depth - 1] = type;
}

/* The type of the entry `index` below the top. */
static uint8_t type_of(const struct reel_expression *m, unsigned index)
{
	return index < m->depth ? m->types[m->depth - 1 - index] : 0;
}

uint64_t reel_expression_pop(struct reel_expression *m)
{
	if (!m->depth) {
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
		return 0;
	}
	return m->stack[--m->depth];
}

/* The entry `index` below the top. */
static uint64_t pick(struct reel_expression *m, unsigned index)
{
	if (index >= m->depth) {
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
		return 0;
	}
	return m->stack[m->depth - 1 - index];
}

static int64_t as_signed(const struct reel_expression *m, uint64_t value)
{
	return (int64_t)reel_sign_extend(value, m->word * 8);
}

static uint64_t fixed(struct reel_expression *m, unsigned size)
{
	return reel_cursor_target(&m->code, size, m->state->memory->big_endian);
}

static uint64_t fixed_signed(struct reel_expression *m, unsigned size)
{
	return reel_sign_extend(fixed(m, size), size * 8);
}

uint64_t reel_expression_register(struct reel_expression *m, uint64_t dwarf)
{
	const struct reel_unwind_state *state = m->state;
	uint8_t slot;

	if (dwarf == state->arch->pc)
		return state->pc;
	slot = reel_arch_slot(state->arch, dwarf);
	if (slot == REEL_ARCH_NO_SLOT || !(state->known >> slot & 1)) {
		reel_expression_fail(m, REEL_EXPRESSION_REGISTER_UNKNOWN);
		return 0;
	}
	/* sp is 1 if the sample has no stack, which is reported elsewhere. */
	if (state->scrubbed && state->registers[slot] == REEL_STATE_SCRUBBED &&
	    dwarf != state->arch->sp)
		reel_expression_fail(m, REEL_EXPRESSION_SCRUBBED);
	return state->registers[slot];
}

static void push_register(struct reel_expression *m, uint64_t dwarf)
{
	int64_t offset = reel_cursor_sleb(&m->code);

	reel_expression_push(m, reel_expression_register(m, dwarf) + (uint64_t)offset);
}

/*
 * Whether the bytes are unchanged by scrubbing: their whole words are recorded, and not equal to
 * the value that scrubbing writes.
 */
static bool is_as_recorded(const struct reel_expression *m, uint64_t address, unsigned size)
{
	uint64_t before = address % m->word, word;

	for (uint64_t at = 0; at < before + size; at += m->word) {
		if (!reel_memory_read(m->state->memory, address - before + at, m->word, &word) ||
		    word == REEL_STATE_SCRUBBED)
			return false;
	}
	return true;
}

void reel_expression_dereference(struct reel_expression *m, unsigned size, uint8_t type)
{
	const struct reel_memory_view *memory = m->state->memory;
	uint64_t address = reel_expression_pop(m), value;
	uint8_t bytes[8];

	/* Do not read after a failure. */
	if (m->result != REEL_EXPRESSION_OK)
		return;
	if (!size || size > (type ? 8 : m->word)) {
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
	} else if (reel_memory_read(memory, address, size, &value)) {
		if (m->state->scrubbed && !is_as_recorded(m, address, size))
			reel_expression_fail(m, REEL_EXPRESSION_SCRUBBED);
		reel_expression_push_typed(m, value, type);
	} else if (memory->read_other &&
		   memory->read_other(memory->context, address, size, bytes)) {
		reel_expression_push_typed(m, reel_load_target(bytes, size, memory->big_endian),
					   type);
	} else {
		reel_expression_fail(m, REEL_EXPRESSION_MEMORY_MISSING);
	}
}

/* Moves by a signed 16-bit offset from the operand's end; the end of the code is a valid target. */
static void jump(struct reel_expression *m, bool taken)
{
	int64_t offset = (int64_t)fixed_signed(m, 2);
	struct reel_cursor *code = &m->code;
	int64_t target = (int64_t)reel_cursor_offset(code) + offset;

	if (!taken || code->failed)
		return;
	if (target < 0 || target > code->end - code->start)
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
	else
		code->at = code->start + target;
}

static uint64_t divide(struct reel_expression *m, uint64_t a, uint64_t b)
{
	bool negative = (as_signed(m, a) < 0) != (as_signed(m, b) < 0);
	uint64_t quotient;

	if (!b) {
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
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

static uint64_t remainder_of(struct reel_expression *m, uint64_t a, uint64_t b)
{
	if (!b) {
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
		return 0;
	}
	return a % b;
}

/* Of two values of one base type; comparisons give a number without a type. */
static void typed_binary(struct reel_expression *m, uint8_t op, uint64_t a, uint64_t b,
			 uint8_t type)
{
	bool is_signed = type & REEL_EXPRESSION_SIGNED;
	unsigned bits = 8u * (type & ~(unsigned)REEL_EXPRESSION_SIGNED);
	bool below = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case DW_OP_and:
		reel_expression_push_typed(m, a & b, type);
		break;
	case DW_OP_or:
		reel_expression_push_typed(m, a | b, type);
		break;
	case DW_OP_xor:
		reel_expression_push_typed(m, a ^ b, type);
		break;
	case DW_OP_plus:
		reel_expression_push_typed(m, a + b, type);
		break;
	case DW_OP_minus:
		reel_expression_push_typed(m, a - b, type);
		break;
	case DW_OP_mul:
		reel_expression_push_typed(m, a * b, type);
		break;
	case DW_OP_shl:
		reel_expression_push_typed(m, b < bits ? a << b : 0, type);
		break;
	case DW_OP_shra:
		if (is_signed)
			reel_expression_push_typed(
				m, (uint64_t)((int64_t)a >> (b < bits ? b : bits - 1)), type);
		else
			reel_expression_fail(m, REEL_EXPRESSION_REFUSED);
		break;
	case DW_OP_shr:
		if (is_signed)
			reel_expression_fail(m, REEL_EXPRESSION_REFUSED);
		else
			reel_expression_push_typed(m, b < bits ? a >> b : 0, type);
		break;
	case DW_OP_eq:
		reel_expression_push(m, a == b);
		break;
	case DW_OP_ne:
		reel_expression_push(m, a != b);
		break;
	case DW_OP_ge:
		reel_expression_push(m, !below);
		break;
	case DW_OP_gt:
		reel_expression_push(m, !below && a != b);
		break;
	case DW_OP_le:
		reel_expression_push(m, below || a == b);
		break;
	case DW_OP_lt:
		reel_expression_push(m, below);
		break;
	default: /* not seen from compilers */
		reel_expression_fail(m, REEL_EXPRESSION_REFUSED);
	}
}

static void binary(struct reel_expression *m, uint8_t op)
{
	uint8_t type_b = type_of(m, 0), type_a = type_of(m, 1);
	uint64_t b = reel_expression_pop(m), a = reel_expression_pop(m);
	unsigned bits = m->word * 8;

	if (type_a || type_b) {
		/* The number of bits to shift may be of any type. */
		if (type_a == type_b || op == DW_OP_shl || op == DW_OP_shr || op == DW_OP_shra)
			typed_binary(m, op, a, b, type_a ? type_a : (uint8_t)m->word);
		else
			reel_expression_fail(m, REEL_EXPRESSION_REFUSED);
		return;
	}
	switch (op) {
	case DW_OP_and:
		reel_expression_push(m, a & b);
		break;
	case DW_OP_or:
		reel_expression_push(m, a | b);
		break;
	case DW_OP_xor:
		reel_expression_push(m, a ^ b);
		break;
	case DW_OP_plus:
		reel_expression_push(m, a + b);
		break;
	case DW_OP_minus:
		reel_expression_push(m, a - b);
		break;
	case DW_OP_mul:
		reel_expression_push(m, a * b);
		break;
	case DW_OP_div:
		reel_expression_push(m, divide(m, a, b));
		break;
	case DW_OP_mod:
		reel_expression_push(m, remainder_of(m, a, b));
		break;
	case DW_OP_shl:
		reel_expression_push(m, b < bits ? a << b : 0);
		break;
	case DW_OP_shr:
		reel_expression_push(m, b < bits ? a >> b : 0);
		break;
	case DW_OP_shra:
		reel_expression_push(m, (uint64_t)(as_signed(m, a) >> (b < bits ? b : bits - 1)));
		break;
	/* Comparisons are signed (DWARF 5, 2.5.1.5). */
	case DW_OP_eq:
		reel_expression_push(m, a == b);
		break;
	case DW_OP_ne:
		reel_expression_push(m, a != b);
		break;
	case DW_OP_ge:
		reel_expression_push(m, as_signed(m, a) >= as_signed(m, b));
		break;
	case DW_OP_gt:
		reel_expression_push(m, as_signed(m, a) > as_signed(m, b));
		break;
	case DW_OP_le:
		reel_expression_push(m, as_signed(m, a) <= as_signed(m, b));
		break;
	case DW_OP_lt:
		reel_expression_push(m, as_signed(m, a) < as_signed(m, b));
		break;
	default:
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
	}
}

static void rotate(struct reel_expression *m, unsigned n)
{
	uint64_t top = pick(m, 0);
	uint8_t type = type_of(m, 0);

	if (m->depth < n) {
		reel_expression_fail(m, REEL_EXPRESSION_BAD);
		return;
	}
	for (unsigned i = 1; i < n; i++) {
		m->stack[m->depth - i] = m->stack[m->depth - i - 1];
		m->types[m->depth - i] = m->types[m->depth - i - 1];
	}
	m->stack[m->depth - n] = top;
	m->types[m->depth - n] = type;
}

static void stack_or_unary(struct reel_expression *m, uint8_t op)
{
	uint8_t type = type_of(m, 0);
	unsigned index;
	uint64_t value;

	switch (op) {
	case DW_OP_dup:
		reel_expression_push_typed(m, pick(m, 0), type);
		break;
	case DW_OP_drop:
		reel_expression_pop(m);
		break;
	case DW_OP_over:
		reel_expression_push_typed(m, pick(m, 1), type_of(m, 1));
		break;
	case DW_OP_pick:
		index = reel_cursor_u8(&m->code);
		reel_expression_push_typed(m, pick(m, index), type_of(m, index));
		break;
	case DW_OP_swap:
		rotate(m, 2);
		break;
	case DW_OP_rot:
		rotate(m, 3);
		break;
	case DW_OP_abs:
		value = reel_expression_pop(m);
		if (type) /* its sign is in bit 63 */
			reel_expression_push_typed(
				m,
				type & REEL_EXPRESSION_SIGNED && (int64_t)value < 0 ? 0 - value
										    : value,
				type);
		else
			reel_expression_push(m, as_signed(m, value) < 0 ? 0 - value : value);
		break;
	case DW_OP_neg:
		reel_expression_push_typed(m, 0 - reel_expression_pop(m), type);
		break;
	case DW_OP_not:
		reel_expression_push_typed(m, ~reel_expression_pop(m), type);
		break;
	case DW_OP_plus_uconst:
		value = reel_expression_pop(m);
		reel_expression_push_typed(m, value + reel_cursor_uleb(&m->code), type);
		break;
	default:
		binary(m, op);
	}
}

static void constant(struct reel_expression *m, uint8_t op)
{
	/* Of 1, 2, 4 and 8 bytes, unsigned and signed in turn. */
	unsigned int size = 1u << (op - DW_OP_const1u) / 2;
	bool is_signed = (op - DW_OP_const1u) & 1;

	switch (op) {
	case DW_OP_constu:
		reel_expression_push(m, reel_cursor_uleb(&m->code));
		break;
	case DW_OP_consts:
		reel_expression_push(m, (uint64_t)reel_cursor_sleb(&m->code));
		break;
	default:
		reel_expression_push(m, is_signed ? fixed_signed(m, size) : fixed(m, size));
	}
}

/*
 * Runs one operation.  Operations that DWARF 5, 6.4.2 forbids in CFI (calls, object addresses, type
 * and location operations) are bad, like unknown ones.
 */
static void operate(struct reel_expression *m, uint8_t op)
{
	uint64_t reg;

	if (m->extension && m->extension->operate(m->extension->context, m, op))
		return;
	switch (op) {
	case DW_OP_lit0 ... DW_OP_lit31:
		reel_expression_push(m, op - DW_OP_lit0);
		break;
	case DW_OP_breg0 ... DW_OP_breg31:
		push_register(m, op - DW_OP_breg0);
		break;
	case DW_OP_bregx:
		reg = reel_cursor_uleb(&m->code);
		push_register(m, reg);
		break;
	case DW_OP_addr:
		reel_expression_push(m, fixed(m, m->word) + m->text_bias);
		break;
	case DW_OP_const1u ... DW_OP_consts:
		constant(m, op);
		break;
	case DW_OP_deref:
		reel_expression_dereference(m, m->word, 0);
		break;
	case DW_OP_deref_size:
		reel_expression_dereference(m, reel_cursor_u8(&m->code), 0);
		break;
	case DW_OP_skip:
		jump(m, true);
		break;
	case DW_OP_bra:
		jump(m, reel_expression_pop(m) != 0);
		break;
	case DW_OP_nop:
		break;
	default:
		stack_or_unary(m, op);
	}
}

void reel_expression_begin(struct reel_expression *m, const struct reel_unwind_state *state,
			   const uint8_t *bytes, size_t size, uint64_t text_bias,
			   const struct reel_expression_extension *extension)
{
	unsigned word = state->arch->word_size;

	/* Do not clear the stack: it is large, and nothing reads above depth. */
	m->state = state;
	m->extension = extension;
	m->code = reel_cursor(bytes, size);
	m->text_bias = text_bias;
	m->word = word;
	m->mask = word == 8 ? UINT64_MAX : ((uint64_t)1 << word * 8) - 1;
	m->n_operations = 0;
	m->depth = 0;
	m->result = REEL_EXPRESSION_OK;
}

enum reel_expression_result reel_expression_run(struct reel_expression *m)
{
	while (m->code.at < m->code.end) {
		if (m->n_operations++ == OPERATIONS_MAX)
			return REEL_EXPRESSION_BAD;
		operate(m, *m->code.at++);
		if (m->code.failed)
			return REEL_EXPRESSION_BAD;
		if (m->result != REEL_EXPRESSION_OK)
			return m->result;
	}
	return m->result;
}

enum reel_expression_result reel_expression_evaluate(const struct reel_unwind_state *state,
						     const uint8_t *bytes, size_t size,
						     const uint64_t *initial, uint64_t text_bias,
						     uint64_t *ret)
{
	enum reel_expression_result result;
	struct reel_expression m;

	reel_expression_begin(&m, state, bytes, size, text_bias, NULL);
	if (initial)
		reel_expression_push(&m, *initial);
	result = reel_expression_run(&m);
	if (result != REEL_EXPRESSION_OK)
		return result;
	*ret = reel_expression_pop(&m);
	return m.result;
}
