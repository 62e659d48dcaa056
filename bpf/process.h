/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Fork, exec and exit: follows processes, and reports details available only at that time. */
#ifndef BPF_PROCESS_H
#define BPF_PROCESS_H

#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/waits/wait.h"

static __always_inline void reel_process_report(struct task_struct *task, struct reel_ids ids,
						bool is_exec)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct reel_saved_registers saved;
	struct reel_bpf_process *process;
	void *ring = reel_task_ring();
	__u32 namespace_tid;

	if (!ring || !mm)
		return;
	namespace_tid = reel_pid_innermost(BPF_CORE_READ(task, thread_pid));
	if (!is_exec && ids.tid != ids.pid && ids.tid == namespace_tid)
		return;

	process = bpf_ringbuf_reserve(ring, sizeof(*process), 0);
	if (!process) {
		REEL_COUNT(process_lost);
		return;
	}
	process->kind = REEL_BPF_PROCESS;
	process->flags = 0;
	process->time = bpf_ktime_get_ns();
	process->pid = ids.pid;
	process->tid = ids.tid;
	process->namespace_pid = reel_pid_innermost(BPF_CORE_READ(task, group_leader, thread_pid));
	process->namespace_tid = namespace_tid;
	process->is_exec = is_exec;
	process->user = BPF_CORE_READ(task, real_cred, uid.val);
	process->vdso = reel_vdso_address(mm);
	/* The current task's registers: after exec the new program's (start_thread), at a fork the
	 * parent's, of which the child's are a copy. */
	if (reel_task_registers((void *)bpf_get_current_task(), &saved) &&
	    reel_registers_compat(&saved.user))
		process->flags = REEL_BPF_COMPAT;
	/* CLONE_VM without CLONE_THREAD, as by vfork. */
	if (!is_exec && ids.tid == ids.pid &&
	    mm == BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), mm))
		process->flags |= REEL_BPF_SHARES_MEMORY;
	bpf_ringbuf_submit(process, reel_ring_flags(ring));
}

/* TP_PROTO(struct task_struct *parent, struct task_struct *child); the parent is current. */
SEC("raw_tp/sched_process_fork")
int reel_process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0];
	struct task_struct *child = (void *)ctx->args[1];
	struct reel_ids parent_ids = reel_current_ids(parent);
	struct reel_ids child_ids;
	bool wanted;

	/* A parent outside of the recorder's namespace may have a child inside. */
	if (settings.system_wide)
		wanted = true;
	else
		wanted = reel_current_wanted(parent_ids);
	if (!wanted)
		return 0;
	child_ids = reel_task_ids(child);
	if (!child_ids.tid)
		return 0;
	if (!settings.system_wide && child_ids.pid != parent_ids.pid &&
	    reel_process_followed(parent_ids.pid)) {
		__u8 value = 1;

		if (bpf_map_update_elem(&reel_processes, &child_ids.pid, &value, BPF_ANY)) {
			REEL_COUNT(not_followed);
		}
	}
	reel_process_report(child, child_ids, false);
	return 0;
}

/* TP_PROTO(struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm); it is current. */
SEC("raw_tp/sched_process_exec")
int reel_process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct reel_ids ids = reel_current_ids(task);
	__u8 value = 1;

	/* Before the exec, the command ran the recorder's own code. */
	if (ids.pid && ids.pid == reel_control.command &&
	    !bpf_map_update_elem(&reel_processes, &ids.pid, &value, BPF_ANY))
		reel_control.command = 0;
	if (reel_current_wanted(ids))
		reel_process_report(task, ids, true);
	return 0;
}

/* TP_PROTO(struct task_struct *task, …); it is current, and no longer counted in signal->live. */
SEC("raw_tp/sched_process_exit")
int reel_process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct reel_ids ids = reel_current_ids(task);

	if (settings.scan_slot)
		reel_wait_exit();
#ifdef REEL_SCAN_LIST
	reel_scan_unlist();
#endif
	bpf_map_delete_elem(&reel_threads, &ids.tid);
	if (!BPF_CORE_READ(task, signal, live.counter) &&
	    !bpf_map_delete_elem(&reel_processes, &ids.pid))
		__sync_fetch_and_add(&reel_control.unfollowed, 1);
	return 0;
}

#endif
