/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Functions with uretprobes, this recorder's or another tool's: the kernel has put the address of
 * its trampoline in place of their return address, and keeps the original
 * (kernel/events/uprobes.c).  record/sampling/user_probes.c puts it back.
 */
#ifndef BPF_STACKS_USER_PROBES_H
#define BPF_STACKS_USER_PROBES_H

#include "bpf/maps.h"
#include "bpf/sample.h"

/*
 * Stores struct reel_bpf_user_probes after the chains of a sample.  Not static: the verifier then
 * checks it once.
 */
__noinline int reel_user_probes_copy(__u64 slot, __u64 address, __u64 trampoline)
{
	struct uprobe_task *probed = (void *)address;
	struct reel_sampling *s = reel_sampling(slot);
	struct return_instance *instance;
	__u64 begin, n;

	if (!s || !bpf_core_field_exists(probed->return_instances))
		return 0;
	begin = s->sample.n_kernel_chain + s->sample.n_frame_chain;
	barrier_var(begin);
	if (begin > REEL_CHAINS_WORDS - REEL_BPF_USER_PROBES_WORDS - REEL_BPF_VALUES_WORDS)
		return 0;
	s->chains[begin] = trampoline;
	/* Of the last step, if none is in progress. */
	s->chains[begin + 1] = BPF_CORE_READ(probed, vaddr);
	s->chains[begin + 2] = BPF_CORE_READ(probed, xol_vaddr);
	n = REEL_BPF_USER_PROBES_HEAD;
	instance = BPF_CORE_READ(probed, return_instances);
	for (__u32 i = 0; i < REEL_BPF_RETURNS_MAX && instance; i++) {
		__u64 *to = &s->chains[begin + REEL_BPF_USER_PROBES_HEAD + 3 * i];

		to[0] = BPF_CORE_READ(instance, stack);
		to[1] = BPF_CORE_READ(instance, orig_ret_vaddr);
		to[2] = BPF_CORE_READ(instance, func);
		instance = BPF_CORE_READ(instance, next);
		n += 3;
	}
	s->sample.n_user_probes = n;
	return 0;
}

/* A task gets this state at its first hit of a probe.  Not inlined, for the limit of stack. */
static __noinline void reel_user_probes_store(__u32 slot, struct task_struct *task,
					      struct mm_struct *mm)
{
	struct xol_area *area;

	if (!bpf_core_field_exists(task->utask) ||
	    !bpf_core_field_exists(mm->uprobes_state.xol_area))
		return;
	if (!REEL_TASK_READ(task, utask))
		return;
	area = BPF_CORE_READ(mm, uprobes_state.xol_area);
	if (area)
		/* Not the pointer above: the verifier passes only numbers to such a function. */
		reel_user_probes_copy(slot, (__u64)BPF_CORE_READ(task, utask),
				      BPF_CORE_READ(area, vaddr));
}

#endif
