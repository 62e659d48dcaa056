/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of tests/record/sampler_cases.c that know the CPU; included there only. */
#ifndef TESTS_RECORD_SAMPLER_WORKERS_H
#define TESTS_RECORD_SAMPLER_WORKERS_H

#include <stddef.h>
#include <stdint.h>

/* The value of register n. */
#define MAGIC(n) (UINT64_C(0x1122334455660000) + 0x1010 * (n) + 7)

/*
 * probe_spin(sp): fills all registers with MAGIC(DWARF number), stores sp to *sp, and jumps to
 * itself at probe_spin_pc for ever. probe_read(fd, buffer, size): callee-saved registers are MAGIC;
 * reads for ever. probe_read_pc is after the system call.
 */
void probe_spin(volatile uint64_t *sp);
void probe_read(long fd, void *buffer, long size);
extern const char probe_spin_pc[], probe_read_pc[];

#if defined(__x86_64__)

#define PROBE_PC       16
#define PROBE_SP       7
#define PROBE_RED_ZONE 128
/* Registers that probe_spin and probe_read fill. */
#define PROBE_SPIN_MASK 0xff7fu /* all but rsp */
#define PROBE_READ_MASK 0xf048u /* rbx, rbp, r12 … r15 */
/* In probe_read: unknown (rax, rcx, r11), and the arguments. */
#define PROBE_READ_UNKNOWN ((1u << 0) | (1u << 2) | (1u << 11))
#define PROBE_KERNEL(pc)   ((pc) >> 63)
#define PROBE_BUFFER	   4
#define PROBE_SIZE	   1

#define PROBE_STR(x)	     #x
#define PROBE_MAGIC(n, name) "movabs $0x1122334455660007 + 0x1010 * " PROBE_STR(n) ", %" name "\n"
__asm__(".text\n.globl probe_spin, probe_spin_pc\nprobe_spin:\n"
	"mov %rsp, (%rdi)\n" PROBE_MAGIC(0, "rax") PROBE_MAGIC(1, "rdx") PROBE_MAGIC(
		2, "rcx") PROBE_MAGIC(3, "rbx") PROBE_MAGIC(4, "rsi") PROBE_MAGIC(5, "rdi")
		PROBE_MAGIC(6, "rbp") PROBE_MAGIC(8, "r8") PROBE_MAGIC(9, "r9") PROBE_MAGIC(
			10, "r10") PROBE_MAGIC(11, "r11") PROBE_MAGIC(12, "r12")
			PROBE_MAGIC(13, "r13") PROBE_MAGIC(14, "r14") PROBE_MAGIC(
				15,
				"r15") "probe_spin_pc: jmp probe_spin_pc\n"
				       ".globl probe_read, "
				       "probe_read_pc\nprobe_read:\n" PROBE_MAGIC(
					       3, "rbx") PROBE_MAGIC(6, "rbp") PROBE_MAGIC(12,
											   "r12")
					       PROBE_MAGIC(13, "r13") PROBE_MAGIC(14, "r14")
						       PROBE_MAGIC(15, "r15") "1: xor %eax, "
									      "%eax\nsyscall\nprobe"
									      "_read_pc: jmp 1b\n");

/* i386: mov of 0x40 + number to each register, by its DWARF number as by its encoding; jmp . */
#define PROBE_COMPAT_MACHINE   3 /* EM_386 */
#define PROBE_COMPAT_PC	       8
#define PROBE_COMPAT_REGISTERS 0xefu /* all but esp */
static const uint8_t probe_compat_code[] = {
	0xb8, 0x40, 0,	  0, 0, 0xb9, 0x41, 0,	  0, 0, 0xba, 0x42, 0,	  0, 0, 0xbb, 0x43, 0,	  0,
	0,    0xbd, 0x45, 0, 0, 0,    0xbe, 0x46, 0, 0, 0,    0xbf, 0x47, 0, 0, 0,    0xeb, 0xfe,
};
#define PROBE_COMPAT_SPIN 35 /* offset of the jmp */

#elif defined(__aarch64__)

#define PROBE_PC	   32
#define PROBE_SP	   31
#define PROBE_RED_ZONE	   0
#define PROBE_SPIN_MASK	   0x7fffffffu
#define PROBE_READ_MASK	   0x7ff80000u /* x19 … x30 */
#define PROBE_READ_UNKNOWN 0
#define PROBE_BUFFER	   1
#define PROBE_SIZE	   2
#define PROBE_KERNEL(pc)   ((pc) >> 63)

#define PROBE_STR(x)   #x
#define PROBE_MAGIC(n) "ldr x" PROBE_STR(n) ", =0x1122334455660007 + 0x1010 * " PROBE_STR(n) "\n"
#define PROBE_SAVED                                                                                \
	PROBE_MAGIC(19)                                                                            \
	PROBE_MAGIC(20)                                                                            \
	PROBE_MAGIC(21) PROBE_MAGIC(22) PROBE_MAGIC(23) PROBE_MAGIC(24) PROBE_MAGIC(25)            \
		PROBE_MAGIC(26) PROBE_MAGIC(27) PROBE_MAGIC(28) PROBE_MAGIC(29) PROBE_MAGIC(30)
__asm__(".text\n.globl probe_spin, probe_spin_pc\nprobe_spin:\n"
	"mov x1, sp\nstr x1, [x0]\n" PROBE_MAGIC(0) PROBE_MAGIC(1) PROBE_MAGIC(2) PROBE_MAGIC(3)
		PROBE_MAGIC(4) PROBE_MAGIC(5) PROBE_MAGIC(6) PROBE_MAGIC(7) PROBE_MAGIC(8)
			PROBE_MAGIC(9) PROBE_MAGIC(10) PROBE_MAGIC(11) PROBE_MAGIC(12)
				PROBE_MAGIC(13) PROBE_MAGIC(14) PROBE_MAGIC(15) PROBE_MAGIC(16)
					PROBE_MAGIC(17) PROBE_MAGIC(18) PROBE_SAVED
	"probe_spin_pc: b probe_spin_pc\n"
	".globl probe_read, probe_read_pc\nprobe_read:\nmov x9, x0\n" PROBE_SAVED
	"1: mov x0, x9\nmov x8, #63\nsvc #0\nprobe_read_pc: b 1b\n.ltorg\n");

/* arm: mov rN, #0x40 + N; b . */
#define PROBE_COMPAT_MACHINE   40 /* EM_ARM */
#define PROBE_COMPAT_PC	       15
#define PROBE_COMPAT_REGISTERS 0x5fffu /* all but sp */
#define PROBE_MOV(n)	       0x40 + (n), (n) << 4, 0xa0, 0xe3
static const uint8_t probe_compat_code[] = {
	PROBE_MOV(0),  PROBE_MOV(1),  PROBE_MOV(2), PROBE_MOV(3), PROBE_MOV(4),	 PROBE_MOV(5),
	PROBE_MOV(6),  PROBE_MOV(7),  PROBE_MOV(8), PROBE_MOV(9), PROBE_MOV(10), PROBE_MOV(11),
	PROBE_MOV(12), PROBE_MOV(14), 0xfe,	    0xff,	  0xff,		 0xea,
};
#define PROBE_COMPAT_SPIN      56

#elif defined(__riscv)

#define PROBE_PC	   64
#define PROBE_SP	   2
#define PROBE_RED_ZONE	   0
#define PROBE_SPIN_MASK	   0xffffffeau /* all but x0, sp and tp */
#define PROBE_READ_MASK	   0x0ffc0302u /* ra, s0 … s11 */
#define PROBE_READ_UNKNOWN (1u << 10)
#define PROBE_BUFFER	   11
#define PROBE_SIZE	   12
#define PROBE_KERNEL(pc)   ((pc) >> 63)

#define PROBE_STR(x)   #x
#define PROBE_MAGIC(n) "li x" PROBE_STR(n) ", 0x1122334455660007 + 0x1010 * " PROBE_STR(n) "\n"
#define PROBE_SAVED                                                                                \
	PROBE_MAGIC(1)                                                                             \
	PROBE_MAGIC(8)                                                                             \
	PROBE_MAGIC(9) PROBE_MAGIC(18) PROBE_MAGIC(19) PROBE_MAGIC(20) PROBE_MAGIC(21)             \
		PROBE_MAGIC(22) PROBE_MAGIC(23) PROBE_MAGIC(24) PROBE_MAGIC(25) PROBE_MAGIC(26)    \
			PROBE_MAGIC(27)
__asm__(".text\n.globl probe_spin, probe_spin_pc\nprobe_spin:\n"
	"sd sp, 0(a0)\n" PROBE_SAVED PROBE_MAGIC(3) PROBE_MAGIC(5) PROBE_MAGIC(6) PROBE_MAGIC(
		7) PROBE_MAGIC(10) PROBE_MAGIC(11) PROBE_MAGIC(12) PROBE_MAGIC(13) PROBE_MAGIC(14)
		PROBE_MAGIC(15) PROBE_MAGIC(16) PROBE_MAGIC(17) PROBE_MAGIC(28) PROBE_MAGIC(29)
			PROBE_MAGIC(30) PROBE_MAGIC(
				31) "probe_spin_pc:\n1: j 1b\n"
				    ".globl probe_read, probe_read_pc\nprobe_read:\nmv t0, "
				    "a0\n" PROBE_SAVED
				    "1: mv a0, t0\nli a7, 63\necall\nprobe_read_pc: j 1b\n");

/* riscv32: addi xN, x0, 0x40 + N; j . */
#define PROBE_COMPAT_MACHINE   243 /* EM_RISCV */
#define PROBE_COMPAT_PC	       64
#define PROBE_COMPAT_REGISTERS 0xfffffffau /* all but x0 and sp */
#define PROBE_ADDI(n)	       0x13 | ((n)&1) << 7, (n) >> 1, ((n)&15) << 4, 0x04 + ((n) >> 4)
static const uint8_t probe_compat_code[] = {
	PROBE_ADDI(1),
	PROBE_ADDI(3),
	PROBE_ADDI(4),
	PROBE_ADDI(5),
	PROBE_ADDI(6),
	PROBE_ADDI(7),
	PROBE_ADDI(8),
	PROBE_ADDI(9),
	PROBE_ADDI(10),
	PROBE_ADDI(11),
	PROBE_ADDI(12),
	PROBE_ADDI(13),
	PROBE_ADDI(14),
	PROBE_ADDI(15),
	PROBE_ADDI(16),
	PROBE_ADDI(17),
	PROBE_ADDI(18),
	PROBE_ADDI(19),
	PROBE_ADDI(20),
	PROBE_ADDI(21),
	PROBE_ADDI(22),
	PROBE_ADDI(23),
	PROBE_ADDI(24),
	PROBE_ADDI(25),
	PROBE_ADDI(26),
	PROBE_ADDI(27),
	PROBE_ADDI(28),
	PROBE_ADDI(29),
	PROBE_ADDI(30),
	PROBE_ADDI(31),
	0x6f,
	0,
	0,
	0,
};
#define PROBE_COMPAT_SPIN      120

#elif defined(__s390x__)

#define PROBE_PC	   65
#define PROBE_SP	   15
#define PROBE_RED_ZONE	   0
#define PROBE_SPIN_MASK	   0xffff7fffu /* all but r15; f0 … f15 */
#define PROBE_READ_MASK	   0xffff7fc0u /* r6 … r14, f0 … f15 */
#define PROBE_READ_UNKNOWN (1u << 2)
#define PROBE_BUFFER	   3
#define PROBE_SIZE	   4
/* User and kernel addresses overlap. */
#define PROBE_KERNEL(pc)   ((pc) != (uint64_t)(uintptr_t)probe_read_pc)

#define PROBE_STR(x) #x
#define PROBE_LOAD(n, dwarf)                                                                       \
	"llihf %r" PROBE_STR(n) ", 0x11223344\noilf %r" PROBE_STR(                                 \
		n) ", 0x55660007 + 0x1010 * " PROBE_STR(dwarf) "\n"
#define PROBE_MAGIC(n)	  PROBE_LOAD(n, n)
#define PROBE_F(n, dwarf) PROBE_LOAD(0, dwarf) "ldgr %f" PROBE_STR(n) ", %r0\n"
#define PROBE_SAVED                                                                                \
	PROBE_F(0, 16)                                                                             \
	PROBE_F(2, 17)                                                                             \
	PROBE_F(4, 18) PROBE_F(6, 19) PROBE_F(1, 20) PROBE_F(3, 21) PROBE_F(5, 22) PROBE_F(7, 23)  \
		PROBE_F(8, 24) PROBE_F(10, 25) PROBE_F(12, 26) PROBE_F(14, 27) PROBE_F(9, 28)      \
			PROBE_F(11, 29) PROBE_F(13, 30) PROBE_F(15, 31) PROBE_MAGIC(6)             \
				PROBE_MAGIC(7) PROBE_MAGIC(8) PROBE_MAGIC(9) PROBE_MAGIC(10)       \
					PROBE_MAGIC(11) PROBE_MAGIC(12) PROBE_MAGIC(13)            \
						PROBE_MAGIC(14)
__asm__(".text\n.globl probe_spin, probe_spin_pc\nprobe_spin:\n"
	"stg %r15, 0(%r2)\n" PROBE_SAVED PROBE_MAGIC(0) PROBE_MAGIC(1) PROBE_MAGIC(2) PROBE_MAGIC(3)
		PROBE_MAGIC(4) PROBE_MAGIC(5) "probe_spin_pc:\n1: j 1b\n"
					      ".globl probe_read, probe_read_pc\nprobe_read:\nlgr "
					      "%r5, %r2\n" PROBE_SAVED
					      "1: lgr %r2, %r5\nsvc 3\nprobe_read_pc: j 1b\n");

/* 31 bits: lhi rN, 0x40 + N; j . */
#define PROBE_COMPAT_MACHINE   22 /* EM_S390 */
#define PROBE_COMPAT_PC	       65
#define PROBE_COMPAT_REGISTERS 0x7fffu /* all but r15 */
#define PROBE_LHI(n)	       0xa7, (n) << 4 | 8, 0, 0x40 + (n)
static const uint8_t probe_compat_code[] = {
	PROBE_LHI(0),
	PROBE_LHI(1),
	PROBE_LHI(2),
	PROBE_LHI(3),
	PROBE_LHI(4),
	PROBE_LHI(5),
	PROBE_LHI(6),
	PROBE_LHI(7),
	PROBE_LHI(8),
	PROBE_LHI(9),
	PROBE_LHI(10),
	PROBE_LHI(11),
	PROBE_LHI(12),
	PROBE_LHI(13),
	PROBE_LHI(14),
	0xa7,
	0xf4,
	0,
	0,
};
#define PROBE_COMPAT_SPIN      60

#else
#error "no workers for this CPU"
#endif

#endif
