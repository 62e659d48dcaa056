/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/scrub/scrub_internal.h"

/* The largest kernel stack (arm64's with 64 KiB pages; x86-64's with KASAN is half as large). */
#define KERNEL_STACK_MAX 65536

struct reel_scrubber {
	struct reel_elf_kind native;
	struct scrub_code codes[SCRUB_CODE_LISTS];
	struct scrub_stacks *stacks;
	/* Copies of a sample's parts. */
	struct reel_region regions[REEL_REGIONS_MAX];
	uint8_t *bytes;
	size_t bytes_capacity;
	uint64_t values[REEL_REGISTERS_MAX];
	uint64_t *chain;
	size_t chain_capacity;
};

/* ---- words -------------------------------------------------------------------------- */

static uint64_t scrub_value(const struct scrub_sieve *sieve, uint64_t value)
{
	return reel_scrub_is_address(sieve, value) ? value : scrub_without_value(value);
}

/* Of a word that begins with such code, keeps only the code. */
static void keep_code(const struct scrub_sieve *sieve, const uint8_t *at, size_t count, uint8_t *to)
{
	const struct scrub_policy *policy = &sieve->policy;

	for (size_t i = 0; i < policy->n_code; i++) {
		const struct reel_bytes *code = &policy->code[i];

		for (size_t word = 0; word < count; word++) {
			size_t offset = word * policy->word_size;

			if (memcmp(at + offset, code->data, code->size) != 0 ||
			    reel_scrub_is_address(sieve,
						  scrub_load_word(at + offset, policy->word_size,
								  policy->big_endian)))
				continue;
			memset(to + offset, 0, policy->word_size);
			memcpy(to + offset, code->data, code->size);
		}
	}
}

/* ---- parts of samples --------------------------------------------------------------- */

/* Zeroes missing bytes; they must stay 0 in words shared with other bytes. */
static void clear_missing(const struct reel_region *region, unsigned size, uint8_t *bytes)
{
	for (size_t i = 0; i < region->n_missing; i++) {
		uint64_t first = region->missing[i].offset;
		uint64_t end = first + region->missing[i].size;

		/* Align by address: the region itself may begin anywhere. */
		first -= (region->address + first) % size < first ? (region->address + first) % size
								  : first;
		end += -(region->address + end) % size;
		memset(bytes + first, 0, (end < region->size ? end : region->size) - first);
	}
}

static void scrub_region(const struct scrub_sieve *sieve, const struct reel_region *region,
			 uint8_t *bytes)
{
	unsigned size = sieve->policy.word_size;
	size_t before = -region->address % size, count;

	if (!region->size)
		return;
	if (before > region->size)
		before = region->size;
	count = (region->size - before) / size;
	memset(bytes, 0, before);
	reel_scrub_words(sieve, region->bytes + before, count, bytes + before);
	keep_code(sieve, region->bytes + before, count, bytes + before);
	memset(bytes + before + count * size, 0, region->size - before - count * size);
	clear_missing(region, size, bytes);
}

static struct reel_error *make_room(struct reel_scrubber *scrubber,
				    const struct reel_sample *sample)
{
	size_t size = 1; /* so that even an empty region has memory */

	for (size_t i = 0; i < sample->n_regions; i++)
		size += sample->regions[i].size;
	return reel_array_fit(&scrubber->bytes, size, &scrubber->bytes_capacity, 1)
		       ? NULL
		       : reel_error_no_memory();
}

/*
 * Restores the counts that signal frames have saved, and sizes of frames.  `bytes` are the
 * scrubber's own: the copy that scrub_stack.c keeps for the next sample must not contain them.
 */
static void keep_counts(const struct scrub_sieve *sieve, const struct reel_sample *sample,
			const struct reel_region *region, uint8_t *bytes)
{
	size_t from = 0, at;

	while (reel_scrub_next_saved_count(sieve, sample, region, &from, &at)) {
		size_t word = sieve->policy.word_size;

		memcpy(bytes + at, region->bytes + at, word);
		/* Keep the mark, so that readers find it again. */
		memcpy(bytes + from - word, region->bytes + from - word, word);
	}
	from = 0;
	while (reel_scrub_next_frame_size(sieve, region, &from, &at))
		memcpy(bytes + at, region->bytes + at, sieve->policy.word_size);
}

static bool has_counts(const struct scrub_sieve *sieve, const struct reel_sample *sample)
{
	size_t from = 0, ignored;

	for (size_t i = 0; i < sample->n_regions; i++) {
		if (reel_scrub_next_saved_count(sieve, sample, &sample->regions[i], &from,
						&ignored) ||
		    reel_scrub_next_frame_size(sieve, &sample->regions[i], &from, &ignored))
			return true;
		from = 0;
	}
	return false;
}

static struct reel_error *scrub_regions(struct reel_scrubber *scrubber,
					const struct scrub_sieve *sieve, struct reel_sample *sample)
{
	struct reel_region *regions = scrubber->regions;
	bool counts = has_counts(sieve, sample);
	const uint8_t *kept =
		counts ? NULL : reel_scrub_stacks_scrub(scrubber->stacks, sieve, sample);
	struct reel_error *error = kept ? NULL : make_room(scrubber, sample);
	size_t at = 0;

	if (error)
		return error;
	for (size_t i = 0; i < sample->n_regions; i++) {
		regions[i] = sample->regions[i];
		regions[i].bytes = kept ? kept : scrubber->bytes + at;
		if (!kept)
			scrub_region(sieve, &sample->regions[i], scrubber->bytes + at);
		if (counts)
			keep_counts(sieve, sample, &sample->regions[i], scrubber->bytes + at);
		at += sample->regions[i].size;
	}
	sample->regions = regions;
	return NULL;
}

/* The pc always stays: it is the sampled value. */
static void scrub_registers(struct reel_scrubber *scrubber, const struct scrub_sieve *sieve,
			    struct reel_sample *sample)
{
	if (!sample->layout)
		return;
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		uint64_t value = sample->values[i];

		scrubber->values[i] =
			value == sample->pc ||
					reel_scrub_is_count(sieve, sample,
							    sample->layout->slots[i].dwarf, value)
				? value
				: scrub_value(sieve, value);
	}
	sample->values = scrubber->values;
}

/* A walk by frame pointers may report any value as an address. */
static struct reel_error *scrub_chain(struct reel_scrubber *scrubber,
				      const struct scrub_sieve *sieve, struct reel_sample *sample)
{
	if (!reel_array_fit(&scrubber->chain, sample->n_frame_chain, &scrubber->chain_capacity,
			    sizeof(*scrubber->chain)))
		return reel_error_no_memory();
	for (size_t i = 0; i < sample->n_frame_chain; i++) {
		uint64_t address = sample->frame_chain[i];

		scrubber->chain[i] = address == sample->pc ? address : scrub_value(sieve, address);
	}
	if (sample->n_frame_chain)
		sample->frame_chain = scrubber->chain;
	return NULL;
}

/* Most kernels are built without frame pointers, and have any value in that register. */
static void scrub_kernel_frame(struct reel_sample *sample)
{
	struct reel_kernel_frame *frame = &sample->kernel_frame;

	if (frame->fp - frame->sp >= KERNEL_STACK_MAX)
		frame->fp = frame->fp ? REEL_SCRUBBED_WORD : 0;
}

/* ---- samples ------------------------------------------------------------------------ */

struct reel_error *reel_scrubber_create(const struct reel_elf_kind *native,
					struct reel_scrubber **ret)
{
	struct reel_scrubber *scrubber = calloc(1, sizeof(*scrubber));
	struct reel_error *error;

	if (!scrubber)
		return reel_error_no_memory();
	scrubber->native = *native;
	error = reel_scrub_stacks_create(&scrubber->stacks);
	if (error)
		free(scrubber);
	else
		*ret = scrubber;
	return error;
}

void reel_scrubber_forget(struct reel_scrubber *scrubber)
{
	for (size_t i = 0; i < SCRUB_CODE_LISTS; i++) {
		free(scrubber->codes[i].ranges);
		scrubber->codes[i] = (struct scrub_code){ 0 };
	}
	reel_scrub_stacks_forget(scrubber->stacks);
	free(scrubber->bytes);
	scrubber->bytes = NULL;
	scrubber->bytes_capacity = 0;
	free(scrubber->chain);
	scrubber->chain = NULL;
	scrubber->chain_capacity = 0;
}

void reel_scrubber_destroy(struct reel_scrubber *scrubber)
{
	if (!scrubber)
		return;
	reel_scrubber_forget(scrubber);
	free(scrubber->stacks);
	free(scrubber);
}

struct reel_error *reel_scrub_sample(struct reel_scrubber *scrubber,
				     const struct reel_space_view *view, struct reel_sample *sample)
{
	const struct scrub_policy policy = reel_scrub_policy_of(
		&scrubber->native, reel_timeline_space(view->timeline, view->space));
	struct reel_error *error;
	struct scrub_sieve sieve;

	reel_scrub_sieve_init(&sieve, scrubber->codes, view, &policy, sample);
	scrub_registers(scrubber, &sieve, sample);
	error = scrub_chain(scrubber, &sieve, sample);
	if (!error)
		error = scrub_regions(scrubber, &sieve, sample);
	if (sample->has_kernel_frame)
		scrub_kernel_frame(sample);
	sample->flags |= REEL_SAMPLE_SCRUBBED;
	return error;
}
