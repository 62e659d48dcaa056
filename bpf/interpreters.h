/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Reads the frames of whichever interpreter runs a process's program (bpf/frames.h). */
#ifndef BPF_INTERPRETERS_H
#define BPF_INTERPRETERS_H

#include "bpf/frames.h"
#include "bpf/interpreter.h"
#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/python.h"
#include "bpf/registers.h"
#include "bpf/ruby.h"
#include "bpf/sample.h"
#include "bpf/user_memory.h"

/* ---- the walk ------------------------------------------------------------------------------- */

/* Reads the next bytes; false at the end. */
static __always_inline bool reel_frames_step(struct task_struct *other, struct reel_draft *draft,
					     __u32 slot)
{
	__u64 size = draft->walk.size;
	bool failed;

	barrier_var(size);
	if (size > REEL_BPF_FRAME_SIZE)
		return false;
	failed = reel_user_read(other, draft->walk.words, size, (void *)draft->walk.from) != 0;
	if (draft->walk.interpreter.kind == REEL_BPF_INTERPRETER_RUBY)
		return reel_ruby_take(slot, failed);
	return reel_python_take(slot, failed);
}

/* Whether an interpreter runs the process's program, and there is something to read. */
static __always_inline bool reel_frames_begin(struct task_struct *task, struct reel_draft *draft)
{
	struct reel_frame_walk *walk = &draft->walk;
	const struct reel_bpf_interpreter *interpreter;
	const struct reel_frames_thread *cached;

	if (draft->sample.flags & REEL_BPF_COMPAT)
		return false;
	interpreter = bpf_map_lookup_elem(&reel_interpreters, &draft->sample.pid);
	cached = reel_frames_cached(draft);
	if (!interpreter || !cached)
		return false;
	walk->interpreter = *interpreter;
	draft->sample.interpreter = interpreter->kind;
	walk->begin = (__u64)draft->sample.n_kernel_chain + draft->sample.n_frame_chain +
		      draft->sample.n_user_probes + draft->sample.n_values;
	walk->tid = reel_pid_innermost(BPF_CORE_READ(task, thread_pid));
	walk->thread_pointer = reel_thread_pointer(task, false);
	walk->native = walk->is_search = walk->state = walk->own = walk->retry = walk->stack = 0;
	if (cached->pid == draft->sample.pid && cached->tid == draft->sample.tid) {
		walk->state = cached->state;
		walk->retry = cached->retry;
	}
	if (walk->interpreter.kind == REEL_BPF_INTERPRETER_RUBY)
		return walk->state ? reel_ruby_want_id(walk) : reel_ruby_want_first(draft);
	return walk->state ? reel_python_want_id(walk) : reel_python_want_first(draft);
}

__noinline bool reel_frames_step_current(__u32 slot)
{
	struct reel_draft *draft = reel_draft(slot);

	return draft && reel_frames_step(NULL, draft, slot);
}

/* Stores the current thread's frames in the sample. */
__noinline int reel_frames_store(__u32 slot)
{
	struct reel_draft *draft = reel_draft(slot);

	if (!draft || !reel_frames_begin(REEL_TASK_CURRENT(), draft))
		return 0;
	for (__u32 i = 0; i < REEL_FRAMES_READS_MAX; i++) {
		if (!reel_frames_step_current(slot))
			break;
	}
	return 0;
}

#endif
