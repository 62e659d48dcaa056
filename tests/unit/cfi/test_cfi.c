/* SPDX-License-Identifier: Apache-2.0 */
/* Finding FDEs and making rows, from sections written here. */
#include <time.h>

#include "cfi/row.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/test.h"

#define EH_ADDRESS  0x20000
#define HDR_ADDRESS 0x30000

struct setup {
	struct cfi_builder eh, debug;
	struct cfi_builder hdr;
	struct reel_cfi_input input;
	struct reel_cfi *cfi;
	struct reel_cfi_row row;
	const char *problem;
};

static void setup_init(struct setup *s, const char *arch)
{
	memset(s, 0, sizeof(*s));
	s->eh.address = EH_ADDRESS;
	s->debug.debug_frame = true;
	s->input.arch = reel_arch_by_name(arch);
	s->input.text_begin = 0x1000;
	s->input.text_end = 0x9000;
}

/* CFA = rsp + 8, rip at CFA - 8. */

static size_t x86_cie(struct setup *s)
{
	return build_cie(&s->eh, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
}

static void done(struct setup *s)
{
	s->input.eh_frame = (struct reel_loaded_bytes){ s->eh.bytes, s->eh.size, EH_ADDRESS };
	s->input.eh_frame_hdr =
		(struct reel_loaded_bytes){ s->hdr.bytes, s->hdr.size, HDR_ADDRESS };
	s->input.debug_frame = (struct reel_loaded_bytes){ s->debug.bytes, s->debug.size, 0 };
	assert_null(reel_cfi_create(&s->input, &s->cfi));
}

static enum reel_cfi_found at(struct setup *s, uint64_t address)
{
	return reel_cfi_row_at(s->cfi, address, &s->row, &s->problem);
}

/* The offset of a CFA that is based on a register; used to tell FDEs apart. */
static int64_t cfa_at(struct setup *s, uint64_t address)
{
	if (at(s, address) != REEL_CFI_FOUND)
		return -1;
	assert_int_equal(s->row.cfa.kind, REEL_RULE_REGISTER_OFFSET);
	assert_true(s->row.begin <= address && address < s->row.end);
	return s->row.cfa.offset;
}

static void end(struct setup *s)
{
	reel_cfi_destroy(s->cfi);
}

/* ---- instructions -------------------------------------------------------------------- */

/* Runs one FDE for [0x2000, 0x3000) and asks for the row at 0x2000 + offset. */
static enum reel_cfi_found run(struct setup *s, const char *arch, uint64_t offset,
			       const uint8_t *program, size_t size)
{
	enum reel_cfi_found found;
	size_t cie;

	setup_init(s, arch);
	cie = build_cie(&s->eh, 1, "zR", PCREL_SDATA4, 2,
			s->input.arch->return_column == 30 ? 30 : 16, X86_INITIAL);
	build_fde(&s->eh, cie, true, 0x2000, 0x1000, program, size);
	done(s);
	found = at(s, 0x2000 + offset);
	end(s);
	return found;
}

static void expect_rule(const struct setup *s, unsigned reg, enum reel_rule_kind kind,
			int64_t offset)
{
	assert_int_equal(s->row.rules[reg].kind, kind);
	assert_int_equal(s->row.rules[reg].offset, offset);
}

TEST(test_advance)
{
	/* The CIE's code alignment is 2. */
	static const uint8_t program[] = PROGRAM(
		DW_CFA_advance_loc | 3, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1, 4,
		DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc2, 8, 0, DW_CFA_def_cfa_offset, 32,
		DW_CFA_advance_loc4, 16, 0, 0, 0, DW_CFA_def_cfa_offset, 40,
		DW_CFA_MIPS_advance_loc8, 32, 0, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 48);
	static const struct {
		uint64_t offset, begin, end;
		int64_t cfa;
	} rows[] = { { 0, 0, 6, 8 },	  { 5, 0, 6, 8 },	   { 6, 6, 14, 16 },
		     { 13, 6, 14, 16 },	  { 14, 14, 30, 24 },	   { 30, 30, 62, 32 },
		     { 62, 62, 126, 40 }, { 126, 126, 0x1000, 48 } };
	struct setup s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(run(&s, "x86_64", rows[i].offset, program, sizeof(program)),
				 REEL_CFI_FOUND);
		assert_int_equal(s.row.begin, 0x2000 + rows[i].begin);
		assert_int_equal(s.row.end, 0x2000 + rows[i].end);
		assert_int_equal(s.row.cfa.offset, rows[i].cfa);
		assert_int_equal(s.row.fde_begin, 0x2000);
		assert_int_equal(s.row.fde_end, 0x3000);
	}
}

TEST(test_set_loc)
{
	struct setup s;
	uint8_t program[] = { DW_CFA_set_loc, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 16 };
	/* The operand is pcrel: it follows length, CIE pointer, range, augmentation size and
	 * opcode. */
	size_t cie;
	uint64_t operand;

	setup_init(&s, "x86_64");
	cie = x86_cie(&s);
	operand = EH_ADDRESS + s.eh.size + 4 + 4 + 8 + 1 + 1;
	program[1] = (uint8_t)(0x2040 - operand);
	program[2] = (uint8_t)((0x2040 - operand) >> 8);
	program[3] = (uint8_t)((0x2040 - operand) >> 16);
	program[4] = (uint8_t)((0x2040 - operand) >> 24);
	build_fde(&s.eh, cie, true, 0x2000, 0x1000, program, sizeof(program));
	done(&s);
	assert_int_equal(cfa_at(&s, 0x203f), 8);
	assert_int_equal(s.row.end, 0x2040);
	assert_int_equal(cfa_at(&s, 0x2040), 16);
	end(&s);
}

/* The same request, written as .debug_frame: addresses there are absolute, and the other
 * instructions are unchanged. */
TEST(test_hits_of_set_loc)
{
	uint8_t program[] = PROGRAM(
		DW_CFA_remember_state, DW_CFA_expression, 3, 2, DW_OP_breg7, 8, DW_CFA_offset | 3,
		2, DW_CFA_set_loc, 0, 0, 0, 0, DW_CFA_restore_state, DW_CFA_GNU_args_size, 0x90, 1,
		DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc1, 4, DW_CFA_def_cfa_offset, 32);
	struct reel_buffer frames = { 0 };
	struct setup s, copy;
	uint64_t operand;
	size_t cie;

	setup_init(&s, "x86_64");
	cie = x86_cie(&s);
	operand = EH_ADDRESS + s.eh.size + 4 + 4 + 8 + 1 + 9;
	reel_store32(program + 9, (uint32_t)(0x2040 - operand));
	build_fde(&s.eh, cie, true, 0x2000, 0x1000, program, sizeof(program));
	done(&s);
	reel_cfi_keep_hits(s.cfi);
	assert_int_equal(cfa_at(&s, 0x203f), 8);
	assert_null(reel_cfi_write_hits(s.cfi, 1 << 20, &frames));
	setup_init(&copy, "x86_64");
	build_bytes(&copy.debug, frames.bytes, frames.size);
	done(&copy);
	for (uint64_t address = 0x2000; address < 0x2080; address++) {
		assert_int_equal(cfa_at(&copy, address), cfa_at(&s, address));
		assert_true(copy.row.begin == s.row.begin && copy.row.end == s.row.end);
	}
	end(&copy);
	end(&s);
	reel_buffer_free(&frames);
}

TEST(test_register_rules)
{
	struct setup s;

	assert_int_equal(run(&s, "x86_64", 0,
			     BYTES(DW_CFA_offset | 3, 2,		       /* rbx */
				   DW_CFA_offset_extended, 12, 3,	       /* r12 */
				   DW_CFA_offset_extended_sf, 13, 0x7c,	       /* r13, -4 */
				   DW_CFA_val_offset, 14, 5,		       /* r14 */
				   DW_CFA_val_offset_sf, 15, 0x7e,	       /* r15, -2 */
				   DW_CFA_register, 8, 9,		       /* r8, r9 */
				   DW_CFA_GNU_negative_offset_extended, 10, 6, /* r10 */
				   DW_CFA_undefined, 11,		       /* r11 */
				   DW_CFA_same_value, 0,		       /* rax */
				   DW_CFA_GNU_args_size, 0xff, 0x01,	       /* 255 */
				   DW_CFA_expression, 1, 2, DW_OP_breg7, 8,    /* rdx */
				   DW_CFA_val_expression, 2, 1, DW_OP_lit1)),  /* rcx */
			 REEL_CFI_FOUND);
	expect_rule(&s, 3, REEL_RULE_OFFSET, -16);
	expect_rule(&s, 12, REEL_RULE_OFFSET, -24);
	expect_rule(&s, 13, REEL_RULE_OFFSET, 32);
	expect_rule(&s, 14, REEL_RULE_VAL_OFFSET, -40);
	expect_rule(&s, 15, REEL_RULE_VAL_OFFSET, 16);
	assert_int_equal(s.row.rules[8].kind, REEL_RULE_REGISTER);
	assert_int_equal(s.row.rules[8].reg, 9);
	expect_rule(&s, 10, REEL_RULE_OFFSET, 48);
	expect_rule(&s, 11, REEL_RULE_UNDEFINED, 0);
	expect_rule(&s, 0, REEL_RULE_SAME, 0);
	assert_int_equal(s.row.rules[1].kind, REEL_RULE_EXPRESSION);
	assert_int_equal(s.row.rules[1].expression.size, 2);
	assert_memory_equal(s.row.rules[1].expression.bytes, "\x77\x08", 2);
	assert_int_equal(s.row.rules[2].kind, REEL_RULE_VAL_EXPRESSION);
	/*
	 * args_size does not affect the CFA; registers that neither CFI nor the ABI describes:
	 * unspecified.
	 */
	assert_int_equal(s.row.cfa.offset, 8);
	expect_rule(&s, 5, REEL_RULE_UNSPECIFIED, 0);
	expect_rule(&s, 6, REEL_RULE_SAME, 0);
	expect_rule(&s, 7, REEL_RULE_VAL_OFFSET, 0);
	expect_rule(&s, 16, REEL_RULE_OFFSET, -8);
}

TEST(test_cfa_rules)
{
	struct setup s;

	run(&s, "x86_64", 0, BYTES(DW_CFA_def_cfa_register, 6));
	assert_int_equal(s.row.cfa.reg, 6);
	assert_int_equal(s.row.cfa.offset, 8);
	run(&s, "x86_64", 0, BYTES(DW_CFA_def_cfa_sf, 6, 0x7e)); /* -2 */
	assert_int_equal(s.row.cfa.offset, 16);
	run(&s, "x86_64", 0, BYTES(DW_CFA_def_cfa_offset_sf, 0x7d)); /* -3 */
	assert_int_equal(s.row.cfa.offset, 24);
	/* [rbp - 8]: a realigned stack */
	run(&s, "x86_64", 0, BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref));
	assert_int_equal(s.row.cfa.kind, REEL_RULE_VAL_EXPRESSION);
	assert_int_equal(s.row.cfa.expression.size, 3);
	/* As in libgcc: the previous offset survives the expression. */
	run(&s, "x86_64", 0,
	    BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
		  DW_CFA_def_cfa_register, 7));
	assert_int_equal(s.row.cfa.kind, REEL_RULE_REGISTER_OFFSET);
	assert_int_equal(s.row.cfa.offset, 8);
	/*
	 * The epilogue of _ZGVsMxv_acosf in libmvec.so.1 of Debian 13 (arm64), by GCC 14.2, after
	 * addvl sp, sp, #18: ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x29, x30, [sp],
	 * #48.  Register 46 is vg.  libdw rejects this; libgcc and gdb keep the expression.
	 */
	run(&s, "aarch64", 2,
	    BYTES(DW_CFA_def_cfa, 31, 0, DW_CFA_def_cfa_expression, 11, DW_OP_breg31, 0,
		  DW_OP_bregx, 46, 0, DW_OP_const1u, 144, DW_OP_mul, DW_OP_plus_uconst, 48,
		  DW_OP_plus, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 48));
	assert_int_equal(s.row.cfa.kind, REEL_RULE_REGISTER_OFFSET);
	assert_int_equal(s.row.cfa.reg, 31);
	assert_int_equal(s.row.cfa.offset, 48);
	run(&s, "aarch64", 0,
	    BYTES(DW_CFA_def_cfa, 31, 0, DW_CFA_def_cfa_expression, 11, DW_OP_breg31, 0,
		  DW_OP_bregx, 46, 0, DW_OP_const1u, 144, DW_OP_mul, DW_OP_plus_uconst, 48,
		  DW_OP_plus, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 48));
	assert_int_equal(s.row.cfa.kind, REEL_RULE_VAL_EXPRESSION);
}

TEST(test_restore)
{
	struct setup s;

	run(&s, "x86_64", 0,
	    BYTES(DW_CFA_offset | 16, 4, DW_CFA_offset | 3, 2, DW_CFA_restore | 16,
		  DW_CFA_restore_extended, 3));
	expect_rule(&s, 16, REEL_RULE_OFFSET, -8); /* the CIE's */
	expect_rule(&s, 3, REEL_RULE_SAME, 0);	   /* the ABI's */
	run(&s, "x86_64", 0,
	    BYTES(DW_CFA_remember_state, DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 3, 2,
		  DW_CFA_advance_loc | 1, DW_CFA_restore_state));
	assert_int_equal(s.row.cfa.reg, 6);
	run(&s, "x86_64", 2,
	    BYTES(DW_CFA_remember_state, DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 3, 2,
		  DW_CFA_advance_loc | 1, DW_CFA_restore_state));
	assert_int_equal(s.row.cfa.reg, 7);
	assert_int_equal(s.row.cfa.offset, 8);
	expect_rule(&s, 3, REEL_RULE_SAME, 0);
}

TEST(test_return_address_signing)
{
	struct setup s;

	run(&s, "aarch64", 0,
	    BYTES(DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 1,
		  DW_CFA_AARCH64_negate_ra_state));
	assert_true(s.row.return_address_signed);
	run(&s, "aarch64", 2,
	    BYTES(DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 1,
		  DW_CFA_AARCH64_negate_ra_state));
	assert_false(s.row.return_address_signed);
	/* Remembered like any other rule. */
	run(&s, "aarch64", 2,
	    BYTES(DW_CFA_remember_state, DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 1,
		  DW_CFA_restore_state));
	assert_false(s.row.return_address_signed);
	/* The same byte, which SPARC uses. */
	assert_int_equal(run(&s, "x86_64", 0, BYTES(DW_CFA_GNU_window_save)), REEL_CFI_BAD);
}

TEST(test_bad_programs)
{
	static const struct {
		uint8_t bytes[6];
		size_t size;
	} bad[] = {
		{ { DW_CFA_high_user }, 1 },			     /* unassigned */
		{ { DW_CFA_restore_state }, 1 },		     /* without remember_state */
		{ { DW_CFA_offset | 3 }, 1 },			     /* truncated */
		{ { DW_CFA_def_cfa_expression, 9, DW_OP_lit1 }, 3 }, /* longer than the FDE */
		{ { DW_CFA_expression, 1, 0xff, 0xff, 0xff, 0x7f }, 6 },
		{ { DW_CFA_def_cfa, 0x80, 0x80, 0x80, 0x80, 0x80 }, 6 },
		{ { DW_CFA_set_loc, 0, 0x10, 0xfe, 0xff }, 5 }, /* backwards, to 0x10xx */
	};
	uint8_t deep[40];
	struct setup s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(run(&s, "x86_64", 0, bad[i].bytes, bad[i].size), REEL_CFI_BAD);
		assert_non_null(s.problem);
		assert_int_equal(s.row.fde_begin, 0x2000);
		assert_int_equal(s.row.end, 0x3000);
	}
	memset(deep, DW_CFA_remember_state, sizeof(deep));
	assert_int_equal(run(&s, "x86_64", 0, deep, sizeof(deep)), REEL_CFI_BAD);
	/* Registers that are not tracked are skipped. */
	assert_int_equal(run(&s, "x86_64", 0, BYTES(DW_CFA_offset_extended, 0xff, 0x7f, 1)),
			 REEL_CFI_FOUND);
}

/* ---- FDEs ------------------------------------------------------------------------------ */

TEST(test_lookup)
{
	struct setup s;
	size_t cie;

	setup_init(&s, "x86_64");
	cie = x86_cie(&s);
	build_fde(&s.eh, cie, true, 0x4000, 0x100, BYTES(DW_CFA_def_cfa_offset, 40));
	build_fde(&s.eh, cie, true, 0x2000, 0x100, BYTES(DW_CFA_def_cfa_offset, 20));
	build_number(&s.eh, 0, 4); /* A terminator in the middle; none at the end. */
	build_fde(&s.eh, cie, true, 0x3000, 0x100, BYTES(DW_CFA_def_cfa_offset, 30));
	done(&s);
	assert_int_equal(cfa_at(&s, 0x2000), 20);
	assert_int_equal(cfa_at(&s, 0x20ff), 20);
	assert_int_equal(cfa_at(&s, 0x2100), -1);
	assert_int_equal(cfa_at(&s, 0x1fff), -1);
	assert_int_equal(cfa_at(&s, 0x3050), 30);
	assert_int_equal(cfa_at(&s, 0x4050), 40);
	assert_int_equal(cfa_at(&s, 0x9000), -1);
	assert_true(reel_cfi_same_gap(s.cfi, 0x2100, 0x2fff));
	assert_true(reel_cfi_same_gap(s.cfi, 0x2fff, 0x2100));
	assert_false(reel_cfi_same_gap(s.cfi, 0x2100, 0x3000));
	assert_false(reel_cfi_same_gap(s.cfi, 0x20ff, 0x2100));
	assert_false(reel_cfi_same_gap(s.cfi, 0x2100, 0x3100));
	end(&s);
}

/*
 * Overlaps: an address belongs to the FDE that begins last; after its end, the outer one continues.
 */
TEST(test_overlaps)
{
	static const struct {
		uint64_t begin, end;
		int64_t cfa;
	} rows[] = { { 0x2000, 0x2100, 20 }, { 0x2100, 0x2180, 30 }, { 0x2180, 0x21c0, 40 },
		     { 0x21c0, 0x2200, 30 }, { 0x2200, 0x2300, 20 }, { 0x2300, 0x2400, 50 } };
	struct reel_cfi_iterator iterator = { 0 };
	struct setup s;
	size_t cie;

	setup_init(&s, "x86_64");
	cie = x86_cie(&s);
	build_fde(&s.eh, cie, true, 0x2000, 0x300, BYTES(DW_CFA_def_cfa_offset, 20));
	build_fde(&s.eh, cie, true, 0x2100, 0x100, BYTES(DW_CFA_def_cfa_offset, 30));
	build_fde(&s.eh, cie, true, 0x2180, 0x40, BYTES(DW_CFA_def_cfa_offset, 40));
	build_fde(&s.eh, cie, true, 0x2300, 0x100, BYTES(DW_CFA_def_cfa_offset, 50));
	/* Empty, at address 0, after the text, around the end of the address space. */
	build_fde(&s.eh, cie, true, 0x2190, 0, BYTES(DW_CFA_def_cfa_offset, 60));
	build_fde(&s.eh, cie, true, 0, 0x8000, BYTES(DW_CFA_def_cfa_offset, 70));
	build_fde(&s.eh, cie, true, 0x9000, 0x100, BYTES(DW_CFA_def_cfa_offset, 80));
	build_fde(&s.eh, cie, true, UINT64_MAX - 10, 0x100, BYTES(DW_CFA_def_cfa_offset, 90));
	done(&s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(cfa_at(&s, rows[i].begin), rows[i].cfa);
		assert_int_equal(cfa_at(&s, rows[i].end - 1), rows[i].cfa);
		assert_int_equal(reel_cfi_next_row(s.cfi, &iterator, &s.row, NULL), REEL_CFI_FOUND);
		assert_int_equal(s.row.begin, rows[i].begin);
		assert_int_equal(s.row.end, rows[i].end);
		assert_int_equal(s.row.cfa.offset, rows[i].cfa);
	}
	assert_int_equal(reel_cfi_next_row(s.cfi, &iterator, &s.row, NULL), REEL_CFI_NONE);
	end(&s);
}

static void hdr_entry(struct setup *s, uint64_t begin, size_t fde, unsigned size)
{
	build_number(&s->hdr, begin - HDR_ADDRESS, size);
	build_number(&s->hdr, EH_ADDRESS + fde - HDR_ADDRESS, size);
}

/*
 * The table of .eh_frame_hdr, in two encodings.  An empty FDE displaces a real one (mold #1648), an
 * entry is missing, and one does not point to an FDE.
 */
TEST(test_header)
{
	struct setup s;
	size_t cie, a, b, empty, c;

	for (int wide = 0; wide < 2; wide++) {
		setup_init(&s, "x86_64");
		cie = x86_cie(&s);
		a = build_fde(&s.eh, cie, true, 0x2000, 0x100, BYTES(DW_CFA_def_cfa_offset, 20));
		b = build_fde(&s.eh, cie, true, 0x3000, 0x100, BYTES(DW_CFA_def_cfa_offset, 30));
		empty = build_fde(&s.eh, cie, true, 0x3000, 0, BYTES(DW_CFA_def_cfa_offset, 99));
		c = build_fde(&s.eh, cie, true, 0x4000, 0x100, BYTES(DW_CFA_def_cfa_offset, 40));
		build_fde(&s.eh, cie, true, 0x5000, 0x100, BYTES(DW_CFA_def_cfa_offset, 50));
		build_fde(&s.eh, cie, true, 0x6000, 0x100, BYTES(DW_CFA_def_cfa_offset, 60));
		/* version 1, pcrel sdata4, udata4, datarel sdata4 or sdata8 */
		build_bytes(&s.hdr,
			    BYTES(1, 0x1b, 0x03, wide ? 0x3c : 0x3b, 0, 0, 0, 0, 5, 0, 0, 0));
		hdr_entry(&s, 0x2000, a, wide ? 8 : 4);
		hdr_entry(&s, 0x3000, b, wide ? 8 : 4);
		hdr_entry(&s, 0x3000, empty, wide ? 8 : 4);
		hdr_entry(&s, 0x4000, c, wide ? 8 : 4);
		hdr_entry(&s, 0x6000, cie, wide ? 8 : 4);
		done(&s);
		assert_int_equal(cfa_at(&s, 0x2010), 20);
		assert_int_equal(cfa_at(&s, 0x4010), 40);
		assert_int_equal(cfa_at(&s, 0x3010), 30);
		assert_int_equal(cfa_at(&s, 0x5010), 50);
		assert_int_equal(cfa_at(&s, 0x6010), 60);
		assert_int_equal(cfa_at(&s, 0x2100), -1);
		end(&s);
	}
}

/*
 * A row's range must only contain addresses for which a search gives the same row, whichever way it
 * searches.
 */
TEST(test_header_out_of_order)
{
	struct setup s;
	size_t cie, a, b, c;

	setup_init(&s, "x86_64");
	cie = x86_cie(&s);
	a = build_fde(&s.eh, cie, true, 0x2000, 0x2000, BYTES(DW_CFA_def_cfa_offset, 20));
	b = build_fde(&s.eh, cie, true, 0x4000, 0x1000, BYTES(DW_CFA_def_cfa_offset, 40));
	c = build_fde(&s.eh, cie, true, 0x2000, 0x4000, BYTES(DW_CFA_def_cfa_offset, 60));
	build_bytes(&s.hdr, BYTES(1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 3, 0, 0, 0));
	hdr_entry(&s, 0x2000, a, 4);
	hdr_entry(&s, 0x4000, b, 4);
	hdr_entry(&s, 0x2000, c, 4);
	done(&s);
	assert_int_equal(cfa_at(&s, 0x3000), 20);
	assert_int_equal(cfa_at(&s, 0x4800), 60);
	assert_true(s.row.same_begin <= 0x4800 && s.row.same_end > 0x4800);
	assert_true(s.row.same_begin >= 0x4000);
	end(&s);
}

/* Found by fuzzing: the row's end preceded its begin. */
TEST(test_header_beyond_the_last_address)
{
	struct setup s;
	size_t cie, a;

	setup_init(&s, "x86_64");
	cie = x86_cie(&s);
	a = build_fde(&s.eh, cie, true, 0x3000, (uint64_t)-0x100, BYTES(DW_CFA_def_cfa_offset, 20));
	build_fde(&s.eh, cie, true, 0x3800, 0x100, BYTES(DW_CFA_def_cfa_offset, 30));
	build_bytes(&s.hdr, BYTES(1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0));
	hdr_entry(&s, 0x3000, a, 4);
	done(&s);
	assert_int_equal(cfa_at(&s, 0x3010), -1);
	assert_int_equal(cfa_at(&s, 0x3810), 30);
	end(&s);
}

TEST(test_bad_headers)
{
	static const uint8_t headers[][12] = {
		{ 2, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1 }, /* version */
		{ 1, 0x1b, 0xff, 0x3b, 0, 0, 0, 0, 1 }, /* without a count */
		{ 1, 0x1b, 0x03, 0xff, 0, 0, 0, 0, 1 }, /* without a table */
		{ 1, 0x1b, 0x03, 0x31, 0, 0, 0, 0, 1 }, /* LEB128 cannot be searched */
		{ 1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff },
	};
	struct setup s;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		setup_init(&s, "x86_64");
		build_fde(&s.eh, x86_cie(&s), true, 0x2000, 0x100,
			  BYTES(DW_CFA_def_cfa_offset, 20));
		build_bytes(&s.hdr, headers[i], sizeof(headers[i]));
		done(&s);
		assert_int_equal(cfa_at(&s, 0x2010), 20);
		end(&s);
	}
}

/* .eh_frame is searched first, then .debug_frame, for each address. */
TEST(test_debug_frame)
{
	struct reel_cfi_iterator iterator = { 0 };
	struct setup s;
	size_t cie;

	for (uint8_t version = 1; version <= 4; version++) {
		if (version == 2)
			continue;
		setup_init(&s, "x86_64");
		build_fde(&s.eh, x86_cie(&s), true, 0x2000, 0x100,
			  BYTES(DW_CFA_def_cfa_offset, 20));
		cie = build_cie(&s.debug, version, "", NO_BYTES, 1, 16, X86_INITIAL);
		build_fde(&s.debug, cie, false, 0x2080, 0x100, BYTES(DW_CFA_def_cfa_offset, 30));
		build_fde(&s.debug, cie, false, 0, 0x7000, BYTES(DW_CFA_def_cfa_offset, 99));
		done(&s);
		assert_int_equal(cfa_at(&s, 0x2090), 20);
		assert_int_equal(cfa_at(&s, 0x2100), 30);
		assert_int_equal(cfa_at(&s, 0x217f), 30);
		assert_int_equal(cfa_at(&s, 0x2180), -1);
		iterator = (struct reel_cfi_iterator){ 0 };
		assert_int_equal(reel_cfi_next_row(s.cfi, &iterator, &s.row, NULL), REEL_CFI_FOUND);
		assert_int_equal(s.row.end, 0x2100);
		assert_int_equal(reel_cfi_next_row(s.cfi, &iterator, &s.row, NULL), REEL_CFI_FOUND);
		assert_int_equal(s.row.begin, 0x2100);
		assert_int_equal(s.row.end, 0x2180);
		assert_int_equal(reel_cfi_next_row(s.cfi, &iterator, &s.row, NULL), REEL_CFI_NONE);
		end(&s);
	}
}

/* 64-bit DWARF, big-endian. */
TEST(test_dwarf64)
{
	static const uint8_t bytes[] = PROGRAM(
		/* CIE: length; id; version 3, code and data alignment, column 14 */
		0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 3, 0, 1, 0x78, 14,
		/* CFA = r15 + 160 */
		DW_CFA_def_cfa, 15, 0xa0, 0x01, 0,
		/* FDE: length; CIE; 0x2000, 0x100 */
		0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 27, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 1, 0,
		/* CFA = r15 + 320 */
		DW_CFA_def_cfa_offset, 0xc0, 0x02);
	struct setup s;

	setup_init(&s, "s390x");
	s.input.big_endian = true;
	build_bytes(&s.debug, bytes, sizeof(bytes));
	done(&s);
	assert_int_equal(cfa_at(&s, 0x2010), 320);
	assert_int_equal(s.row.return_column, 14);
	end(&s);
}

TEST(test_augmentations)
{
	static const struct {
		const char *string;
		uint8_t data[16];
		size_t size;
	} good[] = {
		{ "zR", { 0x1b }, 1 },
		{ "zPLR", { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b }, 7 }, /* indirect personality */
		{ "zPR", { 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b }, 10 },
		{ "zRB", { 0x1b }, 1 },
		{ "zRG", { 0x1b }, 1 },
		{ "zRS", { 0x1b }, 1 },
		{ "zRX", { 0x1b, 1, 2, 3 }, 4 }, /* unknown, but 'z' gives its length */
	};
	struct setup s;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		setup_init(&s, "x86_64");
		build_fde(&s.eh,
			  build_cie(&s.eh, 1, good[i].string, good[i].data, good[i].size, 1, 16,
				    X86_INITIAL),
			  true, 0x2000, 0x100, BYTES(DW_CFA_def_cfa_offset, 20));
		done(&s);
		assert_int_equal(cfa_at(&s, 0x2010), 20);
		assert_int_equal(s.row.signal_frame, good[i].string[2] == 'S');
		end(&s);
	}
	/* Without 'z' the start of the instructions is unknown. */
	setup_init(&s, "x86_64");
	build_fde(&s.debug, build_cie(&s.debug, 1, "armcc", NO_BYTES, 1, 16, X86_INITIAL), false,
		  0x2000, 0x100, BYTES(DW_CFA_def_cfa_offset, 20));
	done(&s);
	assert_int_equal(at(&s, 0x2010), REEL_CFI_BAD);
	end(&s);
	/* An unterminated string at the end of the section. */
	setup_init(&s, "x86_64");
	build_bytes(&s.eh, BYTES(8, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'z', 'z'));
	build_fde(&s.eh, 0, true, 0x2000, 0x100, BYTES(DW_CFA_def_cfa_offset, 20));
	done(&s);
	assert_int_not_equal(at(&s, 0x2010), REEL_CFI_FOUND);
	end(&s);
}

TEST(test_legacy_eh)
{
	struct setup s;

	setup_init(&s, "x86_64");
	/* "eh", then a pointer; FDEs have absolute addresses and no augmentation data. */
	build_bytes(&s.eh, BYTES(22, 0, 0, 0, 0, 0, 0, 0, 1, 'e', 'h', 0, 1, 2, 3, 4, 5, 6, 7, 8, 1,
				 0x78, 16, DW_CFA_def_cfa, 7, 8));
	build_bytes(&s.eh, BYTES(22, 0, 0, 0, 30, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
				 0, 0, 0, DW_CFA_def_cfa_offset, 20));
	done(&s);
	assert_int_equal(cfa_at(&s, 0x2010), 20);
	end(&s);
}

TEST(test_pointer_encodings)
{
	static const struct {
		uint8_t encoding, bytes[20];
		size_t size;
	} cases[] = {
		{ 0x00, { 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 }, 16 },
		{ 0x01, { 0x80, 0x40, 0x80, 0x02 }, 4 },       /* uleb */
		{ 0x09, { 0x80, 0xc0, 0x00, 0x80, 0x02 }, 5 }, /* sleb */
		{ 0x02, { 0, 0x20, 0, 1 }, 4 },		       /* udata2 */
		{ 0x03, { 0, 0x20, 0, 0, 0, 1, 0, 0 }, 8 },
		{ 0x0a, { 0, 0x20, 0, 1 }, 4 },
		{ 0x0c, { 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 }, 16 },
		{ 0x23, { 0, 0x10, 0, 0, 0, 1, 0, 0 }, 8 },	  /* textrel: 0x1000 + … */
		{ 0x3b, { 0, 0xf0, 0xff, 0xff, 0, 1, 0, 0 }, 8 }, /* datarel: 0x3000 - 0x1000 */
	};
	struct setup s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t start;

		setup_init(&s, "x86_64");
		s.input.text_base = 0x1000;
		s.input.data_base = 0x3000;
		build_cie(&s.eh, 1, "zR", &cases[i].encoding, 1, 1, 16, X86_INITIAL);
		start = s.eh.size;
		build_number(&s.eh, 0, 4);
		build_number(&s.eh, s.eh.size, 4);
		build_bytes(&s.eh, cases[i].bytes, cases[i].size);
		build_bytes(&s.eh, BYTES(0, DW_CFA_def_cfa_offset, 20));
		build_end(&s.eh, start);
		done(&s);
		assert_int_equal(cfa_at(&s, 0x2010), 20);
		assert_int_equal(s.row.fde_end, 0x2100);
		end(&s);
	}
}

/* ---- mutations ---------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return *seed >> 33;
}

/* Each section is allocated in its exact size, so that ASan sees reads past its end. */
static void copy_section(struct reel_loaded_bytes *section, const struct cfi_builder *b,
			 uint64_t *seed, unsigned changes)
{
	size_t size = b->size;
	uint8_t *bytes;

	if (next_random(seed) % 8 == 0)
		size = next_random(seed) % (size + 1);
	bytes = malloc(size ? size : 1);
	assert_non_null(bytes);
	memcpy(bytes, b->bytes, size);
	for (unsigned i = 0; size && i < changes; i++)
		bytes[next_random(seed) % size] =
			next_random(seed) % 3 ? (uint8_t)next_random(seed) : 0xff;
	*section = (struct reel_loaded_bytes){ bytes, size, b->address };
}

/* A step by a row with arbitrary contents. */
static void apply_row(const struct reel_arch *arch, const struct reel_cfi_row *row, uint64_t seed)
{
	static const uint8_t bytes[256] = { 1, 2, 3 };
	const struct reel_memory_region region = { 0x7000, sizeof(bytes), bytes, NULL, 0 };
	const struct reel_memory_view memory = { .regions = &region, .n_regions = 1 };
	struct reel_unwind_state state = { .arch = arch, .memory = &memory, .known = seed };
	struct reel_row *compiled;
	enum reel_stop stop;

	for (size_t i = 0; i < arch->n_registers; i++)
		state.registers[i] = 0x7000 + i * 8;
	assert_null(reel_row_create(arch, row, &compiled));
	(void)!reel_row_apply(compiled, &state, seed & 1, seed, &stop);
	reel_row_destroy(compiled);
}

static void mutate_once(const struct setup *origin, uint64_t *seed)
{
	struct reel_cfi_input input = origin->input;
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_cfi_row row;
	struct reel_cfi *cfi;
	const char *problem;
	unsigned rows = 0;
	uint64_t last = 0;

	copy_section(&input.eh_frame, &origin->eh, seed, 1 + next_random(seed) % 4);
	copy_section(&input.eh_frame_hdr, &origin->hdr, seed, next_random(seed) % 3);
	copy_section(&input.debug_frame, &origin->debug, seed, 1 + next_random(seed) % 4);
	if (next_random(seed) % 4 == 0)
		input.text_begin = input.text_end = 0;
	assert_null(reel_cfi_create(&input, &cfi));
	for (uint64_t address = 0x2000; address < 0x5000; address += 0x40)
		(void)!reel_cfi_row_at(cfi, address, &row, &problem);
	while (rows++ < 2000 &&
	       reel_cfi_next_row(cfi, &iterator, &row, &problem) != REEL_CFI_NONE) {
		assert_true(row.begin >= last && row.end > row.begin);
		last = row.end;
		if (rows % 4 == 0)
			apply_row(input.arch, &row, next_random(seed) | 1 << 7);
	}
	reel_cfi_destroy(cfi);
	free((void *)input.eh_frame.bytes);
	free((void *)input.eh_frame_hdr.bytes);
	free((void *)input.debug_frame.bytes);
}

TEST(test_mutations)
{
	static const uint8_t program[] = PROGRAM(
		DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
		DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6, DW_CFA_remember_state,
		DW_CFA_offset | 3, 5, DW_CFA_advance_loc4, 8, 0, 0, 0, DW_CFA_def_cfa_expression, 3,
		DW_OP_breg6, 0x78, DW_OP_deref, DW_CFA_expression, 3, 2, DW_OP_breg6, 0x70,
		DW_CFA_advance_loc | 1, DW_CFA_restore_state, DW_CFA_GNU_args_size, 16,
		DW_CFA_offset_extended, 12, 4, DW_CFA_restore | 6);
	clock_t start = clock();
	uint64_t seed = 42;
	size_t cie, fdes[4];
	struct setup s;

	setup_init(&s, "x86_64");
	cie = x86_cie(&s);
	for (size_t i = 0; i < 4; i++)
		fdes[i] = build_fde(&s.eh, cie, true, 0x2000 + i * 0x800, 0x700, program,
				    sizeof(program));
	s.hdr.address = HDR_ADDRESS;
	build_bytes(&s.hdr, BYTES(1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 4, 0, 0, 0));
	for (size_t i = 0; i < 4; i++)
		hdr_entry(&s, 0x2000 + i * 0x800, fdes[i], 4);
	cie = build_cie(&s.debug, 4, "", NO_BYTES, 1, 16, X86_INITIAL);
	build_fde(&s.debug, cie, false, 0x2700, 0x80, program, sizeof(program));
	build_fde(&s.debug, cie, false, 0x4000, 0x900, program, sizeof(program));
	/* The same mutations in each run; fewer on a slow machine. */
	for (int i = 0; i < 20000 && clock() - start < 4 * CLOCKS_PER_SEC; i++)
		mutate_once(&s, &seed);
}

RUN_TESTS()
