/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walks of one thread remember of code: for a runtime address, which rule holds there, in
 * the form that frames of the usual kind need, and all that the code's bytes have to say.  Internal
 * to unwind*.c.
 */
#ifndef REPLAY_UNWIND_CACHE_H
#define REPLAY_UNWIND_CACHE_H

#include "replay/unwind_code.h"

/* How the walk has come to an address. */
enum cached_as {
	CACHED_CALLER = 0,    /* a return address; what the frame called returns to it */
	CACHED_FIRST,	      /* nobody called from it, and it runs next */
	CACHED_BEHIND,	      /* nobody called from it, and it is behind a system call */
	CACHED_IS_SYSTEM_CALL /* is it behind one? */
};

enum cached_kind {
	CACHED_PLAIN = 0, /* the fields below are the rule */
	CACHED_ROOT,	  /* there is no caller */
	CACHED_OTHER,	  /* anything else: to be gone through at length */
	/* CACHED_IS_SYSTEM_CALL: */
	CACHED_YES,
	CACHED_NO,
};

enum cached_flags {
	CACHED_BY_FP = 1 << 0,	  /* the CFA hangs on fp, else on sp */
	CACHED_SAVES_FP = 1 << 1, /* at cfa + fp_offset */
	CACHED_SAVES_SP = 1 << 2, /* at cfa + sp_offset; else sp is that */
	CACHED_BY_LINK = 1 << 3,  /* the link register has the return address */
	/* Is it a landing pad, if a frame that nobody called from leads to it? */
	CACHED_ASKED = 1 << 4,
	CACHED_LANDING_PAD = 1 << 5,
};

/*
 * One line of most CPUs' caches.  A plain rule finds the CFA by sp or fp, reads words only, all
 * between cfa + low and cfa + low + extent, and keeps or saves all registers that callees keep by
 * the ABI; others it may save, but not keep.
 */
struct cached_rule {
	uint64_t pc; /* as the walk has it; 0: empty */
	uint64_t tag;
	union {
		const struct reel_rule *rule;
		uint64_t width; /* of any host's pointer */
	};
	uint64_t saved; /* slots, of those that callees keep */
	int32_t cfa_offset;
	int32_t low;
	uint32_t extent;
	int32_t return_offset;
	int32_t fp_offset; /* of anything that is read, where fp is not saved */
	int32_t sp_offset;
	uint32_t next; /* the entry of the caller that was met last */
	uint8_t kind, flags;
	uint8_t doubt; /* that `next` is right, from 0 to CACHED_DOUBT_MAX */
	uint8_t unused;
};

/* From the lower one on, guesses are not relied on. */
#define CACHED_DOUBT_MIN 8
#define CACHED_DOUBT_MAX 16

#define CACHED_RULE_BITS 14

/* A step that was taken, for what has to be known of it later. */
struct cached_step {
	const struct reel_rule *rule;
	uint64_t cfa;
};

struct reel_unwind_cache {
	struct cached_rule *entries; /* 1 << CACHED_RULE_BITS, each aligned to its size */
	void *memory;
	struct cached_step *steps; /* by frame */
	size_t steps_capacity;
};

static inline uint64_t reel_cached_tag(const struct reel_walk *walk, enum cached_as as)
{
	return walk->input->generation << 2 | (uint64_t)as;
}

static inline size_t reel_cached_index(uint64_t pc, uint64_t tag)
{
	return (pc ^ tag << 32) * 0x9e3779b97f4a7c15 >> (64 - CACHED_RULE_BITS);
}

/* The entry, made if need be; NULL where there is nothing to be remembered. */
struct cached_rule *reel_cached_rule_slow(const struct reel_walk *walk, uint64_t pc,
					  enum cached_as as);

static inline struct cached_rule *reel_cached_rule(const struct reel_walk *walk, uint64_t pc,
						   enum cached_as as)
{
	uint64_t tag = reel_cached_tag(walk, as);
	struct cached_rule *entry = &walk->input->cache->entries[reel_cached_index(pc, tag)];

	if (entry->pc == pc && entry->tag == tag && pc)
		return entry;
	return reel_cached_rule_slow(walk, pc, as);
}

/* As reel_walk_is_landing_pad would find with the entry's pc. */
bool reel_cached_is_landing_pad(const struct reel_walk *walk, struct cached_rule *entry);

/* Room for as many steps as there are frames; false if memory is short. */
bool reel_cached_reserve_steps(struct reel_unwind_cache *cache, size_t n);

#endif
