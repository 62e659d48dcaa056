/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Ruby's frames (struct reel_bpf_ruby), read as bpf/runtimes/frames.h says.  A thread's control
 * frames are an array that ends with the fiber's stack.  A frame of C code has a method entry;
 * vm_exec, which runs the others, keeps a tag on the native stack.
 */
#ifndef BPF_RUNTIMES_RUBY_H
#define BPF_RUNTIMES_RUBY_H

#include "bpf/maps.h"
#include "bpf/runtime.h"
#include "bpf/runtimes/frames.h"
#include "bpf/sample.h"

/* The object being read. */
enum reel_ruby_stage {
	REEL_RUBY_RACTOR, /* the address of a ractor's place in the list */
	REEL_RUBY_THREAD, /* the address of a thread's place in the list */
	REEL_RUBY_NATIVE, /* of its struct rb_native_thread */
	REEL_RUBY_ID,	  /* its number */
	REEL_RUBY_CONTEXT,
	REEL_RUBY_STACK, /* of the context: its stack, the innermost frame and tag */
	REEL_RUBY_FRAME,
	REEL_RUBY_ENVIRONMENT, /* of that frame: its method entry and flags */
	REEL_RUBY_CODE,	       /* the address of its code's body */
	REEL_RUBY_BODY,
	REEL_RUBY_METHOD, /* the identity of its method entry */
	REEL_RUBY_TAG,	  /* whose tag it is */
	REEL_RUBY_TAG_PREVIOUS,
};

/* Of the environment: VM_FRAME_MAGIC_MASK, _CFUNC and _DUMMY, VM_FRAME_FLAG_FINISH. */
#define REEL_RUBY_MAGIC	 0x7fff0001
#define REEL_RUBY_CFUNC	 0x55550001
#define REEL_RUBY_DUMMY	 0x79990001
#define REEL_RUBY_FINISH 0x20
/* Methods' entry, block and flags end an environment. */
#define REEL_RUBY_ENVIRONMENT_SIZE 24

/* ---- the thread ----------------------------------------------------------------------------- */

static __always_inline bool reel_ruby_want_id(struct reel_frame_walk *walk)
{
	const struct reel_bpf_ruby *ruby = &walk->interpreter.ruby;

	if (ruby->thread_native != REEL_BPF_NO_OFFSET)
		return reel_frames_want(walk, REEL_RUBY_NATIVE, walk->state, ruby->thread_native,
					8);
	return reel_frames_want(walk, REEL_RUBY_ID, walk->state, ruby->thread_id, 8);
}

/* The first thread, unless a search has found nothing a moment ago. */
static __always_inline bool reel_ruby_want_first(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;

	if (walk->retry > s->sample.time)
		return false;
	walk->is_search = 1;
	return reel_frames_want(walk, REEL_RUBY_RACTOR, walk->interpreter.head, 0, 8);
}

static __always_inline __u64 reel_ruby_threads(const struct reel_frame_walk *walk)
{
	const struct reel_bpf_ruby *ruby = &walk->interpreter.ruby;

	return walk->main - ruby->ractor_node + ruby->ractor_threads;
}

/* Lists are rings. */
static __always_inline bool reel_ruby_parse_ractor(struct reel_sampling *s, __u64 node)
{
	struct reel_frame_walk *walk = &s->walk;

	if (!node || node == walk->interpreter.head) {
		reel_frames_remember(s, 0, false);
		return false;
	}
	walk->main = node;
	return reel_frames_want(walk, REEL_RUBY_THREAD, reel_ruby_threads(walk), 0, 8);
}

static __always_inline bool reel_ruby_want_next(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;

	/* Where the state was does not count any more. */
	if (!walk->is_search)
		return reel_ruby_want_first(s);
	return reel_frames_want(walk, REEL_RUBY_THREAD, walk->state,
				walk->interpreter.ruby.thread_node, 8);
}

static __always_inline bool reel_ruby_parse_thread(struct reel_sampling *s, __u64 node)
{
	struct reel_frame_walk *walk = &s->walk;

	if (!node || node == reel_ruby_threads(walk))
		return reel_frames_want(walk, REEL_RUBY_RACTOR, walk->main, 0, 8);
	walk->state = node - walk->interpreter.ruby.thread_node;
	return reel_ruby_want_id(walk);
}

/* ---- its frames ----------------------------------------------------------------------------- */

static __always_inline bool reel_ruby_want_tag(struct reel_sampling *s, __u64 tag)
{
	struct reel_frame_walk *walk = &s->walk;

	walk->native = tag;
	/* Without the outermost frames, it is not known which call is whose. */
	if (!walk->interpreter.ruby.tag_mark || s->sample.flags & REEL_BPF_FRAMES_CUT)
		return false;
	return reel_frames_want(walk, REEL_RUBY_TAG, tag, walk->interpreter.ruby.tag_word, 8);
}

/* All other ends than the last frame leave the flag. */
static __always_inline bool reel_ruby_want_frame(struct reel_sampling *s, __u64 frame)
{
	struct reel_frame_walk *walk = &s->walk;

	walk->frame = frame;
	if (frame < walk->end) {
		s->sample.flags |= REEL_BPF_FRAMES_CUT;
		return reel_frames_want(walk, REEL_RUBY_FRAME, frame, 0,
					walk->interpreter.frame_size);
	}
	s->sample.flags &= ~REEL_BPF_FRAMES_CUT;
	return reel_ruby_want_tag(s, walk->native);
}

static __always_inline bool reel_ruby_want_outer(struct reel_sampling *s)
{
	return reel_ruby_want_frame(s, s->walk.frame + s->walk.interpreter.frame_size);
}

/* vm_stack, vm_stack_size, cfp, tag. */
static __always_inline bool reel_ruby_parse_stack(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;

	if (walk->is_search)
		reel_frames_remember(s, walk->state, true);
	walk->stack = walk->words[0];
	walk->end = walk->stack + 8 * walk->words[1];
	walk->native = walk->words[3];
	return walk->words[2] >= walk->stack && walk->words[2] &&
	       reel_ruby_want_frame(s, walk->words[2]);
}

static __always_inline __u64 reel_ruby_word(const struct reel_frame_walk *walk, __u16 offset)
{
	return walk->words[offset / 8 & (REEL_BPF_FRAME_SIZE / 8 - 1)];
}

/* A frame was read. */
static __always_inline bool reel_ruby_parse_frame(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;
	const struct reel_bpf_ruby *ruby = &walk->interpreter.ruby;
	__u64 environment = reel_ruby_word(walk, ruby->frame_environment);

	walk->pc = reel_ruby_word(walk, ruby->frame_pc);
	walk->code = reel_ruby_word(walk, ruby->frame_code);
	/* Blocks that are C functions have code of another kind, and no pc. */
	if (!environment || (walk->code && !walk->pc))
		return reel_ruby_want_outer(s);
	return reel_frames_want(walk, REEL_RUBY_ENVIRONMENT,
				environment - (REEL_RUBY_ENVIRONMENT_SIZE - 8), 0,
				REEL_RUBY_ENVIRONMENT_SIZE);
}

static __always_inline bool reel_ruby_parse_environment(struct reel_sampling *s)
{
	struct reel_frame_walk *walk = &s->walk;
	const struct reel_bpf_ruby *ruby = &walk->interpreter.ruby;
	__u64 flags = walk->words[2];

	/* The first frame of a thread does not belong to a function. */
	if ((flags & REEL_RUBY_MAGIC) == REEL_RUBY_DUMMY)
		return reel_ruby_want_outer(s);
	if (walk->code) {
		walk->is_entry = (flags & REEL_RUBY_FINISH) != 0;
		return reel_frames_want(walk, REEL_RUBY_CODE, walk->code, ruby->code_body, 8);
	}
	if ((flags & REEL_RUBY_MAGIC) != REEL_RUBY_CFUNC)
		return reel_ruby_want_outer(s);
	walk->is_entry = 0;
	walk->position = 0;
	walk->code = walk->words[0];
	return reel_frames_want(walk, REEL_RUBY_METHOD, walk->code, ruby->method_identity,
				REEL_BPF_IDENTITY_SIZE);
}

static __always_inline bool reel_ruby_append(struct reel_sampling *s, __u32 identity)
{
	struct reel_frame_walk *walk = &s->walk;

	if (walk->is_entry)
		identity |= REEL_BPF_FRAME_ENTRY;
	return reel_frames_append(s, walk->code, walk->position, identity) &&
	       reel_ruby_want_outer(s);
}

/* Of a body: from its instructions' address on. */
static __always_inline bool reel_ruby_parse_body(struct reel_sampling *s, bool failed)
{
	struct reel_frame_walk *walk = &s->walk;
	const struct reel_bpf_ruby *ruby = &walk->interpreter.ruby;
	__u64 at = (ruby->body_identity - ruby->body_instructions) / 8u;

	barrier_var(at);
	if (failed || at > (REEL_BPF_FRAME_SIZE - REEL_BPF_IDENTITY_SIZE) / 8) {
		walk->position = 0;
		return reel_ruby_append(s, 0);
	}
	walk->position = walk->pc - walk->words[0];
	if (walk->position == REEL_BPF_FRAME_NATIVE)
		walk->position = 0;
	return reel_ruby_append(s, reel_bpf_identity(walk->words + at));
}

/*
 * Parses the bytes read; false at the end.  Not static: the verifier then checks it once, for all
 * stages.
 */
__noinline bool reel_ruby_parse(__u32 slot, bool failed)
{
	struct reel_sampling *s = reel_sampling(slot);
	const struct reel_bpf_ruby *ruby;
	struct reel_frame_walk *walk;
	__u64 word;

	if (!s)
		return false;
	walk = &s->walk;
	ruby = &walk->interpreter.ruby;
	word = failed ? 0 : walk->words[0];
	switch (walk->stage) {
	case REEL_RUBY_RACTOR:
		return reel_ruby_parse_ractor(s, word);
	case REEL_RUBY_THREAD:
		return reel_ruby_parse_thread(s, word);
	case REEL_RUBY_NATIVE:
		/* A thread that runs nowhere. */
		if (!word)
			return reel_ruby_want_next(s);
		return reel_frames_want(walk, REEL_RUBY_ID, word, ruby->thread_id, 8);
	case REEL_RUBY_ID:
		if (failed || walk->thread_pointer - word >= REEL_FRAMES_PTHREAD_SIZE)
			return reel_ruby_want_next(s);
		return reel_frames_want(walk, REEL_RUBY_CONTEXT, walk->state, ruby->thread_context,
					8);
	case REEL_RUBY_CONTEXT:
		return reel_frames_want(walk, REEL_RUBY_STACK, word, ruby->context_stack, 32);
	case REEL_RUBY_STACK:
		return !failed && reel_ruby_parse_stack(s);
	case REEL_RUBY_FRAME:
		return !failed && reel_ruby_parse_frame(s);
	case REEL_RUBY_ENVIRONMENT:
		return !failed && reel_ruby_parse_environment(s);
	case REEL_RUBY_CODE:
		if (!word)
			return reel_ruby_parse_body(s, true);
		return reel_frames_want(walk, REEL_RUBY_BODY, word, ruby->body_instructions,
					ruby->body_identity - ruby->body_instructions +
						REEL_BPF_IDENTITY_SIZE);
	case REEL_RUBY_BODY:
		return reel_ruby_parse_body(s, failed);
	case REEL_RUBY_METHOD:
		return reel_ruby_append(s, failed ? 0 : reel_bpf_identity(walk->words));
	case REEL_RUBY_TAG:
		if (failed || (word == ruby->tag_mark &&
			       !reel_frames_append(s, walk->native, REEL_BPF_FRAME_NATIVE, 0)))
			return false;
		return reel_frames_want(walk, REEL_RUBY_TAG_PREVIOUS, walk->native,
					ruby->tag_previous, 8);
	case REEL_RUBY_TAG_PREVIOUS:
		return word && reel_ruby_want_tag(s, word);
	default:
		return false;
	}
}

#endif
