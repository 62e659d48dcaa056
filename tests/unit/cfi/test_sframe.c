/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .sframe, against .eh_frame in the same file: wherever both have a row, a step by either gives the same
 * CFA, return address and frame pointer.  Files: those of testdata/sframe, or the arguments.
 */
#include <glob.h>

#include "cfi/row.h"
#include "cfi/sframe.h"
#include "cfi/module_cfi.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

#define STACK 0x7000000
#define SIZE  65536

static char **files;
static int n_files;

/* A CFI of one section of a file. */
struct source {
	struct reel_cfi *cfi;
	const struct reel_arch *arch;
	bool big_endian;
};

static struct source source_of(struct reel_elf_file *file, bool is_sframe)
{
	struct source source = { 0 };
	struct reel_cfi_input input;

	must(reel_module_cfi_input(file, &input));
	assert_true(input.eh_frame.size && input.sframe.size);
	source.arch =
		reel_arch_by_machine(reel_elf_file_machine(file), reel_elf_file_word_bits(file));
	source.big_endian = input.big_endian;
	input.arch = source.arch;
	input.debug_frame.size = 0;
	if (is_sframe)
		input.eh_frame.size = input.eh_frame_hdr.size = 0;
	else
		input.sframe.size = 0;
	must(reel_cfi_create(&input, &source.cfi));
	return source;
}

struct step {
	enum reel_cfi_found found;
	enum reel_next next;
	enum reel_stop stop;
	bool has_cfa, knows_fp, is_signed, is_signal;
	uint64_t cfa, pc, fp;
	struct reel_cfi_row row;
};

/* Whose words are their own addresses. */
static const uint8_t *stack_of(bool big_endian)
{
	static uint8_t bytes[2][SIZE];

	if (!bytes[big_endian][big_endian ? 4 : 3]) {
		for (unsigned i = 0; i < SIZE; i += 8)
			reel_store_target(bytes[big_endian] + i, 8, big_endian, STACK + i);
	}
	return bytes[big_endian];
}

/* Registers point into the stack. */
static struct step step_by(const struct source *source, uint64_t address)
{
	const struct reel_arch *arch = source->arch;
	struct reel_memory_region region = { STACK, SIZE, stack_of(source->big_endian), NULL, 0 };
	struct reel_memory_view memory = { .regions = &region,
					   .n_regions = 1,
					   .big_endian = source->big_endian };
	struct reel_unwind_state state = { .arch = arch, .memory = &memory, .pc = address };
	uint8_t sp = reel_arch_slot(arch, arch->sp), fp = reel_arch_slot(arch, arch->fp);
	struct step step = { 0 };
	struct reel_row *row;

	for (unsigned i = 0; i < arch->n_registers; i++)
		state.registers[i] = STACK + 4096 + 512 * i;
	state.registers[reel_arch_slot(arch, arch->pc)] = address;
	state.registers[sp] = STACK + 1024;
	state.known = UINT64_MAX >> (64 - arch->n_registers);
	step.found = reel_cfi_row_at(source->cfi, address, &step.row, NULL);
	if (step.found != REEL_CFI_FOUND)
		return step;
	must(reel_row_create(arch, &step.row, &row));
	step.has_cfa = reel_row_cfa(row, &state, 0, &step.cfa);
	step.next = reel_row_apply(row, &state, true, 0, &step.stop);
	step.is_signed = step.row.return_address_signed;
	step.is_signal = step.row.signal_frame;
	step.pc = state.pc;
	step.knows_fp = state.known >> fp & 1;
	step.fp = step.knows_fp ? state.registers[fp] : 0;
	reel_row_destroy(row);
	return step;
}

static bool is_same(const struct step *a, const struct step *b)
{
	if (a->next != b->next || a->is_signal != b->is_signal)
		return false;
	if (a->next != REEL_NEXT_CALLER)
		return a->stop == b->stop;
	return a->has_cfa == b->has_cfa && a->cfa == b->cfa && a->pc == b->pc &&
	       a->knows_fp == b->knows_fp && a->fp == b->fp && a->is_signed == b->is_signed;
}

struct counts {
	size_t same, different, eh_only, sframe_only, bad;
};

/* With both sections, each address has a row if either has one, and iterating returns it once. */
static void check_both(struct reel_elf_file *file, const struct source *eh,
		       const struct source *sframe, uint64_t end)
{
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_cfi_input input;
	struct reel_cfi_row row;
	uint64_t last = 0, listed = 0, found = 0;
	struct reel_cfi *both;

	must(reel_module_cfi_input(file, &input));
	input.arch = eh->arch;
	/* Only the first half of .eh_frame: the rest is .sframe's. */
	input.eh_frame.size /= 2;
	input.eh_frame_hdr.size = 0;
	must(reel_cfi_create(&input, &both));
	for (uint64_t address = 0; address < end; address++) {
		bool by_any = reel_cfi_row_at(sframe->cfi, address, &row, NULL) == REEL_CFI_FOUND;
		enum reel_cfi_found by_both = reel_cfi_row_at(both, address, &row, NULL);

		assert_true(!by_any || by_both == REEL_CFI_FOUND);
		assert_true(reel_cfi_row_at(eh->cfi, address, &row, NULL) == REEL_CFI_FOUND ||
			    by_both != REEL_CFI_FOUND);
		found += by_both == REEL_CFI_FOUND;
	}
	while (reel_cfi_next_row(both, &iterator, &row, NULL) == REEL_CFI_FOUND) {
		assert_true(row.begin >= last && row.end > row.begin);
		listed += row.end - row.begin;
		last = row.end;
	}
	assert_int_equal(listed, found);
	reel_cfi_destroy(both);
}

static void compare_file(const char *path, struct counts *ret)
{
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_elf_file *file;
	struct source eh, sframe;
	struct reel_cfi_row row;
	uint64_t end = 0;

	must(reel_elf_file_open(path, &file));
	eh = source_of(file, false);
	sframe = source_of(file, true);
	while (reel_cfi_next_row(sframe.cfi, &iterator, &row, NULL) != REEL_CFI_NONE)
		end = row.end;
	iterator.address = 0;
	while (reel_cfi_next_row(eh.cfi, &iterator, &row, NULL) != REEL_CFI_NONE)
		end = row.end > end ? row.end : end;
	for (uint64_t address = 0; address < end; address++) {
		struct step by_eh = step_by(&eh, address), by_sframe = step_by(&sframe, address);

		if (by_sframe.found == REEL_CFI_BAD) {
			ret->bad++;
		} else if (by_eh.found != REEL_CFI_FOUND || by_sframe.found != REEL_CFI_FOUND) {
			ret->eh_only += by_eh.found == REEL_CFI_FOUND;
			ret->sframe_only += by_sframe.found == REEL_CFI_FOUND;
		} else if (is_same(&by_eh, &by_sframe)) {
			ret->same++;
		} else if (ret->different++ < 5) {
			print_message(
				"%s: %llx: next %d %d, CFA %llx %llx, pc %llx %llx, fp "
				"%d:%llx %d:%llx, signed %d %d\n",
				path, (unsigned long long)address, by_eh.next, by_sframe.next,
				(unsigned long long)by_eh.cfa, (unsigned long long)by_sframe.cfa,
				(unsigned long long)by_eh.pc, (unsigned long long)by_sframe.pc,
				by_eh.knows_fp, (unsigned long long)by_eh.fp, by_sframe.knows_fp,
				(unsigned long long)by_sframe.fp, by_eh.is_signed,
				by_sframe.is_signed);
		}
	}
	check_both(file, &eh, &sframe, end);
	reel_cfi_destroy(eh.cfi);
	reel_cfi_destroy(sframe.cfi);
	reel_elf_file_close(file);
	print_message("%s: %zu addresses with the same rows, %zu different, %zu only in .eh_frame, "
		      "%zu only in .sframe, %zu bad\n",
		      path, ret->same, ret->different, ret->eh_only, ret->sframe_only, ret->bad);
}

TEST(test_same_rows)
{
	assert_true(n_files);
	for (int i = 0; i < n_files; i++) {
		struct counts counts = { 0 };

		compare_file(files[i], &counts);
		assert_true(counts.same);
		assert_int_equal(counts.different, 0);
		assert_int_equal(counts.bad, 0);
	}
}

/* ---- sections written here ------------------------------------------------------------------ */

/* CFI of the section's bytes at address 0x10000; the caller destroys it. */
static struct reel_cfi *cfi_of(const char *arch, bool big_endian, const uint8_t *bytes, size_t size,
			       uint64_t entry)
{
	const struct reel_cfi_input input = {
		.arch = reel_arch_by_name(arch),
		.big_endian = big_endian,
		.sframe = { bytes, size, 0x10000 },
		.entry = entry,
	};
	struct reel_cfi *cfi;

	must(reel_cfi_create(&input, &cfi));
	return cfi;
}

/* Version 2 of s390x (binutils 2.45): one function of 16 bytes at 0x12000, by an offset from the section. */
static const uint8_t s390x_v2[] = {
	0xde, 0xe2, 2, 1, 4, 0, 0, 0, /* magic, version, sorted, s390x */
	0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0,
	20, /* FDEs, FREs, bytes, offsets */
	0, 0, 0x20, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0,
	0,	    /* FDE: FREs with 1-byte starts */
	0, 0x03, 0, /* sp + 160 */
	/* From 4 on sp + 320, RA in register 17, FP at CFA - 72. */
	4, 0x07, 20, 0x23, 0xb8,
	/* From 8 on FP + 320, RA not saved (a filler), FP in register 16, of 2 bytes each. */
	8, 0x26, 0, 20, 0, 0, 0, 0x21
};

TEST(test_s390x_version_2)
{
	struct reel_cfi *cfi = cfi_of("s390x", true, s390x_v2, sizeof(s390x_v2), 0);
	struct reel_cfi_row row;

	assert_int_equal(reel_cfi_row_at(cfi, 0x12003, &row, NULL), REEL_CFI_FOUND);
	assert_int_equal(row.begin, 0x12000);
	assert_int_equal(row.end, 0x12004);
	assert_int_equal(row.cfa.reg, 15);
	assert_int_equal(row.cfa.offset, 160);
	assert_int_equal(row.rules[6].kind, REEL_RULE_UNDEFINED);
	assert_int_equal(reel_cfi_row_at(cfi, 0x12004, &row, NULL), REEL_CFI_FOUND);
	assert_int_equal(row.cfa.offset, 320);
	assert_int_equal(row.rules[14].kind, REEL_RULE_REGISTER);
	assert_int_equal(row.rules[14].reg, 17);
	assert_int_equal(row.rules[11].kind, REEL_RULE_OFFSET);
	assert_int_equal(row.rules[11].offset, -72);
	assert_int_equal(reel_cfi_row_at(cfi, 0x1200f, &row, NULL), REEL_CFI_FOUND);
	assert_int_equal(row.cfa.reg, 11);
	assert_int_equal(row.cfa.offset, 320);
	assert_int_equal(row.rules[14].kind, REEL_RULE_UNSPECIFIED);
	assert_int_equal(row.rules[11].kind, REEL_RULE_REGISTER);
	assert_int_equal(row.rules[11].reg, 16);
	assert_int_equal(reel_cfi_row_at(cfi, 0x12010, &row, NULL), REEL_CFI_NONE);
	reel_cfi_destroy(cfi);
	/* The program's entry has no caller. */
	cfi = cfi_of("s390x", true, s390x_v2, sizeof(s390x_v2), 0x12000);
	assert_int_equal(reel_cfi_row_at(cfi, 0x12008, &row, NULL), REEL_CFI_FOUND);
	assert_int_equal(row.rules[14].kind, REEL_RULE_UNDEFINED);
	reel_cfi_destroy(cfi);
}

/* Not a section for this CPU, or of another version. */
TEST(test_foreign)
{
	uint8_t bytes[sizeof(s390x_v2)];
	struct reel_cfi_row row;
	struct reel_cfi *cfi;

	for (int i = 0; i < 4; i++) {
		memcpy(bytes, s390x_v2, sizeof(bytes));
		bytes[2] = i == 1 ? 1 : i == 2 ? 4 : 2; /* version */
		bytes[4] = i == 3 ? 3 : 4;		/* ABI */
		cfi = cfi_of("s390x", true, bytes, sizeof(bytes), 0);
		assert_int_equal(reel_cfi_row_at(cfi, 0x12000, &row, NULL),
				 i ? REEL_CFI_NONE : REEL_CFI_FOUND);
		reel_cfi_destroy(cfi);
	}
	cfi = cfi_of("s390x", false, s390x_v2, sizeof(s390x_v2), 0);
	assert_int_equal(reel_cfi_row_at(cfi, 0x12000, &row, NULL), REEL_CFI_NONE);
	reel_cfi_destroy(cfi);
}

/* A function of 4 GiB whose FREs repeat in blocks of a byte: the result is bounded, and what is beyond is not
 * silently without rows. */
TEST(test_many_blocks)
{
	uint8_t bytes[sizeof(s390x_v2)];
	struct reel_cfi_row row;
	struct reel_cfi *cfi;

	memcpy(bytes, s390x_v2, sizeof(bytes));
	memset(bytes + 32, 0xff, 4); /* size */
	bytes[44] = 1 << 4;	     /* type */
	bytes[45] = 1;		     /* block */
	cfi = cfi_of("s390x", true, bytes, sizeof(bytes), 0);
	assert_int_equal(reel_cfi_row_at(cfi, 0x12000, &row, NULL), REEL_CFI_FOUND);
	assert_int_equal(row.fde_end, 0x12001);
	assert_int_equal(reel_cfi_row_at(cfi, 0x12000 + 0x10000000, &row, NULL), REEL_CFI_BAD);
	reel_cfi_destroy(cfi);
}

/* A changed section gives rows in order, of any kind. */
static void mutate(const char *path, uint64_t *seed)
{
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_cfi_input input;
	struct reel_elf_file *file;
	struct reel_cfi_row row;
	struct reel_cfi *cfi;
	uint64_t last = 0;
	uint8_t *bytes;

	must(reel_elf_file_open(path, &file));
	must(reel_module_cfi_input(file, &input));
	input.arch =
		reel_arch_by_machine(reel_elf_file_machine(file), reel_elf_file_word_bits(file));
	input.eh_frame.size = input.eh_frame_hdr.size = 0;
	bytes = malloc(input.sframe.size);
	assert_non_null(bytes);
	memcpy(bytes, input.sframe.bytes, input.sframe.size);
	for (uint64_t i = next_random(seed) % 4; i < 5; i++)
		bytes[next_random(seed) % input.sframe.size] = (uint8_t)next_random(seed);
	input.sframe.bytes = bytes;
	input.sframe.size -= next_random(seed) % 8;
	must(reel_cfi_create(&input, &cfi));
	for (int i = 0; i < 1000; i++) {
		if (reel_cfi_next_row(cfi, &iterator, &row, NULL) == REEL_CFI_NONE)
			break;
		assert_true(row.begin >= last && row.end > row.begin);
		last = row.end;
	}
	reel_cfi_destroy(cfi);
	reel_elf_file_close(file);
	free(bytes);
}

TEST(test_mutations)
{
	uint64_t seed = 1;

	for (int i = 0; i < 500; i++)
		mutate(files[i % n_files], &seed);
}

int main(int argc, char **argv)
{
	glob_t found = { 0 };
	int status;

	files = argv + 1;
	n_files = argc - 1;
	if (!n_files && !glob("testdata/sframe/*.so", 0, NULL, &found)) {
		files = found.gl_pathv;
		n_files = (int)found.gl_pathc;
	}
	status = unit_tests_run(NULL, NULL);
	globfree(&found);
	return status;
}
