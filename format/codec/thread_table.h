/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread's previous sample, to which a block's samples are relative.  Encoder and decoder keep
 * identical copies (SPEC.md, section 6).
 */
#ifndef FORMAT_CODEC_THREAD_TABLE_H
#define FORMAT_CODEC_THREAD_TABLE_H

#include "base/error.h"
#include "format/codec/chain_base.h"
#include "format/codec/region_base.h"

/* The kinds of chains of addresses. */
enum { REEL_CHAIN_KERNEL, REEL_CHAIN_FRAMES, REEL_CHAIN_KINDS };

struct reel_thread_base {
	uint64_t thread;
	uint64_t pc;
	uint64_t kernel_sp; /* of the last kernel frame */
	/* From the last sample with registers: one value for each slot; a layout's position in the
	 * block plus 1. */
	uint64_t *values;
	size_t values_capacity;
	uint32_t layout;
	uint32_t n_regions;
	struct reel_region_base *regions;
	/* The last chain of each kind; for DENSE. */
	struct reel_chain_base chains[REEL_CHAIN_KINDS];
};

struct reel_thread_table {
	struct reel_thread_base *bases;
	size_t n_bases, capacity;
	/* A hash table of positions in `bases` plus 1; its size is a power of two. */
	uint32_t *slots;
	size_t n_slots;
	/* Makes hashing unpredictable, against ids chosen to collide. */
	uint64_t seed;
};

void reel_thread_table_init(struct reel_thread_table *table);
void reel_thread_table_free(struct reel_thread_table *table);
/* Forgets all threads. */
void reel_thread_table_reset(struct reel_thread_table *table);
/*
 * The thread's base, new if it has none; it lives until the next call.  NO_MEMORY; CORRUPT for more
 * than REEL_THREADS_MAX threads.
 */
struct reel_error *reel_thread_table_get(struct reel_thread_table *table, uint64_t thread,
					 struct reel_thread_base **ret) REEL_MUST_CHECK;
/* Makes `values` those of a layout of `n` slots; all 0 if the layout has changed. */
struct reel_error *reel_thread_base_set_layout(struct reel_thread_base *base, uint32_t layout,
					       size_t n) REEL_MUST_CHECK;
/* Drops the regions from `n` on, and makes room for `n`. */
struct reel_error *reel_thread_base_set_regions(struct reel_thread_base *base,
						size_t n) REEL_MUST_CHECK;

#endif
