/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes SAMPLE_LAYOUT, LABELS, FRAMES and COLUMNS to samples: SPEC.md, section 6.  The bytes are
 * hostile: every count is checked against the limits and against the rest of the payload before
 * memory is allocated for it.  The size of a sample is bounded by the regions' sizes, which the
 * block's header bounds, and by the bytes of the streams.
 */
#include <stdlib.h>

#include "base/array.h"
#include "format/codec/columns.h"
#include "format/codec/labels.h"
#include "format/codec/runtime_frames.h"

/* A growing array that is reused for every sample. */
struct array {
	void *items;
	size_t capacity;
};

struct reel_sample_decoder {
	struct reel_thread_table threads;
	struct reel_record_sample_layout layouts[REEL_LAYOUTS_MAX];
	size_t n_layouts;
	/* Bytes that later regions may have in this block. */
	uint64_t expanded_left;
	/* The decoded sample points to these. */
	struct reel_region regions[REEL_REGIONS_MAX];
	struct array missing[REEL_REGIONS_MAX]; /* of struct reel_range */
	struct array kernel_chain, frame_chain; /* of uint64_t */

	/* The record being decoded. */
	struct reel_columns columns;
	uint64_t n_samples, next_sample;
	struct reel_label_decoder labels;
	struct reel_frame_decoder frames;
	bool in_samples;
	bool heads_only;
	uint8_t words[REEL_REGIONS_MAX]; /* each region's `words` */
};

static struct reel_error *corrupt(const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "%s", what);
}

static struct reel_error *ends_within(const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "ends within its %s", what);
}

struct reel_error *reel_sample_decoder_create(struct reel_sample_decoder **ret)
{
	struct reel_sample_decoder *decoder = calloc(1, sizeof(*decoder));
	struct reel_error *error;

	if (!decoder)
		return reel_error_no_memory();
	error = reel_columns_init(&decoder->columns);
	if (error) {
		free(decoder);
		return error;
	}
	reel_thread_table_init(&decoder->threads);
	*ret = decoder;
	return NULL;
}

void reel_sample_decoder_reset(struct reel_sample_decoder *decoder, uint64_t expanded_size)
{
	reel_thread_table_reset(&decoder->threads);
	decoder->in_samples = decoder->heads_only = false;
	decoder->labels = (struct reel_label_decoder){ 0 };
	reel_frame_decoder_reset(&decoder->frames);
	while (decoder->n_layouts)
		free((void *)decoder->layouts[--decoder->n_layouts].slots);
	decoder->expanded_left = expanded_size;
}

void reel_sample_decoder_reset_heads(struct reel_sample_decoder *decoder, uint64_t expanded_size)
{
	reel_sample_decoder_reset(decoder, expanded_size);
	decoder->heads_only = true;
}

void reel_sample_decoder_destroy(struct reel_sample_decoder *decoder)
{
	if (!decoder)
		return;
	reel_sample_decoder_reset(decoder, 0);
	reel_thread_table_free(&decoder->threads);
	reel_frame_decoder_free(&decoder->frames);
	for (size_t i = 0; i < REEL_REGIONS_MAX; i++)
		free(decoder->missing[i].items);
	free(decoder->kernel_chain.items);
	free(decoder->frame_chain.items);
	reel_columns_free(&decoder->columns);
	free(decoder);
}

/* ---- layouts ---------------------------------------------------------------- */

/* The layout's position; n_layouts if unknown. */
static size_t find_layout(const struct reel_sample_decoder *decoder, uint64_t id)
{
	size_t i = 0;

	/* Our own writer numbers them in this way. */
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
			return ends_within("registers");
		if (dwarf > UINT16_MAX)
			return corrupt("a register's number exceeds 65535");
		if (size != 4 && size != 8)
			return corrupt("a register's size is not 4 or 8 bytes");
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

	if (cursor.failed)
		return ends_within("head");
	if (n > REEL_REGISTERS_MAX)
		return corrupt("the layout has more than 256 registers");
	if (decoder->n_layouts == REEL_LAYOUTS_MAX)
		return corrupt("the block has more than 256 layouts");
	if (find_layout(decoder, id) < decoder->n_layouts)
		return corrupt("the layout's id is defined twice in the block");
	slots = malloc(n * sizeof(*slots) + 1);
	if (!slots)
		return reel_error_no_memory();
	TRY(decode_slots(&cursor, slots, n));
	decoder->layouts[decoder->n_layouts++] = (struct reel_record_sample_layout){ id, n, slots };
	slots = NULL;
	return NULL;
}

const struct reel_record_sample_layout *reel_sample_decoder_last_layout(
	const struct reel_sample_decoder *decoder)
{
	return decoder->n_layouts ? &decoder->layouts[decoder->n_layouts - 1] : NULL;
}

struct reel_error *reel_sample_decode_labels(struct reel_sample_decoder *decoder,
					     const struct reel_record_frame *frame)
{
	if (reel_labels_left(&decoder->labels))
		return corrupt("labels of no samples");
	return reel_labels_begin(&decoder->labels, frame->payload);
}

struct reel_error *reel_sample_decode_frames(struct reel_sample_decoder *decoder,
					     const struct reel_record_frame *frame)
{
	if (reel_runtime_frames_left(&decoder->frames))
		return corrupt("frames of no samples");
	return reel_runtime_frames_begin(&decoder->frames, frame->payload);
}

static struct reel_cursor *stream_of(struct reel_sample_decoder *decoder,
				     enum reel_sample_stream stream)
{
	return &decoder->columns.in[stream];
}

/* ---- regions -------------------------------------------------------------------- */

/*
 * Takes a gap and a size from the cursor; *end is the previous range's end, and becomes this one's.
 * NULL if the range ascends within `limit` bytes, else the error.
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

static struct reel_error *decode_missing(struct reel_cursor *cursor, struct array *array,
					 struct reel_region *region)
{
	uint64_t n = reel_cursor_uleb(cursor), end = 0;
	struct reel_range *ranges;

	if (n > REEL_MISSING_MAX)
		return corrupt("a region has more than 8192 missing ranges");
	/* Each range takes at least two bytes. */
	if (cursor->failed || n > reel_cursor_left(cursor) / 2)
		return ends_within("missing ranges");
	if (!reel_array_fit(&array->items, n, &array->capacity, sizeof(*ranges)))
		return reel_error_no_memory();
	ranges = array->items;
	for (size_t i = 0; i < n; i++) {
		const char *problem = decode_range(cursor, region->size, &end, &ranges[i]);

		if (problem)
			return corrupt(problem);
	}
	region->missing = ranges;
	region->n_missing = n;
	return NULL;
}

static bool missing_are_zero(const struct reel_region *region)
{
	for (size_t i = 0; i < region->n_missing; i++) {
		if (!reel_bytes_are_zero(region->bytes + region->missing[i].offset,
					 region->missing[i].size))
			return false;
	}
	return true;
}

/* Subtracts the region's size from the limit in the block's header. */
static struct reel_error *check_region(struct reel_sample_decoder *decoder, uint64_t address,
				       uint64_t size)
{
	if (size > REEL_REGION_SIZE_MAX)
		return corrupt("a region exceeds 16 MiB");
	if (!reel_region_fits(address, size))
		return corrupt("a region's end exceeds 2^64");
	if (size > decoder->expanded_left)
		return corrupt("the regions exceed the block's expanded size");
	decoder->expanded_left -= size;
	return NULL;
}

static struct reel_error *decode_place(struct reel_sample_decoder *decoder, size_t i,
				       const struct reel_region_base *base)
{
	struct reel_cursor *cursor = stream_of(decoder, REEL_STREAM_REGIONS);
	struct reel_region *region = &decoder->regions[i];
	uint8_t words;
	struct reel_error *error;
	uint64_t size;

	*region = (struct reel_region){ .kind = reel_cursor_u8(cursor) };
	decoder->words[i] = words = reel_cursor_u8(cursor);
	reel_columns_decode_place(&decoder->columns, base, &region->address, &size);
	if (cursor->failed)
		return ends_within("regions");
	if ((words & ~REEL_WORDS_BIG_ENDIAN) != 4 && (words & ~REEL_WORDS_BIG_ENDIAN) != 8)
		return corrupt("a region's words are not 4 or 8 bytes");
	error = check_region(decoder, region->address, size);
	region->size = size;
	return error ? error : decode_missing(cursor, &decoder->missing[i], region);
}

static bool take_bytes(struct reel_cursor *cursor, uint8_t *ret, size_t size)
{
	const uint8_t *bytes = reel_cursor_take(cursor, size);

	if (bytes && size)
		memcpy(ret, bytes, size);
	return bytes != NULL;
}

static struct reel_error *decode_words(struct reel_sample_decoder *decoder, size_t i,
				       struct reel_region_base *base)
{
	struct reel_cursor *raw = stream_of(decoder, REEL_STREAM_RAW);
	struct reel_region *region = &decoder->regions[i];
	unsigned words = decoder->words[i];
	uint8_t *bytes = reel_region_base_move(base, region->address, region->size);
	struct reel_word_walk walk = {
		.bytes = bytes,
		.address = region->address,
		.big_endian = words & REEL_WORDS_BIG_ENDIAN,
		.place = { .stack = region->address,
			   .size = region->size,
			   .bytes = words & ~REEL_WORDS_BIG_ENDIAN },
	};

	if (!bytes)
		return reel_error_no_memory();
	reel_words_of_region(region->address, region->size, walk.place.bytes, &walk.start,
			     &walk.end);
	if (!take_bytes(raw, bytes + walk.end, region->size - walk.end))
		return ends_within("regions");
	TRY(reel_columns_decode_words(&decoder->columns, &walk, bytes));
	if (!take_bytes(raw, bytes, walk.start))
		return ends_within("regions");
	region->bytes = bytes;
	return missing_are_zero(region) ? NULL : corrupt("bytes of a missing range are not 0");
}

/* ---- samples -------------------------------------------------------------------- */

/* Decodes which registers exist, and pc. */
static struct reel_error *begin_registers(struct reel_sample_decoder *decoder,
					  struct reel_thread_base *thread, struct reel_sample *ret)
{
	struct reel_cursor *cursor = stream_of(decoder, REEL_STREAM_REGISTERS);
	size_t position = find_layout(decoder, reel_cursor_uleb(cursor)), n;

	if (cursor->failed)
		return ends_within("registers");
	if (position == decoder->n_layouts)
		return corrupt("its layout is not defined in the block");
	ret->layout = &decoder->layouts[position];
	n = ret->layout->n_slots;
	ret->known = reel_cursor_take(cursor, (n + 7) / 8);
	if (cursor->failed)
		return ends_within("registers");
	if (n % 8 && ret->known[n / 8] >> n % 8)
		return corrupt("a nonexistent register is marked as known");
	TRY(reel_thread_base_set_layout(thread, (uint32_t)position + 1, n));
	return reel_columns_decode_pc(&decoder->columns, ret, thread, &ret->pc);
}

static struct reel_error *end_registers(struct reel_sample_decoder *decoder,
					struct reel_thread_base *thread, struct reel_sample *ret)
{
	struct reel_error *error = reel_columns_decode_registers(&decoder->columns, ret, thread);

	ret->values = thread->values;
	thread->pc = ret->pc;
	return error;
}

static struct reel_error *decode_chain(struct reel_sample_decoder *decoder, struct array *array,
				       const uint64_t **ret, size_t *n_ret)
{
	struct reel_cursor *cursor = stream_of(decoder, REEL_STREAM_CHAINS);
	uint64_t n = reel_cursor_uleb(cursor), address = 0, *addresses;

	if (n > REEL_CHAIN_MAX)
		return corrupt("a chain has more than 65536 addresses");
	if (cursor->failed || n > reel_cursor_left(cursor))
		return ends_within("chains");
	if (!reel_array_fit(&array->items, n, &array->capacity, sizeof(*addresses)))
		return reel_error_no_memory();
	addresses = array->items;
	for (size_t i = 0; i < n; i++) {
		address += (uint64_t)reel_cursor_zigzag(cursor);
		addresses[i] = address;
	}
	*ret = addresses;
	*n_ret = n;
	return cursor->failed ? ends_within("chains") : NULL;
}

static struct reel_error *decode_kernel_frame(struct reel_cursor *cursor,
					      struct reel_thread_base *thread,
					      struct reel_sample *ret)
{
	struct reel_kernel_frame *frame = &ret->kernel_frame;
	const uint64_t *chain = ret->kernel_chain;
	size_t n = ret->n_kernel_chain;

	frame->pc = reel_chain_get(chain, n, 0) + (uint64_t)reel_cursor_zigzag(cursor);
	frame->sp = thread->kernel_sp + (uint64_t)reel_cursor_zigzag(cursor);
	frame->fp = frame->sp + (uint64_t)reel_cursor_zigzag(cursor);
	frame->return_address = reel_chain_get(chain, n, 1) + (uint64_t)reel_cursor_zigzag(cursor);
	if (cursor->failed)
		return ends_within("kernel frame");
	thread->kernel_sp = frame->sp;
	ret->has_kernel_frame = true;
	return NULL;
}

static struct reel_error *decode_chains(struct reel_sample_decoder *decoder, uint64_t parts,
					struct reel_thread_base *thread, struct reel_sample *ret)
{
	if (parts & REEL_PART_KERNEL_CHAIN)
		TRY(decode_chain(decoder, &decoder->kernel_chain, &ret->kernel_chain,
				 &ret->n_kernel_chain));
	if (parts & REEL_PART_FRAME_CHAIN)
		TRY(decode_chain(decoder, &decoder->frame_chain, &ret->frame_chain,
				 &ret->n_frame_chain));
	if (parts & REEL_PART_KERNEL_FRAME)
		TRY(decode_kernel_frame(stream_of(decoder, REEL_STREAM_CHAINS), thread, ret));
	return NULL;
}

static struct reel_error *decode_header(struct reel_sample_decoder *decoder, uint64_t *parts_ret,
					struct reel_sample *ret)
{
	TRY(reel_columns_decode_header(&decoder->columns, parts_ret, ret));
	if (ret->n_regions > REEL_REGIONS_MAX)
		return corrupt("more than 16 regions");
	if (*parts_ret & ~(uint64_t)REEL_PARTS_KNOWN)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "unknown parts (0x%llx)",
					 (unsigned long long)*parts_ret);
	/* Early writers of 0.1 had the id above the flags. */
	if (ret->flags & REEL_SAMPLE_RESOLVED && !(*parts_ret & REEL_PART_STEPS)) {
		ret->steps = ret->flags / (REEL_SAMPLE_FLAGS_KNOWN + 1);
		ret->flags &= REEL_SAMPLE_FLAGS_KNOWN;
	}
	ret->regions = decoder->regions;
	return NULL;
}

/* Regions' places predict registers. */
static struct reel_error *decode_body(struct reel_sample_decoder *decoder, uint64_t parts,
				      struct reel_thread_base *thread, struct reel_sample *ret)
{
	TRY(reel_thread_base_set_regions(thread, ret->n_regions));
	if (parts & REEL_PART_REGISTERS)
		TRY(begin_registers(decoder, thread, ret));
	for (size_t i = 0; i < ret->n_regions; i++)
		TRY(decode_place(decoder, i, &thread->regions[i]));
	if (ret->layout)
		TRY(end_registers(decoder, thread, ret));
	for (size_t i = 0; i < ret->n_regions; i++)
		TRY(decode_words(decoder, i, &thread->regions[i]));
	return decode_chains(decoder, parts, thread, ret);
}

static struct reel_error *decode_sample(struct reel_sample_decoder *decoder,
					struct reel_sample *ret)
{
	struct reel_thread_base *thread;
	uint64_t parts;

	TRY(decode_header(decoder, &parts, ret));
	if (decoder->heads_only) {
		ret->n_regions = 0;
		return NULL;
	}
	TRY(reel_thread_table_get(&decoder->threads, ret->thread, &thread));
	ret->thread_index = (uint32_t)(thread - decoder->threads.bases);
	return decode_body(decoder, parts, thread, ret);
}

/* Checks the end after the last sample. */
static struct reel_error *end(struct reel_sample_decoder *decoder)
{
	decoder->in_samples = false;
	reel_thread_table_reset(&decoder->threads);
	for (size_t i = 0; i < REEL_STREAMS && !decoder->heads_only; i++)
		if (reel_cursor_left(&decoder->columns.in[i]))
			return corrupt("extra bytes after the last sample");
	if (reel_labels_left(&decoder->labels))
		return corrupt("labels of samples that do not exist");
	decoder->labels.n = 0;
	if (reel_runtime_frames_left(&decoder->frames))
		return corrupt("frames of samples that do not exist");
	reel_frame_decoder_reset(&decoder->frames);
	return NULL;
}

/* ---- the record --------------------------------------------------------------- */

struct reel_error *reel_samples_begin(struct reel_sample_decoder *decoder,
				      const struct reel_record_frame *frame)
{
	struct reel_cursor cursor = frame->payload;

	decoder->n_samples = reel_cursor_uleb(&cursor);
	for (size_t i = 0; i < REEL_STREAMS; i++) {
		uint64_t size = reel_cursor_uleb(&cursor);
		const uint8_t *bytes = reel_cursor_take(&cursor, size);

		if (cursor.failed)
			return ends_within("streams");
		decoder->columns.in[i] = reel_cursor(bytes, size);
	}
	reel_columns_begin(&decoder->columns);
	reel_thread_table_reset(&decoder->threads);
	decoder->next_sample = 0;
	decoder->in_samples = true;
	return NULL;
}

bool reel_samples_left(const struct reel_sample_decoder *decoder)
{
	return decoder->in_samples;
}

struct reel_error *reel_samples_next(struct reel_sample_decoder *decoder, struct reel_sample *ret,
				     bool *found_ret)
{
	struct reel_error *error;

	*found_ret = decoder->next_sample < decoder->n_samples;
	if (!*found_ret)
		return end(decoder);
	error = decode_sample(decoder, ret);
	if (error) {
		decoder->in_samples = false;
		return reel_error_prefix(error, "sample %llu",
					 (unsigned long long)decoder->next_sample);
	}
	reel_labels_next(&decoder->labels, ret);
	reel_runtime_frames_next(&decoder->frames, ret);
	decoder->next_sample++;
	return NULL;
}
