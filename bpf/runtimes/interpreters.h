/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Reads the frames of whichever interpreter runs a process's program (bpf/runtimes/frames.h). */
#ifndef BPF_RUNTIMES_INTERPRETERS_H
#define BPF_RUNTIMES_INTERPRETERS_H

#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/registers.h"
#include "bpf/runtime.h"
#include "bpf/runtimes/frames.h"
#include "bpf/runtimes/python.h"
#include "bpf/runtimes/ruby.h"
#include "bpf/sample.h"
#include "bpf/user_memory.h"

/* ---- the walk ------------------------------------------------------------------------------- */

/* Reads the next bytes; false at the end. */
static __always_inline bool reel_frames_step(struct task_struct *other, struct reel_sampling *s,
					     __u32 slot)
{
	__u64 size = s->walk.size;
	bool failed;

	barrier_var(size);
	if (size > REEL_BPF_FRAME_SIZE)
		return false;
	failed = reel_user_read(other, s->walk.words, size, (void *)s->walk.from) != 0;
	if (s->walk.interpreter.kind == REEL_BPF_INTERPRETER_RUBY)
		return reel_ruby_parse(slot, failed);
	return reel_python_parse(slot, failed);
}

/* The process's; a child has its parent's before user space has noted that. */
static __always_inline const struct reel_bpf_interpreter *reel_interpreter_of(
	struct task_struct *task, __u32 pid)
{
	const struct reel_bpf_interpreter *found = bpf_map_lookup_elem(&reel_interpreters, &pid);
	__u32 parent = found ? 0 : reel_forked_from(task);

	return parent ? bpf_map_lookup_elem(&reel_interpreters, &parent) : found;
}

/* Whether an interpreter runs the process's program, and there is something to read. */
static __always_inline bool reel_frames_begin(struct task_struct *task, struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;
	const struct reel_bpf_interpreter *interpreter;
	const struct reel_frames_thread *cached;

	if (s->sample.flags & REEL_BPF_COMPAT)
		return false;
	interpreter = reel_interpreter_of(task, s->sample.pid);
	cached = reel_frames_cached(s);
	if (!interpreter || !cached)
		return false;
	walk->interpreter = *interpreter;
	s->sample.interpreter = interpreter->kind;
	walk->begin = (__u64)s->sample.n_kernel_chain + s->sample.n_frame_chain +
		      s->sample.n_user_probes + s->sample.n_values;
	walk->tid = reel_pid_innermost(BPF_CORE_READ(task, thread_pid));
	walk->thread_pointer = reel_thread_pointer(task, false);
	walk->native = walk->is_search = walk->state = walk->own = walk->retry = walk->stack = 0;
	if (cached->pid == s->sample.pid && cached->tid == s->sample.tid) {
		walk->state = cached->state;
		walk->retry = cached->retry;
	}
	if (walk->interpreter.kind == REEL_BPF_INTERPRETER_RUBY)
		return walk->state ? reel_ruby_want_id(walk) : reel_ruby_want_first(s);
	return walk->state ? reel_python_want_id(walk) : reel_python_want_first(s);
}

__noinline bool reel_frames_step_current(__u32 slot)
{
	struct reel_sampling *s = reel_sampling(slot);

	return s && reel_frames_step(NULL, s, slot);
}

/* False at the end.  The verifier follows each turn of a loop: so the turns are a loop in a loop. */
__noinline bool reel_frames_steps_current(__u32 slot)
{
	for (__u32 i = 0; i < REEL_FRAMES_STEPS; i++) {
		if (!reel_frames_step_current(slot))
			return false;
	}
	return true;
}

/* Stores the current thread's frames in the sample. */
__noinline int reel_frames_store(__u32 slot)
{
	struct reel_sampling *s = reel_sampling(slot);

	if (!s || !reel_frames_begin(REEL_TASK_CURRENT(), s))
		return 0;
	for (__u32 i = 0; i < REEL_FRAMES_READS_MAX / REEL_FRAMES_STEPS; i++) {
		if (!reel_frames_steps_current(slot))
			break;
	}
	return 0;
}

#endif
