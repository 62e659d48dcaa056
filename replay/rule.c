/* SPDX-License-Identifier: Apache-2.0 */
/* From a row of CFI to a rule, and from a rule to the caller's state. */
#include <stdlib.h>
#include <string.h>

#include "replay/expression.h"
#include "replay/rule_code.h"

/* ---- compiling ---------------------------------------------------------------------- */

struct compiler {
	const struct reel_arch *arch;
	struct reel_rule *rule;
	struct rule_expression expressions[REEL_ARCH_SLOTS_MAX + 2];
};

static struct rule_source from_offset(enum rule_from from, int64_t offset)
{
	/* No stack frame has 2 GB: such a rule is not meant. */
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
	c->expressions[c->rule->n_expressions] = (struct rule_expression){
		.bytes = rule->expression.bytes,
		.size = rule->expression.size,
	};
	return from_offset(from, c->rule->n_expressions++);
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

static void compile_return_address(struct compiler *c, const struct reel_cfi_row *row)
{
	const struct reel_cfi_rule *rule = &row->rules[row->return_column];
	struct reel_rule *to = c->rule;

	if (rule->kind == REEL_RULE_UNDEFINED)
		to->outcome = REEL_RULE_ROOT;
	else if (rule->kind != REEL_RULE_SAME && rule->kind != REEL_RULE_UNSPECIFIED)
		to->return_address = source_of(c, rule);
	else if (c->arch->flags & REEL_ARCH_LINK_REGISTER)
		/* Not saved (yet, or any more). */
		to->return_address = from_register(c, row->return_column, 0);
	if (to->outcome == REEL_RULE_STEP && to->return_address.from == FROM_NOWHERE)
		to->outcome = REEL_RULE_BAD;
}

/*
 * The return address lies where the caller's own stack would begin: something that was jumped
 * through has pushed it (arm64's PLT), and the CFI, which takes sp there for the CFA, does not tell
 * (_dl_runtime_resolve in glibc's sysdeps/aarch64/dl-trampoline.S).  The caller's sp is above it.
 */
static bool is_above_cfa(const struct compiler *c, const struct reel_cfi_row *row)
{
	return c->arch->flags & REEL_ARCH_LINK_REGISTER &&
	       row->rules[row->return_column].kind == REEL_RULE_OFFSET &&
	       c->rule->return_address.from == FROM_MEMORY && c->rule->return_address.offset >= 0 &&
	       row->cfa.kind == REEL_RULE_REGISTER_OFFSET && row->cfa.reg == c->arch->sp;
}

static void compile_register(struct compiler *c, const struct reel_cfi_row *row, uint8_t slot)
{
	uint16_t dwarf = c->arch->registers[slot].dwarf;
	const struct reel_cfi_rule *rule = &row->rules[dwarf];
	struct rule_source source;
	bool keep = rule->kind == REEL_RULE_SAME;

	/* The step itself sets the pc, and what held the return address was overwritten by the
	 * call. */
	if (dwarf == row->return_column || dwarf == c->arch->pc)
		return;
	/* riscv64's __riscv_save_*: called through another link register, they leave the usual one
	 * alone. */
	if (rule->kind == REEL_RULE_UNSPECIFIED && c->arch->flags & REEL_ARCH_LINK_REGISTER &&
	    dwarf == c->arch->return_column)
		keep = true;
	if (keep) {
		c->rule->keep |= (uint64_t)1 << slot;
		return;
	}
	source = source_of(c, rule);
	if (dwarf == c->arch->sp && rule->kind == REEL_RULE_VAL_OFFSET && !rule->offset) {
		if (!is_above_cfa(c, row)) {
			c->rule->flags |= RULE_SP_IS_CFA;
			return;
		}
		source.offset = c->rule->return_address.offset + c->arch->word_size;
	}
	if (source.from == FROM_NOWHERE)
		return;
	source.to = slot;
	c->rule->saved[c->rule->n_saved++] = source;
}

void reel_rule_compile_outcome(enum reel_rule_outcome outcome, union rule_buffer *ret)
{
	memset(&ret->rule, 0, sizeof(ret->rule));
	ret->rule.outcome = (uint8_t)outcome;
}

void reel_rule_compile(const struct reel_arch *arch, const struct reel_cfi_row *row,
		       union rule_buffer *ret)
{
	struct compiler c = { .arch = arch, .rule = &ret->rule };

	reel_rule_compile_outcome(REEL_RULE_STEP, ret);
	if (row->signal_frame)
		ret->rule.flags |= RULE_SIGNAL_FRAME;
	if (row->has_personality)
		ret->rule.flags |= RULE_HAS_PERSONALITY;
	ret->rule.cfa = source_of(&c, &row->cfa);
	compile_return_address(&c, row);
	if (ret->rule.outcome == REEL_RULE_STEP && ret->rule.cfa.from == FROM_NOWHERE)
		ret->rule.outcome = REEL_RULE_BAD;
	if (ret->rule.outcome != REEL_RULE_STEP) {
		reel_rule_compile_outcome((enum reel_rule_outcome)ret->rule.outcome, ret);
		return;
	}
	for (uint8_t slot = 0; slot < arch->n_registers; slot++)
		compile_register(&c, row, slot);
	memcpy(&ret->rule.saved[ret->rule.n_saved], c.expressions,
	       ret->rule.n_expressions * sizeof(c.expressions[0]));
}

struct reel_error *reel_rule_create(const struct reel_arch *arch, const struct reel_cfi_row *row,
				    struct reel_rule **ret)
{
	union rule_buffer buffer;
	size_t size;

	reel_rule_compile(arch, row, &buffer);
	size = rule_size(&buffer.rule);
	*ret = malloc(size);
	if (!*ret)
		return reel_error_no_memory();
	memcpy(*ret, &buffer, size);
	return NULL;
}

void reel_rule_destroy(struct reel_rule *rule)
{
	free(rule);
}

enum reel_rule_outcome reel_rule_outcome(const struct reel_rule *rule)
{
	return (enum reel_rule_outcome)rule->outcome;
}

bool reel_rule_is_signal_frame(const struct reel_rule *rule)
{
	return rule->flags & RULE_SIGNAL_FRAME;
}

bool reel_rule_has_personality(const struct reel_rule *rule)
{
	return rule->flags & RULE_HAS_PERSONALITY;
}

bool reel_rule_ends_function(const struct reel_rule *rule)
{
	return rule->flags & RULE_ENDS_FUNCTION;
}

bool reel_rule_needs(const struct reel_rule *rule, uint8_t slot)
{
	return rule->cfa.from != FROM_REGISTER || rule->cfa.slot == slot;
}

bool reel_rule_saves_return_address(const struct reel_rule *rule)
{
	return rule->outcome == REEL_RULE_STEP && rule->return_address.from == FROM_MEMORY;
}

bool reel_rule_sp_of_record(const struct reel_rule *rule, const struct reel_arch *arch, uint64_t fp,
			    uint64_t *sp_ret)
{
	const uint8_t fp_slot = reel_arch_slot(arch, arch->fp);
	const struct rule_source *ra = &rule->return_address;

	if (rule->outcome != REEL_RULE_STEP || rule->cfa.from != FROM_REGISTER ||
	    rule->cfa.slot != reel_arch_slot(arch, arch->sp) || ra->from != FROM_MEMORY)
		return false;
	for (unsigned i = 0; i < rule->n_saved; i++) {
		const struct rule_source *saved = &rule->saved[i];

		if (saved->to != fp_slot || saved->from != FROM_MEMORY ||
		    (int64_t)saved->offset + arch->word_size != ra->offset)
			continue;
		*sp_ret =
			fp - (uint64_t)(int64_t)saved->offset - (uint64_t)(int64_t)rule->cfa.offset;
		return true;
	}
	return false;
}

/* ---- applying ----------------------------------------------------------------------- */

struct step {
	const struct reel_rule *rule;
	const struct reel_unwind_state *state;
	uint64_t cfa;
	uint64_t text_bias;
	uint64_t mask; /* of a word */
	bool first;
	enum reel_stop stop; /* why a value is not to be had */
};

static bool fail(struct step *step, enum reel_stop why)
{
	step->stop = why;
	return false;
}

static bool evaluate(struct step *step, const struct rule_source *source, const uint64_t *initial,
		     uint64_t *ret)
{
	const struct rule_expression *expression = &rule_expressions(step->rule)[source->offset];

	switch (reel_expression_evaluate(step->state, expression->bytes, expression->size, initial,
					 step->text_bias, ret)) {
	case REEL_EXPRESSION_OK:
		return true;
	case REEL_EXPRESSION_MEMORY_MISSING:
		return fail(step, REEL_STOP_STACK_END);
	case REEL_EXPRESSION_REGISTER_UNKNOWN:
		return fail(step, REEL_STOP_REGISTER_UNKNOWN);
	case REEL_EXPRESSION_BAD:
		break;
	}
	return fail(step, REEL_STOP_BAD_UNWIND_INFO);
}

static bool read_slot(struct step *step, uint64_t address, unsigned size, uint64_t *ret)
{
	return reel_memory_read(step->state->memory, address & step->mask, size, ret) ||
	       fail(step, REEL_STOP_STACK_END);
}

/* False: step->stop says why there is none. */
static bool value_of(struct step *step, const struct rule_source *source, unsigned size,
		     const uint64_t *cfa, uint64_t *ret)
{
	const struct reel_unwind_state *state = step->state;
	uint64_t offset = (uint64_t)(int64_t)source->offset;

	switch ((enum rule_from)source->from) {
	case FROM_MEMORY:
		return read_slot(step, step->cfa + offset, size, ret);
	case FROM_CFA:
		*ret = (step->cfa + offset) & step->mask;
		return true;
	case FROM_REGISTER:
		if (!(state->known >> source->slot & 1))
			return fail(step, REEL_STOP_REGISTER_UNKNOWN);
		*ret = (state->registers[source->slot] + offset) & step->mask;
		return true;
	case FROM_EXPRESSION:
		return evaluate(step, source, cfa, ret) && read_slot(step, *ret, size, ret);
	case FROM_VALUE:
		return evaluate(step, source, cfa, ret);
	case FROM_NOWHERE:
		break;
	}
	return fail(step, REEL_STOP_BAD_UNWIND_INFO);
}

/*
 * A slot below sp that is not to be trusted, or not there: whatever saved the
 * register has popped it again, and the CFI of the epilogue does not say so.
 */
static bool was_popped(const struct step *step, const struct rule_source *source, uint8_t sp_slot)
{
	const struct reel_unwind_state *state = step->state;
	uint64_t sp = state->registers[sp_slot], address, ignored;

	if (!step->first || source->from != FROM_MEMORY || !(state->known >> sp_slot & 1))
		return false;
	address = (step->cfa + (uint64_t)(int64_t)source->offset) & step->mask;
	if (address >= sp)
		return false;
	return sp - address > state->arch->red_zone ||
	       !reel_memory_read(state->memory, address, state->arch->word_size, &ignored);
}

static bool return_address_of(struct step *step, uint8_t sp_slot, uint64_t *ret)
{
	const struct reel_unwind_state *state = step->state;
	const struct rule_source *source = &step->rule->return_address;
	uint8_t link = reel_arch_slot(state->arch, state->arch->return_column);

	if (state->arch->flags & REEL_ARCH_LINK_REGISTER && state->known >> link & 1 &&
	    was_popped(step, source, sp_slot)) {
		*ret = state->registers[link];
		return true;
	}
	return value_of(step, source, state->arch->word_size, &step->cfa, ret);
}

/* The caller's registers that the rule says something of, but for those it leaves alone. */
static void recover(struct step *step, uint8_t sp_slot, uint64_t *values, uint64_t *known)
{
	const struct reel_rule *rule = step->rule;
	const struct reel_unwind_state *state = step->state;

	for (unsigned i = 0; i < rule->n_saved; i++) {
		const struct rule_source *source = &rule->saved[i];
		uint64_t bit = (uint64_t)1 << source->to;

		if (was_popped(step, source, sp_slot)) {
			values[i] = state->registers[source->to];
			*known |= state->known & bit;
		} else if (value_of(step, source, state->arch->registers[source->to].size,
				    &step->cfa, &values[i])) {
			*known |= bit;
		}
	}
}

enum reel_next reel_rule_apply(const struct reel_rule *rule, struct reel_unwind_state *state,
			       bool first, uint64_t text_bias, enum reel_stop *stop_ret)
{
	const struct reel_arch *arch = state->arch;
	const uint8_t sp = reel_arch_slot(arch, arch->sp), pc = reel_arch_slot(arch, arch->pc);
	struct step step = {
		.rule = rule,
		.state = state,
		.text_bias = text_bias,
		.mask = arch->word_size == 8 ? UINT64_MAX : UINT32_MAX,
		.first = first,
	};
	uint64_t values[REEL_ARCH_SLOTS_MAX], known = 0, return_address;

	if (rule->outcome == REEL_RULE_ROOT)
		return REEL_NEXT_ROOT;
	if (rule->outcome != REEL_RULE_STEP) {
		*stop_ret = rule->outcome == REEL_RULE_NONE ? REEL_STOP_NO_UNWIND_INFO
							    : REEL_STOP_BAD_UNWIND_INFO;
		return REEL_NEXT_STOP;
	}
	if (!value_of(&step, &rule->cfa, arch->word_size, NULL, &step.cfa) ||
	    !return_address_of(&step, sp, &return_address)) {
		*stop_ret = step.stop;
		return REEL_NEXT_STOP;
	}
	recover(&step, sp, values, &known);
	/* From here on the state is the caller's. */
	state->known = (state->known & rule->keep) | known;
	for (unsigned i = 0; i < rule->n_saved; i++) {
		if (known >> rule->saved[i].to & 1)
			state->registers[rule->saved[i].to] = values[i];
	}
	if (rule->flags & RULE_SP_IS_CFA) {
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
