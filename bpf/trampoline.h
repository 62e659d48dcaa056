/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Finds the frame of the kernel function for which a fentry or fexit program was called.  Between
 * both is a trampoline, which the kernel makes for each function (arch_prepare_bpf_trampoline in
 * arch/CPU/net/bpf_jit_comp.c).  Its data on the stack below the function's frame differs from
 * kernel to kernel, but all have the program's context (the function's arguments) below the return
 * address into the function, which is known: it follows the call at the function's entry.
 *
 * The program's own frame pointer is not used: newer kernels give a program a separate stack
 * (priv_stack_ptr), and arm64's pushed data below it varies.
 *
 * tests/unit/record/sampling/test_trampoline.c has stacks of several kernels.
 */
#ifndef BPF_TRAMPOLINE_H
#define BPF_TRAMPOLINE_H

#include "bpf/sample.h"

/* How a function's frame was found. */
enum reel_trampoline_frame {
	REEL_TRAMPOLINE_NO_FRAME,
	REEL_TRAMPOLINE_CALLED, /* after the address in the function */
	REEL_TRAMPOLINE_JUMPED, /* at its expected place, if the entry jumped to the trampoline */
};

enum reel_trampoline {
	REEL_TRAMPOLINE_UNKNOWN, /* not known for this CPU */
	REEL_TRAMPOLINE_X86_64,
	REEL_TRAMPOLINE_ARM64,
};

/*
 * From the context to the word after the function's frame: at most 12 arguments (MAX_BPF_FUNC_ARGS;
 * more words if there are structs), the result, saved registers, padding, two frame records.
 */
#define REEL_TRAMPOLINE_WORDS 32

/* The maximum end of the call at a function's entry: two instructions after a landing pad. */
#define REEL_TRAMPOLINE_CALL_END 12

/* Whether a trampoline that was called at the entry of `function` returns there. */
static __always_inline bool reel_trampoline_returns_to(__u64 function, __u64 address)
{
	return address - function - 1 < REEL_TRAMPOLINE_CALL_END;
}

/* Whether the address is exactly after the call. */
static __always_inline bool reel_trampoline_call_end(enum reel_trampoline cpu, __u64 function,
						     __u64 address)
{
	__u64 offset = address - function;

	/* call (5 bytes, X86_PATCH_SIZE), with IBT after endbr64 (4). */
	if (cpu == REEL_TRAMPOLINE_X86_64)
		return offset == 5 || offset == 9;
	/* mov x9, x30; bl; with BTI after bti c. */
	return offset == 8 || offset == 12;
}

/* Unknown number of arguments: before 5.17 (bpf_get_func_arg_cnt). */
#define REEL_TRAMPOLINE_ANY_ARGUMENTS (~0ull)

/*
 * x86-64 from 6.19 on (BPF_TRAMP_F_CALL_ORIG and CONFIG_DYNAMIC_FTRACE_WITH_JMP): with fexit
 * programs, the function's entry jumps to the trampoline, so no address on the stack is in the
 * function.  The context always begins with `n_arguments` words, followed by the result:
 *   [arguments] [result] [rbp] [caller]
 */
static __always_inline enum reel_trampoline_frame reel_trampoline_find_jumped(
	const __u64 *words, __u64 address, __u64 function, __u64 n_arguments,
	struct reel_bpf_kernel_frame *ret)
{
	__u64 rbp = n_arguments + 1;

	if (rbp > REEL_TRAMPOLINE_WORDS - 2)
		return REEL_TRAMPOLINE_NO_FRAME;
	ret->pc = function;
	ret->sp = address + 8 * (rbp + 1);
	ret->fp = words[rbp];
	ret->return_address = words[rbp + 1];
	return REEL_TRAMPOLINE_JUMPED;
}

/*
 * `words`: REEL_TRAMPOLINE_WORDS of the stack from `address` on, which is the program's context;
 * `n_arguments`: number of words at their start that are the function's arguments.
 *
 * x86-64: the trampoline's saved rbp is below the words pushed by the call at the function's entry
 * and by the caller's call, and below rbp there may be the result:
 *   [arguments] ([result]) [rbp] [function + 5 or 9] [caller]
 *                                                    ^ rsp at the function's entry
 * arm64: at the entry, x9 has the function's return address, and x29 its caller's frame pointer.
 * The trampoline makes a frame record of both, and one of its own, which links to the first:
 *   [x29: the next but one] [function + 8 or 12] [x29 of the caller] [caller]
 *                                                                             ^ sp
 */
static __always_inline enum reel_trampoline_frame reel_trampoline_find(
	enum reel_trampoline cpu, const __u64 *words, __u64 address, __u64 n_arguments,
	__u64 function, struct reel_bpf_kernel_frame *ret)
{
	bool counted = cpu == REEL_TRAMPOLINE_X86_64 && n_arguments < REEL_TRAMPOLINE_WORDS;

	if (cpu == REEL_TRAMPOLINE_UNKNOWN)
		return REEL_TRAMPOLINE_NO_FRAME;
	for (unsigned int i = 1; i < REEL_TRAMPOLINE_WORDS - 2; i++) {
		__u64 next = address + 8 * (i + 1);

		/* Words left by an earlier call do not belong to this one. */
		if (counted && (i < n_arguments + 1 || i > n_arguments + 2))
			continue;
		if (!reel_trampoline_call_end(cpu, function, words[i]))
			continue;
		ret->pc = function;
		if (cpu == REEL_TRAMPOLINE_X86_64) {
			ret->sp = next;
			ret->fp = words[i - 1];
			ret->return_address = words[i + 1];
			return REEL_TRAMPOLINE_CALLED;
		}
		/* Otherwise it is an argument. */
		if (words[i - 1] != next)
			continue;
		ret->sp = next + 16;
		ret->fp = words[i + 1];
		ret->return_address = words[i + 2];
		return REEL_TRAMPOLINE_CALLED;
	}
	if (counted)
		return reel_trampoline_find_jumped(words, address, function, n_arguments, ret);
	return REEL_TRAMPOLINE_NO_FRAME;
}

#endif
