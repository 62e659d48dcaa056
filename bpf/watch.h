/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Code outside of files that is watched: each sample of its process checks whether it is as the
 * sample before found it.  Both sides are of the same build.
 */
#ifndef BPF_WATCH_H
#define BPF_WATCH_H

#include "bpf/types.h"

#define REEL_WATCHES_MAX      256 /* processes */
#define REEL_WATCH_PAGES      32
#define REEL_WATCH_PAGE_SIZE  4096
#define REEL_WATCH_UNREADABLE 1 /* as a hash */

/* One of the REEL_WATCH_PAGES of a process. */
struct reel_bpf_watched {
	__u64 space;   /* for struct reel_bpf_code */
	__u64 address; /* 0: none */
	__u64 hash;    /* of its bytes; 0: no sample has read them yet */
	__u64 found;   /* the time of a sample that found these bytes */
};

/* A page whose bytes have changed, before the sample that found it. */
struct reel_bpf_code {
	__u32 kind;  /* REEL_BPF_CODE */
	__u32 size;  /* of the bytes: REEL_WATCH_PAGE_SIZE, or 0: they could not be read */
	__u64 time;  /* the sample's */
	__u64 found; /* the time of a sample that found the bytes before; 0: none has */
	__u64 space, address;
	__u64 unused[2]; /* fill up to REEL_BPF_ALIGNMENT, with the ring's header */
	__u8 bytes[REEL_WATCH_PAGE_SIZE];
};

#endif
