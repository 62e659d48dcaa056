/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread's previous sample, to which a block's samples are relative.  Encoder and decoder keep
 * identical copies (SPEC.md, section 6).
 */
#ifndef FORMAT_CODEC_THREAD_TABLE_H
#define FORMAT_CODEC_THREAD_TABLE_H

#include "base/error.h"

/* A thread's region in its previous sample: the next sample's runs are relative to it.  All zero is
 * an empty region at address 0. */
struct reel_region_base {
	uint64_t address;
	size_t size;
	/*
	 * The region is at memory + start.  Stacks grow and shrink at their low end, so the room to
	 * grow precedes it.
	 */
	uint8_t *memory;
	size_t capacity, start;
};

/*
 * Makes it the region of `size` bytes at `address`: keeps the previous bytes at the same addresses,
 * 0 elsewhere.  Returns the bytes for writing; NULL without memory: the previous region stays.
 * address + size is at most 2^64.
 */
uint8_t *reel_region_base_move(struct reel_region_base *base, uint64_t address, size_t size);
void reel_region_base_free(struct reel_region_base *base);

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
