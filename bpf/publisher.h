/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How BPF finds what the program publishes for each thread, set by the recorder. */
#ifndef BPF_PUBLISHER_H
#define BPF_PUBLISHER_H

#include "bpf/types.h"

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
