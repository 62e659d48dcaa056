/* SPDX-License-Identifier: Apache-2.0 */
/* Finds numbers by which CFI or code computes an address: counts in registers, sizes of frames. */
#include "format/scrub/scrub_internal.h"

/* An aligned word of a region without missing bytes. */
static bool load_word(const struct scrub_sieve *sieve, const struct reel_region *region,
		      uint64_t address, uint64_t *ret)
{
	const struct scrub_policy *policy = &sieve->policy;
	uint64_t offset = address - region->address;

	if (address % policy->word_size || offset >= region->size ||
	    policy->word_size > region->size - offset)
		return false;
	for (size_t i = 0; i < region->n_missing; i++) {
		const struct reel_range *missing = &region->missing[i];

		if (missing->offset < offset + policy->word_size &&
		    offset < missing->offset + missing->size)
			return false;
	}
	*ret = scrub_load_word(region->bytes + offset, policy->word_size, policy->big_endian);
	return true;
}

static bool has_code(const struct scrub_sieve *sieve, const struct reel_region *region,
		     uint64_t address)
{
	uint64_t word;

	return load_word(sieve, region, address, &word) && reel_scrub_is_code(sieve, word);
}

/* Whether the CFA found by the count belongs to a frame with a return address. */
static bool leads_to_caller(const struct scrub_sieve *sieve, const struct reel_region *region,
			    uint64_t address)
{
	uint64_t frame;

	if (!load_word(sieve, region, address, &frame))
		return false;
	frame &= ~sieve->policy.data_mask;
	return frame > address && has_code(sieve, region, frame);
}

/* The region that holds an address, or NULL. */
static const struct reel_region *region_of(const struct reel_sample *sample, uint64_t address)
{
	for (size_t i = 0; i < sample->n_regions; i++) {
		if (address - sample->regions[i].address < sample->regions[i].size)
			return &sample->regions[i];
	}
	return NULL;
}

/* Whether it leads to the caller of the frame with this sp. */
static bool is_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
		     const struct reel_arch_count *count, uint64_t value, uint64_t sp)
{
	const struct reel_region *stack;

	if (value <= REEL_SCRUBBED_WORD || value > count->max)
		return false;
	sp &= ~sieve->policy.data_mask;
	stack = region_of(sample, sp);
	return stack && leads_to_caller(sieve, stack, sp + count->offset + count->scale * value);
}

static uint64_t sp_of(const struct scrub_sieve *sieve, const struct reel_sample *sample)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		if (sample->layout->slots[i].dwarf == sieve->policy.arch->sp)
			return sample->values[i];
	}
	return 0;
}

bool reel_scrub_is_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
			 uint64_t dwarf, uint64_t value)
{
	const struct reel_arch *arch = sieve->policy.arch;

	for (size_t i = 0; arch && i < arch->n_counts; i++) {
		if (dwarf == arch->counts[i].dwarf &&
		    is_count(sieve, sample, &arch->counts[i], value, sp_of(sieve, sample)))
			return true;
	}
	return false;
}

/* ---- signal frames ---------------------------------------------------------------------- */

/* The next aligned word equal to `mark`, or the region's end. */
static size_t find_mark(const struct scrub_sieve *sieve, const struct reel_region *region,
			size_t from, uint64_t mark)
{
	const struct scrub_policy *policy = &sieve->policy;
	size_t at = from;

	/* Known sizes make it fast. */
	while (policy->word_size == 8 && !policy->big_endian && region->size - at >= 8 &&
	       reel_load64(region->bytes + at) != mark)
		at += 8;
	while (region->size - at >= policy->word_size &&
	       scrub_load_word(region->bytes + at, policy->word_size, policy->big_endian) != mark)
		at += policy->word_size;
	return region->size - at >= policy->word_size ? at : region->size;
}

/* Whether `at` is the register saved by a signal frame, whose mark is already found. */
static bool is_saved_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
			   const struct reel_region *region, const struct reel_arch_count *count,
			   uint64_t at)
{
	uint64_t value, sp, pc;

	return load_word(sieve, region, at, &value) &&
	       load_word(sieve, region, at + count->saved_sp, &sp) &&
	       load_word(sieve, region, at + count->saved_pc, &pc) &&
	       reel_scrub_is_code(sieve, pc) && is_count(sieve, sample, count, value, sp);
}

bool reel_scrub_next_saved_count(const struct scrub_sieve *sieve, const struct reel_sample *sample,
				 const struct reel_region *region, size_t *from, size_t *at_ret)
{
	const struct reel_arch *arch = sieve->policy.arch;
	const struct reel_arch_count *count = arch && arch->n_counts ? &arch->counts[0] : NULL;
	size_t word = sieve->policy.word_size, at;

	if (!count || region->size < word)
		return false;
	at = *from ? *from : (size_t)(-region->address % word);
	for (; at < region->size; at += word) {
		at = find_mark(sieve, region, at, count->mark);
		if (at == region->size)
			break;
		if (at < count->saved_mark ||
		    !is_saved_count(sieve, sample, region, count,
				    region->address + at - count->saved_mark))
			continue;
		*from = at + word;
		*at_ret = at - count->saved_mark;
		return true;
	}
	return false;
}

/* ---- sizes of frames ---------------------------------------------------------------------- */

/*
 * SpiderMonkey (102, js/src/jit/JitFrames.h) pushes a descriptor before it calls: bits 4 to 7 are the
 * number of words that the callee's frame begins with (2 or 4, the return address and the descriptor
 * among them), from bit 8 on is the size of the caller's frame above these, in bytes.  A return
 * address follows, or nine words and a return address where C++ calls JIT code.
 */
#define FRAME_MAX (1u << 20)

static bool is_descriptor(uint64_t value)
{
	uint64_t header = value >> 4 & 15, size = value >> 8;

	/* A single branch: almost no word is one. */
	return ((header == 2) | (header == 4)) & (size < FRAME_MAX) & (size % 8 == 0);
}

/* Whether the word at `address` is above a return address, and leads to another one. */
static bool is_frame_size(const struct scrub_sieve *sieve, const struct reel_region *region,
			  uint64_t address)
{
	uint64_t value, size;

	if (!load_word(sieve, region, address, &value) || !has_code(sieve, region, address - 8))
		return false;
	size = value >> 8;
	/* Only C++ calls code without arguments, and so may have a frame of no words. */
	return (size && has_code(sieve, region, address + size + ((value >> 4 & 15) - 1) * 8)) ||
	       has_code(sieve, region, address + size + 80);
}

bool reel_scrub_next_frame_size(const struct scrub_sieve *sieve, const struct reel_region *region,
				size_t *from, size_t *at_ret)
{
	const struct scrub_policy *policy = &sieve->policy;
	size_t word = policy->word_size, at = *from ? *from : (size_t)(-region->address % word);

	/* Replay follows such code on x86 only. */
	if (!policy->arch || policy->arch->code != REEL_ARCH_CODE_X86 || word != 8)
		return false;
	for (; at < region->size && word <= region->size - at; at += word) {
		if (!is_descriptor(reel_load64(region->bytes + at)) ||
		    !is_frame_size(sieve, region, region->address + at))
			continue;
		*from = at + word;
		*at_ret = at;
		return true;
	}
	return false;
}
