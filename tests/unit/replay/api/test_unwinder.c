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

/* The unwinder gets its executable mappings by hand; samples in the vDSO are skipped. */
TEST(test_same_as_traces)
{
	struct reel_unwinder *unwinder;
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_capture *capture;
	struct reel_reader *reader;
	struct reel_traces *traces;
	size_t n_blocks, compared = 0;

	traces = open_traces(&capture);
	must(reel_unwinder_create("aarch64", &unwinder));
	must(reel_unwinder_map(unwinder, 0x400000, 0xa0000, 0, ORDERS "/usr/bin/orders"));
	must(reel_reader_open(ORDERS "/orders.reel", NULL, &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n_blocks);
	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item;

		must(reel_block_reader_load(block_reader, &blocks[i]));
		for (;;) {
			const struct reel_trace *trace;
			const struct reel_unwound *unwound;

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
			unwind_sample(unwinder, &item.sample, &unwound);
			assert_int_equal(unwound->stop, trace->stop);
			assert_int_equal(unwound->n_frames, trace->n_frames);
			for (size_t frame = 0; frame < unwound->n_frames; frame++)
				assert_int_equal(unwound->addresses[frame],
						 trace->addresses[frame]);
			compared++;
		}
	}
	assert_true(compared > 200);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	reel_unwinder_destroy(unwinder);
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

/*
 * A program whose unwind information ends with its system call:
 *   400400: b8 38 00 00 00  mov $56,%eax
 *   400405: 0f 05           syscall
 *   400407: 0f 0b           ud2
 */
static void make_program(int fd)
{
	static const uint8_t code[] = { 0xb8, 0x38, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x0b };
	struct cfi_builder cfi = { .address = 0x400800 };
	struct elf_builder elf = { 0 };
	size_t cie;

	cie = build_cie(&cfi, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
	build_fde(&cfi, cie, true, 0x400400, 7, BYTES(DW_CFA_def_cfa_offset, 24));
	build_number(&cfi, 0, 4);
	elf_put_header(&elf, ET_EXEC, 1);
	elf_put_segment(&elf, 0, PT_LOAD, PF_R | PF_X, 0, 0x400000, 0x1000, 0x1000);
	elf_put_bytes(&elf, 0x400, code, sizeof(code));
	elf_put(&elf, 0x7ff, 0, 1);
	elf_add_section(&elf, (struct elf_section_spec){ ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
							 0x400800, cfi.bytes, cfi.size, 0, 0 });
	elf_finish_sections(&elf);
	must_be(write(fd, elf.bytes, 0x1000) == 0x1000, "written");
}

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

	make_program(fd);
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

RUN_TESTS()
