/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to SAMPLE_LAYOUT, and what SAMPLES and CODED_SAMPLES share: SPEC.md, section 6.  The bytes
 * are hostile: every count is checked against the limits and against what is left of the
 * payload before memory is taken for it.
 */
#include <stdlib.h>

#include "format/sample_decoder_parts.h"
#include "format/schema.h"

struct reel_error *reel_decoder_corrupt(const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "%s", what);
}

struct reel_error *reel_decoder_ends_within(const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "ends within its %s", what);
}

struct reel_error *reel_sample_decoder_create(struct reel_sample_decoder **ret)
{
	struct reel_sample_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return reel_error_no_memory();
	reel_thread_table_init(&decoder->threads);
	*ret = decoder;
	return NULL;
}

void reel_decoder_forget(struct reel_sample_decoder *decoder)
{
	reel_thread_table_reset(&decoder->threads);
	decoder->previous_id = decoder->previous_time = 0;
}

void reel_sample_decoder_reset(struct reel_sample_decoder *decoder, uint64_t expanded_size)
{
	reel_decoder_forget(decoder);
	decoder->in_samples = false;
	while (decoder->n_layouts)
		free((void *)decoder->layouts[--decoder->n_layouts].slots);
	decoder->expanded_left = expanded_size;
}

void reel_sample_decoder_destroy(struct reel_sample_decoder *decoder)
{
	if (!decoder)
		return;
	reel_sample_decoder_reset(decoder, 0);
	reel_thread_table_free(&decoder->threads);
	for (size_t i = 0; i < REEL_REGIONS_MAX; i++)
		free(decoder->missing[i].items);
	reel_word_model_destroy(decoder->model);
	reel_word_coder_destroy(decoder->coder);
	free(decoder->kernel_chain.items);
	free(decoder->frame_chain.items);
	free(decoder);
}

/* Room for `n` items; their former content is lost. */
static bool array_reserve(struct reel_decoder_array *array, size_t n, size_t item_size)
{
	void *items;

	if (n <= array->capacity)
		return true;
	items = malloc(n * item_size);
	if (!items)
		return false;
	free(array->items);
	array->items = items;
	array->capacity = n;
	return true;
}

/* ---- layouts ---------------------------------------------------------------- */

size_t reel_decoder_find_layout(const struct reel_sample_decoder *decoder, uint64_t id)
{
	size_t i = 0;

	/* A writer of ours numbers them so. */
	if (id < decoder->n_layouts && decoder->layouts[id].id == id)
		return id;
	while (i < decoder->n_layouts && decoder->layouts[i].id != id)
		i++;
	return i;
}

static struct reel_error *decode_slots(struct reel_cursor *cursor, struct reel_register_slot *slots,
				       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t dwarf = reel_cursor_uleb(cursor);
		uint8_t size = reel_cursor_u8(cursor);

		if (cursor->failed)
			return reel_decoder_ends_within("registers");
		if (dwarf > UINT16_MAX)
			return reel_decoder_corrupt("a register's number exceeds 65535");
		if (size != 4 && size != 8)
			return reel_decoder_corrupt("a register is neither of 4 nor of 8 bytes");
		slots[i] = (struct reel_register_slot){ (uint16_t)dwarf, size };
	}
	return NULL;
}

struct reel_error *reel_sample_decode_layout(struct reel_sample_decoder *decoder,
					     const struct reel_record_frame *frame)
{
	struct reel_cursor cursor = frame->payload;
	uint64_t id = reel_cursor_uleb(&cursor);
	uint64_t n = reel_cursor_uleb(&cursor);
	_cleanup_free_ struct reel_register_slot *slots = NULL;
	struct reel_error *error;

	if (cursor.failed)
		return reel_decoder_ends_within("head");
	if (n > REEL_REGISTERS_MAX)
		return reel_decoder_corrupt("the layout has more than 256 registers");
	if (decoder->n_layouts == REEL_LAYOUTS_MAX)
		return reel_decoder_corrupt("the block has more than 256 layouts");
	if (reel_decoder_find_layout(decoder, id) < decoder->n_layouts)
		return reel_decoder_corrupt("the layout's id is defined twice in the block");
	slots = malloc(n * sizeof(*slots) + 1);
	if (!slots)
		return reel_error_no_memory();
	error = decode_slots(&cursor, slots, n);
	if (error)
		return error;
	decoder->layouts[decoder->n_layouts++] = (struct reel_record_sample_layout){ id, n, slots };
	slots = NULL;
	return NULL;
}

const struct reel_record_sample_layout *reel_sample_decoder_last_layout(
	const struct reel_sample_decoder *decoder)
{
	return decoder->n_layouts ? &decoder->layouts[decoder->n_layouts - 1] : NULL;
}

/* ---- registers ---------------------------------------------------------------- */

bool reel_decoder_masks_are_valid(const uint8_t *known, const uint8_t *changed, size_t n)
{
	for (size_t i = 0; i < n / 8; i++) {
		if (changed[i] & ~known[i])
			return false;
	}
	return !(n % 8) || (!(changed[n / 8] & ~known[n / 8]) && !(known[n / 8] >> n % 8));
}

/* ---- regions -------------------------------------------------------------------- */

/*
 * Takes a gap and a size off the cursor; *end is the end of the range before, and becomes
 * this one's.  NULL if the range ascends within `limit` bytes, else what is wrong.
 */
static const char *decode_range(struct reel_cursor *cursor, uint64_t limit, uint64_t *end,
				struct reel_range *ret)
{
	uint64_t gap = reel_cursor_uleb(cursor);
	uint64_t size = reel_cursor_uleb(cursor);

	if (cursor->failed)
		return "ends within its regions";
	if (!size)
		return "a missing range is empty";
	if (gap > limit - *end || size > limit - *end - gap)
		return "a missing range exceeds the region";
	*ret = (struct reel_range){ *end + gap, size };
	*end += gap + size;
	return NULL;
}

struct reel_error *reel_decoder_missing(struct reel_cursor *cursor,
					struct reel_decoder_array *array,
					struct reel_region *region)
{
	uint64_t n = reel_cursor_uleb(cursor), end = 0;
	struct reel_range *ranges;

	if (n > REEL_MISSING_MAX)
		return reel_decoder_corrupt("a region has more than 8192 missing ranges");
	/* Each has two bytes at least. */
	if (cursor->failed || n > reel_cursor_left(cursor) / 2)
		return reel_decoder_ends_within("missing ranges");
	if (!array_reserve(array, n, sizeof(*ranges)))
		return reel_error_no_memory();
	ranges = array->items;
	for (size_t i = 0; i < n; i++) {
		const char *problem = decode_range(cursor, region->size, &end, &ranges[i]);

		if (problem)
			return reel_decoder_corrupt(problem);
	}
	region->missing = ranges;
	region->n_missing = n;
	return NULL;
}

bool reel_decoder_missing_are_zero(const struct reel_region *region)
{
	for (size_t i = 0; i < region->n_missing; i++) {
		if (!reel_bytes_are_zero(region->bytes + region->missing[i].offset,
					 region->missing[i].size))
			return false;
	}
	return true;
}

struct reel_error *reel_decoder_check_region(struct reel_sample_decoder *decoder, uint64_t address,
					     uint64_t size)
{
	if (size > REEL_REGION_SIZE_MAX)
		return reel_decoder_corrupt("a region exceeds 16 MiB");
	if (!reel_region_fits(address, size))
		return reel_decoder_corrupt("a region's end exceeds 2^64");
	if (size > decoder->expanded_left)
		return reel_decoder_corrupt("the regions exceed the block's expanded size");
	decoder->expanded_left -= size;
	return NULL;
}

size_t reel_decoder_unchanged_from(const struct reel_region_base *before,
				   const struct reel_region *region, size_t end)
{
	uint64_t exposed = before->address - region->address;

	if (!before->size || before->lacks_bytes || region->n_missing ||
	    before->address + before->size != region->address + region->size)
		return region->size;
	/* The ends are one address, so the larger region begins below. */
	if (region->size <= before->size)
		exposed = 0;
	return end > exposed ? end : exposed;
}

/* ---- samples ---------------------------------------------------------------------- */

static struct reel_error *decode_chain(struct reel_cursor *cursor, struct reel_decoder_array *array,
				       const uint64_t **ret, size_t *n_ret)
{
	uint64_t n = reel_cursor_uleb(cursor), address = 0;
	uint64_t *chain;

	if (n > REEL_CHAIN_MAX)
		return reel_decoder_corrupt("a chain has more than 65536 addresses");
	if (cursor->failed || n > reel_cursor_left(cursor))
		return reel_decoder_ends_within("chains");
	if (!array_reserve(array, n, sizeof(*chain)))
		return reel_error_no_memory();
	chain = array->items;
	for (size_t i = 0; i < n; i++) {
		address += (uint64_t)reel_cursor_zigzag(cursor);
		chain[i] = address;
	}
	*ret = chain;
	*n_ret = n;
	return cursor->failed ? reel_decoder_ends_within("chains") : NULL;
}

static struct reel_error *decode_kernel_frame(struct reel_cursor *cursor,
					      struct reel_thread_base *base,
					      struct reel_sample *ret)
{
	struct reel_kernel_frame *frame = &ret->kernel_frame;
	const uint64_t *chain = ret->kernel_chain;
	size_t n = ret->n_kernel_chain;

	frame->pc = reel_chain_get(chain, n, 0) + (uint64_t)reel_cursor_zigzag(cursor);
	frame->sp = base->kernel_sp + (uint64_t)reel_cursor_zigzag(cursor);
	frame->fp = frame->sp + (uint64_t)reel_cursor_zigzag(cursor);
	frame->return_address = reel_chain_get(chain, n, 1) + (uint64_t)reel_cursor_zigzag(cursor);
	if (cursor->failed)
		return reel_decoder_ends_within("kernel frame");
	base->kernel_sp = frame->sp;
	ret->has_kernel_frame = true;
	return NULL;
}

struct reel_error *reel_decoder_chains(struct reel_sample_decoder *decoder,
				       struct reel_cursor *cursor, uint64_t parts,
				       struct reel_thread_base *base, struct reel_sample *ret)
{
	struct reel_error *error = NULL;

	if (parts & REEL_PART_KERNEL_CHAIN)
		error = decode_chain(cursor, &decoder->kernel_chain, &ret->kernel_chain,
				     &ret->n_kernel_chain);
	if (!error && parts & REEL_PART_FRAME_CHAIN)
		error = decode_chain(cursor, &decoder->frame_chain, &ret->frame_chain,
				     &ret->n_frame_chain);
	if (!error && parts & REEL_PART_KERNEL_FRAME)
		error = decode_kernel_frame(cursor, base, ret);
	return error;
}

struct reel_error *reel_decoder_check_parts(uint64_t parts)
{
	if (!(parts & ~(uint64_t)REEL_PARTS_KNOWN))
		return NULL;
	return reel_error_create(REEL_ERROR_UNSUPPORTED,
				 "it has parts (0x%llx) that this program does not know",
				 (unsigned long long)parts);
}
