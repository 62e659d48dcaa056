/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * How BPF finds a thread's interpreter frames, and what its program publishes for each thread: set
 * by the recorder.
 */
#ifndef BPF_RUNTIME_H
#define BPF_RUNTIME_H

#ifdef __bpf__
#include "bpf/kernel.h"
#else
#include <linux/types.h>
#include <stdbool.h>
#endif

enum reel_bpf_interpreter_kind {
	REEL_BPF_INTERPRETER_NONE,
	REEL_BPF_INTERPRETER_PYTHON,
	REEL_BPF_INTERPRETER_RUBY,
};

/* Bytes read from a frame at most, and from a code object for its identity. */
#define REEL_BPF_FRAME_SIZE    128
#define REEL_BPF_IDENTITY_SIZE 32

#define REEL_BPF_NO_OFFSET 0xffff

/*
 * CPython's fields: offsets, or REEL_BPF_NO_OFFSET if the version does not have the field.  `head`
 * is the address of _PyRuntime.interpreters.head.
 */
struct reel_bpf_python {
	/* PyInterpreterState: next, threads.head (3.8 to 3.10: tstate_head). */
	__u16 interpreter_next, interpreter_threads;
	/* PyThreadState: next; native_thread_id, a tid in the process's PID namespace (3.11 on);
	 * thread_id, which is pthread_self(). */
	__u16 thread_next, thread_native_id, thread_id;
	/* PyThreadState: the innermost frame (frame, current_frame), or the _PyCFrame that has it
	 * (cframe: 3.11, 3.12). */
	__u16 thread_frame, thread_cframe;
	__u16 cframe_frame, cframe_previous;
	/* Of a frame, within REEL_BPF_FRAME_SIZE. */
	__u16 frame_previous, frame_code, frame_position;
	__u16 frame_is_entry; /* 3.11: a byte */
	__u16 frame_owner;    /* 3.12 on: a byte */
	/* PyCodeObject: where REEL_BPF_IDENTITY_SIZE bytes begin that tell two of them apart. */
	__u16 code_identity;
	/* From this value of the owner on, a native function keeps the frame on its stack while it
	 * runs the frames of functions (FRAME_OWNED_BY_CSTACK). */
	__u8 owner_native;
	/* 8: the address of an instruction; 4: an index (f_lasti, up to 3.10). */
	__u8 position_size;
	/* Bits that do not belong to the address of a frame's code (_PyStackRef, 3.14). */
	__u8 code_tags;
	__u8 reserved;
};

/* Ruby's fields.  `head` is the address of the list of ractors. */
struct reel_bpf_ruby {
	/* rb_ractor_t: its place in the list; its list of threads. */
	__u16 ractor_node, ractor_threads;
	/* rb_thread_t: its place in the list; nt (3.3 on); thread_id, which is pthread_self(), in
	 * nt or here; ec. */
	__u16 thread_node, thread_native, thread_id, thread_context;
	/* rb_execution_context_t: vm_stack, vm_stack_size, cfp and tag follow each other. */
	__u16 context_stack;
	/* rb_control_frame_t: pc, iseq, ep, within `frame_size`. */
	__u16 frame_pc, frame_code, frame_environment;
	/* rb_iseq_t.body; in the body iseq_encoded, and within REEL_BPF_FRAME_SIZE of it location's
	 * pathobj, base_label, label and first_lineno, which are the identity. */
	__u16 code_body, body_instructions, body_identity;
	/* rb_method_entry_t: the identity. */
	__u16 method_identity;
	/* struct rb_vm_tag: a word in `buf` that is `tag_mark` for tags of vm_exec; prev. */
	__u16 tag_word, tag_previous;
	__u64 tag_mark; /* 0: unknown */
};

/* A process that runs an interpreter. */
struct reel_bpf_interpreter {
	__u64 head; /* the address that leads to its threads */
	__u32 kind; /* enum reel_bpf_interpreter_kind */
	/* Bytes that are read of a frame, at most REEL_BPF_FRAME_SIZE. */
	__u16 frame_size;
	__u16 reserved;
	union {
		struct reel_bpf_python python;
		struct reel_bpf_ruby ruby;
	};
};

/*
 * A frame as recorded, leaf first.  `code` is the address of its code object; `position` the low
 * half of instruction - code, or the index; `identity` is reel_bpf_identity() of the code object,
 * as the address may be reused, or 0 if it could not be read, plus REEL_BPF_FRAME_ENTRY.
 * After an entry there may be an item with the position REEL_BPF_FRAME_NATIVE: `code` is an address
 * on the native stack, in the frame of the function that runs these frames.  Of Ruby, these items
 * follow all frames, innermost first; the last one is the outermost entry's.
 */
struct reel_bpf_frame {
	__u64 code;
	__u32 position;
	__u32 identity;
};

/* The outermost of the frames that one call of the native function runs. */
#define REEL_BPF_FRAME_ENTRY  1
#define REEL_BPF_FRAME_NATIVE 0xffffffffu
#define REEL_BPF_FRAMES_MAX   512
#define REEL_BPF_FRAMES_WORDS (REEL_BPF_FRAMES_MAX * sizeof(struct reel_bpf_frame) / 8)

#define REEL_INTERPRETERS_MAX 4096

/* A hash of a code object's identity: even, and not 0. */
static inline __u32 reel_bpf_identity(const __u64 words[REEL_BPF_IDENTITY_SIZE / 8])
{
	__u64 hash = 0;

	for (unsigned int i = 0; i < REEL_BPF_IDENTITY_SIZE / 8; i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
	hash = hash >> 32 & ~1ull;
	return hash ? hash : 2;
}

/* ---- what programs publish ------------------------------------------------------------------ */

/* What its thread-local pointer leads to. */
enum reel_bpf_published {
	/* which request the thread works for: OpenTelemetry's thread context (OTEP 4947) */
	REEL_BPF_PUBLISHED_REQUEST,
	REEL_BPF_PUBLISHED_OCAML, /* OCaml 5's stacks (bpf/stacks/ocaml.h) */
};

/* Where the pointer is, by the way that the linker had its code find it. */
enum reel_bpf_publisher_kind {
	REEL_BPF_PUBLISHER_NONE,
	/* at the thread pointer + `at`: in the executable */
	REEL_BPF_PUBLISHER_OFFSET,
	/* `at` is the address of such an offset (initial exec) */
	REEL_BPF_PUBLISHER_WORD,
	/* `at` is the address of a module's number, followed by an offset in its block (general
	 * dynamic) */
	REEL_BPF_PUBLISHER_INDEX,
	/* `at` is the address of a descriptor: a function, and its argument, an offset from the
	 * thread pointer or the address of a number and an offset (TLSDESC) */
	REEL_BPF_PUBLISHER_DESCRIPTOR,
	REEL_BPF_PUBLISHER_KINDS,
};

#define REEL_PUBLISHERS_MAX 4096

struct reel_bpf_publisher {
	__u32 kind; /* enum reel_bpf_publisher_kind */
	/* The table of a thread's blocks, by the number of a module: the place of its address from
	 * the thread pointer, of its size from there, and the bytes of an entry. */
	__s16 table, table_size;
	__u32 table_entry;
	__u32 published; /* enum reel_bpf_published */
	__u64 at;
};

#endif
