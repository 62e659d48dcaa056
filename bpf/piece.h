/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Memory of waiting threads that the scanning process reads for the BPF program (bpf/copies.h).
 * Both sides are of the same build, and share these structs.
 */
#ifndef BPF_PIECE_H
#define BPF_PIECE_H

#include "bpf/sample.h"

/* Threads whose memory is read together. */
#define REEL_COPIES_MAX 1024
/* Bytes that are read together, but for the last thread's; a stack may have --max-stack. */
#define REEL_COPIES_SIZE (64u << 20)
/* Of a thread. */
#define REEL_PIECES_MAX 8
/* A pointer is read in one pass, what it points to in the next: the most that Go's stacks take. */
#define REEL_PASSES_MAX 8

struct reel_bpf_piece {
	__u64 address;
	__u64 copy; /* its address in the scanning process; 0: not read */
	__u32 size;
	__u16 is_done;			       /* the process has tried */
	__u16 is_partial;		       /* some pages are missing */
	__u64 missing[REEL_BPF_MISSING_WORDS]; /* as in struct reel_bpf_region */
};

struct reel_bpf_copies {
	__u32 pid; /* in the recorder's namespace */
	__u32 n_pieces;
	struct reel_bpf_piece pieces[REEL_PIECES_MAX];
};

#endif
