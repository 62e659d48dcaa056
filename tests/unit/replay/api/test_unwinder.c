/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder alone (reel_unwind of stackreel.h), given the samples of a real capture: it must
 * return the same addresses as the capture's traces.
 */
#include "arch/arch.h"
#include "include/stackreel.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/capture.h"
#include "tests/support/elf_builder.h"
#include "tests/support/test.h"

#define ORDERS "testdata/aarch64/orders"

static const char *const symfs[] = { ORDERS, NULL };

/* The capture's own traces: without inlined functions they have one frame per address. */
static struct reel_traces *open_traces(struct reel_capture **capture_ret)
{
	REEL_SIZED(reel_capture_options, options, .symfs = symfs, .no_host_files = true,
		   .no_inlines = true);
	struct reel_traces *traces;

	must(reel_capture_open(ORDERS "/orders.reel", &options, capture_ret));
	must(reel_traces_create(*capture_ret, NULL, &traces));
	return traces;
}

static void unwind_sample(struct reel_unwinder *unwinder, const struct reel_sample *sample,
			  const struct reel_unwound **ret)
{
	struct reel_register registers[REEL_REGISTERS_MAX];
	struct reel_memory memory[REEL_REGIONS_MAX];
	REEL_SIZED(reel_stack, stack, .registers = registers, .memory = memory,
		   .n_memory = sample->n_regions);
	size_t n = 0;

	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		if (sample->known[i / 8] >> i % 8 & 1)
			registers[n++] = (struct reel_register){ sample->layout->slots[i].dwarf,
								 sample->values[i] };
	}
	for (size_t i = 0; i < sample->n_regions; i++)
		memory[i] =
			(struct reel_memory){ sample->regions[i].address, sample->regions[i].size,
					      sample->regions[i].bytes };
	stack.n_registers = n;
	must(reel_unwind(unwinder, &stack, ret));
}

static void compare(struct reel_unwinder *unwinder, const struct reel_sample *sample,
		    const struct reel_trace *trace)
{
	const struct reel_unwound *unwound;

	unwind_sample(unwinder, sample, &unwound);
	assert_int_equal(unwound->stop, trace->stop);
	assert_int_equal(unwound->n_frames, trace->n_frames);
	assert_memory_equal(unwound->addresses, trace->addresses,
			    trace->n_frames * sizeof(*trace->addresses));
}

#define N_UNWINDERS 3

static void map_orders(struct reel_unwinder *unwinder)
{
	must(reel_unwinder_map(unwinder, 0x400000, 0xa0000, 0, ORDERS "/usr/bin/orders"));
}

/* The capture's samples by unwinders that share in turns, the first of which is destroyed and
 * replaced after a while; each gets its executable mappings by hand.  Samples in the vDSO are
 * skipped. */
TEST(test_same_as_traces)
{
	struct reel_unwinder *unwinders[N_UNWINDERS];
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_capture *capture;
	struct reel_reader *reader;
	struct reel_traces *traces;
	size_t n_blocks, compared = 0;

	traces = open_traces(&capture);
	must(reel_unwinder_create("aarch64", &unwinders[0]));
	for (size_t i = 1; i < N_UNWINDERS; i++)
		must(reel_unwinder_create_sharing(unwinders[i - 1], &unwinders[i]));
	for (size_t i = 0; i < N_UNWINDERS; i++)
		map_orders(unwinders[i]);
	must(reel_reader_open(ORDERS "/orders.reel", NULL, &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n_blocks);
	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item;

		must(reel_block_reader_load(block_reader, &blocks[i]));
		for (;;) {
			const struct reel_trace *trace;

			must(reel_block_reader_next(block_reader, &item));
			if (item.kind == REEL_ITEM_END)
				break;
			if (item.kind != REEL_ITEM_SAMPLE)
				continue;
			must(reel_traces_next(traces, &trace));
			assert_int_equal(trace->id, item.sample.id);
			if (!item.sample.layout || item.sample.where != REEL_WHERE_USER ||
			    item.sample.pc > 0x500000)
				continue;
			for (size_t n = 0; n < N_UNWINDERS; n++)
				compare(unwinders[n], &item.sample, trace);
			if (++compared != 100)
				continue;
			reel_unwinder_destroy(unwinders[0]);
			must(reel_unwinder_create_sharing(unwinders[2], &unwinders[0]));
			map_orders(unwinders[0]);
		}
	}
	assert_true(compared > 200);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	for (size_t i = 0; i < N_UNWINDERS; i++)
		reel_unwinder_destroy(unwinders[i]);
	reel_traces_destroy(traces);
	reel_capture_close(capture);
}

TEST(test_wrong_calls)
{
	struct reel_register sp = { 31, 0x1000 };
	REEL_SIZED(reel_stack, stack, .registers = &sp, .n_registers = 1);
	const struct reel_unwound *unwound;
	struct reel_unwinder *unwinder;

	assert_error(reel_unwinder_create("vax", &unwinder), REEL_ERROR_UNSUPPORTED);
	must(reel_unwinder_create("aarch64", &unwinder));
	assert_error(reel_unwinder_map(unwinder, 0, 1, 0, "testdata/no-such-file"), REEL_ERROR_OS);
	assert_error(reel_unwinder_map(unwinder, 0, 1, 0, "testdata/README.md"),
		     REEL_ERROR_NOT_A_CAPTURE);
	assert_error(reel_unwinder_map(unwinder, 0, 0, 0, ORDERS "/usr/bin/orders"),
		     REEL_ERROR_INVALID);
	assert_error(reel_unwind(unwinder, &stack, &unwound), REEL_ERROR_INVALID);
	reel_unwinder_destroy(unwinder);
}

/* The registers in stackreel.h's table. */
TEST(test_register_numbers)
{
	static const struct {
		const char *arch;
		uint16_t pc, sp, fp, return_address;
	} cpus[] = {
		{ "x86_64", 16, 7, 6, 16 },    { "i386", 8, 4, 5, 8 },
		{ "aarch64", 32, 31, 29, 30 }, { "riscv64", 64, 2, 8, 1 },
		{ "s390x", 65, 15, 11, 14 },
	};

	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		const struct reel_register registers[] = {
			{ cpus[i].pc, 0x400000 },
			{ cpus[i].sp, 0x7000 },
		};
		const REEL_SIZED(reel_stack, stack, .registers = registers, .n_registers = 2);
		const struct reel_arch *arch = reel_arch_by_name(cpus[i].arch);
		const struct reel_unwound *unwound;
		struct reel_unwinder *unwinder;

		assert_int_equal(arch->fp, cpus[i].fp);
		assert_int_equal(arch->return_column, cpus[i].return_address);
		must(reel_unwinder_create(cpus[i].arch, &unwinder));
		must(reel_unwind(unwinder, &stack, &unwound));
		assert_int_equal(unwound->n_frames, 1);
		assert_int_equal(unwound->addresses[0], 0x400000);
		assert_int_equal(unwound->stack_pointers[0], 0x7000);
		reel_unwinder_destroy(unwinder);
	}
	assert_null(reel_arch_all[sizeof(cpus) / sizeof(cpus[0])]);
}

/* Fields past the size of a struct are not read: here the number of registers. */
TEST(test_size)
{
	struct reel_register pc = { 32, 0x400000 };
	struct reel_stack stack = { .size = offsetof(struct reel_stack, n_registers),
				    .registers = &pc,
				    .n_registers = 1 };
	const struct reel_unwound *unwound;
	struct reel_unwinder *unwinder;

	must(reel_unwinder_create("aarch64", &unwinder));
	assert_error(reel_unwind(unwinder, &stack, &unwound), REEL_ERROR_INVALID);
	stack.size = sizeof(stack);
	must(reel_unwind(unwinder, &stack, &unwound));
	/* Nothing is mapped: only the pc is known. */
	assert_int_equal(unwound->n_frames, 1);
	assert_int_equal(unwound->addresses[0], 0x400000);
	assert_int_equal(unwound->stop, REEL_STOP_NO_MAPPING);
	reel_unwinder_destroy(unwinder);
}

/* A program at 400000 with code at 400400, whose CFI is one FDE from there on. */
static void make_program(int fd, const uint8_t *code, size_t code_size, uint64_t length,
			 const uint8_t *rows, size_t rows_size)
{
	struct cfi_builder cfi = { .address = 0x401000 };
	struct elf_builder elf = { 0 };
	size_t cie;

	cie = build_cie(&cfi, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
	build_fde(&cfi, cie, true, 0x400400, length, rows, rows_size);
	build_number(&cfi, 0, 4);
	elf_put_header(&elf, ET_EXEC, 1);
	elf_put_segment(&elf, 0, PT_LOAD, PF_R | PF_X, 0, 0x400000, 0x1000, 0x1000);
	elf_put_bytes(&elf, 0x400, code, code_size);
	elf_put(&elf, 0xfff, 0, 1);
	elf_add_section(&elf, (struct elf_section_spec){ ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
							 0x401000, cfi.bytes, cfi.size, 0, 0 });
	elf_finish_sections(&elf);
	must_be(pwrite(fd, elf.bytes, elf.size, 0) == (ssize_t)elf.size, "written");
}

/*
 * Its unwind information ends with the system call:
 *   400400: b8 38 00 00 00  mov $56,%eax
 *   400405: 0f 05           syscall
 *   400407: 0f 0b           ud2
 */
static const uint8_t calling[] = { 0xb8, 0x38, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x0b };

TEST(test_after_syscall)
{
	const struct reel_register registers[] = { { 16, 0x400407 }, { 7, 0x7000 } };
	static const uint8_t stack_bytes[32] = { [16] = 0x00, 0x05, 0x40 };
	const struct reel_memory memory = { 0x7000, sizeof(stack_bytes), stack_bytes };
	REEL_SIZED(reel_stack, stack, .registers = registers, .n_registers = 2, .memory = &memory,
		   .n_memory = 1);
	int fd = memfd_create("program", MFD_CLOEXEC);
	const struct reel_unwound *unwound;
	struct reel_unwinder *unwinder;
	char path[32];

	make_program(fd, calling, sizeof(calling), 7, BYTES(DW_CFA_def_cfa_offset, 24));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(reel_unwinder_create("x86_64", &unwinder));
	must(reel_unwinder_map(unwinder, 0x400000, 0x1000, 0, path));
	must(reel_unwind(unwinder, &stack, &unwound));
	assert_int_equal(unwound->n_frames, 1);
	stack.flags = REEL_STACK_AFTER_SYSCALL;
	must(reel_unwind(unwinder, &stack, &unwound));
	assert_int_equal(unwound->n_frames, 2);
	assert_int_equal(unwound->addresses[1], 0x400500);
	assert_int_equal(unwound->stack_pointers[1], 0x7018);
	reel_unwinder_destroy(unwinder);
	close(fd);
}

/* ---- unwinders that share files -------------------------------------------------------------- */

/* Unwinds from an address in the program mapped at `base`, with a stack whose words are return
 * addresses at `base` + 500, 510, ...; the second frame shows where the first CFI has its own. */
static struct reel_error *unwind_at(struct reel_unwinder *unwinder, uint64_t base, uint64_t pc,
				    const struct reel_unwound **ret)
{
	const struct reel_register registers[] = { { 16, base + pc }, { 7, 0x7000 } };
	uint64_t words[8];
	const struct reel_memory memory = { 0x7000, sizeof(words), (const uint8_t *)words };
	const REEL_SIZED(reel_stack, stack, .registers = registers, .n_registers = 2,
			 .memory = &memory, .n_memory = 1, .max_frames = 2);

	for (size_t i = 0; i < 8; i++)
		reel_store64((uint8_t *)&words[i], base + 0x500 + 0x10 * i);
	return reel_unwind(unwinder, &stack, ret);
}

/* The program at `base` has this CFA at its start. */
static void check_program(struct reel_unwinder *unwinder, uint64_t base, uint64_t cfa)
{
	const struct reel_unwound *unwound;

	must(unwind_at(unwinder, base, 0x400, &unwound));
	assert_int_equal(unwound->n_frames, 2);
	assert_int_equal(unwound->addresses[1], base + 0x500 + 0x10 * (cfa / 8 - 1));
	assert_int_equal(unwound->stack_pointers[1], 0x7000 + cfa);
	assert_int_equal(unwound->steps[1], REEL_STEP_CFI);
}

/* The path has another file, or the same with other content, before each unwinder maps it.  The time of
 * a file that is overwritten within one tick of the kernel's clock stays, so sizes differ. */
TEST(test_sharing_changed_files)
{
	char path[] = "/tmp/unwinder-XXXXXX", newer[] = "/tmp/unwinder-XXXXXX";
	struct reel_unwinder *unwinders[4];
	int fd = mkstemp(path), newer_fd = mkstemp(newer);

	must(reel_unwinder_create("x86_64", &unwinders[0]));
	for (size_t i = 1; i < 4; i++)
		must(reel_unwinder_create_sharing(unwinders[0], &unwinders[i]));
	make_program(fd, calling, sizeof(calling), 7, BYTES(DW_CFA_def_cfa_offset, 16));
	must(reel_unwinder_map(unwinders[0], 0x400000, 0x1000, 0, path));
	check_program(unwinders[0], 0x400000, 16);

	make_program(newer_fd, calling, sizeof(calling), 7, BYTES(DW_CFA_def_cfa_offset, 24));
	must_be(!rename(newer, path), "renamed");
	must(reel_unwinder_map(unwinders[1], 0x500000, 0x1000, 0, path));
	check_program(unwinders[1], 0x500000, 24);
	check_program(unwinders[0], 0x400000, 16);

	/* The same file at another place. */
	must(reel_unwinder_map(unwinders[2], 0x700000, 0x1000, 0, path));
	check_program(unwinders[2], 0x700000, 24);
	check_program(unwinders[1], 0x500000, 24);

	make_program(newer_fd, calling, sizeof(calling), 7,
		     BYTES(DW_CFA_def_cfa_offset, 32, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop,
			   DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop));
	must(reel_unwinder_map(unwinders[3], 0x500000, 0x1000, 0, path));
	check_program(unwinders[3], 0x500000, 32);

	/* One of several, the first, and the last but one. */
	reel_unwinder_destroy(unwinders[1]);
	check_program(unwinders[2], 0x700000, 24);
	reel_unwinder_destroy(unwinders[0]);
	check_program(unwinders[2], 0x700000, 24);
	reel_unwinder_destroy(unwinders[2]);
	check_program(unwinders[3], 0x500000, 32);
	reel_unwinder_destroy(unwinders[3]);
	unlink(path);
	close(fd);
	close(newer_fd);
}

#define COSTLY_ROWS 2000
#define COSTLY_NOPS 42000

/* A file whose rules cost too much fails the unwinders that map it, and no others. */
TEST(test_sharing_hostile_file)
{
	static uint8_t rows[COSTLY_NOPS + 3 * COSTLY_ROWS];
	int good = memfd_create("good", MFD_CLOEXEC), bad = memfd_create("bad", MFD_CLOEXEC);
	struct reel_unwinder *hostile, *other, *both;
	const struct reel_unwound *unwound;
	struct reel_error *error = NULL;
	char good_path[32], bad_path[32];

	for (size_t i = 0; i < COSTLY_ROWS; i++)
		memcpy(rows + COSTLY_NOPS + 3 * i,
		       (uint8_t[]){ DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,
				    i % 2 ? 16 : 24 },
		       3);
	make_program(good, calling, sizeof(calling), 7, BYTES(DW_CFA_def_cfa_offset, 24));
	make_program(bad, NO_BYTES, COSTLY_ROWS + 1, rows, sizeof(rows));
	snprintf(good_path, sizeof(good_path), "/proc/self/fd/%d", good);
	snprintf(bad_path, sizeof(bad_path), "/proc/self/fd/%d", bad);
	must(reel_unwinder_create("x86_64", &hostile));
	must(reel_unwinder_create_sharing(hostile, &other));
	must(reel_unwinder_create_sharing(hostile, &both));
	must(reel_unwinder_map(hostile, 0x400000, 0x1000, 0, bad_path));
	must(reel_unwinder_map(other, 0x400000, 0x1000, 0, good_path));
	must(reel_unwinder_map(both, 0x400000, 0x1000, 0, good_path));
	must(reel_unwinder_map(both, 0x800000, 0x1000, 0, bad_path));
	for (size_t i = 1; i < COSTLY_ROWS && !error; i++)
		error = unwind_at(hostile, 0x400000, 0x400 + i, &unwound);
	assert_error(error, REEL_ERROR_CORRUPT);
	check_program(other, 0x400000, 24);
	assert_error(unwind_at(both, 0x400000, 0x400, &unwound), REEL_ERROR_CORRUPT);
	reel_unwinder_destroy(hostile);
	check_program(other, 0x400000, 24);
	reel_unwinder_destroy(both);
	reel_unwinder_destroy(other);
	close(good);
	close(bad);
}

RUN_TESTS()
