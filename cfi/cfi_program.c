/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "cfi/cfi_program.h"
#include "base/dwarf_cursor.h"

/* Newer than elfutils 0.188's dwarf.h: Arm's AADWARF64, 4.4.1. */
#define CFA_AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c
#define CFA_AARCH64_NEGATE_RA_STATE	    0x2d
#define CFA_MIPS_ADVANCE_LOC8		    0x1d
#define CFA_GNU_NEGATIVE_OFFSET_EXTENDED    0x2f

/* Copying this many rules takes about as long as running one instruction. */
#define RULES_AN_INSTRUCTION 4
/* Compilers nest DW_CFA_remember_state at most two deep. */
#define REMEMBERED_MAX 16

/* The state for DW_CFA_remember_state: GCC and elfutils include the CFA. */
struct state {
	struct reel_cfi_rule cfa;
	bool return_address_signed;
	unsigned n_rules; /* later rules are unspecified */
	struct reel_cfi_rule rules[REEL_ARCH_DWARF_MAX];
};

struct machine {
	const struct cfi_data *data;
	const struct cfi_cie *cie;
	struct reel_cursor code;
	struct reel_cfi_row *row;
	/* Running the CIE's instructions: without `initial` and locations. */
	bool in_cie;
	bool done;
	uint64_t target;
	uint64_t next; /* the next row's begin, once this row is complete */
	/* Separate, as in libgcc's unwinder: an expression in between keeps them. */
	uint16_t cfa_reg;
	int64_t cfa_offset;
	uint32_t budget;
	const char *problem;
	/* Registers from here on are not yet named: most programs name few, with small numbers. */
	unsigned n_rules, n_initial;
	unsigned n_remembered;
	struct reel_cfi_rule initial[REEL_ARCH_DWARF_MAX];
	struct reel_cfi_rule let_pass;
	struct state remembered[REMEMBERED_MAX];
};

static void bad(struct machine *m, const char *problem)
{
	if (!m->problem)
		m->problem = problem;
}

/* Counts work equivalent to `n` instructions that set a register. */
static bool charge(struct machine *m, uint32_t n)
{
	if (n > m->budget) {
		bad(m, "more instructions than any compiler writes");
		return false;
	}
	m->budget -= n;
	return true;
}

static uint64_t uleb(struct machine *m)
{
	return reel_cursor_uleb(&m->code);
}

/* An operand in units of the data alignment; products wrap. */
static int64_t factored(struct machine *m, bool is_signed)
{
	uint64_t value = is_signed ? (uint64_t)reel_cursor_sleb(&m->code) : uleb(m);

	return (int64_t)(value * (uint64_t)m->cie->data_align);
}

/* ---- registers ---------------------------------------------------------------- */

/*
 * The rule of a register, to be written in place: copying a struct whose members were just written
 * one by one would stall the CPU.  Rules of registers that arch/ does not have are ignored: vector
 * registers do not matter for unwinding.
 */
static struct reel_cfi_rule *rule_of(struct machine *m, uint64_t reg)
{
	if (reg >= REEL_ARCH_DWARF_MAX)
		return &m->let_pass;
	if (reg >= m->n_rules)
		m->n_rules = (unsigned)reg + 1;
	return &m->row->rules[reg];
}

static void set_kind(struct machine *m, uint64_t reg, enum reel_rule_kind kind)
{
	*rule_of(m, reg) = (struct reel_cfi_rule){ .kind = (uint8_t)kind };
}

static void set_offset(struct machine *m, uint64_t reg, enum reel_rule_kind kind, int64_t offset)
{
	*rule_of(m, reg) = (struct reel_cfi_rule){ .kind = (uint8_t)kind, .offset = offset };
}

static struct reel_cfi_rule take_expression(struct machine *m, enum reel_rule_kind kind)
{
	struct reel_cfi_rule rule = { .kind = (uint8_t)kind };

	rule.expression.size = uleb(m);
	rule.expression.bytes = reel_cursor_take(&m->code, rule.expression.size);
	return rule;
}

static void set_register(struct machine *m)
{
	uint64_t reg = uleb(m), other = uleb(m);

	if (other > UINT16_MAX)
		set_kind(m, reg, REEL_RULE_UNDEFINED);
	else
		*rule_of(m, reg) = (struct reel_cfi_rule){ .kind = REEL_RULE_REGISTER,
							   .reg = (uint16_t)other };
}

static void restore(struct machine *m, uint64_t reg)
{
	if (m->in_cie)
		bad(m, "DW_CFA_restore in its CIE, without a previous rule");
	else if (reg < m->n_initial)
		m->row->rules[reg] = m->initial[reg];
	else
		set_kind(m, reg, REEL_RULE_UNSPECIFIED);
}

/* ---- the CFA ------------------------------------------------------------------- */

static void set_cfa(struct machine *m)
{
	m->row->cfa = (struct reel_cfi_rule){ .kind = REEL_RULE_REGISTER_OFFSET,
					      .reg = m->cfa_reg,
					      .offset = m->cfa_offset };
}

static void set_cfa_register(struct machine *m, uint64_t reg)
{
	if (reg > UINT16_MAX)
		bad(m, "the CFA's register number exceeds 65535");
	else
		m->cfa_reg = (uint16_t)reg;
}

/*
 * Invalid after an expression (DWARF 5, 6.4.2.2), but GCC writes it in the epilogue of functions
 * with SVE registers on their stack, where it means the last named register, sp (glibc 2.41's
 * libmvec, 0x9480: ldp x19, x20, [sp, #16]).
 */
static void set_cfa_offset(struct machine *m, int64_t offset)
{
	m->cfa_offset = offset;
	set_cfa(m);
}

/* ---- locations ------------------------------------------------------------------ */

/* The current row ends at `location`, or begins there. */
static void move_to(struct machine *m, uint64_t location)
{
	if (m->in_cie) {
		bad(m, "an instruction of its CIE moves the location");
	} else if (location > m->target) {
		if (location < m->row->end)
			m->row->end = location;
		m->next = location;
		m->done = true;
	} else {
		m->row->begin = location;
	}
}

static void advance(struct machine *m, uint64_t delta)
{
	uint64_t bytes, location;

	/* Past the end of the address space: the row is valid to the FDE's end. */
	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes) ||
	    __builtin_add_overflow(m->row->begin, bytes, &location))
		location = UINT64_MAX;
	move_to(m, location);
}

static void advance_fixed(struct machine *m, unsigned size)
{
	advance(m, reel_cursor_target(&m->code, size, m->data->big_endian));
}

static void set_location(struct machine *m)
{
	uint64_t location;

	if (!m->data->is_eh)
		location = reel_cursor_target(&m->code, m->cie->address_size, m->data->big_endian);
	else if (!reel_cfi_pointer(m->data, &m->code, m->cie->fde_encoding, &location))
		return bad(m, "malformed address in DW_CFA_set_loc");
	if (!m->in_cie && location < m->row->begin)
		return bad(m, "DW_CFA_set_loc to an address before the row");
	move_to(m, location);
}

/* ---- states ---------------------------------------------------------------------- */

static void remember(struct machine *m)
{
	struct state *state;

	if (m->n_remembered == REMEMBERED_MAX)
		return bad(m, "DW_CFA_remember_state is nested more than 16 times");
	if (!charge(m, m->n_rules / RULES_AN_INSTRUCTION))
		return;
	state = &m->remembered[m->n_remembered++];
	state->cfa = m->row->cfa;
	state->return_address_signed = m->row->return_address_signed;
	state->n_rules = m->n_rules;
	memcpy(state->rules, m->row->rules, m->n_rules * sizeof(state->rules[0]));
}

static void restore_state(struct machine *m)
{
	const struct state *state;

	if (!m->n_remembered)
		return bad(m, "DW_CFA_restore_state without DW_CFA_remember_state");
	if (!charge(m, m->n_rules / RULES_AN_INSTRUCTION))
		return;
	state = &m->remembered[--m->n_remembered];
	m->row->cfa = state->cfa;
	m->row->return_address_signed = state->return_address_signed;
	memcpy(m->row->rules, state->rules, state->n_rules * sizeof(state->rules[0]));
	memset(m->row->rules + state->n_rules, 0,
	       (m->n_rules - state->n_rules) * sizeof(state->rules[0]));
	if (state->cfa.kind == REEL_RULE_REGISTER_OFFSET) {
		m->cfa_reg = state->cfa.reg;
		m->cfa_offset = state->cfa.offset;
	}
}

static void negate_ra_state(struct machine *m)
{
	/* 0x2d is DW_CFA_GNU_window_save on SPARC, and undefined on other CPUs. */
	if (m->data->arch->flags & REEL_ARCH_POINTER_AUTHENTICATION)
		m->row->return_address_signed = !m->row->return_address_signed;
	else
		bad(m, "an instruction of a different CPU (0x2d)");
}

/* ---- instructions ----------------------------------------------------------------- */

static void execute_cfa(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_def_cfa:
		set_cfa_register(m, uleb(m));
		m->cfa_offset = (int64_t)uleb(m);
		set_cfa(m);
		break;
	case DW_CFA_def_cfa_sf:
		set_cfa_register(m, uleb(m));
		m->cfa_offset = factored(m, true);
		set_cfa(m);
		break;
	case DW_CFA_def_cfa_register:
		set_cfa_register(m, uleb(m));
		set_cfa(m);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(m, (int64_t)uleb(m));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(m, factored(m, true));
		break;
	case DW_CFA_def_cfa_expression:
		m->row->cfa = take_expression(m, REEL_RULE_VAL_EXPRESSION);
		break;
	default:
		bad(m, "unknown instruction");
	}
}

static void execute_register(struct machine *m, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_undefined:
		set_kind(m, uleb(m), REEL_RULE_UNDEFINED);
		break;
	case DW_CFA_same_value:
		set_kind(m, uleb(m), REEL_RULE_SAME);
		break;
	case DW_CFA_offset_extended:
		reg = uleb(m);
		set_offset(m, reg, REEL_RULE_OFFSET, factored(m, false));
		break;
	case DW_CFA_offset_extended_sf:
		reg = uleb(m);
		set_offset(m, reg, REEL_RULE_OFFSET, factored(m, true));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = uleb(m);
		set_offset(m, reg, REEL_RULE_OFFSET, (int64_t)(0 - (uint64_t)factored(m, false)));
		break;
	case DW_CFA_val_offset:
		reg = uleb(m);
		set_offset(m, reg, REEL_RULE_VAL_OFFSET, factored(m, false));
		break;
	case DW_CFA_val_offset_sf:
		reg = uleb(m);
		set_offset(m, reg, REEL_RULE_VAL_OFFSET, factored(m, true));
		break;
	case DW_CFA_register:
		set_register(m);
		break;
	case DW_CFA_restore_extended:
		restore(m, uleb(m));
		break;
	case DW_CFA_expression:
		reg = uleb(m);
		*rule_of(m, reg) = take_expression(m, REEL_RULE_EXPRESSION);
		break;
	case DW_CFA_val_expression:
		reg = uleb(m);
		*rule_of(m, reg) = take_expression(m, REEL_RULE_VAL_EXPRESSION);
		break;
	default:
		execute_cfa(m, op);
	}
}

static void execute_other(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		set_location(m);
		break;
	case DW_CFA_advance_loc1:
		advance_fixed(m, 1);
		break;
	case DW_CFA_advance_loc2:
		advance_fixed(m, 2);
		break;
	case DW_CFA_advance_loc4:
		advance_fixed(m, 4);
		break;
	case CFA_MIPS_ADVANCE_LOC8:
		advance_fixed(m, 8);
		break;
	case DW_CFA_remember_state:
		remember(m);
		break;
	case DW_CFA_restore_state:
		restore_state(m);
		break;
	case DW_CFA_GNU_args_size:
		/* Only for exceptions: it does not affect the CFA (drgn #480). */
		uleb(m);
		break;
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		negate_ra_state(m);
		break;
	default:
		execute_register(m, op);
	}
}

static void execute(struct machine *m)
{
	uint8_t op = reel_cursor_u8(&m->code);
	uint8_t operand = op & 0x3f;

	/* The two high bits are an opcode, with the operand in the low bits. */
	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		advance(m, operand);
		break;
	case DW_CFA_offset:
		set_offset(m, operand, REEL_RULE_OFFSET, factored(m, false));
		break;
	case DW_CFA_restore:
		restore(m, operand);
		break;
	default:
		execute_other(m, op);
	}
}

static void run(struct machine *m, const uint8_t *bytes, size_t size)
{
	m->code = reel_cursor(bytes, size);
	while (!m->done && !m->problem && m->code.at < m->code.end) {
		if (charge(m, 1))
			execute(m);
		if (m->code.failed)
			bad(m, "the last instruction is truncated");
	}
}

static void run_arch_program(struct machine *m, const struct cfi_cie *cie,
			     struct reel_arch_program program)
{
	m->cie = cie;
	run(m, program.bytes, program.size);
}

static void start(struct machine *m, const struct cfi_data *data, struct reel_cfi_row *row)
{
	const struct cfi_cie cie = { .code_align = 1, .data_align = data->arch->data_align };

	memset(row, 0, sizeof(*row));
	/* Sets everything except the tables, which are written before they are read. */
	m->data = data;
	m->row = row;
	m->in_cie = true;
	m->done = false;
	m->target = 0;
	m->cfa_reg = 0;
	m->cfa_offset = 0;
	m->budget = CFI_INSTRUCTIONS_MAX;
	m->problem = NULL;
	m->n_rules = 0;
	m->n_remembered = 0;
	run_arch_program(m, &cie, data->arch->defaults);
}

static void run_cie(struct machine *m, const struct cfi_cie *cie)
{
	m->cie = cie;
	m->budget = CFI_CIE_INSTRUCTIONS_MAX;
	run(m, cie->program, cie->program_size);
	m->budget += CFI_INSTRUCTIONS_MAX - CFI_CIE_INSTRUCTIONS_MAX;
	m->n_initial = m->n_rules;
	memcpy(m->initial, m->row->rules, m->n_initial * sizeof(m->initial[0]));
	m->in_cie = false;
}

/* The row of an address; `fde` and its CIE must stay valid if more rows will follow. */
static const char *first_row(struct machine *m, const struct cfi_data *data,
			     const struct cfi_fde *fde, uint64_t address, struct reel_cfi_row *row)
{
	start(m, data, row);
	row->fde_begin = row->begin = fde->begin;
	row->fde_end = row->end = fde->begin + fde->size;
	row->signal_frame = fde->cie.signal_frame;
	row->has_personality = fde->cie.has_personality;
	if (fde->cie.return_column >= REEL_ARCH_DWARF_MAX)
		return "the return address column is not a register of any CPU";
	row->return_column = (uint16_t)fde->cie.return_column;
	run_cie(m, &fde->cie);
	m->target = address;
	run(m, fde->program, fde->program_size);
	row->work = CFI_INSTRUCTIONS_MAX - m->budget;
	return m->problem;
}

const char *reel_cfi_program_row(const struct cfi_data *data, const struct cfi_fde *fde,
				 uint64_t address, struct reel_cfi_row *ret)
{
	struct machine m;

	return first_row(&m, data, fde, address, ret);
}

/* ---- consecutive rows --------------------------------------------------------------- */

struct cfi_walk {
	bool goes_on; /* another row follows `row` */
	struct cfi_data data;
	struct cfi_fde fde;
	struct machine m;
	struct reel_cfi_row row;
};

struct cfi_walk *reel_cfi_walk_create(void)
{
	return calloc(1, sizeof(struct cfi_walk));
}

void reel_cfi_walk_destroy(struct cfi_walk *walk)
{
	free(walk);
}

const char *reel_cfi_walk_row(struct cfi_walk *walk, const struct cfi_data *data,
			      const struct cfi_fde *fde, uint64_t address, struct reel_cfi_row *ret)
{
	struct machine *m = &walk->m;
	const char *problem;

	if (walk->goes_on && walk->fde.program == fde->program && address >= m->next) {
		walk->row.begin = m->next;
		walk->row.end = walk->row.fde_end;
		m->done = false;
		m->target = address;
		run(m, m->code.at, reel_cursor_left(&m->code));
		problem = m->problem;
	} else {
		walk->data = *data;
		walk->fde = *fde;
		problem = first_row(m, &walk->data, &walk->fde, address, &walk->row);
	}
	walk->goes_on = !problem && m->done;
	*ret = walk->row;
	return problem;
}

bool reel_cfi_run_program(const struct reel_arch *arch, struct reel_arch_program program,
			  struct reel_cfi_row *ret)
{
	const struct cfi_data data = { .arch = arch };
	const struct cfi_cie cie = { .code_align = 1, .data_align = arch->data_align };
	struct machine m;

	start(&m, &data, ret);
	run_arch_program(&m, &cie, program);
	ret->return_column =
		ret->rules[arch->pc].kind == REEL_RULE_UNSPECIFIED ? arch->return_column : arch->pc;
	return !m.problem;
}
