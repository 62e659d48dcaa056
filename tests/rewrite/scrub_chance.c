/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how often scrubbing mistakes a random word for an address.
 *
 *     scrub_chance MILLIONS CAPTURE...
 *
 * Fills the stacks of each capture's samples with random words, scrubs them, and counts the words
 * that stay, that many millions per capture; and compares with the expected share: the bytes of
 * code and stack divided by all values of a word.  For 64-bit programs also for numbers of 32 bits
 * in words of 64.  Exits with 1 if a count differs from the expectation (by more than five standard
 * deviations, and 10).
 *
 * For x86-64's unchanged stacks it also counts how many of all numbers from 2 to 1024, put into r9,
 * would stay as a count.  More than one in a hundred is a failure.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "replay/capture/capture.h"
#include "replay/rewrite/rewrite.h"
#include "format/scrub/scrub_internal.h"

struct counts {
	double words, kept, expected;
};

static uint64_t random_state = 1;

/* xorshift64* (Vigna, 2016): bits from a fixed seed are enough. */
static uint64_t random_64(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d;
}

/* How many words of that many bits are addresses, whatever their stripped bits. */
struct addresses {
	unsigned bits;
	double count;
};

static void add_addresses(struct addresses *addresses, uint64_t address, uint64_t size,
			  uint64_t mask)
{
	uint64_t last = address + size - 1;

	if (addresses->bits == 32) {
		if (address > UINT32_MAX)
			return;
		last = last > UINT32_MAX ? UINT32_MAX : last;
		mask &= UINT32_MAX;
	}
	addresses->count += ((double)(last - address) + 1) *
			    (double)((uint64_t)1 << __builtin_popcountll(mask));
}

struct code {
	struct addresses *addresses;
	uint64_t mask;
};

static void add_code(void *context, const struct reel_mapping *mapping)
{
	const struct code *code = context;

	if (mapping->protection & 4)
		add_addresses(code->addresses, mapping->address, mapping->size, code->mask);
}

/* One sample's stacks with random words of `bits` random bits. */
static bool count_sample(struct reel_scrubber *scrubber, const struct reel_capture *capture,
			 const struct reel_sample *sample, unsigned bits, struct counts *counts)
{
	const struct reel_timeline *timeline = capture->timeline;
	uint64_t id = reel_timeline_thread_space(timeline, sample->thread, sample->time);
	const struct reel_space_state *space = reel_timeline_space(timeline, id);
	struct reel_space_view view = reel_timeline_view(timeline, id, sample->time);
	const struct reel_elf_kind native = { .machine = capture->machine };
	struct scrub_policy policy = reel_scrub_policy_of(&native, space);
	struct addresses addresses = { .bits = bits };
	struct code code = { &addresses, policy.code_mask };
	struct reel_region regions[REEL_REGIONS_MAX];
	struct reel_sample copy = { .regions = regions, .n_regions = sample->n_regions };
	bool ok = true;

	if (policy.word_size == 4 && bits != 32)
		return true;
	reel_timeline_visit(timeline, id, sample->time, 0, UINT64_MAX, add_code, &code);
	for (size_t i = 0; i < sample->n_regions; i++) {
		size_t size = sample->regions[i].size;
		uint8_t *bytes = calloc(1, size + 8);

		regions[i] = (struct reel_region){
			.address = sample->regions[i].address & -(uint64_t)8,
			.size = size,
			.bytes = bytes,
		};
		if (size)
			add_addresses(&addresses, regions[i].address, size, policy.data_mask);
		for (size_t at = 0; bytes && at + policy.word_size <= size;
		     at += policy.word_size) {
			if (policy.word_size == 4)
				reel_store32(bytes + at, (uint32_t)random_64());
			else
				reel_store64(bytes + at, random_64() >> (64 - bits));
		}
		ok &= bytes != NULL;
	}
	ok = ok && !reel_scrub_sample(scrubber, &view, &copy);
	for (size_t i = 0; ok && i < copy.n_regions; i++) {
		for (size_t at = 0; at + policy.word_size <= copy.regions[i].size;
		     at += policy.word_size) {
			const uint8_t *word = copy.regions[i].bytes + at;

			counts->words++;
			counts->kept +=
				(policy.word_size == 4 ? reel_load32(word) : reel_load64(word)) >
				REEL_SCRUBBED_WORD;
			counts->expected += addresses.count / (bits == 32 ? 0x1p32 : 0x1p64);
		}
	}
	for (size_t i = 0; i < sample->n_regions; i++)
		free((void *)regions[i].bytes);
	return ok;
}

/* Each number in r9, for a sample whose stacks are as recorded. */
static void try_counts(struct scrub_code *codes, const struct reel_capture *capture,
		       const struct reel_sample *sample, struct counts *counts)
{
	const struct reel_timeline *timeline = capture->timeline;
	uint64_t id = reel_timeline_thread_space(timeline, sample->thread, sample->time);
	struct reel_space_view view = reel_timeline_view(timeline, id, sample->time);
	const struct reel_elf_kind native = { .machine = capture->machine };
	struct scrub_policy policy =
		reel_scrub_policy_of(&native, reel_timeline_space(timeline, id));
	struct scrub_sieve sieve;

	if (!policy.arch || !policy.arch->n_counts || !sample->layout || !sample->n_regions)
		return;
	reel_scrub_sieve_init(&sieve, codes, &view, &policy, sample);
	for (uint64_t value = 2; value <= policy.arch->counts[0].max; value++) {
		counts->words++;
		counts->kept +=
			reel_scrub_is_count(&sieve, sample, policy.arch->counts[0].dwarf, value);
	}
}

static bool print_counts(const char *path, const struct reel_capture *capture)
{
	struct scrub_code *codes = calloc(SCRUB_CODE_LISTS, sizeof(*codes));
	struct reel_block_reader *reader;
	size_t n_blocks;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);
	struct counts counts = { 0 };
	bool ok;

	if (!codes || reel_block_reader_create(capture->reader, &reader)) {
		free(codes);
		return false;
	}
	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item;

		if (blocks[i].header.type != REEL_BLOCK_SAMPLES ||
		    reel_block_reader_load(reader, &blocks[i]))
			continue;
		while (!reel_block_reader_next(reader, &item) && item.kind != REEL_ITEM_END) {
			if (item.kind == REEL_ITEM_SAMPLE)
				try_counts(codes, capture, &item.sample, &counts);
		}
	}
	ok = counts.kept <= counts.words / 100;
	if (counts.words)
		printf("%s%s: counts in r9: %.0f of %.0f stay\n", ok ? "" : "FAILED: ", path,
		       counts.kept, counts.words);
	for (size_t i = 0; i < SCRUB_CODE_LISTS; i++)
		free(codes[i].ranges);
	free(codes);
	reel_block_reader_destroy(reader);
	return ok;
}

/* Repeats the samples until there were enough words. */
static bool count_capture(const struct reel_capture *capture, unsigned bits, double wanted,
			  struct counts *counts)
{
	struct reel_block_reader *reader;
	struct reel_scrubber *scrubber;
	size_t n_blocks;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);
	bool ok = true;
	double before;

	if (reel_block_reader_create(capture->reader, &reader) ||
	    reel_capture_scrubber_create(capture, &scrubber))
		return false;
	do {
		before = counts->words;
		for (size_t i = 0; ok && i < n_blocks; i++) {
			struct reel_block_item item;

			if (blocks[i].header.type != REEL_BLOCK_SAMPLES ||
			    reel_block_reader_load(reader, &blocks[i]))
				continue;
			while (ok && counts->words < wanted &&
			       !reel_block_reader_next(reader, &item) &&
			       item.kind != REEL_ITEM_END) {
				if (item.kind == REEL_ITEM_SAMPLE)
					ok = count_sample(scrubber, capture, &item.sample, bits,
							  counts);
			}
		}
	} while (ok && counts->words < wanted && counts->words > before);
	reel_scrubber_destroy(scrubber);
	reel_block_reader_destroy(reader);
	return ok;
}

static bool print_chance(const char *path, const struct reel_capture *capture, unsigned bits,
			 double wanted)
{
	struct counts counts = { 0 };
	bool ok = count_capture(capture, bits, wanted, &counts);
	double off;

	if (!ok || !counts.words)
		return ok;
	off = fabs(counts.kept - counts.expected) - 10;
	ok = off <= 0 || off * off <= 25 * counts.expected;
	printf("%s%s: %u random bits: %.0f of %.0f words stay, one in %.3g; computed: %.1f, one in "
	       "%.3g\n",
	       ok ? "" : "FAILED: ", path, bits, counts.kept, counts.words,
	       counts.kept ? counts.words / counts.kept : INFINITY, counts.expected,
	       counts.expected > 0 ? counts.words / counts.expected : INFINITY);
	return ok;
}

int main(int argc, char **argv)
{
	REEL_SIZED(reel_capture_options, options, .no_host_files = true);
	double wanted = argc > 1 ? strtod(argv[1], NULL) * 1e6 : 0;
	bool ok = argc > 2;

	for (int i = 2; i < argc; i++) {
		struct reel_capture *capture;

		if (reel_capture_open(argv[i], &options, &capture))
			return 1;
		ok &= print_chance(argv[i], capture, 64, wanted);
		ok &= print_chance(argv[i], capture, 32, wanted);
		ok &= print_counts(argv[i], capture);
		reel_capture_close(capture);
	}
	return ok ? 0 : 1;
}
