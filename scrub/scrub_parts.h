/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind scrub.h share: what the words of a process are, and which are addresses. */
#ifndef SCRUB_SCRUB_PARTS_H
#define SCRUB_SCRUB_PARTS_H

#include "arch/arch.h"
#include "base/bytes.h"
#include "scrub/scrub.h"

#define SCRUB_CODE_MAX 4

/* What the words of a process are. */
struct scrub_policy {
	const struct reel_arch *arch; /* NULL: unknown */
	unsigned word_size;	      /* bytes: 4 or 8 */
	bool big_endian;
	/* Bits that pointer authentication uses, of addresses of code and of data. */
	uint64_t code_mask, data_mask;
	/* Code that stays where an aligned word begins with it, of a word's size at most. */
	struct reel_bytes code[SCRUB_CODE_MAX];
	size_t n_code;
};

/* First and last address; the last one is that behind the mapping: a call may end it. */
struct address_range {
	uint64_t first, last;
};

static inline bool address_range_has(const struct address_range *range, uint64_t address)
{
	return address - range->first <= range->last - range->first;
}

/* Spaces whose code is kept as a list, found by their ids' lowest bits. */
#define SCRUB_CODE_LISTS 64

/*
 * Addresses are filtered by which 64 KB they lie in, modulo 1 GB: most words that are no
 * addresses of code end there.
 */
#define SCRUB_FILTER_SHIFT 16
#define SCRUB_FILTER_BITS  16384

/* The code of a space, in one state of its mappings. */
struct scrub_code {
	uint64_t generation; /* 0: of none */
	/* Look-ups so far that went without a list. */
	uint64_t searches;
	bool is_list;
	/* Ascending, not touching each other. */
	struct address_range *ranges;
	size_t count, capacity;
	bool failed;		    /* no memory, or too many ranges */
	struct address_range found; /* by the last look-up */
	struct address_range whole; /* all of them lie within */
	uint64_t filter[SCRUB_FILTER_BITS / 64];
};

/* What the words of one sample are compared with. */
struct scrub_sieve {
	const struct reel_space_view *view;
	struct scrub_policy policy;
	struct scrub_code *code;
	/* With their ends: a frame may end where a stack does. */
	struct address_range regions[REEL_REGIONS_MAX];
	size_t n_regions;
	/* Regions and code lie within. */
	struct address_range all;
	uint8_t scrubbed[8]; /* a word without its value */
};

/* ---- scrub_policy.c ---- */

/* `space`: NULL where nothing is known of the process. */
struct scrub_policy reel_scrub_policy_of(const struct reel_elf_kind *native,
					 const struct reel_space_state *space);

/* ---- scrub_words.c ---- */

/* `codes`: SCRUB_CODE_LISTS of them, for all spaces. */
void reel_scrub_sieve_init(struct scrub_sieve *sieve, struct scrub_code *codes,
			   const struct reel_space_view *view, const struct scrub_policy *policy,
			   const struct reel_sample *sample);

/* An address of code? */
bool reel_scrub_is_code(const struct scrub_sieve *sieve, uint64_t word);
/* May unwinding follow it? */
bool reel_scrub_is_address(const struct scrub_sieve *sieve, uint64_t word);
/* `at` is the first aligned word, `to` where its copy goes. */
void reel_scrub_words(const struct scrub_sieve *sieve, const uint8_t *at, size_t count,
		      uint8_t *to);

/* A word as a number. */
static inline uint64_t scrub_load_word(const uint8_t *at, unsigned size, bool big_endian)
{
	if (size == 8)
		return big_endian ? __builtin_bswap64(reel_load64(at)) : reel_load64(at);
	return big_endian ? __builtin_bswap32(reel_load32(at)) : reel_load32(at);
}

static inline uint64_t scrub_without_value(uint64_t word)
{
	return word ? REEL_SCRUBBED_WORD : 0;
}

/* ---- scrub_counts.c ---- */

/*
 * Is the value of a register a count of arch/ by which CFI finds the caller? Then it stays, though
 * it is no address.  `sample` is not scrubbed.
 */
bool reel_scrub_is_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
			 uint64_t dwarf, uint64_t value);

/*
 * The next one that a signal frame in the region has saved, with the sp that was interrupted:
 * *at_ret bytes from the region's start.  *from is 0 at first.
 */
bool reel_scrub_next_saved_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
				 const struct reel_region *region, size_t *from, size_t *at_ret);

/* ---- scrub_stack.c ---- */

struct scrub_stacks;

struct reel_error *reel_scrub_stacks_create(struct scrub_stacks **ret) REEL_MUST_CHECK;
void reel_scrub_stacks_destroy(struct scrub_stacks *stacks);

/*
 * The scrubbed bytes of a sample's only region, found faster where the thread's stack was the same
 * before; they live until the next call.  NULL if it is none that is kept.
 */
const uint8_t *reel_scrub_stacks_scrub(struct scrub_stacks *stacks, const struct scrub_sieve *sieve,
				       const struct reel_sample *sample);

#endif
