/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "tests/unwind/cfi_rules.h"

/* ---- defaults of the ABI ------------------------------------------------------------------ */

enum {
	X86_RAX,
	X86_RBX,
	LINK_REGISTER,
	STACK_POINTER,
	RISCV_POINTERS,
	AARCH64_VECTOR,
	RISCV_FLOAT,
	I386_SEGMENTS,
};

const char *const exemption_names[N_EXEMPTIONS] = {
	/* x86_64_cfi.c intends rbx and writes 0, which is rax; rbx is 3 (psABI figure 3.36). */
	[X86_RAX] = "default of rax: libdw mistakes its number for rbx's",
	[X86_RBX] = "default of rbx: libdw uses rax's number for it",
	/* Without a rule it may be either: whether it was overwritten depends on the frame, which
	 * the unwinder knows and a row does not (REEL_ARCH_LINK_REGISTER). */
	[LINK_REGISTER] = "default of the link register: same_value to libdw",
	/* s390x: 160 bytes below the CFA (1.2.2.1): it is r15 itself only where the CFA is r15 +
	 * 160.
	 */
	[STACK_POINTER] = "default of r15: same_value to libdw",
	/* riscv-cc 1.1: gp and tp are "unallocatable" and never change. */
	[RISCV_POINTERS] = "default of gp and tp: undefined to libdw",
	/* AAPCS64 6.1.2, riscv-cc 1.2: preserved by callees, and not in arch/: they never hold an
	 * address. */
	[AARCH64_VECTOR] = "default of v8 to v15: not tracked",
	[RISCV_FLOAT] = "default of fs0 to fs11: not tracked",
	/* Selectors never hold an address. */
	[I386_SEGMENTS] = "default of es, cs, ss, ds, fs, gs: not tracked",
};

size_t default_exemption(const struct reel_arch *arch, unsigned reg,
			 const struct reel_cfi_rule *rule, const struct reel_cfi_rule *our_default,
			 bool libdw_same)
{
	static const struct {
		const char *arch;
		unsigned first, last;
		bool libdw_same;
		enum reel_rule_kind ours;
		size_t exemption;
	} known[] = {
		{ "x86_64", 0, 0, true, REEL_RULE_UNSPECIFIED, X86_RAX },
		{ "x86_64", 3, 3, false, REEL_RULE_SAME, X86_RBX },
		{ "i386", 40, 45, true, REEL_RULE_UNSPECIFIED, I386_SEGMENTS },
		{ "aarch64", 30, 30, true, REEL_RULE_UNSPECIFIED, LINK_REGISTER },
		{ "aarch64", 72, 79, true, REEL_RULE_UNSPECIFIED, AARCH64_VECTOR },
		{ "riscv64", 1, 1, true, REEL_RULE_UNSPECIFIED, LINK_REGISTER },
		{ "riscv64", 3, 4, false, REEL_RULE_SAME, RISCV_POINTERS },
		{ "riscv64", 40, 41, true, REEL_RULE_UNSPECIFIED, RISCV_FLOAT },
		{ "riscv64", 50, 59, true, REEL_RULE_UNSPECIFIED, RISCV_FLOAT },
		{ "s390x", 14, 14, true, REEL_RULE_UNSPECIFIED, LINK_REGISTER },
		{ "s390x", 15, 15, true, REEL_RULE_VAL_OFFSET, STACK_POINTER },
	};

	if (memcmp(rule, our_default, sizeof(*rule)))
		return N_EXEMPTIONS;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].arch, arch->name) && reg >= known[i].first &&
		    reg <= known[i].last && libdw_same == known[i].libdw_same &&
		    rule->kind == known[i].ours)
			return known[i].exemption;
	}
	return N_EXEMPTIONS;
}

/* ---- expressions ------------------------------------------------------------------------ */

/* One operation at the cursor, as libdw decodes it (DWARF 5, 7.7.1); false if it is not allowed in
 * CFI. */
static bool take_operation(struct reel_cursor *cursor, bool big, Dwarf_Op *ret)
{
	uint8_t op = reel_cursor_u8(cursor);

	*ret = (Dwarf_Op){ .atom = op };
	switch (op) {
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		ret->number = reel_cursor_target(cursor, 8, big);
		return true;
	case DW_OP_const4u:
		ret->number = reel_cursor_target(cursor, 4, big);
		return true;
	case DW_OP_const4s:
		ret->number = reel_sign_extend(reel_cursor_target(cursor, 4, big), 32);
		return true;
	case DW_OP_const2u:
		ret->number = reel_cursor_target(cursor, 2, big);
		return true;
	case DW_OP_const2s:
	case DW_OP_bra:
	case DW_OP_skip:
		ret->number = reel_sign_extend(reel_cursor_target(cursor, 2, big), 16);
		return true;
	case DW_OP_const1u:
	case DW_OP_pick:
	case DW_OP_deref_size:
		ret->number = reel_cursor_u8(cursor);
		return true;
	case DW_OP_const1s:
		ret->number = reel_sign_extend(reel_cursor_u8(cursor), 8);
		return true;
	case DW_OP_constu:
	case DW_OP_plus_uconst:
		ret->number = reel_cursor_uleb(cursor);
		return true;
	case DW_OP_consts:
	case DW_OP_breg0 ... DW_OP_breg31:
		ret->number = (uint64_t)reel_cursor_sleb(cursor);
		return true;
	case DW_OP_bregx:
		ret->number = reel_cursor_uleb(cursor);
		ret->number2 = (uint64_t)reel_cursor_sleb(cursor);
		return true;
	case DW_OP_deref:
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_rot:
	case DW_OP_abs ... DW_OP_plus:
	case DW_OP_shl ... DW_OP_xor:
	case DW_OP_eq ... DW_OP_ne:
	case DW_OP_lit0 ... DW_OP_lit31:
	case DW_OP_nop:
		return true;
	}
	return false;
}

/* Compares our expression with libdw's decoded one, which libdw prefixes with `skip` operations. */
static bool same_expression(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops,
			    size_t skip, bool big_endian)
{
	struct reel_cursor cursor = reel_cursor(rule->expression.bytes, rule->expression.size);

	if (nops < skip)
		return false;
	for (size_t i = skip; i < nops; i++) {
		uint64_t offset = reel_cursor_offset(&cursor);
		Dwarf_Op ours;

		if (!take_operation(&cursor, big_endian, &ours) || cursor.failed ||
		    ops[i].offset != offset || ops[i].atom != ours.atom ||
		    ops[i].number != ours.number || ops[i].number2 != ours.number2)
			return false;
	}
	return cursor.at == cursor.end;
}

/* ---- rules -------------------------------------------------------------------------------- */

/* libdw's representation of each kind is in its frame-cfa.c and dwarf_frame_register.c. */
bool same_rule(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops, bool big_endian)
{
	int64_t offset = 0;
	size_t n = 1;

	switch ((enum reel_rule_kind)rule->kind) {
	case REEL_RULE_UNSPECIFIED:
	case REEL_RULE_UNDEFINED:
		return nops == 0 && ops;
	case REEL_RULE_SAME:
		return nops == 0 && !ops;
	case REEL_RULE_REGISTER:
		return nops == 1 &&
		       (ops[0].atom == DW_OP_regx ? ops[0].number == rule->reg
						  : ops[0].atom == DW_OP_reg0 + rule->reg);
	case REEL_RULE_OFFSET:
	case REEL_RULE_VAL_OFFSET:
		if (nops < 1 || ops[0].atom != DW_OP_call_frame_cfa)
			return false;
		if (nops > n && ops[n].atom == DW_OP_plus_uconst)
			offset = (int64_t)ops[n++].number;
		if (rule->kind == REEL_RULE_VAL_OFFSET &&
		    (nops <= n || ops[n++].atom != DW_OP_stack_value))
			return false;
		return n == nops && offset == rule->offset;
	case REEL_RULE_EXPRESSION:
		return same_expression(rule, ops, nops, 1, big_endian);
	case REEL_RULE_VAL_EXPRESSION:
		return nops && ops[nops - 1].atom == DW_OP_stack_value &&
		       same_expression(rule, ops, nops - 1, 1, big_endian);
	case REEL_RULE_REGISTER_OFFSET:
		break;
	}
	return false;
}

bool same_cfa(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops, bool big_endian)
{
	if (rule->kind == REEL_RULE_UNSPECIFIED)
		return nops == 0;
	if (rule->kind == REEL_RULE_VAL_EXPRESSION)
		return same_expression(rule, ops, nops, 0, big_endian);
	return nops == 1 && ops[0].atom == DW_OP_bregx && ops[0].number == rule->reg &&
	       (int64_t)ops[0].number2 == rule->offset;
}
