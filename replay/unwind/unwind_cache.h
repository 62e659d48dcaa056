/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread's cache of facts about code: for an address of a module, its row, in the form that
 * usual frames need, and all facts from the code's bytes.  Entries do not depend on where processes
 * have a module mapped.  Internal to unwind*.c.
 */
#ifndef REPLAY_UNWIND_UNWIND_CACHE_H
#define REPLAY_UNWIND_UNWIND_CACHE_H

#include "replay/unwind/unwind_internal.h"

/* How the walk reached an address. */
enum cached_as {
	CACHED_CALLER = 0, /* a return address, to which the frame's callee returns */
	CACHED_FIRST,	   /* the first frame's next instruction */
	CACHED_BEHIND,	   /* the first frame, after a system call */
};

enum cached_kind {
	CACHED_PLAIN = 0, /* the fields below are the row */
	CACHED_ROOT,	  /* no caller */
	CACHED_OTHER,	  /* anything else: the slow path */
};

enum cached_flags {
	CACHED_BY_FP = 1 << 0,	  /* the CFA is relative to fp, else to sp */
	CACHED_SAVES_FP = 1 << 1, /* at cfa + fp_offset */
	CACHED_SAVES_SP = 1 << 2, /* at cfa + sp_offset; else sp is that */
	CACHED_BY_LINK = 1 << 3,  /* the link register has the return address */
	/* The cached result (CACHED_SO) of examining the preceding code.  Caller: it is a landing
	 * pad if reached from a first frame.  First frame: it follows a system call. */
	CACHED_ASKED = 1 << 4,
	CACHED_SO = 1 << 5,
};

/*
 * One cache line on most CPUs.  A plain row finds the CFA by sp or fp.  It reads only words, all
 * between cfa + low and cfa + low + extent and within 32 KiB of the CFA.  It keeps or saves all
 * registers that callees keep by the ABI; others it may save, but not keep.
 */
struct cached_row {
	uint64_t address; /* the walk's pc minus the bias */
	/* For a caller: its last pc and state of a space. */
	uint64_t pc, generation;
	union {
		const struct reel_row *row;
		uint64_t width; /* for any host's pointer */
	};
	uint64_t saved; /* slots, among those that callees keep */
	uint32_t tag;	/* reel_cached_tag; 0: empty */
	int32_t cfa_offset;
	int16_t low;
	uint16_t extent;
	int16_t return_offset;
	int16_t fp_offset; /* of any word read if fp is not saved */
	int16_t sp_offset;
	uint16_t next; /* the entry of the last caller */
	uint8_t kind, flags;
	/* A saturating counter of recent wrong `next`, up to CACHED_PREDICTOR_MAX. */
	uint8_t predictor;
	uint8_t unused;
};

/* From PREDICTOR_OFF on, `next` is checked but not used. */
#define CACHED_PREDICTOR_OFF 8
#define CACHED_PREDICTOR_MAX 16

#define CACHED_ROW_BITS 15
/* Limit of reel_code's ids, which with two more bits are tags. */
#define CACHED_ID_LIMIT (1u << 30)

/* A step taken, for later use. */
struct cached_step {
	const struct reel_row *row;
	uint64_t cfa;
};

/* Code in one state of a space. */
struct cached_range {
	uint64_t generation; /* 0: empty */
	struct reel_code code;
};

/* Ranges are found by blocks of 256 KiB: a large program has few blocks, and few of them have code
 * of two files. */
#define CACHED_BLOCK_BITS 18
#define CACHED_RANGE_BITS 7

/* Facts about the code around a return address, whose bytes are slow to get; address and id as in
 * reel_code. */
struct cached_call {
	uint64_t address;
	uint64_t id;	/* 0: empty */
	uint32_t calls; /* as reel_walk_calls_before, if knows_calls */
	bool knows_calls, is_no_signal_frame;
};

#define CACHED_CALL_BITS 12

/* The targets of the calls before an address that stacks contain; the same words are searched for
 * every frame and in every trace. */
#define CACHED_TARGETS_MAX 4 /* an address has at most so many calls before it */

struct cached_word {
	uint64_t pc;
	uint64_t stamp; /* a space's state, or a trace if its code may change; 0: empty */
	uint64_t targets[CACHED_TARGETS_MAX];
	unsigned n; /* 0: not after a call with a target */
};

#define CACHED_WORD_BITS 10
/* Of the numbers of traces. */
#define CACHED_TRACE ((uint64_t)1 << 63)

struct reel_unwind_cache {
	struct cached_call calls[1 << CACHED_CALL_BITS];
	struct cached_word words[1 << CACHED_WORD_BITS];
	uint64_t trace; /* the present one's stamp */
	struct cached_range ranges[1 << CACHED_RANGE_BITS];
	struct cached_row *entries; /* 1 << CACHED_ROW_BITS, each aligned to its size */
	void *memory;
	struct reel_seen_words seen;
	struct reel_trials *trials;
	struct cached_step *steps; /* by frame */
	size_t steps_capacity;
};

/* As reel_walk_lookup. */
static inline uint64_t reel_cached_lookup(uint64_t pc, enum cached_as as)
{
	return as == CACHED_FIRST ? pc : pc - 1;
}

static inline bool reel_cached_holds(const struct cached_range *range, uint64_t lookup)
{
	return lookup - range->code.begin < range->code.size;
}

/* Makes the range; NULL if the code cannot be cached. */
const struct cached_range *reel_cached_range_slow(const struct reel_walk *walk, uint64_t lookup,
						  struct cached_range *range);

/* The range with the code, valid until the next call. */
static inline __attribute__((always_inline)) const struct cached_range *reel_cached_range(
	const struct reel_walk *walk, uint64_t lookup)
{
	const struct reel_unwind_input *input = walk->input;
	uint64_t hash =
		(lookup >> CACHED_BLOCK_BITS ^ input->generation << 32) * 0x9e3779b97f4a7c15;
	struct cached_range *range = &input->cache->ranges[hash >> (64 - CACHED_RANGE_BITS)];

	if (range->generation == input->generation && reel_cached_holds(range, lookup))
		return range;
	return reel_cached_range_slow(walk, lookup, range);
}

static inline uint32_t reel_cached_tag(const struct cached_range *range, enum cached_as as)
{
	return (uint32_t)range->code.id << 2 | (uint32_t)as;
}

static inline size_t reel_cached_index(uint64_t address, uint32_t tag)
{
	return (address ^ (uint64_t)tag << 32) * 0x9e3779b97f4a7c15 >> (64 - CACHED_ROW_BITS);
}

/* The entry if it is not at its index; made if missing. */
struct cached_row *reel_cached_row_slow(const struct reel_walk *walk,
					const struct cached_range *range, uint64_t pc,
					enum cached_as as);

/* The entry of an address in the range, made if missing. */
static inline __attribute__((always_inline)) struct cached_row *reel_cached_row(
	const struct reel_walk *walk, const struct reel_unwind_cache *cache,
	const struct cached_range *range, uint64_t pc, enum cached_as as)
{
	uint64_t address = pc - range->code.bias;
	uint32_t tag = reel_cached_tag(range, as);
	struct cached_row *entry = &cache->entries[reel_cached_index(address, tag)];

	if (entry->address == address && entry->tag == tag)
		return entry;
	return reel_cached_row_slow(walk, range, pc, as);
}

/* The result of reel_walk_is_landing_pad; `entry` is for a caller at `pc`. */
bool reel_cached_is_landing_pad(const struct reel_walk *walk, uint64_t pc,
				struct cached_row *entry);

/* As reel_walk_is_behind_system_call. */
bool reel_cached_is_behind_system_call(const struct reel_walk *walk);

/* Room for as many steps as there are frames; false if memory is short. */
bool reel_cached_reserve_steps(struct reel_unwind_cache *cache, size_t n);

#endif
