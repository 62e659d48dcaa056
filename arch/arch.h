/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unwinding has to know of a CPU and its ABI, as data: one table a CPU,
 * in one file a CPU.  Nothing here is code that runs, and nothing depends on
 * the host.
 *
 * To add a CPU:
 *   1. arch/<name>.c with one `const struct reel_arch`; list it in arch/arch.c.  Replay, import and
 *      `stackreel table` then know it.
 *   2. Registers: DWARF numbers from the psABI's table, in ascending order, perf numbers
 *      from the kernel's arch/<cpu>/include/uapi/asm/perf_regs.h (-1: perf has none).
 *   3. The three programs, the signal frames and the instructions below, each with its source;
 *      what instructions do (arch/instruction.h) in arch/<name>_instructions.c, for code without
 * CFI.
 *   4. Tests: tests/unit/arch/test_arch.c takes the table by itself, and checks names against
 * elfutils'; frames and calls counted by hand go there.  tests/test-arch.sh checks all numbers
 * against the kernel's and libc's headers: it wants the frames' structs and the names that the
 * headers have.  tests/cfi_rules.c holds what libdw's backend of the CPU says differently,
 *      tests/chains/cpus.py what chains of real programs have of their own there;
 *      tests/unit/replay/code/test_decoder.c has bytes of instructions, tests/truth/synthesis.sh
 * its libraries.
 *   5. To record there, too: bpf/registers_<cpu>.h (bpf/registers.h says what it must have).  Where
 *      a 64-bit kernel runs it, bpf/registers_<that cpu>.h stores its registers
 *      (REEL_BPF_COMPAT), and reel_elf_compat_machine (base/elf_identity.c) names it.
 *   6. A capture with the binaries to replay it with goes to testdata/<name>/.
 *
 * Programs are DW_CFA bytes as a CIE's initial instructions have them, for
 * code alignment factor 1 and data alignment factor `data_align`, run by the
 * interpreter that runs real CFI (cfi/cfi.c).  All but the defaults are run on
 * top of the defaults.  Where one says how to find `pc`, that is the return
 * address; otherwise `return_column` is.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/instruction.h"

/* Tracked registers of a CPU are numbered 0 … n - 1 ("slots"), in the table's order. */
#define REEL_ARCH_SLOTS_MAX 64
#define REEL_ARCH_NO_SLOT   0xff
/* DWARF numbers from here on are in no table. */
#define REEL_ARCH_DWARF_MAX 160

struct reel_arch_register {
	const char *name;
	uint16_t dwarf;
	int16_t perf;
	uint8_t size; /* bytes */
};

struct reel_arch_program {
	const uint8_t *bytes;
	size_t size;
};

/*
 * A signal trampoline: where the code at a return address is `code` (under
 * `mask`, where it is not NULL), the frame is a signal frame and `program`
 * says where its registers lie, with the CFA as the program defines it.
 */
struct reel_arch_signal_frame {
	const uint8_t *code;
	const uint8_t *mask;
	size_t size;
	struct reel_arch_program program;
};

#define REEL_ARCH_CODE_MAX 16

/* How code names an address; `none` has to be 0. */
enum reel_arch_address {
	REEL_ARCH_OPERAND_NONE,
	REEL_ARCH_OPERAND_PC32,	 /* 32 bits, counted from their end */
	REEL_ARCH_OPERAND_ABS32, /* 32 bits */
	REEL_ARCH_OPERAND_GOT32, /* 32 bits, counted from DT_PLTGOT */
	/* Arm ARM C6.2: adrp, then ldr with an unsigned offset, of 8 bytes. */
	REEL_ARCH_OPERAND_ADRP,
	/* bl: 26 bits, of instructions, counted from where it begins. */
	REEL_ARCH_OPERAND_BL,
	/* RISC-V unprivileged ISA, chapter 2: auipc, then a load. */
	REEL_ARCH_OPERAND_AUIPC,
	/* jal: 20 bits, of halfwords, counted from where it begins. */
	REEL_ARCH_OPERAND_JAL,
	/* z/Architecture Principles of Operation, larl and brasl: 32 bits, of halfwords, counted
	 * from where the instruction begins, two bytes before them. */
	REEL_ARCH_OPERAND_LARL,
};

/*
 * A call instruction: the `size` bytes right before a return address.  For
 * guesses to be checked with, never to decode code.
 */
struct reel_arch_call {
	const uint8_t *code;
	const uint8_t *mask;
	size_t size;
	uint8_t operand; /* that names the target, where it is in the code */
	uint8_t kind;	 /* enum reel_arch_address */
};

/*
 * Instructions at which it is known what lies above the return address: in PLT stubs without CFI,
 * at a function's start and end.  The pc is `into` bytes behind the code's start; so many words
 * are `pushed` since the call.  The first that matches counts.  Only in a frame that nobody called
 * from, but for those that stand `behind_call`: `code` has the call, and it leaves the stack alone.
 */
struct reel_arch_entry {
	const uint8_t *code;
	const uint8_t *mask;
	uint8_t size, into, pushed;
	bool behind_call;
};

/*
 * A register that holds a count, no address, where CFI needs it:
 * CFA = [sp + offset + scale * count] + a word.  So the return address is what the word found there
 * points to.
 */
struct reel_arch_count {
	uint16_t dwarf;
	uint8_t offset, scale;
	uint16_t max;
	/* Of a signal frame, bytes behind where the register is saved: where sp and pc are, and a
	 * word that is `mark` in each. */
	uint8_t saved_sp, saved_pc, saved_mark;
	uint64_t mark;
};

/* How a PLT stub begins, and how its code says from which word of the GOT it takes its target: the
 * relocation of that word names the stub. */
struct reel_arch_stub {
	const uint8_t *code;
	const uint8_t *mask;
	uint8_t size;
	uint8_t operand; /* where it is in the code */
	uint8_t kind;	 /* enum reel_arch_address */
};

enum reel_arch_flags {
	/* The return address column is a link register: in the first frame, and right after a
	 * signal frame, it holds the return address where the CFI says nothing; in others it was
	 * overwritten. */
	REEL_ARCH_LINK_REGISTER = 1 << 0,
	/* The frame-pointer step leaves sp unknown (a frame record lies anywhere in its frame). */
	REEL_ARCH_FRAME_STEP_LOSES_SP = 1 << 1,
	/* Return addresses may be signed: strip the capture's code mask before anything else. */
	REEL_ARCH_POINTER_AUTHENTICATION = 1 << 2,
	/* Frames are chained by pointers at sp, not by a frame pointer register. */
	REEL_ARCH_BACK_CHAIN = 1 << 3,
	/* Kernels put the code of signal trampolines on the stack, at a word's start. */
	REEL_ARCH_STACK_TRAMPOLINES = 1 << 4,
};

/* How the code of a CPU is decoded, to be followed where there is no CFI (replay/code/). */
enum reel_arch_code {
	REEL_ARCH_CODE_NONE = 0,
	REEL_ARCH_CODE_X86,   /* by a library */
	REEL_ARCH_CODE_TABLE, /* by arch/instruction.h */
};

struct reel_arch {
	const char *name; /* as uname -m says, but for i386 */
	uint16_t elf_machine;
	uint8_t word_size;  /* bytes: 4 or 8 */
	uint8_t code_align; /* return addresses are multiples of it */
	const struct reel_arch_register *registers;
	uint8_t n_registers;
	/* DWARF numbers. `return_column` is the usual CIE's; `pc` is the number under which samples
	 * hold the pc. */
	uint16_t pc, sp, fp, return_column;
	int8_t data_align;
	unsigned flags;	  /* enum reel_arch_flags */
	uint8_t red_zone; /* bytes below sp that belong to the frame */
	/* Bits of code addresses that are stripped where a capture does not say which. */
	uint64_t default_code_mask;

	/* The state before a CIE's instructions: what callees keep (same_value), how the caller's
	 * sp comes from the CFA. */
	struct reel_arch_program defaults;
	/* The state right behind a call instruction: undoes a call to nowhere. */
	struct reel_arch_program undo_call;
	/* The caller by the frame pointer, or by another chain of frames; what it does not restore
	 * is unknown. */
	struct reel_arch_program frame_step;

	const struct reel_arch_signal_frame *signal_frames;
	size_t n_signal_frames;
	const struct reel_arch_call *calls;
	size_t n_calls;
	/* Jumps that name their target, as functions end with that call another one last. */
	const struct reel_arch_call *jumps;
	size_t n_jumps;
	const struct reel_arch_entry *entries;
	size_t n_entries;
	/* Instructions at which a function has restored everything, so that the state is that right
	 * behind its call (`pushed` is 0), whatever the CFI says: for compilers that describe no
	 * epilogues. */
	const struct reel_arch_entry *returns;
	size_t n_returns;
	/* The register that a system call's result is in (syscall(2)). */
	uint16_t result;
	/* The instructions that make a system call. */
	const struct reel_arch_call *system_calls;
	size_t n_system_calls;
	/* What scrubbing leaves of registers beside addresses. */
	const struct reel_arch_count *counts;
	size_t n_counts;
	/* Of PLTs, none of them longer than `stub_size` bytes; they begin at multiples of 8. */
	const struct reel_arch_stub *stubs;
	size_t n_stubs;
	uint8_t stub_size;
	/* Bytes of the instruction whose first byte this is; NULL: more must be read to tell. */
	uint8_t (*instruction_size)(uint8_t first);
	enum reel_arch_code code;
	const struct reel_arch_instructions *instructions; /* REEL_ARCH_CODE_TABLE */
	/* How the names begin of the kernel's functions that an interrupt or a fault enters it by;
	 * NULL-terminated.  What follows them in a kernel chain is the interrupted pc. */
	const char *const *kernel_entries;
};

/* NULL-terminated. */
extern const struct reel_arch *const reel_arch_all[];

/* NULL if there is none. `word_bits` 0 matches any. */
const struct reel_arch *reel_arch_by_machine(uint16_t elf_machine, unsigned word_bits);
const struct reel_arch *reel_arch_by_name(const char *name);

/* The slot of a DWARF number, REEL_ARCH_NO_SLOT if it is not tracked. */
uint8_t reel_arch_slot(const struct reel_arch *arch, uint64_t dwarf);
/* NULL for a register that the table does not have. */
const struct reel_arch_register *reel_arch_register(const struct reel_arch *arch, uint64_t dwarf);

#endif
