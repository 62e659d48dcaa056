/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * OCaml 5 runs C functions on the thread's stack, and its own on stacks in the heap.  Words on each
 * lead to the other, by CFI, and the thread-local pointer caml_state leads to both.  Nothing read
 * here is trusted: it decides only which memory is recorded.
 */
#ifndef BPF_STACKS_OCAML_H
#define BPF_STACKS_OCAML_H

#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/runtime.h"
#include "bpf/runtimes/request.h"
#include "bpf/sample.h"
#include "bpf/user_memory.h"

/*
 * Words of *caml_state (runtime/caml/domain_state.tbl): current_stack, and c_stack three words
 * later.  Before 5.1, both came one word earlier.
 */
#define REEL_OCAML_CURRENT 5
#define REEL_OCAML_LINK	   8
#define REEL_OCAML_WORDS   9

/* struct stack_info, with which a stack begins (runtime/caml/fiber.h): sp, exception_ptr, handler,
 * where the stack ends. */
#define REEL_OCAML_INFO_SIZE 56
#define REEL_OCAML_STACK_MAX (1ull << 40)

/* Words of the thread's stack that are searched. */
#define REEL_OCAML_SEARCHES 4

/* Whether a stack begins at `info`. */
static __always_inline bool reel_ocaml_read_stack(struct task_struct *other,
						  struct reel_sampling *s, __u64 info, __u64 link)
{
	__u64 size;

	if (!info || (info | link) & 7 || reel_user_read(other, s->search, 24, (void *)info))
		return false;
	size = s->search[2] - info;
	if (size > REEL_OCAML_STACK_MAX || s->search[0] - info > size)
		return false;
	s->ocaml.low = info + REEL_OCAML_INFO_SIZE;
	s->ocaml.high = s->search[2];
	s->ocaml.link = link;
	return true;
}

/* Finds the thread's stacks; false if it has none of OCaml's. */
static __always_inline bool reel_ocaml_find_by(struct task_struct *other, struct task_struct *task,
					       struct reel_sampling *s)
{
	__u64 state, info, link;

	state = reel_published(other, task, s, REEL_BPF_PUBLISHED_OCAML);
	if (!state || reel_user_read(other, s->search, 8 * REEL_OCAML_WORDS, (void *)state))
		return false;
	info = s->search[REEL_OCAML_CURRENT - 1];
	link = s->search[REEL_OCAML_LINK - 1];
	return reel_ocaml_read_stack(other, s, s->search[REEL_OCAML_CURRENT],
				     s->search[REEL_OCAML_LINK]) ||
	       reel_ocaml_read_stack(other, s, info, link);
}

/* The current task's.  Not static: the verifier then checks it once. */
__noinline bool reel_ocaml_find(__u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);

	return s && reel_ocaml_find_by(NULL, REEL_TASK_CURRENT(), s);
}

/* Finds the lowest address of OCaml's stack among the first words of s->search. */
__noinline int reel_ocaml_find_lowest(__u64 slot, __u64 words)
{
	struct reel_sampling *s = reel_sampling(slot);

	if (!s)
		return 0;
	for (__u64 i = 0; i < REEL_SEARCH_STEP && i < words; i++) {
		__u64 word = s->search[i];

		if (word >= s->ocaml.low && word < s->ocaml.least)
			s->ocaml.least = word;
	}
	return 0;
}

/*
 * Where OCaml's stack was left for the thread's: the lowest of its addresses that registers and the
 * C functions' part of the thread's stack have.  C functions that allocate nothing are called
 * without a note, but keep it.  The stack's end if not found.
 */
static __always_inline __u64 reel_ocaml_left_by(struct task_struct *other, struct reel_sampling *s)
{
	__u64 at = s->sample.regions[0].address, end = s->ocaml.link + 16;

	s->ocaml.least = s->ocaml.high;
	__builtin_memcpy(s->search, s->sample.registers, 8 * REEL_REGISTERS);
	reel_ocaml_find_lowest(s->slot, REEL_REGISTERS);
	if (!reel_user_read(other, s->search, 16, (void *)s->ocaml.link))
		reel_ocaml_find_lowest(s->slot, 2);
	for (int i = 0; i < REEL_OCAML_SEARCHES && at < end; i++, at += 8 * REEL_SEARCH_STEP) {
		if (reel_user_read(other, s->search, 8 * REEL_SEARCH_STEP, (void *)at))
			break;
		reel_ocaml_find_lowest(s->slot, (end - at) / 8);
	}
	return s->ocaml.least;
}

__noinline __u64 reel_ocaml_left(__u64 slot)
{
	struct reel_sampling *s = reel_sampling(slot);

	return s ? reel_ocaml_left_by(NULL, s) : 0;
}

#endif
