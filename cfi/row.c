/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles rows of CFI, and uses them to find a caller's state. */
#include <stdlib.h>
#include <string.h>

#include "cfi/expression.h"
#include "cfi/row_internal.h"

/* ---- compiling ---------------------------------------------------------------------- */

struct compiler {
	const struct reel_arch *arch;
	struct reel_row *row;
	struct rule_expression expressions[REEL_ARCH_SLOTS_MAX + 2];
};

static struct rule_source from_offset(enum rule_from from, int64_t offset)
{
	/* No stack frame has 2 GB: such a rule is an error in the CFI. */
	if (offset != (int32_t)offset)
		return (struct rule_source){ .from = FROM_NOWHERE };
	return (struct rule_source){ .from = (uint8_t)from, .offset = (int32_t)offset };
}

static struct rule_source from_register(const struct compiler *c, uint16_t dwarf, int64_t offset)
{
	struct rule_source source = from_offset(FROM_REGISTER, offset);

	source.slot = reel_arch_slot(c->arch, dwarf);
	if (source.slot == REEL_ARCH_NO_SLOT)
		return (struct rule_source){ .from = FROM_NOWHERE };
	return source;
}

static struct rule_source from_expression(struct compiler *c, enum rule_from from,
					  const struct reel_cfi_rule *rule)
{
	c->expressions[c->row->n_expressions] = (struct rule_expression){
		.bytes = rule->expression.bytes,
		.size = rule->expression.size,
	};
	return from_offset(from, c->row->n_expressions++);
}

static struct rule_source source_of(struct compiler *c, const struct reel_cfi_rule *rule)
{
	switch ((enum reel_rule_kind)rule->kind) {
	case REEL_RULE_OFFSET:
		return from_offset(FROM_MEMORY, rule->offset);
	case REEL_RULE_VAL_OFFSET:
		return from_offset(FROM_CFA, rule->offset);
	case REEL_RULE_REGISTER:
		return from_register(c, rule->reg, 0);
	case REEL_RULE_REGISTER_OFFSET:
		return from_register(c, rule->reg, rule->offset);
	case REEL_RULE_EXPRESSION:
		return from_expression(c, FROM_EXPRESSION, rule);
	case REEL_RULE_VAL_EXPRESSION:
		return from_expression(c, FROM_VALUE, rule);
	case REEL_RULE_UNSPECIFIED:
	case REEL_RULE_UNDEFINED:
	case REEL_RULE_SAME:
		break;
	}
	return (struct rule_source){ .from = FROM_NOWHERE };
}

static void compile_return_address(struct compiler *c, const struct reel_cfi_row *cfi_row)
{
	const struct reel_cfi_rule *rule = &cfi_row->rules[cfi_row->return_column];
	struct reel_row *to = c->row;

	if (rule->kind == REEL_RULE_UNDEFINED)
		to->outcome = REEL_ROW_ROOT;
	else if (rule->kind != REEL_RULE_SAME && rule->kind != REEL_RULE_UNSPECIFIED)
		to->return_address = source_of(c, rule);
	else if (c->arch->flags & REEL_ARCH_LINK_REGISTER)
		/* Not saved yet, or already restored. */
		to->return_address = from_register(c, cfi_row->return_column, 0);
	if (to->outcome == REEL_ROW_STEP && to->return_address.from == FROM_NOWHERE)
		to->outcome = REEL_ROW_BAD;
}

/*
 * The return address is where the caller's own stack would begin: code that was jumped through has
 * pushed it (arm64's PLT), and the CFI, which uses sp there as the CFA, does not show it
 * (_dl_runtime_resolve in glibc's sysdeps/aarch64/dl-trampoline.S).  The caller's sp is above it.
 */
static bool is_above_cfa(const struct compiler *c, const struct reel_cfi_row *cfi_row)
{
	return c->arch->flags & REEL_ARCH_LINK_REGISTER &&
	       cfi_row->rules[cfi_row->return_column].kind == REEL_RULE_OFFSET &&
	       c->row->return_address.from == FROM_MEMORY && c->row->return_address.offset >= 0 &&
	       cfi_row->cfa.kind == REEL_RULE_REGISTER_OFFSET && cfi_row->cfa.reg == c->arch->sp;
}

static void compile_register(struct compiler *c, const struct reel_cfi_row *cfi_row, uint8_t slot)
{
	uint16_t dwarf = c->arch->registers[slot].dwarf;
	const struct reel_cfi_rule *rule = &cfi_row->rules[dwarf];
	struct rule_source source;
	bool keep = rule->kind == REEL_RULE_SAME;

	/* The step itself sets the pc, and the call overwrote the register of the return
	 * address. */
	if (dwarf == cfi_row->return_column || dwarf == c->arch->pc)
		return;
	/* riscv64's __riscv_save_*: called through a different link register, they preserve the
	 * usual one. */
	if (rule->kind == REEL_RULE_UNSPECIFIED && c->arch->flags & REEL_ARCH_LINK_REGISTER &&
	    dwarf == c->arch->return_column)
		keep = true;
	if (keep) {
		c->row->keep |= (uint64_t)1 << slot;
		return;
	}
	source = source_of(c, rule);
	if (dwarf == c->arch->sp && rule->kind == REEL_RULE_VAL_OFFSET && !rule->offset) {
		if (!is_above_cfa(c, cfi_row)) {
			c->row->flags |= ROW_SP_IS_CFA;
			return;
		}
		source.offset = c->row->return_address.offset + c->arch->word_size;
	}
	if (source.from == FROM_NOWHERE)
		return;
	source.to = slot;
	c->row->saved[c->row->n_saved++] = source;
}

void reel_row_compile_outcome(enum reel_row_outcome outcome, union row_buffer *ret)
{
	memset(&ret->row, 0, sizeof(ret->row));
	ret->row.outcome = (uint8_t)outcome;
}

void reel_row_compile(const struct reel_arch *arch, const struct reel_cfi_row *cfi_row,
		      union row_buffer *ret)
{
	struct compiler c = { .arch = arch, .row = &ret->row };

	reel_row_compile_outcome(REEL_ROW_STEP, ret);
	if (cfi_row->signal_frame)
		ret->row.flags |= ROW_SIGNAL_FRAME;
	if (cfi_row->has_personality)
		ret->row.flags |= ROW_HAS_PERSONALITY;
	ret->row.cfa = source_of(&c, &cfi_row->cfa);
	compile_return_address(&c, cfi_row);
	if (ret->row.outcome == REEL_ROW_STEP && ret->row.cfa.from == FROM_NOWHERE)
		ret->row.outcome = REEL_ROW_BAD;
	if (ret->row.outcome != REEL_ROW_STEP) {
		reel_row_compile_outcome((enum reel_row_outcome)ret->row.outcome, ret);
		return;
	}
	for (uint8_t slot = 0; slot < arch->n_registers; slot++)
		compile_register(&c, cfi_row, slot);
	memcpy(&ret->row.saved[ret->row.n_saved], c.expressions,
	       ret->row.n_expressions * sizeof(c.expressions[0]));
}

struct reel_error *reel_row_create(const struct reel_arch *arch, const struct reel_cfi_row *cfi_row,
				   struct reel_row **ret)
{
	union row_buffer buffer;
	size_t size;

	reel_row_compile(arch, cfi_row, &buffer);
	size = row_size(&buffer.row);
	*ret = malloc(size);
	if (!*ret)
		return reel_error_no_memory();
	memcpy(*ret, &buffer, size);
	return NULL;
}

void reel_row_destroy(struct reel_row *row)
{
	free(row);
}

enum reel_row_outcome reel_row_outcome(const struct reel_row *row)
{
	return (enum reel_row_outcome)row->outcome;
}

bool reel_row_is_signal_frame(const struct reel_row *row)
{
	return row->flags & ROW_SIGNAL_FRAME;
}

bool reel_row_has_personality(const struct reel_row *row)
{
	return row->flags & ROW_HAS_PERSONALITY;
}

bool reel_row_ends_function(const struct reel_row *row)
{
	return row->flags & ROW_ENDS_FUNCTION;
}

bool reel_row_begins_function(const struct reel_row *row)
{
	return row->flags & ROW_BEGINS_FUNCTION;
}

bool reel_row_assumes_frame(const struct reel_row *row, const struct reel_arch *arch)
{
	return row->flags & ROW_IS_ONLY && row->cfa.from == FROM_REGISTER &&
	       row->cfa.slot == reel_arch_slot(arch, arch->fp);
}

static bool same_source(const struct rule_source *a, const struct rule_source *b)
{
	return a->from == b->from && a->slot == b->slot && a->offset == b->offset;
}

bool reel_row_same_frame(const struct reel_row *a, const struct reel_row *b)
{
	return same_source(&a->cfa, &b->cfa) && same_source(&a->return_address, &b->return_address);
}

enum reel_row_edge reel_row_edge(const struct reel_row *row, const struct reel_row *at_entry)
{
	bool is_first = row->flags & ROW_IS_FIRST;

	if (row->outcome != REEL_ROW_STEP || !(row->flags & (ROW_IS_FIRST | ROW_IS_LAST)) ||
	    reel_row_same_frame(row, at_entry) != is_first)
		return REEL_ROW_INNER;
	return is_first ? REEL_ROW_EARLY : REEL_ROW_LATE;
}

bool reel_row_needs(const struct reel_row *row, uint8_t slot)
{
	return row->cfa.from != FROM_REGISTER || row->cfa.slot == slot;
}

bool reel_row_computes_cfa(const struct reel_row *row)
{
	return row->outcome == REEL_ROW_STEP && row->cfa.from != FROM_REGISTER;
}

bool reel_row_saves_return_address(const struct reel_row *row)
{
	return row->outcome == REEL_ROW_STEP && row->return_address.from == FROM_MEMORY;
}

bool reel_row_denies_return(const struct reel_row *row, const struct reel_arch *arch)
{
	const struct rule_source *cfa = &row->cfa;

	if (arch->flags & REEL_ARCH_LINK_REGISTER)
		return reel_row_saves_return_address(row);
	return row->outcome == REEL_ROW_STEP &&
	       (cfa->from != FROM_REGISTER || cfa->slot != reel_arch_slot(arch, arch->sp) ||
		cfa->offset != arch->word_size);
}

bool reel_row_sp_of_record(const struct reel_row *row, const struct reel_arch *arch, uint64_t fp,
			   uint64_t *sp_ret)
{
	const uint8_t fp_slot = reel_arch_slot(arch, arch->fp);
	const struct rule_source *ra = &row->return_address;

	if (row->outcome != REEL_ROW_STEP || row->cfa.from != FROM_REGISTER ||
	    row->cfa.slot != reel_arch_slot(arch, arch->sp) || ra->from != FROM_MEMORY)
		return false;
	for (unsigned i = 0; i < row->n_saved; i++) {
		const struct rule_source *saved = &row->saved[i];

		if (saved->to != fp_slot || saved->from != FROM_MEMORY ||
		    (int64_t)saved->offset + arch->word_size != ra->offset)
			continue;
		*sp_ret =
			fp - (uint64_t)(int64_t)saved->offset - (uint64_t)(int64_t)row->cfa.offset;
		return true;
	}
	return false;
}

/* ---- applying ----------------------------------------------------------------------- */

struct step {
	const struct reel_row *row;
	const struct reel_unwind_state *state;
	uint64_t cfa;
	uint64_t text_bias;
	uint64_t mask; /* of a word */
	bool first;
};

static enum reel_stop stop_of(enum reel_expression_result result)
{
	switch (result) {
	case REEL_EXPRESSION_MEMORY_MISSING:
		return REEL_STOP_STACK_END;
	case REEL_EXPRESSION_REGISTER_UNKNOWN:
		return REEL_STOP_REGISTER_UNKNOWN;
	case REEL_EXPRESSION_SCRUBBED:
		return REEL_STOP_SCRUBBED;
	case REEL_EXPRESSION_OK:
	case REEL_EXPRESSION_BAD:
	case REEL_EXPRESSION_REFUSED:
		break;
	}
	return REEL_STOP_BAD_UNWIND_INFO;
}

static enum reel_expression_result evaluate(const struct step *step,
					    const struct rule_source *source,
					    const uint64_t *initial, uint64_t *ret)
{
	const struct rule_expression *expression = &row_expressions(step->row)[source->offset];

	return reel_expression_evaluate(step->state, expression->bytes, expression->size, initial,
					step->text_bias, ret);
}

static enum reel_expression_result read_slot(const struct step *step, uint64_t address,
					     unsigned size, uint64_t *ret)
{
	return reel_memory_read(step->state->memory, address & step->mask, size, ret)
		       ? REEL_EXPRESSION_OK
		       : REEL_EXPRESSION_MEMORY_MISSING;
}

/* Values without expressions can fail for the same reasons as those with one. */
static enum reel_expression_result value_of(const struct step *step,
					    const struct rule_source *source, unsigned size,
					    const uint64_t *cfa, uint64_t *ret)
{
	const struct reel_unwind_state *state = step->state;
	uint64_t offset = (uint64_t)(int64_t)source->offset;
	enum reel_expression_result result;

	switch ((enum rule_from)source->from) {
	case FROM_MEMORY:
		return read_slot(step, step->cfa + offset, size, ret);
	case FROM_CFA:
		*ret = (step->cfa + offset) & step->mask;
		return REEL_EXPRESSION_OK;
	case FROM_REGISTER:
		if (!(state->known >> source->slot & 1))
			return REEL_EXPRESSION_REGISTER_UNKNOWN;
		*ret = (state->registers[source->slot] + offset) & step->mask;
		return REEL_EXPRESSION_OK;
	case FROM_EXPRESSION:
		result = evaluate(step, source, cfa, ret);
		return result == REEL_EXPRESSION_OK ? read_slot(step, *ret, size, ret) : result;
	case FROM_VALUE:
		return evaluate(step, source, cfa, ret);
	case FROM_NOWHERE:
		break;
	}
	return REEL_EXPRESSION_BAD;
}

/* The address of the slot that a rule names; false if the rule names no slot. */
static bool slot_of(const struct step *step, const struct rule_source *source, uint64_t *ret)
{
	*ret = step->cfa + (uint64_t)(int64_t)source->offset;
	if (source->from == FROM_EXPRESSION &&
	    evaluate(step, source, &step->cfa, ret) != REEL_EXPRESSION_OK)
		return false;
	*ret &= step->mask;
	return source->from == FROM_MEMORY || source->from == FROM_EXPRESSION;
}

/*
 * The rule names a slot below sp that cannot be trusted, or was not recorded: the epilogue has
 * already popped the register, but the CFI does not show it.  Or a slot of the caller: it was found
 * by the frame pointer, which the epilogue has popped (in GCC's functions that realign sp, which
 * find all registers by rbp up to their last instruction).
 */
static bool was_popped(const struct step *step, const struct rule_source *source, uint8_t sp_slot)
{
	const struct reel_unwind_state *state = step->state;
	uint64_t sp = state->registers[sp_slot], address, ignored;

	if (!step->first || !(state->known >> sp_slot & 1) || !slot_of(step, source, &address))
		return false;
	if (address >= sp)
		return source->from == FROM_EXPRESSION && address >= step->cfa &&
		       !(step->row->flags & ROW_SIGNAL_FRAME);
	return sp - address > state->arch->red_zone ||
	       !reel_memory_read(state->memory, address, state->arch->word_size, &ignored);
}

static enum reel_expression_result return_address_of(const struct step *step, uint8_t sp_slot,
						     uint64_t *ret)
{
	const struct reel_unwind_state *state = step->state;
	const struct rule_source *source = &step->row->return_address;
	uint8_t link = reel_arch_slot(state->arch, state->arch->return_column);

	if (state->arch->flags & REEL_ARCH_LINK_REGISTER && state->known >> link & 1 &&
	    was_popped(step, source, sp_slot)) {
		*ret = state->registers[link];
		return REEL_EXPRESSION_OK;
	}
	return value_of(step, source, state->arch->word_size, &step->cfa, ret);
}

/* Recovers the caller's registers for which the row has a rule, except those it preserves. */
static void recover(const struct step *step, uint8_t sp_slot, uint64_t *values, uint64_t *known)
{
	const struct reel_row *row = step->row;
	const struct reel_unwind_state *state = step->state;

	for (unsigned i = 0; i < row->n_saved; i++) {
		const struct rule_source *source = &row->saved[i];
		uint64_t bit = (uint64_t)1 << source->to;

		if (was_popped(step, source, sp_slot)) {
			values[i] = state->registers[source->to];
			*known |= state->known & bit;
		} else if (value_of(step, source, state->arch->registers[source->to].size,
				    &step->cfa, &values[i]) == REEL_EXPRESSION_OK) {
			*known |= bit;
		}
	}
}

bool reel_row_cfa(const struct reel_row *row, const struct reel_unwind_state *state,
		  uint64_t text_bias, uint64_t *ret)
{
	const struct step step = {
		.row = row,
		.state = state,
		.text_bias = text_bias,
		.mask = state->arch->word_size == 8 ? UINT64_MAX : UINT32_MAX,
	};

	return row->outcome == REEL_ROW_STEP &&
	       value_of(&step, &row->cfa, state->arch->word_size, NULL, ret) == REEL_EXPRESSION_OK;
}

static enum reel_next apply(const struct reel_row *row, struct reel_unwind_state *state, bool first,
			    uint64_t text_bias, enum reel_stop *stop_ret)
{
	const struct reel_arch *arch = state->arch;
	const uint8_t sp = reel_arch_slot(arch, arch->sp), pc = reel_arch_slot(arch, arch->pc);
	struct step step = {
		.row = row,
		.state = state,
		.text_bias = text_bias,
		.mask = arch->word_size == 8 ? UINT64_MAX : UINT32_MAX,
		.first = first,
	};
	uint64_t values[REEL_ARCH_SLOTS_MAX], known = 0, return_address;
	enum reel_expression_result result;

	result = value_of(&step, &row->cfa, arch->word_size, NULL, &step.cfa);
	if (result == REEL_EXPRESSION_OK)
		result = return_address_of(&step, sp, &return_address);
	if (result != REEL_EXPRESSION_OK) {
		*stop_ret = stop_of(result);
		return REEL_NEXT_STOP;
	}
	recover(&step, sp, values, &known);
	/* From here on the state is the caller's. */
	state->known = (state->known & row->keep) | known;
	for (unsigned i = 0; i < row->n_saved; i++) {
		if (known >> row->saved[i].to & 1)
			state->registers[row->saved[i].to] = values[i];
	}
	if (row->flags & ROW_SP_IS_CFA) {
		state->registers[sp] = step.cfa;
		state->known |= (uint64_t)1 << sp;
	}
	state->pc = return_address;
	if (pc != REEL_ARCH_NO_SLOT) {
		state->registers[pc] = return_address;
		state->known |= (uint64_t)1 << pc;
	}
	return REEL_NEXT_CALLER;
}

enum reel_next reel_row_apply(const struct reel_row *row, struct reel_unwind_state *state,
			      bool first, uint64_t text_bias, enum reel_stop *stop_ret)
{
	if (row->outcome == REEL_ROW_ROOT)
		return REEL_NEXT_ROOT;
	if (row->outcome != REEL_ROW_STEP) {
		*stop_ret = row->outcome == REEL_ROW_NONE	? REEL_STOP_NO_UNWIND_INFO
			    : row->outcome == REEL_ROW_SWITCHES ? REEL_STOP_OTHER_STACK
								: REEL_STOP_BAD_UNWIND_INFO;
		return REEL_NEXT_STOP;
	}
	return apply(row, state, first, text_bias, stop_ret);
}

enum reel_next reel_row_apply_switch(const struct reel_row *row, struct reel_unwind_state *state,
				     uint64_t text_bias, enum reel_stop *stop_ret)
{
	return apply(row, state, false, text_bias, stop_ret);
}
