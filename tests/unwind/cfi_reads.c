/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "tests/unwind/cfi_reads.h"

const char *const cfi_reads_names[CFI_READS_KINDS] = {
	[CFI_READS_ADDRESSES] = "addresses",
	[CFI_READS_COUNT] = "a count of arch/",
	[CFI_READS_UNRECORDED] = "a register that is not recorded",
	[CFI_READS_OTHER] = "a register that is scrubbed",
	[CFI_READS_WORD_NUMBER] = "a word as a number",
};

static bool register_of(const Dwarf_Op *op, uint64_t *ret)
{
	*ret = op->number;
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		*ret = op->atom - DW_OP_breg0;
	else if (op->atom != DW_OP_bregx)
		return false;
	return true;
}

static uint64_t offset_of(const Dwarf_Op *op)
{
	return op->atom == DW_OP_bregx ? op->number2 : op->number;
}

/* sp + offset + scale * register, dereferenced, and the next word: scrubbing relies on it. */
static bool is_count(const struct reel_arch *arch, const struct reel_arch_count *count,
		     const Dwarf_Op *ops, size_t nops)
{
	uint64_t base, index;

	return nops == 7 && register_of(&ops[0], &base) && base == arch->sp &&
	       offset_of(&ops[0]) == count->offset && register_of(&ops[1], &index) &&
	       index == count->dwarf && !offset_of(&ops[1]) &&
	       ops[2].atom == DW_OP_lit0 + count->scale && ops[3].atom == DW_OP_mul &&
	       ops[4].atom == DW_OP_plus && ops[5].atom == DW_OP_deref &&
	       ops[6].atom == DW_OP_plus_uconst && ops[6].number == arch->word_size;
}

/* Operations that turn one address into another: constants added, and bits removed. */
static bool keeps_address(uint8_t atom)
{
	switch (atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
	case DW_OP_const1u ... DW_OP_consts:
	case DW_OP_breg0 ... DW_OP_breg31:
	case DW_OP_bregx:
	case DW_OP_deref:
	case DW_OP_plus_uconst:
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_and:
	case DW_OP_stack_value:
	case DW_OP_nop:
		return true;
	}
	return false;
}

enum cfi_reads cfi_reads(const struct reel_arch *arch, const Dwarf_Op *ops, size_t nops)
{
	bool was_dereferenced = false;
	uint64_t reg;

	for (size_t i = 0; i < arch->n_counts; i++) {
		if (is_count(arch, &arch->counts[i], ops, nops))
			return CFI_READS_COUNT;
	}
	for (size_t i = 0; i < nops; i++) {
		if (was_dereferenced && !keeps_address(ops[i].atom))
			return CFI_READS_WORD_NUMBER;
		was_dereferenced |= ops[i].atom == DW_OP_deref || ops[i].atom == DW_OP_deref_size;
		if (!register_of(&ops[i], &reg) || reg == arch->sp || reg == arch->fp ||
		    reg == arch->pc)
			continue;
		return reel_arch_slot(arch, reg) == REEL_ARCH_NO_SLOT ? CFI_READS_UNRECORDED
								      : CFI_READS_OTHER;
	}
	return CFI_READS_ADDRESSES;
}
