/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a chain step by step, using nothing of replay/ but the chain itself: libdw gives the row
 * (dwarf_cfi_addrframe), its meaning is computed here, and where a row is missing, the code's bytes
 * must show that the step is right.
 */
#ifndef TESTS_TRUTH_CFI_JUDGE_H
#define TESTS_TRUTH_CFI_JUDGE_H

#include "tests/truth/dwarf_evaluate.h"

/* How a caller was found, or why it was not. */
enum truth_how {
	TRUTH_BY_CFI = 0,
	TRUTH_BY_SIGNAL_CODE,	/* the kernel's signal frame, by the trampoline's code */
	TRUTH_BY_ENTRY,		/* no CFI; the instruction locates the return address */
	TRUTH_BY_LINK_REGISTER, /* no CFI; first frame of a CPU with a link register */
	TRUTH_BY_FRAME_POINTER, /* no CFI; after a call, and the frame above */
	TRUTH_BY_CODE,		/* no CFI; after a call, and on the stack or in the link register */
	TRUTH_END_ROOT,		/* CFI: the return address is undefined */
	TRUTH_END_ENTRY,	/* the ELF entry point's code, which has no caller */
	TRUTH_END_ZERO,		/* a return address of 0 */
	TRUTH_END_MEMORY,	/* the CFA or return address needs bytes that were not recorded */
	TRUTH_END_REGISTER,	/* … or an unknown register */
	TRUTH_END_NO_CFI,	/* no CFI, and no other step can be shown to be right */
	TRUTH_END_NO_FILE,	/* no file is mapped there */
	TRUTH_END_UNSUPPORTED,	/* the CFI has an operation that is not evaluated here */
	TRUTH_HOW_COUNT,
};

extern const char *const truth_how_names[TRUTH_HOW_COUNT];

enum truth_step_flags {
	/* A register's slot is below sp and the code before pc has popped it: its value was
	 * kept. */
	TRUTH_STEP_POPPED = 1 << 0,
	/* The same without a visible pop. */
	TRUTH_STEP_BELOW_SP = 1 << 1,
	/* The CFA or return address is based on a register that TRUTH_STEP_POPPED has kept. */
	TRUTH_STEP_NEEDS_POPPED = 1 << 2,
	TRUTH_STEP_SIGNAL = 1 << 3,
	/* The caller's sp is in another region, or below. */
	TRUTH_STEP_OTHER_STACK = 1 << 4,
	/* The row at pc - 1 was used for the sample's own frame: after a system call. */
	TRUTH_STEP_BEHIND_SYSCALL = 1 << 5,
	/* No CFI, and a direct call to this very function precedes the return address. */
	TRUTH_STEP_CALL_SHOWN = 1 << 6,
	/* The row is .debug_frame's. */
	TRUTH_STEP_DEBUG_FRAME = 1 << 7,
	/* The CFA is an expression. */
	TRUTH_STEP_EXPRESSION = 1 << 8,
	/*
	 * The caller is a landing pad that is jumped to: its pc is exact, and does not follow a
	 * call.
	 */
	TRUTH_STEP_LANDING_PAD = 1 << 9,
	/* TRUTH_STEP_BEHIND_SYSCALL, and the row ends with the system call's instruction. */
	TRUTH_STEP_ROW_ENDS = 1 << 10,
	/*
	 * The row has a rule for sp that is not the CFA (glibc's longjmp), outside a signal frame.
	 */
	TRUTH_STEP_SP_RULE = 1 << 11,
	/* The CFA or return address is based on rbx, which libdw has lost in an earlier step:
	 * backends/x86_64_cfi.c of elfutils declares register 0, rax, as callee-saved, instead of
	 * rbx, 3.
	 */
	TRUTH_STEP_NEEDS_RBX = 1 << 12,
};

struct truth_step {
	enum truth_how how;
	unsigned flags;
	uint64_t lookup; /* runtime address whose row was used */
	uint64_t pc, sp; /* of the frame that was left; sp 0: unknown */
	uint64_t cfa;	 /* 0: none */
	uint64_t slot;	 /* where the return address was read; 0: not from memory */
};

struct truth_verdict {
	struct truth_step *steps; /* steps[i] leaves frame i; the last one is an end */
	size_t n, capacity;
	/* The callers that the steps find, as far as they equal the judged chain's callers. */
	size_t confirmed; /* right frames of the chain, including the first one */
	uint64_t other;	  /* the result of the following step, unless it is an end */
	bool whole;	  /* all of them are right, and it ends correctly */
};

/* Judges ours. `ret` is reused. */
void truth_judge(const struct truth_sample *sample, struct truth_verdict *ret);

#endif
