/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * For a signal handler on an alternate stack: finds the stack that the signal interrupted.  The
 * kernel wrote a signal frame near the top of the alternate stack; its uc_stack repeats the
 * alternate stack's address and size (kernel/signal.c, __save_altstack), followed by the
 * interrupted sp at an offset fixed by the ABI.  Frames of 32-bit code are recognized by other
 * contents (bpf/registers/).  Above the frame are only vector registers saved by the kernel, so
 * the outermost frame is the first one from the top.
 */
#ifndef BPF_STACKS_ALTERNATE_STACK_H
#define BPF_STACKS_ALTERNATE_STACK_H

#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"

/* In steps of 1 KiB: 24 KiB hold AMX's or SVE's registers and the frame. */
#define REEL_SEARCH_STEPS_MAX 24

/* Whether sp is on the task's alternate stack (include/linux/sched/signal.h, on_sig_stack). */
static __always_inline bool reel_on_alternate_stack(struct task_struct *task, __u64 sp,
						    struct reel_alternate_stack *ret)
{
	ret->address = REEL_TASK_READ(task, sas_ss_sp);
	ret->size = REEL_TASK_READ(task, sas_ss_size);
	return ret->size && sp > ret->address && sp - ret->address <= ret->size;
}

/*
 * Searches the words in s->search for a signal frame, highest first; the lowest word is from
 * `low`.  Returns the address of the interrupted sp in the frame, 0 without a frame.  Not
 * static: the verifier then checks the function once, and need not remember the branches of all
 * steps.
 */
__noinline __u64 reel_signal_frame_search(__u64 low, __u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);
	__u64 address, size;

	if (!s)
		return 0;
	address = s->alternate.address;
	size = s->alternate.size;
	for (__u64 i = REEL_SEARCH_STEP; i > 0; i--) {
		__u64 word = i - 1;

		/* Otherwise the compiler counts below 0, from the array's end: 7.2 rejects that. */
		barrier_var(word);
		/* stack_t: ss_sp, ss_flags and 4 bytes of padding, ss_size */
		if (s->search[word] == address && s->search[word + 2] == size)
			return low + word * 8 + REEL_UCONTEXT_SP;
#ifdef REEL_SIGCONTEXT_SP
		if (s->search[word] == low + word * 8 + 8 && reel_signal_psw(s->search[word + 1]))
			return low + word * 8 + REEL_SIGCONTEXT_SP;
#endif
	}
	return 0;
}

#ifdef REEL_COMPAT_SIGCONTEXT_SP
/* The same for 32-bit code. */
__noinline __u64 reel_compat_frame_search(__u64 low, __u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);

	if (!s)
		return 0;
	for (__u64 i = REEL_SEARCH_STEP / 2; i > 0; i--) {
		__u64 at = (i - 1) * 16;
		const __u32 *words;

		barrier_var(at);
		words = (const __u32 *)((const __u8 *)s->search + at);
		if (reel_is_compat_sigcontext(words + 1))
			return low + at + 4 * (REEL_COMPAT_SIGCONTEXT_SP + 1);
		if (reel_is_compat_sigcontext(words))
			return low + at + 4 * REEL_COMPAT_SIGCONTEXT_SP;
	}
	return 0;
}
#else
static __always_inline __u64 reel_compat_frame_search(__u64 low, __u64 slot)
{
	(void)low;
	(void)slot;
	return 0;
}
#endif

/*
 * Searches the kilobyte at `low`, with the first words of the one above, still in s->search.
 * Not static for the same reason.
 *
 * A step is an aligned kilobyte within a page: the stack's last page may never have been touched,
 * since the kernel writes only a part of the frame's end.  A frame that begins in a step and ends
 * in the one above is matched using the first words above.
 */
__noinline __u64 reel_signal_frame_step(__u64 low, __u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);
	__u64 part;

	if (!s)
		return 0;
	/* Stop at the stack's end: a program may keep its stack_t above it. */
	part = s->alternate.address + s->alternate.size - low;
	if (part > REEL_SEARCH_STEP * 8)
		part = REEL_SEARCH_STEP * 8;
	barrier_var(part);
	if (part > REEL_SEARCH_STEP * 8)
		return 0;
#pragma unroll
	for (int i = 0; i < REEL_SEARCH_ABOVE; i++)
		s->search[REEL_SEARCH_STEP + i] = s->search[i];
	/* The helper zeroes unreadable memory. */
	if (bpf_probe_read_user(s->search, part, (void *)low))
		return 0;
	return s->sample.flags & REEL_BPF_COMPAT ? reel_compat_frame_search(low, slot)
						 : reel_signal_frame_search(low, slot);
}

/* Address of the interrupted sp in the outermost signal frame above sp, 0 if not found. */
static __always_inline __u64 reel_signal_frame(struct reel_sampling *s, __u64 sp)
{
	__u64 top = s->alternate.address + s->alternate.size;
	__u64 low = (top - 1) & ~(REEL_SEARCH_STEP * 8ull - 1);

	if (bpf_probe_read_kernel(s->search, sizeof(s->search), reel_zeros))
		return 0;
	for (int step = 0; step < REEL_SEARCH_STEPS_MAX; step++, low -= REEL_SEARCH_STEP * 8) {
		__u64 found;

		if (low + REEL_SEARCH_STEP * 8 <= sp)
			return 0;
		found = reel_signal_frame_step(low, s->slot);
		if (found)
			return found;
	}
	return 0;
}

/* The sp that the signal interrupted, 0 if not found. */
static __always_inline __u64 reel_interrupted_sp(struct reel_sampling *s, __u64 sp)
{
	bool compat = s->sample.flags & REEL_BPF_COMPAT;
	__u64 found = reel_signal_frame(s, sp), interrupted = 0;

	/* CPUs with known 32-bit frames are little-endian: four bytes are the lower half. */
	if (found <= sp || bpf_probe_read_user(&interrupted, compat ? 4 : 8, (void *)found))
		return 0;
	/* Another frame of the same stack, or not a frame. */
	if (interrupted - s->alternate.address <= s->alternate.size)
		return 0;
	return interrupted;
}

#endif
