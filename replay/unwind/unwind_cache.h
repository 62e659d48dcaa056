/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walks of one thread remember of code: for an address of a module, which row holds
 * there, in the form that frames of the usual kind need, and all that the code's bytes have to say.
 * It does not depend on where processes have a module mapped.  Internal to unwind*.c.
 */
#ifndef REPLAY_UNWIND_UNWIND_CACHE_H
#define REPLAY_UNWIND_UNWIND_CACHE_H

#include "replay/unwind/unwind_parts.h"

/* How the walk has come to an address. */
enum cached_as {
	CACHED_CALLER = 0, /* a return address; what the frame called returns to it */
	CACHED_FIRST,	   /* nobody called from it, and it runs next */
	CACHED_BEHIND,	   /* nobody called from it, and it is behind a system call */
};

enum cached_kind {
	CACHED_PLAIN = 0, /* the fields below are the row */
	CACHED_ROOT,	  /* there is no caller */
	CACHED_OTHER,	  /* anything else: the slow path */
};

enum cached_flags {
	CACHED_BY_FP = 1 << 0,	  /* the CFA hangs on fp, else on sp */
	CACHED_SAVES_FP = 1 << 1, /* at cfa + fp_offset */
	CACHED_SAVES_SP = 1 << 2, /* at cfa + sp_offset; else sp is that */
	CACHED_BY_LINK = 1 << 3,  /* the link register has the return address */
	/* What the code before it says, once it was asked.  Of a caller: it is a landing pad, if a
	 * frame that nobody called from leads to it.  Of the first frame: it is behind a system
	 * call. */
	CACHED_ASKED = 1 << 4,
	CACHED_SO = 1 << 5,
};

/*
 * One line of most CPUs' caches.  A plain row finds the CFA by sp or fp, reads words only, all
 * between cfa + low and cfa + low + extent and within 32 KB of the CFA, and keeps or saves all
 * registers that callees keep by the ABI; others it may save, but not keep.
 */
struct cached_row {
	uint64_t address; /* pc as the walk has it, less the bias */
	/* Of a caller: where and in which state of a space it was met last. */
	uint64_t pc, generation;
	union {
		const struct reel_row *row;
		uint64_t width; /* of any host's pointer */
	};
	uint64_t saved; /* slots, of those that callees keep */
	uint32_t tag;	/* reel_cached_tag; 0: empty */
	int32_t cfa_offset;
	int16_t low;
	uint16_t extent;
	int16_t return_offset;
	int16_t fp_offset; /* of anything that is read, where fp is not saved */
	int16_t sp_offset;
	uint16_t next; /* the entry of the caller that was met last */
	uint8_t kind, flags;
	/* A saturating counter of how often `next` was wrong lately, up to CACHED_PREDICTOR_MAX. */
	uint8_t predictor;
	uint8_t unused;
};

/* From PREDICTOR_OFF on `next` is checked but not relied on. */
#define CACHED_PREDICTOR_OFF 8
#define CACHED_PREDICTOR_MAX 16

#define CACHED_ROW_BITS 15
/* Of reel_code's ids: with two bits more they are tags. */
#define CACHED_ID_LIMIT (1u << 30)

/* A step that was taken, for what has to be known of it later. */
struct cached_step {
	const struct reel_row *row;
	uint64_t cfa;
};

/* Code in one state of a space. */
struct cached_range {
	uint64_t generation; /* 0: empty */
	struct reel_code code;
};

/* They are found by blocks of 256 KB: a large program has few of these, and few of them have code
 * of two files. */
#define CACHED_BLOCK_BITS 18
#define CACHED_RANGE_BITS 7

/* What the code around a return address is, whose bytes are slow to get; address and id as in
 * reel_code. */
struct cached_call {
	uint64_t address;
	uint64_t id;	/* 0: empty */
	uint32_t calls; /* as reel_walk_calls_before, if knows_calls */
	bool knows_calls, is_no_signal_frame;
};

#define CACHED_CALL_BITS 12

struct reel_unwind_cache {
	struct cached_call calls[1 << CACHED_CALL_BITS];
	struct cached_range ranges[1 << CACHED_RANGE_BITS];
	struct cached_row *entries; /* 1 << CACHED_ROW_BITS, each aligned to its size */
	void *memory;
	struct reel_seen_words seen;
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

/* Makes the range; NULL where nothing can be remembered of the code. */
const struct cached_range *reel_cached_range_slow(const struct reel_walk *walk, uint64_t lookup,
						  struct cached_range *range);

/* What holds the code, valid until the next call. */
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

/* The entry, which is not where its index says: made, if it is nowhere. */
struct cached_row *reel_cached_row_slow(const struct reel_walk *walk,
					const struct cached_range *range, uint64_t pc,
					enum cached_as as);

/* The entry of an address that the range holds, made if need be. */
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

/* As reel_walk_is_landing_pad would find; `entry` is that of a caller at `pc`. */
bool reel_cached_is_landing_pad(const struct reel_walk *walk, uint64_t pc,
				struct cached_row *entry);

/* As reel_walk_is_behind_system_call. */
bool reel_cached_is_behind_system_call(const struct reel_walk *walk);

/* Room for as many steps as there are frames; false if memory is short. */
bool reel_cached_reserve_steps(struct reel_unwind_cache *cache, size_t n);

#endif
