/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads user memory.  `other` is NULL for the current task's memory: only resident pages can be
 * read then, but from any context.  Or `other` is the task of a scan (bpf/waits/scan.h), which sleeps
 * until the page is there, or has another process read it (bpf/copies.h).  Callers pass a constant
 * NULL or a task, and are inlined, so that each program has only its own helper.
 */
#ifndef BPF_USER_MEMORY_H
#define BPF_USER_MEMORY_H

#include "bpf/copies.h"
#include "bpf/mapping.h"

#ifdef REEL_SCAN_COPIES
static __always_inline long reel_other_read(struct task_struct *other, void *to, __u32 size,
					    const void *from)
{
	__u64 at = reel_copied_at(other, (__u64)from, size);

	return at ? bpf_probe_read_user(to, size, (void *)at) : -1;
}
#else
/*
 * Reads another task's memory, where the wait for it cannot take long.  Missing pages of memory
 * with userfaultfd are an error: the kernel does not wait for them here.
 */
static __always_inline long reel_other_read(struct task_struct *other, void *to, __u32 size,
					    const void *from)
{
	struct mm_struct *mm = BPF_CORE_READ(other, mm);

	if (reel_other_is_locked(mm) || !reel_mapping_is_local((__u64)mm, (__u64)from, size))
		return -1;
	return bpf_copy_from_user_task(to, size, from, (void *)other, 0);
}
#endif

static __always_inline long reel_user_read(struct task_struct *other, void *to, __u32 size,
					   const void *from)
{
	return other ? reel_other_read(other, to, size, from) : bpf_probe_read_user(to, size, from);
}

#endif
