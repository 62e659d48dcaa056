/* SPDX-License-Identifier: Apache-2.0 */
/* Our tables of CPUs, compared with the kernel's, libc's and elfutils'. */
#include <sys/mman.h>
#include <ucontext.h>

#include <asm/perf_regs.h>
#include <elf.h>
#include <elfutils/libdwfl.h>

#include "cfi/cfi.h"
#include "tests/support/test.h"

TEST(test_tables)
{
	for (const struct reel_arch *const *at = reel_arch_all; *at; at++) {
		const struct reel_arch *arch = *at;

		assert_ptr_equal(reel_arch_by_name(arch->name), arch);
		assert_ptr_equal(reel_arch_by_machine(arch->elf_machine, 0), arch);
		assert_ptr_equal(reel_arch_by_machine(arch->elf_machine, arch->word_size * 8u),
				 arch);
		assert_null(reel_arch_by_machine(arch->elf_machine, 96 - arch->word_size * 8u));
		assert_in_range(arch->n_registers, 1, REEL_ARCH_SLOTS_MAX);
		for (uint8_t slot = 0; slot < arch->n_registers; slot++) {
			const struct reel_arch_register *reg = &arch->registers[slot];

			assert_true(!slot || reg->dwarf > reg[-1].dwarf);
			assert_true(reg->dwarf < REEL_ARCH_DWARF_MAX);
			assert_int_equal(reel_arch_slot(arch, reg->dwarf), slot);
			assert_ptr_equal(reel_arch_register(arch, reg->dwarf), reg);
		}
		assert_int_not_equal(reel_arch_slot(arch, arch->pc), REEL_ARCH_NO_SLOT);
		assert_int_not_equal(reel_arch_slot(arch, arch->sp), REEL_ARCH_NO_SLOT);
		assert_int_not_equal(reel_arch_slot(arch, arch->fp), REEL_ARCH_NO_SLOT);
		assert_int_equal(reel_arch_slot(arch, 150), REEL_ARCH_NO_SLOT);
		assert_int_equal(reel_arch_slot(arch, UINT64_MAX), REEL_ARCH_NO_SLOT);
		for (size_t i = 0; i < arch->n_signal_frames; i++)
			assert_in_range(arch->signal_frames[i].size, 1, REEL_ARCH_CODE_MAX);
		for (size_t i = 0; i < arch->n_calls; i++)
			assert_in_range(arch->calls[i].size, 1, REEL_ARCH_CODE_MAX);
	}
	assert_null(reel_arch_by_name("vax"));
	assert_null(reel_arch_by_machine(EM_VAX, 0));
}

TEST(test_programs)
{
	struct reel_cfi_row row;

	for (const struct reel_arch *const *at = reel_arch_all; *at; at++) {
		const struct reel_arch *arch = *at;

		assert_true(reel_cfi_run_program(arch, arch->defaults, &row));
		assert_int_equal(row.rules[arch->sp].kind, REEL_RULE_VAL_OFFSET);
		assert_int_equal(row.rules[arch->fp].kind, REEL_RULE_SAME);
		assert_true(reel_cfi_run_program(arch, arch->undo_call, &row));
		assert_int_equal(row.cfa.kind, REEL_RULE_REGISTER_OFFSET);
		assert_int_equal(row.cfa.reg, arch->sp);
		/* sp must be restored to its value before the call. */
		assert_int_equal(row.cfa.offset + row.rules[arch->sp].offset,
				 arch->flags & REEL_ARCH_LINK_REGISTER ? 0 : arch->word_size);
		assert_true(reel_cfi_run_program(arch, arch->frame_step, &row));
		assert_int_equal(row.rules[row.return_column].kind, REEL_RULE_OFFSET);
		for (size_t i = 0; i < arch->n_signal_frames; i++) {
			assert_true(
				reel_cfi_run_program(arch, arch->signal_frames[i].program, &row));
			assert_int_equal(row.return_column, arch->pc);
			/* Every register is saved, each in its own slot. */
			for (uint8_t a = 0; a < arch->n_registers; a++) {
				const struct reel_cfi_rule *rule =
					&row.rules[arch->registers[a].dwarf];

				if (!strcmp(arch->registers[a].name, "zero"))
					continue;
				assert_int_equal(rule->kind, REEL_RULE_OFFSET);
				for (uint8_t b = 0; b < a; b++)
					assert_int_not_equal(
						rule->offset,
						row.rules[arch->registers[b].dwarf].kind ==
								REEL_RULE_OFFSET
							? row.rules[arch->registers[b].dwarf].offset
							: -1);
			}
		}
	}
}

static int64_t saved_at(const char *arch_name, size_t frame, uint16_t dwarf)
{
	const struct reel_arch *arch = reel_arch_by_name(arch_name);
	struct reel_cfi_row row;

	assert_true(reel_cfi_run_program(arch, arch->signal_frames[frame].program, &row));
	assert_int_equal(row.cfa.offset, 0);
	return row.rules[dwarf].offset;
}

/* Offsets counted by hand in the kernel's structs (see each arch/ file). */
TEST(test_signal_frames)
{
	assert_int_equal(saved_at("x86_64", 0, 7), 160);
	assert_int_equal(saved_at("x86_64", 0, 16), 168);
	assert_int_equal(saved_at("aarch64", 0, 0), 128 + 176 + 8);
	assert_int_equal(saved_at("aarch64", 0, 31), 128 + 176 + 8 + 31 * 8);
	assert_int_equal(saved_at("aarch64", 0, 32), 128 + 176 + 8 + 32 * 8);
	assert_int_equal(saved_at("riscv64", 0, 64), 128 + 176);
	assert_int_equal(saved_at("riscv64", 0, 31), 128 + 176 + 31 * 8);
	assert_int_equal(saved_at("s390x", 0, 65), 160 + 8 + 128 + 40 + 8);
	assert_int_equal(saved_at("s390x", 0, 15), 160 + 8 + 128 + 40 + 16 + 15 * 8);
	/* f15: after 16 registers, 16 access registers and the control word. */
	assert_int_equal(saved_at("s390x", 0, 31), 336 + 16 + 128 + 64 + 8 + 15 * 8);
	assert_int_equal(saved_at("s390x", 1, 65), 160 + 16 + 8);
	assert_int_equal(saved_at("s390x", 1, 31), 176 + 16 + 128 + 64 + 8 + 15 * 8);
	assert_int_equal(saved_at("i386", 0, 4), 12 + 128 + 20 + 7 * 4);
	assert_int_equal(saved_at("i386", 0, 8), 12 + 128 + 20 + 14 * 4);
	assert_int_equal(saved_at("i386", 1, 8), 14 * 4);
	assert_int_equal(saved_at("i386", 2, 8), 4 + 14 * 4);
}

/* Calls, and instructions that are not calls. */
static bool is_call(const char *arch_name, const uint8_t *bytes, size_t size)
{
	const struct reel_arch *arch = reel_arch_by_name(arch_name);

	for (size_t i = 0; i < arch->n_calls; i++) {
		const struct reel_arch_call *call = &arch->calls[i];
		bool same = call->size <= size;

		for (size_t j = 0; same && j < call->size; j++)
			same = (bytes[size - call->size + j] & call->mask[j]) == call->code[j];
		if (same)
			return true;
	}
	return false;
}

#define IS_CALL(arch, ...)                                                                         \
	is_call(arch, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

TEST(test_calls)
{
	assert_true(IS_CALL("x86_64", 0xe8, 1, 2, 3, 4));	      /* call . + … */
	assert_true(IS_CALL("x86_64", 0xff, 0xd0));		      /* call *%rax */
	assert_true(IS_CALL("x86_64", 0x41, 0xff, 0xd4));	      /* call *%r12 */
	assert_true(IS_CALL("x86_64", 0xff, 0x50, 0x18));	      /* call *0x18(%rax) */
	assert_true(IS_CALL("x86_64", 0xff, 0x54, 0x24, 0x08));	      /* call *8(%rsp) */
	assert_true(IS_CALL("x86_64", 0xff, 0x15, 1, 2, 3, 4));	      /* call *…(%rip) */
	assert_true(IS_CALL("x86_64", 0x41, 0xff, 0x14, 0xc4));	      /* call *(%r12,%rax,8) */
	assert_true(IS_CALL("x86_64", 0xff, 0x94, 0xc3, 1, 2, 3, 4)); /* call *…(%rbx,%rax,8) */
	assert_false(IS_CALL("x86_64", 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90));
	assert_false(IS_CALL("x86_64", 0xff, 0xe0));		     /* jmp *%rax */
	assert_true(IS_CALL("i386", 0xff, 0x15, 1, 2, 3, 4));	     /* call *… */
	assert_true(IS_CALL("i386", 0x65, 0xff, 0x15, 16, 0, 0, 0)); /* call *%gs:0x10 */
	assert_true(IS_CALL("i386", 0xe8, 0, 0, 0, 0));		  /* call __x86.get_pc_thunk.bx */
	assert_false(IS_CALL("i386", 0xff, 0xa3, 12, 0, 0, 0));	  /* jmp *12(%ebx) */
	assert_true(IS_CALL("aarch64", 0x10, 0x00, 0x00, 0x97));  /* bl */
	assert_true(IS_CALL("aarch64", 0x20, 0x00, 0x3f, 0xd6));  /* blr x1 */
	assert_true(IS_CALL("aarch64", 0x22, 0x08, 0x3f, 0xd7));  /* blraa x1, x2 */
	assert_true(IS_CALL("aarch64", 0x3f, 0x08, 0x3f, 0xd6));  /* blraaz x1 */
	assert_false(IS_CALL("aarch64", 0x10, 0x00, 0x00, 0x14)); /* b */
	assert_false(IS_CALL("aarch64", 0x20, 0x00, 0x1f, 0xd6)); /* br x1 */
	assert_false(IS_CALL("aarch64", 0xc0, 0x03, 0x5f, 0xd6)); /* ret */
	assert_true(IS_CALL("riscv64", 0xef, 0x00, 0x40, 0x01));  /* jal ra, 20 */
	assert_true(IS_CALL("riscv64", 0xe7, 0x80, 0x07, 0x00));  /* jalr a5 */
	assert_true(IS_CALL("riscv64", 0x82, 0x97));		  /* c.jalr a5 */
	assert_false(IS_CALL("riscv64", 0x82, 0x80));		  /* ret */
	assert_true(IS_CALL("s390x", 0xc0, 0xe5, 0, 0, 1, 2));	  /* brasl %r14,… */
	assert_true(IS_CALL("s390x", 0x0d, 0xe1));		  /* basr %r14,%r1 */
	assert_false(IS_CALL("s390x", 0x07, 0xfe));		  /* br %r14 */
}

#ifdef __x86_64__
TEST(test_host)
{
	static const struct {
		const char *name;
		int perf, context;
	} registers[] = {
		{ "rax", PERF_REG_X86_AX, REG_RAX },  { "rbx", PERF_REG_X86_BX, REG_RBX },
		{ "rcx", PERF_REG_X86_CX, REG_RCX },  { "rdx", PERF_REG_X86_DX, REG_RDX },
		{ "rsi", PERF_REG_X86_SI, REG_RSI },  { "rdi", PERF_REG_X86_DI, REG_RDI },
		{ "rbp", PERF_REG_X86_BP, REG_RBP },  { "rsp", PERF_REG_X86_SP, REG_RSP },
		{ "rip", PERF_REG_X86_IP, REG_RIP },  { "r8", PERF_REG_X86_R8, REG_R8 },
		{ "r9", PERF_REG_X86_R9, REG_R9 },    { "r10", PERF_REG_X86_R10, REG_R10 },
		{ "r11", PERF_REG_X86_R11, REG_R11 }, { "r12", PERF_REG_X86_R12, REG_R12 },
		{ "r13", PERF_REG_X86_R13, REG_R13 }, { "r14", PERF_REG_X86_R14, REG_R14 },
		{ "r15", PERF_REG_X86_R15, REG_R15 },
	};
	const struct reel_arch *arch = reel_arch_by_name("x86_64");

	for (uint8_t slot = 0; slot < arch->n_registers; slot++) {
		size_t i = 0;

		while (i < 17 && strcmp(registers[i].name, arch->registers[slot].name))
			i++;
		assert_true(i < 17);
		assert_int_equal(arch->registers[slot].perf, registers[i].perf);
		assert_int_equal(saved_at("x86_64", 0, arch->registers[slot].dwarf),
				 offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, gregs) +
					 8 * (size_t)registers[i].context);
	}
}
#elif defined(__aarch64__)
TEST(test_host)
{
	const struct reel_arch *arch = reel_arch_by_name("aarch64");

	assert_int_equal(reel_arch_register(arch, 0)->perf, PERF_REG_ARM64_X0);
	assert_int_equal(reel_arch_register(arch, 30)->perf, PERF_REG_ARM64_LR);
	assert_int_equal(reel_arch_register(arch, 31)->perf, PERF_REG_ARM64_SP);
	assert_int_equal(reel_arch_register(arch, 32)->perf, PERF_REG_ARM64_PC);
	assert_int_equal(saved_at("aarch64", 0, 32),
			 128 + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, pc));
}
#else
TEST(test_host)
{
	skip();
}
#endif

/* ---- register names, by elfutils' backends on an ELF header of the CPU -------------------- */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.section_address = dwfl_offline_section_address,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

struct names {
	const struct reel_arch *arch;
	unsigned seen;
};

static int check_name(void *argument, int regno, const char *setname, const char *prefix,
		      const char *regname, int bits, int type)
{
	struct names *names = argument;
	const struct reel_arch_register *reg = reel_arch_register(names->arch, (uint64_t)regno);

	if (!reg || !regname)
		return DWARF_CB_OK;
	/* elfutils does not use riscv64's 64 for the alternate return column. */
	if (names->arch->elf_machine == EM_RISCV && regno == 64)
		return DWARF_CB_OK;
	if (strcmp(regname, reg->name))
		print_message("%s: DWARF %d is %s, not %s\n", names->arch->name, regno, regname,
			      reg->name);
	assert_string_equal(regname, reg->name);
	names->seen++;
	return DWARF_CB_OK;
}

static int memory_file(const struct reel_arch *arch)
{
	bool big = !strcmp(arch->name, "s390x"), is_64 = arch->word_size == 8;
	size_t size = is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	size_t size_at = is_64 ? offsetof(Elf64_Ehdr, e_ehsize) : offsetof(Elf32_Ehdr, e_ehsize);
	uint8_t header[sizeof(Elf64_Ehdr)] = { 0x7f,
					       'E',
					       'L',
					       'F',
					       is_64 ? ELFCLASS64 : ELFCLASS32,
					       big ? ELFDATA2MSB : ELFDATA2LSB,
					       EV_CURRENT };
	int fd = memfd_create("elf", MFD_CLOEXEC);

	/* e_type, e_machine, e_version, e_ehsize */
	header[big ? 17 : 16] = ET_DYN;
	header[big ? 19 : 18] = (uint8_t)arch->elf_machine;
	header[big ? 23 : 20] = EV_CURRENT;
	header[size_at + big] = (uint8_t)size;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, header, size), size);
	return fd;
}

TEST(test_names)
{
	for (const struct reel_arch *const *arch = reel_arch_all; *arch; arch++) {
		struct names names = { .arch = *arch };
		Dwfl *dwfl = dwfl_begin(&callbacks);
		Dwfl_Module *module;

		assert_non_null(dwfl);
		module = dwfl_report_offline(dwfl, (*arch)->name, "elf", memory_file(*arch));
		dwfl_report_end(dwfl, NULL, NULL);
		assert_non_null(module);
		assert_int_equal(dwfl_module_register_names(module, check_name, &names), 0);
		assert_true(names.seen + 2 >= (*arch)->n_registers);
		dwfl_end(dwfl);
	}
}

RUN_TESTS()
