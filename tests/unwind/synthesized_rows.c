/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares rows made by following the code with those of the compiler's CFI:  synthesized_rows
 * FILE...
 *
 * Every instruction of every function that has CFI is treated as if it had none; code that does not
 * run is skipped, such as padding after a return.  A row is certain if the code has a single
 * return, all of it could be followed, and following it from the function's entry gives the same
 * CFA: CFI must agree with it, in the CFA and the places of registers.  A register that is
 * elsewhere when following from the entry is disputed, and not compared.
 *
 * For CPUs with a link register, also makes the rows that are to be used where CFI is late.  Those
 * that differ from CFI are counted: none with a compiler that describes each instruction.
 *
 * Prints `FILE: CPU, N instructions, ...`, then the known differences, each with its count, and the
 * first unknown ones.  Exits with 1 if there is any unknown difference.
 */
#include <dwarf.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "replay/synthesis/entries.h"
#include "replay/synthesis/synthesis_internal.h"
#include "cfi/module_cfi.h"
#include "cfi/row_internal.h"

#define SHOWN_MAX 10

/* Differences that are not our fault. */
enum exemption {
	/* A call never returns, and other code follows: another part of the function, the next one,
	 * or the target of s390x's `exrl`. */
	RUNS_ON,
	/* s390x: GCC describes r15 as restored one or several instructions before lgdr does so.
	 * glibc's TLS descriptors for aarch64 describe where x30 will be copied to. */
	AHEAD,
	/* s390x: the register was copied back from the one in CFI, and both have its value. */
	BEHIND,
	/* Hand-written code whose FDE has a single row, for the state at the entry, although it
	 * moves sp, or has its own convention. */
	ONE_ROW,
	/* Another row of the FDE has our rule for the register: glibc's strncmp for i386, some
	 * parts of which swap edi and esi. */
	ELSEWHERE,
	/* Code goes straight to a `ret`, which uses the word at sp: CFI has a different one. */
	AT_RETURN,
	/* Hand-written code of x86: from one instruction to the next, or along a jump, CFI moves sp
	 * differently than the instruction does; so one of the two rows is wrong.  glibc's memcpy
	 * and similar functions for i386. */
	CONTRADICTS,
	/* i386: it calls a function that pops its own arguments (`ret 4`), and sp relative to the
	 * entry is wrong from there on. */
	CALLEE_POPS,
	N_EXEMPTIONS,
};

static const char *const exemption_names[N_EXEMPTIONS] = {
	[RUNS_ON] = "a call that never returns",
	[AHEAD] = "CFI is ahead of the code",
	[BEHIND] = "CFI is behind the code",
	[ONE_ROW] = "CFI has one row for the whole function",
	[ELSEWHERE] = "CFI has our rule elsewhere in the function",
	[AT_RETURN] = "CFI has a different word than the following ret",
	[CONTRADICTS] = "CFI contradicts itself in the function",
	[CALLEE_POPS] = "a callee that pops its arguments",
};

struct file {
	const char *path;
	struct reel_synthesis *synthesis;
	struct reel_cfi *cfi;
	const struct reel_arch *arch;
	uint8_t sp, column; /* slots */
	uint64_t instructions, certain, right, other, none, undecided, by_expression;
	uint64_t registers, disputed, differences, exempt[N_EXEMPTIONS];
	struct reel_rows *rows;
	struct reel_row *at_entry; /* NULL without a link register */
	uint64_t edges, late;
};

static void or_exit(struct reel_error *error)
{
	if (error)
		errx(2, "%s", reel_error_message(error));
}

static bool read_code(void *module, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	return reel_elf_file_read(module, address, size, bytes_ret);
}

static bool has(uint64_t slots, uint8_t slot)
{
	return slots >> slot & 1;
}

/* ---- the CFA of a row, relative to the one found from the entry ----------------------------- */

static int64_t take_sleb(const uint8_t **p)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = *(*p)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return (int64_t)(byte & 0x40 && shift < 64 ? value | -(uint64_t)1 << shift : value);
}

/* DW_OP_breg n, at; deref[; consts; plus], if the word there is the entry's sp. */
static bool place_of_expression(const struct file *file, const struct reel_entry_state *state,
				const struct rule_expression *expression, int64_t *ret)
{
	const uint8_t *p = expression->bytes, *end = p + expression->size;
	uint16_t dwarf = *p++;
	uint8_t slot;
	int64_t at;

	dwarf = dwarf == DW_OP_bregx ? *p++ : (uint16_t)(dwarf - DW_OP_breg0);
	slot = reel_arch_slot(file->arch, dwarf);
	at = take_sleb(&p);
	if (slot == REEL_ARCH_NO_SLOT || !has(state->placed, slot) || p == end ||
	    *p++ != DW_OP_deref || !has(state->saved, file->sp) ||
	    state->saved_at[file->sp] != state->place[slot] + at)
		return false;
	*ret = file->synthesis->sp_at_entry;
	if (p != end && *p++ == DW_OP_consts)
		*ret += take_sleb(&p);
	return true;
}

static bool place_of(const struct file *file, const struct reel_entry_state *state,
		     const struct reel_row *row, int64_t *ret)
{
	if (!state)
		return false;
	if (row->cfa.from == FROM_VALUE)
		return place_of_expression(file, state, &row_expressions(row)[row->cfa.offset],
					   ret);
	if (row->cfa.from != FROM_REGISTER || !has(state->placed, row->cfa.slot))
		return false;
	*ret = (int64_t)state->place[row->cfa.slot] + row->cfa.offset;
	return true;
}

enum verdict { EQUAL, DIFFERS, UNDECIDED };

static enum verdict compare_cfa(const struct file *file, const struct reel_entry_state *state,
				const struct reel_row *row, const struct reel_row *truth)
{
	int64_t ours, theirs;

	if (row->cfa.from == FROM_REGISTER && row->cfa.slot == truth->cfa.slot)
		return row->cfa.offset == truth->cfa.offset ? EQUAL : DIFFERS;
	if (!place_of(file, state, row, &ours) || !place_of(file, state, truth, &theirs))
		return UNDECIDED;
	return ours == theirs ? EQUAL : DIFFERS;
}

/* ---- where registers are --------------------------------------------------------------------- */

static struct rule_source source_of(const struct file *file, const struct reel_row *row,
				    uint8_t slot)
{
	if (slot == file->column)
		return row->return_address;
	if (has(row->keep, slot))
		return (struct rule_source){ .to = slot, .from = FROM_REGISTER, .slot = slot };
	for (unsigned i = 0; i < row->n_saved; i++) {
		if (row->saved[i].to == slot)
			return row->saved[i];
	}
	return (struct rule_source){ .to = slot };
}

/* Whether the register's value at the entry is there, when following from the entry. */
static bool holds(const struct reel_entry_state *state, uint8_t slot, struct rule_source source)
{
	if (source.from == FROM_MEMORY)
		return has(state->saved, slot) && state->saved_at[slot] == source.offset;
	return source.from == FROM_REGISTER && source.slot == slot && !source.offset &&
	       has(state->intact, slot);
}

/* Following from the entry finds the register elsewhere. */
static bool is_disputed(const struct reel_entry_state *state, uint8_t slot,
			struct rule_source source)
{
	return (has(state->intact, slot) || has(state->saved, slot)) && !holds(state, slot, source);
}

static bool told(struct rule_source source)
{
	return source.from == FROM_MEMORY || source.from == FROM_REGISTER;
}

static bool decode(struct file *file, uint64_t address, struct reel_instruction *ret)
{
	return reel_code_decode(&file->synthesis->reader, address, ret);
}

static bool is_copy(const struct reel_instruction *instruction, uint8_t to, uint8_t from)
{
	return reel_value_equal(reel_instruction_sets(instruction, to),
				reel_value_of_register(from, 0));
}

/* Somewhere in the function the register is copied back from `from`. */
static bool is_copied_back(struct file *file, uint64_t begin, uint8_t slot, uint8_t from)
{
	struct reel_instruction instruction;
	uint64_t at = begin;

	for (; reel_synthesis_next_reached(file->synthesis, begin, &at); at++) {
		if (decode(file, at, &instruction) && is_copy(&instruction, slot, from))
			return true;
	}
	return false;
}

/* Somewhere in the function the register is loaded from there. */
static bool is_loaded_from(struct file *file, uint64_t begin, uint8_t slot, int64_t place)
{
	struct reel_instruction instruction;
	uint64_t at = begin;

	for (; reel_synthesis_next_reached(file->synthesis, begin, &at); at++) {
		const struct reel_entry_state *state =
			reel_synthesis_state(file->synthesis, begin, at);
		struct reel_value value;

		if (!state || !decode(file, at, &instruction))
			continue;
		value = reel_instruction_sets(&instruction, slot);
		if (value.kind == REEL_VALUE_MEMORY && !value.plus &&
		    has(state->placed, value.slot) && state->place[value.slot] + value.at == place)
			return true;
	}
	return false;
}

static bool is_same_register(const struct file *file, const struct reel_entry_state *state,
			     uint8_t slot, struct rule_source ours, struct rule_source theirs)
{
	if (ours.from == theirs.from && ours.offset == theirs.offset &&
	    (ours.from != FROM_REGISTER || ours.slot == theirs.slot))
		return true;
	if (!holds(state, slot, ours))
		return false;
	/* It was popped: the word below sp is the same, but nothing keeps it so. */
	return holds(state, slot, theirs) ||
	       (theirs.from == FROM_MEMORY && has(state->placed, file->sp) &&
		theirs.offset < state->place[file->sp]);
}

/* ---- an instruction -------------------------------------------------------------------------- */

/* If compilers know that a call never returns, their row applies to the call, and a different one
 * to the following code. */
static bool rows_differ(struct file *file, uint64_t address, uint64_t next)
{
	struct reel_cfi_row at, behind;
	union row_buffer compiled[2];

	if (reel_cfi_row_at(file->cfi, address, &at, NULL) != REEL_CFI_FOUND ||
	    reel_cfi_row_at(file->cfi, next, &behind, NULL) != REEL_CFI_FOUND)
		return true;
	memset(compiled, 0, sizeof(compiled));
	reel_row_compile(file->arch, &at, &compiled[0]);
	reel_row_compile(file->arch, &behind, &compiled[1]);
	return row_size(&compiled[0].row) != row_size(&compiled[1].row) ||
	       memcmp(&compiled[0], &compiled[1], row_size(&compiled[0].row)) != 0;
}

/* Whether code goes straight on from here to such a call, or to the function's end. */
static bool runs_on(struct file *file, uint64_t address, uint64_t end)
{
	struct reel_instruction instruction;

	for (; address < end; address += instruction.size) {
		if (!decode(file, address, &instruction))
			return true;
		if (instruction.flow == REEL_FLOW_CALL &&
		    rows_differ(file, address, address + instruction.size))
			return true;
		if (instruction.flow == REEL_FLOW_JUMP || instruction.flow == REEL_FLOW_RETURN ||
		    instruction.flow == REEL_FLOW_END)
			return false;
	}
	return true;
}

/* Nothing writes `to` before it is copied from `slot`. */
static bool copies_later(struct file *file, uint64_t address, uint64_t end, uint8_t slot,
			 uint8_t to)
{
	struct reel_instruction instruction;

	for (; address < end && decode(file, address, &instruction); address += instruction.size) {
		if (!is_copy(&instruction, to, to))
			return is_copy(&instruction, to, slot);
	}
	return false;
}

/* Whether the function returns by `ret n`. */
static bool pops(struct file *file, uint64_t function)
{
	const struct reel_row *ignored;
	struct reel_instruction instruction;
	uint64_t address = 0;

	reel_synthesis_leads(file->synthesis, function, function, &ignored);
	for (; reel_synthesis_next_reached(file->synthesis, function, &address); address++) {
		if (decode(file, address, &instruction) && instruction.flow == REEL_FLOW_RETURN &&
		    instruction.size == 3)
			return true;
	}
	return false;
}

static bool calls_what_pops(struct file *file, uint64_t begin)
{
	struct reel_instruction instruction;
	uint64_t address = begin;

	if (file->arch->word_size != 4)
		return false;
	for (; reel_synthesis_next_reached(file->synthesis, begin, &address); address++) {
		if (decode(file, address, &instruction) && instruction.flow == REEL_FLOW_CALL &&
		    instruction.has_target && pops(file, instruction.target))
			return true;
	}
	return false;
}

/* The next instruction that writes sp copies it from another register. */
static bool copies_sp(struct file *file, uint64_t address, uint64_t end)
{
	struct reel_instruction instruction;

	for (; address < end && decode(file, address, &instruction); address += instruction.size) {
		struct reel_value value = reel_instruction_sets(&instruction, file->sp);

		if (!reel_value_equal(value, reel_value_of_register(file->sp, 0)))
			return value.kind == REEL_VALUE_REGISTER && value.slot != file->sp &&
			       !value.plus;
		if (instruction.flow == REEL_FLOW_JUMP || instruction.flow == REEL_FLOW_RETURN)
			break;
	}
	return false;
}

/* A return through memory follows, without a change of sp on the way. */
static bool is_at_return(struct file *file, uint64_t address)
{
	struct reel_instruction instruction;

	if (file->arch->flags & REEL_ARCH_LINK_REGISTER)
		return false;
	for (; decode(file, address, &instruction); address += instruction.size) {
		if (instruction.flow != REEL_FLOW_NEXT)
			return instruction.flow == REEL_FLOW_RETURN;
		if (!reel_value_equal(reel_instruction_sets(&instruction, file->sp),
				      reel_value_of_register(file->sp, 0)))
			return false;
	}
	return false;
}

/* CFI's CFA relative to sp; false if it is expressed otherwise. */
static bool cfa_by_sp(const struct file *file, uint64_t address, int64_t *ret)
{
	struct reel_cfi_row row;

	if (reel_cfi_row_at(file->cfi, address, &row, NULL) != REEL_CFI_FOUND ||
	    row.cfa.kind != REEL_RULE_REGISTER_OFFSET || row.cfa.reg != file->arch->sp)
		return false;
	*ret = row.cfa.offset;
	return true;
}

static bool contradicts(struct file *file, const struct reel_cfi_row *cfi_row)
{
	uint64_t address = cfi_row->fde_begin;
	struct reel_instruction instruction;
	int64_t at, behind;

	if (file->arch->flags & REEL_ARCH_LINK_REGISTER)
		return false;
	for (; reel_synthesis_next_reached(file->synthesis, cfi_row->fde_begin, &address) &&
	       address < cfi_row->fde_end;
	     address++) {
		struct reel_value sp;

		if (!decode(file, address, &instruction) || !cfa_by_sp(file, address, &at))
			continue;
		sp = reel_instruction_sets(&instruction, file->sp);
		if (sp.kind != REEL_VALUE_REGISTER || sp.slot != file->sp)
			continue;
		if ((instruction.flow == REEL_FLOW_NEXT || instruction.flow == REEL_FLOW_BRANCH) &&
		    cfa_by_sp(file, address + instruction.size, &behind) && behind != at - sp.plus)
			return true;
		if (instruction.flow != REEL_FLOW_CALL && instruction.has_target &&
		    instruction.target - cfi_row->fde_begin <
			    cfi_row->fde_end - cfi_row->fde_begin &&
		    cfa_by_sp(file, instruction.target, &behind) && behind != at)
			return true;
	}
	return false;
}

static void print_row(const struct file *file, const struct reel_row *row)
{
	if (row->cfa.from == FROM_REGISTER)
		printf("CFA %s%+d", file->arch->registers[row->cfa.slot].name, row->cfa.offset);
	else
		printf("CFA in memory");
	for (uint8_t i = 0; i < file->arch->n_registers; i++) {
		struct rule_source source = source_of(file, row, i);

		if (source.from == FROM_MEMORY)
			printf(", %s c%+d", file->arch->registers[i].name, source.offset);
		else if (source.from == FROM_REGISTER && source.slot != i)
			printf(", %s %s", file->arch->registers[i].name,
			       file->arch->registers[source.slot].name);
	}
}

/* `slot`: the register that differs; sp for the CFA. */
static void print_rows(const struct file *file, uint64_t address, uint8_t slot,
		       const struct reel_row *row, const struct reel_cfi_row *cfi_row,
		       const struct reel_row *truth)
{
	printf("%s: %#" PRIx64 " of the function at %#" PRIx64 ": %s: ", file->path, address,
	       cfi_row->fde_begin, slot == file->sp ? "CFA" : file->arch->registers[slot].name);
	print_row(file, row);
	printf("; CFI: ");
	print_row(file, truth);
	printf("\n");
}

static bool is_said_elsewhere(const struct file *file, uint8_t slot, const struct reel_row *row,
			      const struct reel_cfi_row *cfi_row)
{
	struct rule_source ours = source_of(file, row, slot);
	struct reel_cfi_row other = { .end = cfi_row->fde_begin };
	union row_buffer compiled;

	if (slot == file->sp || ours.from != FROM_MEMORY)
		return false;
	while (other.end < cfi_row->fde_end &&
	       reel_cfi_row_at(file->cfi, other.end, &other, NULL) == REEL_CFI_FOUND) {
		struct rule_source theirs;

		reel_row_compile(file->arch, &other, &compiled);
		theirs = source_of(file, &compiled.row, slot);
		if (theirs.from == FROM_MEMORY && theirs.offset == ours.offset)
			return true;
	}
	return false;
}

static void differ(struct file *file, uint64_t address, uint8_t slot, const struct reel_row *row,
		   const struct reel_cfi_row *cfi_row, const struct reel_row *truth)
{
	struct rule_source ours = source_of(file, row, slot), theirs = source_of(file, truth, slot);
	enum exemption exemption = N_EXEMPTIONS;

	if (runs_on(file, address, cfi_row->fde_end))
		exemption = RUNS_ON;
	else if (file->arch->flags & REEL_ARCH_BACK_CHAIN &&
		 copies_sp(file, address, cfi_row->fde_end))
		exemption = AHEAD;
	else if (theirs.from == FROM_REGISTER && slot != file->sp &&
		 copies_later(file, address, cfi_row->fde_end, slot, theirs.slot))
		exemption = AHEAD;
	else if (theirs.from == FROM_REGISTER && ours.from == FROM_REGISTER && slot != file->sp &&
		 ours.slot == slot && is_copied_back(file, cfi_row->fde_begin, slot, theirs.slot))
		exemption = BEHIND;
	else if (theirs.from == FROM_MEMORY && ours.from == FROM_REGISTER && slot != file->sp &&
		 ours.slot == slot && is_loaded_from(file, cfi_row->fde_begin, slot, theirs.offset))
		exemption = BEHIND;
	else if (cfi_row->begin == cfi_row->fde_begin && cfi_row->end == cfi_row->fde_end)
		exemption = ONE_ROW;
	else if (is_said_elsewhere(file, slot, row, cfi_row))
		exemption = ELSEWHERE;
	else if (slot == file->sp && is_at_return(file, address))
		exemption = AT_RETURN;
	else if (contradicts(file, cfi_row))
		exemption = CONTRADICTS;
	else if (calls_what_pops(file, cfi_row->fde_begin))
		exemption = CALLEE_POPS;
	if (exemption != N_EXEMPTIONS) {
		file->exempt[exemption]++;
		return;
	}
	if (file->differences++ < SHOWN_MAX)
		print_rows(file, address, slot, row, cfi_row, truth);
}

static void compare_registers(struct file *file, uint64_t address,
			      const struct reel_entry_state *state, const struct reel_row *row,
			      const struct reel_cfi_row *cfi_row, const struct reel_row *truth)
{
	uint64_t slots = file->synthesis->kept_by_calls | (uint64_t)1 << file->column;

	for (uint8_t slot = 0; slot < file->arch->n_registers; slot++) {
		struct rule_source ours = source_of(file, row, slot),
				   theirs = source_of(file, truth, slot);

		if (slot == file->sp || !has(slots, slot) || !told(ours) || !told(theirs))
			continue;
		if (is_disputed(state, slot, ours)) {
			file->disputed++;
			continue;
		}
		file->registers++;
		if (!is_same_register(file, state, slot, ours, theirs)) {
			differ(file, address, slot, row, cfi_row, truth);
			return;
		}
	}
}

static void look_at_edge(struct file *file, uint64_t address, const struct reel_entry_state *state,
			 const struct reel_cfi_row *cfi_row)
{
	const struct reel_row *truth = reel_rows_at(file->rows, address), *row;
	bool ignored;

	row = reel_synthesis_edge(file->synthesis, cfi_row->fde_begin, cfi_row->fde_end, address,
				  reel_row_edge(truth, file->at_entry), &ignored);
	file->edges += !!row;
	if (!row || compare_cfa(file, state, row, truth) != DIFFERS || file->late++ >= SHOWN_MAX)
		return;
	print_rows(file, address, file->sp, row, cfi_row, truth);
}

static void look_at(struct file *file, uint64_t address, const struct reel_cfi_row *cfi_row)
{
	const struct reel_entry_state *state =
		reel_synthesis_state(file->synthesis, cfi_row->fde_begin, address);
	struct reel_synthesized_rows rows;
	union row_buffer truth;
	enum verdict best = DIFFERS;
	int64_t place;

	reel_row_compile(file->arch, cfi_row, &truth);
	if (truth.row.outcome != REEL_ROW_STEP)
		return;
	file->instructions++;
	if (file->at_entry)
		look_at_edge(file, address, state, cfi_row);
	reel_synthesis_at(file->synthesis, address, &rows);
	if (truth.row.cfa.from != FROM_REGISTER) {
		file->by_expression++;
		return;
	}
	for (unsigned i = 0; i < rows.n; i++) {
		enum verdict verdict = compare_cfa(file, state, rows.rows[i].row, &truth.row);

		if (verdict == EQUAL || best == DIFFERS)
			best = verdict;
	}
	file->none += !rows.n;
	file->right += rows.n && best == EQUAL;
	file->undecided += rows.n && best == UNDECIDED;
	file->other += rows.n && best == DIFFERS;
	if (rows.n != 1 || rows.rows[0].by != REEL_BY_RETURN || !rows.whole ||
	    !place_of(file, state, rows.rows[0].row, &place) || place)
		return;
	file->certain++;
	if (best == DIFFERS)
		differ(file, address, file->sp, rows.rows[0].row, cfi_row, &truth.row);
	else if (best == EQUAL)
		compare_registers(file, address, state, rows.rows[0].row, cfi_row, &truth.row);
}

/* ---- a file --------------------------------------------------------------------------------- */

/*
 * Whether a function begins right after a call. Targets of jumps, such as its cold part, are not
 * entries.
 */
static bool is_entry(const struct file *file, uint64_t address)
{
	struct reel_cfi_row begins, called;

	return reel_cfi_run_program(file->arch, file->arch->undo_call, &called) &&
	       reel_cfi_row_at(file->cfi, address, &begins, NULL) == REEL_CFI_FOUND &&
	       !begins.signal_frame && begins.cfa.kind == called.cfa.kind &&
	       begins.cfa.reg == called.cfa.reg && begins.cfa.offset == called.cfa.offset;
}

static void check_function(struct file *file, uint64_t begin)
{
	struct reel_cfi_row row;
	const struct reel_row *by_entry;
	uint64_t address = begin;

	reel_synthesis_leads(file->synthesis, begin, begin, &by_entry);
	while (reel_synthesis_next_reached(file->synthesis, begin, &address)) {
		if (reel_cfi_row_at(file->cfi, address, &row, NULL) != REEL_CFI_FOUND ||
		    row.fde_begin != begin)
			break;
		look_at(file, address, &row);
		address++;
	}
}

static void print(const struct file *file)
{
	double percent = file->instructions ? 100. / (double)file->instructions : 0;

	printf("%s: %s, %" PRIu64 " instructions, certain %.2f%%, right %.2f%%, other %.2f%%, "
	       "undecided %.2f%%, none %.2f%%, %" PRIu64 " registers, %" PRIu64
	       " disputed, %" PRIu64 " differences\n",
	       file->path, file->arch->name, file->instructions, (double)file->certain * percent,
	       (double)file->right * percent, (double)file->other * percent,
	       (double)(file->undecided + file->by_expression) * percent,
	       (double)file->none * percent, file->registers, file->disputed, file->differences);
	if (file->edges)
		printf("  edges: %" PRIu64 ", late CFI: %" PRIu64 "\n", file->edges, file->late);
	for (unsigned i = 0; i < N_EXEMPTIONS; i++) {
		if (file->exempt[i])
			printf("  exempt: %s: %" PRIu64 "\n", exemption_names[i], file->exempt[i]);
	}
}

static bool check(const char *path)
{
	struct file file = { .path = path };
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_elf_file *elf;
	struct reel_cfi_input input;
	struct reel_cfi_row row, called;
	uint64_t last = UINT64_MAX;

	or_exit(reel_elf_file_open(path, &elf));
	or_exit(reel_module_cfi_input(elf, &input));
	input.arch = reel_arch_by_machine(reel_elf_file_machine(elf), reel_elf_file_word_bits(elf));
	if (!input.arch)
		errx(2, "%s: of an unknown CPU", path);
	file.arch = input.arch;
	or_exit(reel_cfi_create(&input, &file.cfi));
	or_exit(reel_synthesis_create(
		&(struct reel_synthesis_input){ .arch = input.arch,
						.read_code = read_code,
						.module = elf,
						.find_row = reel_synthesis_cfi_row,
						.rows = file.cfi },
		&file.synthesis));
	or_exit(reel_rows_create(input.arch, file.cfi, 0, &file.rows));
	if (input.arch->flags & REEL_ARCH_LINK_REGISTER &&
	    reel_cfi_run_program(input.arch, input.arch->undo_call, &called))
		or_exit(reel_row_create(input.arch, &called, &file.at_entry));
	file.sp = reel_arch_slot(input.arch, input.arch->sp);
	file.column = reel_arch_slot(input.arch, input.arch->return_column);
	while (reel_cfi_next_row(file.cfi, &iterator, &row, NULL) != REEL_CFI_NONE) {
		if (row.fde_begin != last && is_entry(&file, row.fde_begin))
			check_function(&file, row.fde_begin);
		last = row.fde_begin;
	}
	print(&file);
	reel_row_destroy(file.at_entry);
	reel_rows_destroy(file.rows);
	reel_synthesis_destroy(file.synthesis);
	reel_cfi_destroy(file.cfi);
	reel_elf_file_close(elf);
	return !file.differences;
}

int main(int argc, char **argv)
{
	bool equal = true;

	if (argc < 2)
		errx(2, "usage: synthesized_rows FILE...");
	for (int i = 1; i < argc; i++)
		equal &= check(argv[i]);
	return !equal;
}
