/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* CPython's frames (struct reel_bpf_python), read as bpf/runtimes/frames.h says. */
#ifndef BPF_RUNTIMES_PYTHON_H
#define BPF_RUNTIMES_PYTHON_H

#include "bpf/maps.h"
#include "bpf/runtime.h"
#include "bpf/runtimes/frames.h"
#include "bpf/sample.h"

/* The object being read. */
enum reel_python_stage {
	REEL_PYTHON_INTERPRETER, /* the address of an interpreter, the newest first */
	REEL_PYTHON_THREADS,	 /* of its first thread's state */
	REEL_PYTHON_ID,		 /* that thread's number */
	REEL_PYTHON_TOP,	 /* the address of its frame, or of its _PyCFrame */
	REEL_PYTHON_CFRAME_TOP,	 /* the frame of that _PyCFrame */
	REEL_PYTHON_NEXT,	 /* the address of the next thread's state */
	REEL_PYTHON_FRAME,
	REEL_PYTHON_CODE,   /* of that frame: its identity */
	REEL_PYTHON_CFRAME, /* the address of the previous _PyCFrame */
};

/* ---- the thread's state --------------------------------------------------------------------- */

static __always_inline bool reel_python_want_id(struct reel_frame_walk *walk)
{
	const struct reel_bpf_python *python = &walk->interpreter.python;

	return reel_frames_want(walk, REEL_PYTHON_ID, walk->state,
				python->thread_native_id != REEL_BPF_NO_OFFSET
					? python->thread_native_id
					: python->thread_id,
				8);
}

/* Whether a thread with this number is the sample's. */
static __always_inline bool reel_python_is_own(const struct reel_frame_walk *walk, __u64 id)
{
	return walk->interpreter.python.thread_native_id != REEL_BPF_NO_OFFSET
		       ? id == walk->tid
		       : walk->thread_pointer - id < REEL_FRAMES_PTHREAD_SIZE;
}

/* The first interpreter, unless a search has found nothing a moment ago. */
static __always_inline bool reel_python_want_first(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;

	if (walk->retry > s->sample.time)
		return false;
	walk->is_search = 1;
	return reel_frames_want(walk, REEL_PYTHON_INTERPRETER, walk->interpreter.head, 0, 8);
}

/* The next thread's state. */
static __always_inline bool reel_python_want_next(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;

	/* Where the state was does not count any more. */
	if (!walk->is_search)
		return reel_python_want_first(s);
	return reel_frames_want(walk, REEL_PYTHON_NEXT, walk->state,
				walk->interpreter.python.thread_next, 8);
}

/* The threads of an interpreter; if a thread runs several, the newest is the innermost. */
static __always_inline bool reel_python_want_threads(struct reel_sampling *s, __u64 object)
{
	struct reel_frame_walk *walk = &s->walk;

	walk->main = object;
	if (!object)
		reel_frames_remember(s, walk->own, false);
	return reel_frames_want(walk, REEL_PYTHON_THREADS, object,
				walk->interpreter.python.interpreter_threads, 8);
}

static __always_inline bool reel_python_want_state(struct reel_frame_walk *walk, __u64 state)
{
	walk->state = state;
	if (state)
		return reel_python_want_id(walk);
	return reel_frames_want(walk, REEL_PYTHON_INTERPRETER, walk->main,
				walk->interpreter.python.interpreter_next, 8);
}

/* ---- its frames ----------------------------------------------------------------------------- */

static __always_inline __u8 reel_python_byte(const struct reel_frame_walk *walk, __u16 offset)
{
	return ((const __u8 *)walk->words)[offset & (REEL_BPF_FRAME_SIZE - 1)];
}

static __always_inline __u64 reel_python_word(const struct reel_frame_walk *walk, __u16 offset)
{
	return walk->words[offset / 8 & (REEL_BPF_FRAME_SIZE / 8 - 1)];
}

/* The outermost frame has no previous one; all other ends leave the flag. */
static __always_inline bool reel_python_want_frame(struct reel_sampling *s, __u64 frame)
{
	struct reel_frame_walk *walk = &s->walk;

	if (frame)
		s->sample.flags |= REEL_BPF_FRAMES_CUT;
	else
		s->sample.flags &= ~REEL_BPF_FRAMES_CUT;
	return reel_frames_want(walk, REEL_PYTHON_FRAME, frame, 0, walk->interpreter.frame_size);
}

/* A frame was read. */
static __always_inline bool reel_python_parse_frame(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;
	const struct reel_bpf_python *python = &walk->interpreter.python;
	__u64 frame = walk->from, position = reel_python_word(walk, python->frame_position);

	walk->previous = reel_python_word(walk, python->frame_previous);
	if (python->frame_owner != REEL_BPF_NO_OFFSET &&
	    reel_python_byte(walk, python->frame_owner) >= python->owner_native)
		return reel_frames_append(s, frame, REEL_BPF_FRAME_NATIVE, 0) &&
		       reel_python_want_frame(s, walk->previous);
	walk->code = reel_python_word(walk, python->frame_code) & ~(__u64)python->code_tags;
	walk->is_entry = python->frame_is_entry != REEL_BPF_NO_OFFSET
				 ? reel_python_byte(walk, python->frame_is_entry)
				 : python->position_size == 4;
	position = python->position_size == 4 ? position >> python->frame_position % 8 * 8
					      : position - walk->code;
	/* f_lasti of a function that has just been called. */
	walk->position = (__u32)position == REEL_BPF_FRAME_NATIVE ? 0 : position;
	return reel_frames_want(walk, REEL_PYTHON_CODE, walk->code, python->code_identity,
				REEL_BPF_IDENTITY_SIZE);
}

/* The identity of a frame's code was read, or could not be. */
static __always_inline bool reel_python_parse_code(struct reel_sampling *s, bool failed)
{
	struct reel_frame_walk *walk = &s->walk;
	__u32 identity = failed ? 0 : reel_bpf_identity(walk->words);

	if (walk->is_entry)
		identity |= REEL_BPF_FRAME_ENTRY;
	if (!reel_frames_append(s, walk->code, walk->position, identity))
		return false;
	if (!walk->is_entry || !walk->native)
		return reel_python_want_frame(s, walk->previous);
	return reel_frames_append(s, walk->native, REEL_BPF_FRAME_NATIVE, 0) &&
	       reel_frames_want(walk, REEL_PYTHON_CFRAME, walk->native,
				walk->interpreter.python.cframe_previous, 8);
}

/*
 * Parses the bytes read; false at the end.  Not static: the verifier then checks it once, for all
 * stages.
 */
__noinline bool reel_python_parse(__u32 slot, bool failed)
{
	struct reel_sampling *s = reel_sampling(slot);
	struct reel_frame_walk *walk;
	__u64 word;

	if (!s)
		return false;
	walk = &s->walk;
	word = failed ? 0 : walk->words[0];
	switch (walk->stage) {
	case REEL_PYTHON_INTERPRETER:
		return reel_python_want_threads(s, word);
	case REEL_PYTHON_NEXT:
	case REEL_PYTHON_THREADS:
		return reel_python_want_state(walk, word);
	case REEL_PYTHON_ID:
		if (failed || !reel_python_is_own(walk, word))
			return reel_python_want_next(s);
		walk->own = walk->state;
		if (walk->interpreter.python.thread_cframe != REEL_BPF_NO_OFFSET)
			return reel_frames_want(walk, REEL_PYTHON_TOP, walk->state,
						walk->interpreter.python.thread_cframe, 8);
		return reel_frames_want(walk, REEL_PYTHON_CFRAME_TOP, walk->state,
					walk->interpreter.python.thread_frame, 8);
	case REEL_PYTHON_TOP:
		walk->native = word;
		return reel_frames_want(walk, REEL_PYTHON_CFRAME_TOP, word,
					walk->interpreter.python.cframe_frame, 8);
	case REEL_PYTHON_CFRAME_TOP:
		if (!word)
			return reel_python_want_next(s);
		if (walk->is_search)
			reel_frames_remember(s, walk->state, true);
		return reel_python_want_frame(s, word);
	case REEL_PYTHON_FRAME:
		return !failed && reel_python_parse_frame(s);
	case REEL_PYTHON_CODE:
		return reel_python_parse_code(s, failed);
	case REEL_PYTHON_CFRAME:
		walk->native = word;
		return reel_python_want_frame(s, walk->previous);
	default:
		return false;
	}
}

#endif
