/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to scrub*.c: the form of a process's words, and which are addresses. */
#ifndef FORMAT_SCRUB_SCRUB_INTERNAL_H
#define FORMAT_SCRUB_SCRUB_INTERNAL_H

#include "arch/arch.h"
#include "base/bytes.h"
#include "format/scrub/scrub.h"

#define SCRUB_CODE_MAX 4

/* The form of a process's words. */
struct scrub_policy {
	const struct reel_arch *arch; /* NULL: unknown */
	unsigned word_size;	      /* bytes: 4 or 8 */
	bool big_endian;
	/* Bits that pointer authentication uses, in addresses of code and of data. */
	uint64_t code_mask, data_mask;
	/* Code that is kept if an aligned word begins with it, at most as long as a word. */
	struct reel_bytes code[SCRUB_CODE_MAX];
	size_t n_code;
};

/* First and last address; the last is the one after the mapping: a call may end it. */
struct address_range {
	uint64_t first, last;
};

static inline bool address_range_has(const struct address_range *range, uint64_t address)
{
	return address - range->first <= range->last - range->first;
}

/* The number of spaces whose code is kept as a list, indexed by their ids' lowest bits. */
#define SCRUB_CODE_LISTS 64

/*
 * Filters addresses by their 64 KiB block, modulo 1 GiB: most words that are not addresses of code
 * end there.
 */
#define SCRUB_FILTER_SHIFT 16
#define SCRUB_FILTER_BITS  16384

/* The code of a space, in one state of its mappings. */
struct scrub_code {
	uint64_t generation; /* 0: empty */
	/* Look-ups so far without a list. */
	uint64_t searches;
	bool is_list;
	/* Ascending, and none touches the next. */
	struct address_range *ranges;
	size_t count, capacity;
	bool failed;		    /* out of memory, or too many ranges */
	struct address_range found; /* by the last look-up */
	struct address_range whole; /* contains them all */
	uint64_t filter[SCRUB_FILTER_BITS / 64];
};

/* Everything that the words of one sample are compared with. */
struct scrub_sieve {
	const struct reel_space_view *view;
	struct scrub_policy policy;
	struct scrub_code *code;
	/* Including their ends: a frame may end where a stack does. */
	struct address_range regions[REEL_REGIONS_MAX];
	size_t n_regions;
	/* Contains all regions and code. */
	struct address_range all;
	uint8_t scrubbed[8]; /* a word without its value */
};

/* ---- scrub_words.c ---- */

/* `space` is NULL if the process is unknown. */
struct scrub_policy reel_scrub_policy_of(const struct reel_elf_kind *native,
					 const struct reel_space_state *space);

/* `codes`: SCRUB_CODE_LISTS items, for all spaces. */
void reel_scrub_sieve_init(struct scrub_sieve *sieve, struct scrub_code *codes,
			   const struct reel_space_view *view, const struct scrub_policy *policy,
			   const struct reel_sample *sample);

/* Whether it is an address of code. */
bool reel_scrub_is_code(const struct scrub_sieve *sieve, uint64_t word);
/* Whether unwinding may follow it. */
bool reel_scrub_is_address(const struct scrub_sieve *sieve, uint64_t word);
/* `at` is the first aligned word, `to` the place for its copy. */
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
 * Whether a register's value is a count from arch/ that leads CFI to the caller: it stays, though
 * it is not an address.  `sample` is the unscrubbed one.
 */
bool reel_scrub_is_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
			 uint64_t dwarf, uint64_t value);

/*
 * The next count saved by a signal frame in the region, checked with the interrupted sp: *at_ret
 * bytes from the region's start. *from is initially 0.
 */
bool reel_scrub_next_saved_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
				 const struct reel_region *region, size_t *from, size_t *at_ret);

/* The next size of a frame that code adds to sp: *at_ret bytes from the region's start.  *from is
 * initially 0. */
bool reel_scrub_next_frame_size(const struct scrub_sieve *sieve, const struct reel_region *region,
				size_t *from, size_t *at_ret);

/* ---- scrub_stack.c ---- */

struct scrub_stacks;

struct reel_error *reel_scrub_stacks_create(struct scrub_stacks **ret) REEL_MUST_CHECK;
void reel_scrub_stacks_forget(struct scrub_stacks *stacks);

/*
 * The scrubbed bytes of a sample's only region, found faster if the thread's stack has not changed
 * much; they live until the next call.  NULL for a region that is not kept.
 */
const uint8_t *reel_scrub_stacks_scrub(struct scrub_stacks *stacks, const struct scrub_sieve *sieve,
				       const struct reel_sample *sample);

#endif
