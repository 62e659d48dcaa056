/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The frames of a program that an interpreter runs, in the interpreter's memory (struct
 * reel_bpf_interpreter).  A thread changes only its own frames, and does not run meanwhile, so they
 * are whole, unless the thread was interrupted while making one.
 *
 * The walk is a state machine that names the next bytes to read.  So a program reads in a single
 * place (bpf/runtimes/interpreters.h), whether it may sleep or not, and the verifier checks the
 * rest once.  Each interpreter has a header with its stages.
 */
#ifndef BPF_RUNTIMES_FRAMES_H
#define BPF_RUNTIMES_FRAMES_H

#include "bpf/maps.h"
#include "bpf/runtime.h"

/* Time before the next search for the state of a thread without one, or without frames in it. */
#define REEL_FRAMES_RETRY	100000000ull /* ns */
#define REEL_FRAMES_RETRY_OTHER 10000000ull
/* pthread_self() is at most this far from the thread pointer (struct pthread, AArch64). */
#define REEL_FRAMES_PTHREAD_SIZE 4096
/* Enough for 1,000 threads, or for 512 frames. */
#define REEL_FRAMES_READS_MAX 2048
#define REEL_FRAMES_STEPS     32
/* The stage of all interpreters at which nothing is left to read. */
#define REEL_FRAMES_END 0xffffffff

/*
 * Where a thread's state was found, by its number modulo the size.  Entries are not locked: the
 * object at `state` must have the thread's number.
 */
#define REEL_FRAMES_CACHE 4096

struct reel_frames_thread {
	__u32 pid, tid;
	__u64 state; /* 0: none was found */
	__u64 retry; /* no search before that time */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REEL_FRAMES_CACHE);
	__type(key, __u32);
	__type(value, struct reel_frames_thread);
} reel_frames_threads SEC(".maps");

/* Processes by their number in the recorder's namespace; preallocated as reel_processes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REEL_INTERPRETERS_MAX);
	__type(key, __u32);
	__type(value, struct reel_bpf_interpreter);
} reel_interpreters SEC(".maps");

/* The next bytes to read are a field of an object; false, the end, if the object does not exist. */
static __always_inline bool reel_frames_want(struct reel_frame_walk *walk, __u32 stage,
					     __u64 object, __u16 offset, __u32 size)
{
	walk->stage = stage;
	walk->from = object + offset;
	walk->size = size;
	return object && offset != REEL_BPF_NO_OFFSET;
}

/* ---- the cache ------------------------------------------------------------------------------ */

static __always_inline struct reel_frames_thread *reel_frames_cached(const struct reel_sampling *s)
{
	__u32 at = s->sample.tid & (REEL_FRAMES_CACHE - 1);

	return bpf_map_lookup_elem(&reel_frames_threads, &at);
}

/* After a search; without frames, `state` is one that the thread has all the same, or 0. */
static __always_inline void reel_frames_remember(const struct reel_sampling *s, __u64 state,
						 bool has_frames)
{
	struct reel_frames_thread *cached = reel_frames_cached(s);

	if (!cached)
		return;
	cached->state = state;
	cached->retry =
		has_frames ? 0
			   : s->sample.time + (state ? REEL_FRAMES_RETRY_OTHER : REEL_FRAMES_RETRY);
	cached->pid = s->sample.pid;
	cached->tid = s->sample.tid;
}

/* ---- frames --------------------------------------------------------------------------------- */

#define REEL_FRAME_WORDS (sizeof(struct reel_bpf_frame) / 8)

static __always_inline bool reel_frames_append(struct reel_sampling *s, __u64 code, __u32 position,
					       __u32 identity)
{
	__u32 n = s->sample.n_frames;
	__u64 at = s->walk.begin + (__u64)n * REEL_FRAME_WORDS;

	barrier_var(at);
	if (n >= REEL_BPF_FRAMES_MAX || at > REEL_CHAINS_WORDS - REEL_FRAME_WORDS)
		return false;
	s->chains[at] = code;
	s->chains[at + 1] = position | (__u64)identity << 32;
	s->sample.n_frames = n + 1;
	return true;
}

#endif
