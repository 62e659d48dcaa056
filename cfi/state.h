/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's knowledge of a frame: its registers, and the memory of its thread. */
#ifndef CFI_STATE_H
#define CFI_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* Recorded bytes.  `missing` ranges are offsets into them; ascending. */
struct reel_memory_range {
	uint64_t offset, size;
};

struct reel_memory_region {
	uint64_t address;
	uint64_t size;
	const uint8_t *bytes;
	const struct reel_memory_range *missing;
	size_t n_missing;
};

struct reel_memory_view {
	const struct reel_memory_region *regions;
	size_t n_regions;
	bool big_endian;
	/* Reads addresses outside all regions (constant data of modules, for expressions); may be
	 * NULL. */
	bool (*read_other)(void *context, uint64_t address, size_t size, uint8_t *bytes_ret);
	void *context;
	/*
	 * Called for every read from a region; `offset` is relative to the start of
	 * regions[region]. Usually NULL.  If set, every byte that affects the result must be read
	 * by reel_memory_read, so the fast path is disabled.
	 */
	void (*reads)(void *context, size_t region, uint64_t offset, unsigned size);
	void *reads_context;
};

/* In a scrubbed sample: any number except 0 and addresses. */
#define REEL_STATE_SCRUBBED 1

struct reel_unwind_state {
	const struct reel_arch *arch;
	const struct reel_memory_view *memory;
	bool scrubbed;	/* registers and memory are a scrubbed sample's (SPEC.md 8.1) */
	uint64_t pc;	/* authoritative, unlike the slot of arch->pc */
	uint64_t known; /* bit n: slot n has a value */
	uint64_t registers[REEL_ARCH_SLOTS_MAX];
};

/*
 * Reads `size` (1 to 8) bytes as a number in the target's byte order, only from the regions:
 * `read_other` is for expressions.
 */
bool reel_memory_read(const struct reel_memory_view *memory, uint64_t address, unsigned size,
		      uint64_t *ret);
/* The words of `size` bytes from `address` on, up to `max`, that can be skipped at once: the first is
 * not recorded or at most 1 (scrubbed), and so are these.  May be less than there are. */
size_t reel_memory_count_empty(const struct reel_memory_view *memory, uint64_t address,
			       unsigned size, size_t max);
/* Whether one region holds both addresses. */
bool reel_memory_same_region(const struct reel_memory_view *memory, uint64_t a, uint64_t b);

#endif
