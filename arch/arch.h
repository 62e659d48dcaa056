/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about a CPU and its ABI that unwinding needs, as data: one table for each CPU, in its
 * own file.  Nothing here is code that runs, and nothing depends on the host.
 *
 * To add a CPU:
 *   1. arch/<name>.c with one `const struct reel_arch`; list it in arch/arch.c.  Replay, import and
 *      `stackreel table` then support it.
 *   2. Registers: DWARF numbers from the psABI's table, in ascending order, perf numbers from the
 *      kernel's arch/<cpu>/include/uapi/asm/perf_regs.h (-1: perf has none).
 *   3. The three programs, the signal frames and the instructions below, each with its source; the
 *      effects of instructions in arch/<name>_instructions.c, for code without CFI.
 *   4. Tests: tests/unit/arch/test_arch.c picks up the table, and compares names with elfutils';
 *      add hand-computed frames and calls there. tests/unwind/test-arch.sh checks all numbers
 *      against the kernel's and libc's headers: it needs the frames' structs and the headers'
 *      names. tests/unwind/cfi_rules.c has the differences of libdw's backend for the CPU,
 *      tests/chains/cpus.py special cases of real programs' chains there;
 *      tests/unit/replay/synthesis/test_decoder.c has bytes of instructions,
 *      tests/truth/synthesis.sh its libraries.
 *   5. For recording: bpf/registers/<cpu>.h (bpf/registers.h lists its contents).  If a 64-bit
 *      kernel runs the CPU's programs, bpf/registers_<that cpu>.h stores their registers
 *      (REEL_BPF_COMPAT), and reel_elf_compat_machine (base/elf_identity.c) names it.
 *   6. A capture with the binaries to replay it goes to testdata/<name>/.
 *
 * Programs are DW_CFA bytes like a CIE's initial instructions, for code alignment factor 1 and data
 * alignment factor `data_align`, run by the interpreter for real CFI (cfi/cfi.c).  All except the
 * defaults are run on top of the defaults.  If a program has a rule for `pc`, that is the return
 * address; otherwise `return_column` is.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- instructions ---------------------------------------------------------------------- */

/*
 * The effects of instructions on registers and the stack, as data, for CPUs whose instructions have
 * fixed formats.  The data covers the needs of following code without CFI (replay/synthesis/):
 * control flow, every written register, and memory accesses at a register plus a constant.
 *
 * A table is searched from its start and the first match counts, so the entry for an opcode's whole
 * group follows its members.  An instruction without a match is unknown.
 */

/* How control flow continues. */
enum reel_flow {
	REEL_FLOW_NEXT = 0,
	REEL_FLOW_BRANCH, /* to the target, or to the next */
	REEL_FLOW_JUMP,
	REEL_FLOW_CALL, /* and to the next, after the return */
	REEL_FLOW_RETURN,
	REEL_FLOW_RETURN_OR_NEXT, /* depends on a condition */
	REEL_FLOW_END,		  /* control flow ends */
};

/* `bits` bits of an instruction, from bit `at` on (0: its lowest bit). */
struct reel_arch_field {
	uint8_t at, bits;
	uint8_t to; /* position of its lowest bit in the number */
};

/* A number in an instruction, possibly in pieces. */
#define REEL_ARCH_FIELDS_MAX 8
struct reel_arch_immediate {
	struct reel_arch_field fields[REEL_ARCH_FIELDS_MAX]; /* ends with one of 0 bits */
	uint8_t width; /* bits, of which the highest is the sign; 0: unsigned */
	bool negative; /* it is subtracted */
	uint8_t add;   /* added to it */
};

/* A register: the number in these bits, plus `add`.  Identified by its index in the CPU's operands,
 * of which the first is none. */
struct reel_arch_operand {
	uint8_t at, bits; /* no bits: always `add` */
	uint8_t add;
	uint8_t set; /* index in register_sets, which maps these numbers */
};

enum reel_arch_effect_kind {
	REEL_ARCH_NOTHING = 0, /* end of the list */
	REEL_ARCH_CLOBBER,     /* `to` becomes unknown */
	REEL_ARCH_SUM,	       /* `to` becomes base + displacement */
	REEL_ARCH_LOAD,	       /* `to` becomes the word at that address */
	REEL_ARCH_STORE,       /* writes `size` bytes there: `to`, if that is a word */
	/* The same for all registers from `to` to the instruction's `last`, stored there in a row,
	 * each in `size` bytes. */
	REEL_ARCH_CLOBBER_RANGE,
	REEL_ARCH_LOAD_RANGE,
	REEL_ARCH_STORE_RANGE,
	REEL_ARCH_STORE_LENGTH, /* writes as many bytes there as the number in `last`, plus 1 */
};

struct reel_arch_effect {
	uint8_t kind;	  /* enum reel_arch_effect_kind */
	uint8_t to, base; /* operands */
	/* The displacement is `plus`, and the instruction's immediate if `by_immediate`. */
	bool by_immediate;
	uint8_t plus;
	uint8_t size; /* bytes */
};

#define REEL_ARCH_EFFECTS_MAX 4

struct reel_arch_instruction {
	/* For the instruction as a number of `size` bytes, in the byte order of the CPU's code. */
	uint64_t mask, match;
	uint8_t size; /* bytes */
	uint8_t flow; /* enum reel_flow */
	bool unknown; /* as without a match */
	/* Jumps, calls and returns go to the immediate, relative to the instruction; without one,
	 * to the address in the register `through`, which is none if the target also depends on
	 * memory or other registers. */
	uint8_t through;
	uint8_t last; /* of ranges */
	const struct reel_arch_immediate *immediate;
	struct reel_arch_effect effects[REEL_ARCH_EFFECTS_MAX];
};

struct reel_arch_instructions {
	const struct reel_arch_instruction *table;
	size_t n;
	bool big_endian;
	const struct reel_arch_operand *operands;
	/* The DWARF numbers of the registers 0 to 31, by set; NO_REGISTER: not tracked. */
	const uint8_t (*register_sets)[32];
};

#define REEL_ARCH_NO_REGISTER 0xff

/* ---- CPUs ------------------------------------------------------------------------------ */

/* Tracked registers of a CPU are numbered 0 … n - 1 ("slots"), in the table's order. */
#define REEL_ARCH_SLOTS_MAX 64
#define REEL_ARCH_NO_SLOT   0xff
/* No table has DWARF numbers from here on. */
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
 * A signal trampoline: if the code at a return address is `code` (under `mask`, unless NULL), the
 * frame is a signal frame and `program` has the places of its registers, with the CFA that it
 * defines.
 */
struct reel_arch_signal_frame {
	const uint8_t *code;
	const uint8_t *mask;
	size_t size;
	struct reel_arch_program program;
};

#define REEL_ARCH_CODE_MAX 16

/* How code names an address; `none` must be 0. */
enum reel_arch_address {
	REEL_ARCH_OPERAND_NONE,
	REEL_ARCH_OPERAND_PC32,	 /* 32 bits, relative to their end */
	REEL_ARCH_OPERAND_ABS32, /* 32 bits */
	REEL_ARCH_OPERAND_GOT32, /* 32 bits, relative to DT_PLTGOT */
	/* Arm ARM C6.2: adrp, followed by ldr with an unsigned offset, of 8 bytes. */
	REEL_ARCH_OPERAND_ADRP,
	/* bl: 26 bits, counting instructions, relative to its begin. */
	REEL_ARCH_OPERAND_BL,
	/* RISC-V unprivileged ISA, chapter 2: auipc, followed by a load. */
	REEL_ARCH_OPERAND_AUIPC,
	/* jal: 20 bits, counting halfwords, relative to its begin. */
	REEL_ARCH_OPERAND_JAL,
	/* z/Architecture Principles of Operation, larl and brasl: 32 bits, counting halfwords,
	 * relative to the instruction's begin, two bytes before them. */
	REEL_ARCH_OPERAND_LARL,
};

/*
 * A call instruction: the `size` bytes right before a return address.  Only to check guesses, never
 * to decode code.
 */
struct reel_arch_call {
	const uint8_t *code;
	const uint8_t *mask;
	size_t size;
	uint8_t operand; /* the field with the target, if it is in the code */
	uint8_t kind;	 /* enum reel_arch_address */
};

/*
 * Instructions at which the return address's place is known: in PLT stubs without CFI, at a
 * function's start and end.  The pc is `into` bytes after the code's start, and `pushed` words were
 * pushed since the call.  The first match counts.  Only in a frame that nobody called from, except
 * those `behind_call`: `code` includes the call, and the callee leaves the stack unchanged.
 */
struct reel_arch_entry {
	const uint8_t *code;
	const uint8_t *mask;
	uint8_t size, into, pushed;
	bool behind_call;
};

/*
 * A register that holds a count, not an address, and that CFI needs: CFA = [sp + offset + scale *
 * count] + a word.  So the word found there points to the return address.
 */
struct reel_arch_count {
	uint16_t dwarf;
	uint8_t offset, scale;
	uint16_t max;
	/* For a signal frame, bytes after the saved register: the places of sp, pc, and a word that
	 * is always `mark`. */
	uint8_t saved_sp, saved_pc, saved_mark;
	uint64_t mark;
};

/* The start of a PLT stub, and how its code names the GOT word with its target: the relocation of
 * that word names the stub. */
struct reel_arch_stub {
	const uint8_t *code;
	const uint8_t *mask;
	uint8_t size;
	uint8_t whole;	 /* the whole stub's size, at most */
	uint8_t operand; /* its place in the code */
	uint8_t kind;	 /* enum reel_arch_address */
};

enum reel_arch_flags {
	/* The return address column is a link register: in the first frame, and right after a
	 * signal frame, it holds the return address if the CFI has no rule; in others it was
	 * overwritten. */
	REEL_ARCH_LINK_REGISTER = 1 << 0,
	/* The frame-pointer step leaves sp unknown (a frame record may be at any place). */
	REEL_ARCH_FRAME_STEP_LOSES_SP = 1 << 1,
	/* Return addresses may be signed: strip the capture's code mask before anything else. */
	REEL_ARCH_POINTER_AUTHENTICATION = 1 << 2,
	/* Frames are chained by pointers at sp, not by a frame pointer register. */
	REEL_ARCH_BACK_CHAIN = 1 << 3,
	/* Kernels put the code of signal trampolines on the stack, at a word's start. */
	REEL_ARCH_STACK_TRAMPOLINES = 1 << 4,
};

/* The decoder for a CPU's code, to follow code without CFI (replay/synthesis/). */
enum reel_arch_code {
	REEL_ARCH_CODE_NONE = 0,
	REEL_ARCH_CODE_X86,   /* by a library */
	REEL_ARCH_CODE_TABLE, /* by `instructions` */
};

struct reel_arch {
	const char *name; /* as in uname -m, except i386 */
	uint16_t elf_machine;
	uint8_t word_size;  /* bytes: 4 or 8 */
	uint8_t code_align; /* return addresses are multiples of it */
	const struct reel_arch_register *registers;
	uint8_t n_registers;
	/* DWARF numbers.  `return_column` is the usual CIE's; `pc` is the pc's number in
	 * samples. */
	uint16_t pc, sp, fp, return_column;
	int8_t data_align;
	unsigned flags; /* enum reel_arch_flags */
	/* Bits by DWARF number: a system call's result and the registers it destroys, which in a
	 * sample within it have neither the old value nor the new one. */
	uint32_t system_call_changes;
	uint8_t red_zone; /* bytes below sp that belong to the frame */
	/* Bits stripped from code addresses if a capture does not specify them. */
	uint64_t default_code_mask;

	/* The state before a CIE's instructions: the registers that callees keep (same_value), and
	 * how the CFA gives the caller's sp. */
	struct reel_arch_program defaults;
	/* The state right after a call instruction: undoes a call to nowhere. */
	struct reel_arch_program undo_call;
	/* The caller by the frame pointer, or by another chain of frames; registers that it does
	 * not restore are unknown. */
	struct reel_arch_program frame_step;

	const struct reel_arch_signal_frame *signal_frames;
	size_t n_signal_frames;
	const struct reel_arch_call *calls;
	size_t n_calls;
	/* Jumps that name their target, in functions that end with a tail call. */
	const struct reel_arch_call *jumps;
	size_t n_jumps;
	const struct reel_arch_entry *entries;
	size_t n_entries;
	/* Instructions at which a function has restored everything, so that the state is the one
	 * right after its call (`pushed` is 0), whatever the CFI: for compilers that describe no
	 * epilogues. */
	const struct reel_arch_entry *returns;
	size_t n_returns;
	/* The register for a system call's result (syscall(2)). */
	uint16_t result;
	/* The instructions that make a system call. */
	const struct reel_arch_call *system_calls;
	size_t n_system_calls;
	/* The values besides addresses that scrubbing keeps in registers. */
	const struct reel_arch_count *counts;
	size_t n_counts;
	/* PLT stubs; they begin at multiples of 8. */
	const struct reel_arch_stub *stubs;
	size_t n_stubs;
	/* The size of the instruction with this first byte; NULL: needs more bytes. */
	uint8_t (*instruction_size)(uint8_t first);
	enum reel_arch_code code;
	const struct reel_arch_instructions *instructions; /* REEL_ARCH_CODE_TABLE */
	/* Prefixes of the kernel functions by which an interrupt or a fault enters it;
	 * NULL-terminated.  In a kernel chain the interrupted pc follows them. */
	const char *const *kernel_entries;
};

/* NULL-terminated. */
extern const struct reel_arch *const reel_arch_all[];

/* NULL if unknown.  `word_bits` 0 matches any. */
const struct reel_arch *reel_arch_by_machine(uint16_t elf_machine, unsigned word_bits);
const struct reel_arch *reel_arch_by_name(const char *name);

/* The slot of a DWARF number, REEL_ARCH_NO_SLOT if it is not tracked. */
uint8_t reel_arch_slot(const struct reel_arch *arch, uint64_t dwarf);
/* NULL for a register missing in the table. */
const struct reel_arch_register *reel_arch_register(const struct reel_arch *arch, uint64_t dwarf);

#endif
