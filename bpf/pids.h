/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Process numbers, and the processes to sample. */
#ifndef BPF_PIDS_H
#define BPF_PIDS_H

#include "bpf/maps.h"
#include "bpf/settings.h"

/* include/linux/pid_namespace.h */
#define MAX_PID_NS_LEVEL 32

static __always_inline void *reel_pid_number(struct pid *pid, __u32 level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* The number in the recorder's namespace, 0 if it is not visible there. */
static __noinline __u32 reel_pid_visible(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < MAX_PID_NS_LEVEL && i <= level; i++) {
		struct upid *number = reel_pid_number(pid, i);

		if (BPF_CORE_READ(number, ns, ns.inum) == settings.pid_namespace)
			return BPF_CORE_READ(number, nr);
	}
	return 0;
}

/* The number in the innermost namespace. */
static __always_inline __u32 reel_pid_innermost(struct pid *pid)
{
	struct upid *number = reel_pid_number(pid, BPF_CORE_READ(pid, level));

	return BPF_CORE_READ(number, nr);
}

struct reel_ids {
	__u32 pid, tid;
};

/* A task's numbers in the recorder's namespace, 0 if it is not visible there. */
static __always_inline struct reel_ids reel_task_ids(struct task_struct *task)
{
	struct reel_ids ids;

	if (settings.pid_namespace) {
		ids.pid = reel_pid_visible(BPF_CORE_READ(task, group_leader, thread_pid));
		ids.tid = reel_pid_visible(BPF_CORE_READ(task, thread_pid));
	} else {
		ids.pid = BPF_CORE_READ(task, tgid);
		ids.tid = BPF_CORE_READ(task, pid);
	}
	return ids;
}

/* The current task's numbers. */
static __always_inline struct reel_ids reel_current_ids(struct task_struct *task)
{
	if (!settings.pid_namespace) {
		__u64 both = bpf_get_current_pid_tgid();
		struct reel_ids ids = { .pid = both >> 32, .tid = both };

		return ids;
	}
	return reel_task_ids(task);
}

/*
 * The process from which the task's was forked, if neither has executed another program since; else
 * 0.  A new parent may have executed as many programs, but not with the same stack.
 */
static __always_inline __u32 reel_forked_from(struct task_struct *task)
{
	struct task_struct *leader = REEL_TASK_READ(task, group_leader);
	struct task_struct *parent = REEL_TASK_READ(leader, real_parent);
	struct mm_struct *mm = REEL_TASK_READ(task, mm), *other = REEL_TASK_READ(parent, mm);
	__u64 program = REEL_TASK_READ(leader, parent_exec_id);

	if (REEL_TASK_READ(leader, self_exec_id) != program ||
	    REEL_TASK_READ(parent, self_exec_id) != program || !mm || !other ||
	    REEL_TASK_READ(mm, start_stack) != REEL_TASK_READ(other, start_stack))
		return 0;
	return reel_task_ids(parent).pid;
}

static __always_inline bool reel_process_followed(__u32 pid)
{
	return bpf_map_lookup_elem(&reel_processes, &pid);
}

/* Whether to sample the current task, which has these numbers. */
static __always_inline bool reel_current_wanted(struct reel_ids ids)
{
	/* 0 is also the idle task. */
	if (!ids.tid)
		return false;
	if (settings.system_wide || reel_process_followed(ids.pid))
		return true;
	if (bpf_map_lookup_elem(&reel_threads, &ids.tid))
		return true;
	return settings.use_cgroup && bpf_current_task_under_cgroup(&reel_cgroup, 0) == 1;
}

#endif
