/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes samples to SAMPLE_LAYOUT, LABELS, FRAMES and COLUMNS: SPEC.md, section 6. */
#include <stdlib.h>

#include "format/codec/columns.h"
#include "format/codec/labels.h"
#include "format/codec/runtime_frames.h"
#include "format/schema.h"

struct reel_sample_encoder {
	struct reel_columns columns;
	struct reel_sample_target target;
	struct reel_thread_table threads;
	/* The block's layouts; a layout's id is its position. */
	struct reel_record_sample_layout layouts[REEL_LAYOUTS_MAX];
	size_t n_layouts;
	struct reel_label_encoder labels;
	struct reel_frame_encoder frames;
	uint64_t n_samples;
	/* Memory ran out within a sample: the state differs from a decoder's. */
	bool broken;
	/* A layout's payload, assembled here because its size precedes it. */
	struct reel_buffer payload;
};

struct reel_error *reel_sample_encoder_create(const struct reel_sample_target *target,
					      struct reel_sample_encoder **ret)
{
	struct reel_sample_encoder *encoder = calloc(1, sizeof(*encoder));
	struct reel_error *error;

	if (!encoder)
		return reel_error_no_memory();
	error = reel_columns_init(&encoder->columns);
	if (error) {
		free(encoder);
		return error;
	}
	reel_thread_table_init(&encoder->threads);
	encoder->target = *target;
	*ret = encoder;
	return NULL;
}

void reel_sample_encoder_reset(struct reel_sample_encoder *encoder)
{
	reel_thread_table_reset(&encoder->threads);
	while (encoder->n_layouts)
		free((void *)encoder->layouts[--encoder->n_layouts].slots);
	encoder->broken = encoder->payload.failed = false;
	encoder->n_samples = 0;
	reel_label_encoder_reset(&encoder->labels);
	reel_frame_encoder_reset(&encoder->frames);
	for (size_t i = 0; i < REEL_STREAMS; i++) {
		encoder->columns.out[i].size = 0;
		encoder->columns.out[i].failed = false;
	}
}

void reel_sample_encoder_destroy(struct reel_sample_encoder *encoder)
{
	if (!encoder)
		return;
	reel_sample_encoder_reset(encoder);
	reel_thread_table_free(&encoder->threads);
	reel_columns_free(&encoder->columns);
	reel_buffer_free(&encoder->payload);
	reel_buffer_free(&encoder->labels.payload);
	reel_frame_encoder_free(&encoder->frames);
	free(encoder);
}

bool reel_sample_encoder_is_full(const struct reel_sample_encoder *encoder)
{
	return encoder->threads.n_bases == REEL_THREADS_MAX ||
	       encoder->n_layouts == REEL_LAYOUTS_MAX ||
	       reel_frame_encoder_is_full(&encoder->frames);
}

/* ---- limits of the format -------------------------------------------------- */

static const char *check_registers(const struct reel_sample *sample)
{
	const struct reel_record_sample_layout *layout = sample->layout;

	if (!layout)
		return NULL;
	if (layout->n_slots > REEL_REGISTERS_MAX)
		return "too many registers";
	for (size_t i = 0; i < layout->n_slots; i++) {
		if (layout->slots[i].size != 4 && layout->slots[i].size != 8)
			return "a register's size is not 4 or 8 bytes";
		if (layout->slots[i].size == 4 && reel_sample_knows(sample, i) &&
		    sample->values[i] > UINT32_MAX)
			return "a register's value exceeds its size";
	}
	return NULL;
}

static const char *check_missing(const struct reel_region *region)
{
	uint64_t end = 0;

	if (region->n_missing > REEL_MISSING_MAX)
		return "too many missing ranges";
	for (size_t i = 0; i < region->n_missing; i++) {
		const struct reel_range *range = &region->missing[i];

		if (!range->size || range->offset < end || range->offset > region->size ||
		    range->size > region->size - range->offset)
			return "missing ranges do not ascend within the region";
		end = range->offset + range->size;
		if (!reel_bytes_are_zero(region->bytes + range->offset, range->size))
			return "bytes of a missing range are not 0";
	}
	return NULL;
}

static const char *check_regions(const struct reel_sample *sample)
{
	if (sample->n_regions > REEL_REGIONS_MAX)
		return "too many regions";
	for (size_t i = 0; i < sample->n_regions; i++) {
		const struct reel_region *region = &sample->regions[i];
		const char *problem;

		if (region->size > REEL_REGION_SIZE_MAX)
			return "a region is too large";
		if (!reel_region_fits(region->address, region->size))
			return "a region's end exceeds 2^64";
		problem = check_missing(region);
		if (problem)
			return problem;
	}
	return NULL;
}

static struct reel_error *check_sample(const struct reel_sample_encoder *encoder,
				       const struct reel_sample *sample)
{
	const char *problem = check_registers(sample);

	if (!problem)
		problem = check_regions(sample);
	if (!problem &&
	    (sample->n_kernel_chain > REEL_CHAIN_MAX || sample->n_frame_chain > REEL_CHAIN_MAX))
		problem = "a chain is too long";
	if (!problem)
		problem = reel_labels_check(sample);
	if (!problem)
		problem = reel_runtime_frames_check(sample);
	if (!problem)
		problem = reel_sample_check(sample);
	if (!problem && reel_sample_encoder_is_full(encoder))
		problem = "the block is full";
	if (!problem)
		return NULL;
	return reel_error_create(REEL_ERROR_INVALID, "cannot write sample %llu: %s",
				 (unsigned long long)sample->id, problem);
}

/* ---- layouts ------------------------------------------------------------------ */

static bool layouts_equal(const struct reel_record_sample_layout *a,
			  const struct reel_record_sample_layout *b)
{
	if (a->n_slots != b->n_slots)
		return false;
	for (size_t i = 0; i < a->n_slots; i++) {
		if (a->slots[i].dwarf != b->slots[i].dwarf || a->slots[i].size != b->slots[i].size)
			return false;
	}
	return true;
}

static bool add_layout(struct reel_sample_encoder *encoder,
		       const struct reel_record_sample_layout *layout)
{
	size_t n = encoder->n_layouts;
	struct reel_register_slot *slots = malloc(layout->n_slots * sizeof(*slots) + 1);

	if (!slots)
		return false;
	for (size_t i = 0; i < layout->n_slots; i++)
		slots[i] = layout->slots[i];
	encoder->layouts[n] = (struct reel_record_sample_layout){ n, layout->n_slots, slots };
	encoder->n_layouts++;
	return true;
}

static void append_layout(struct reel_sample_encoder *encoder, struct reel_buffer *buffer,
			  const struct reel_record_sample_layout *layout)
{
	struct reel_buffer *payload = &encoder->payload;

	payload->size = 0;
	reel_buffer_uleb(payload, layout->id);
	reel_buffer_uleb(payload, layout->n_slots);
	for (size_t i = 0; i < layout->n_slots; i++) {
		reel_buffer_uleb(payload, layout->slots[i].dwarf);
		reel_buffer_u8(payload, layout->slots[i].size);
	}
	reel_buffer_uleb(buffer, (uint64_t)REEL_RECORD_SAMPLE_LAYOUT << 1 | 1);
	reel_buffer_uleb(buffer, payload->size);
	reel_buffer_append(buffer, payload->bytes, payload->size);
}

/* The layout's position; *records counts its record if the block does not yet have it. */
static bool find_layout(struct reel_sample_encoder *encoder,
			const struct reel_record_sample_layout *layout, uint32_t *records,
			uint32_t *ret)
{
	for (size_t i = 0; i < encoder->n_layouts; i++) {
		if (layouts_equal(layout, &encoder->layouts[i])) {
			*ret = (uint32_t)i;
			return true;
		}
	}
	*ret = (uint32_t)encoder->n_layouts;
	++*records;
	return add_layout(encoder, layout);
}

/* ---- regions -------------------------------------------------------------------- */

static void encode_missing(struct reel_buffer *buffer, const struct reel_region *region)
{
	uint64_t end = 0;

	reel_buffer_uleb(buffer, region->n_missing);
	for (size_t i = 0; i < region->n_missing; i++) {
		reel_buffer_uleb(buffer, region->missing[i].offset - end);
		reel_buffer_uleb(buffer, region->missing[i].size);
		end = region->missing[i].offset + region->missing[i].size;
	}
}

/* 4 or 8: the size of the sample's registers, else the capture's. */
static unsigned word_bytes_of(const struct reel_sample_encoder *encoder,
			      const struct reel_sample *sample)
{
	if (sample->layout && sample->layout->n_slots)
		return sample->layout->slots[0].size;
	return encoder->target.word_bits == 32 ? 4 : 8;
}

static void encode_place(struct reel_sample_encoder *encoder, unsigned word_bytes,
			 const struct reel_region *region, const struct reel_region_base *base)
{
	struct reel_buffer *stream = &encoder->columns.out[REEL_STREAM_REGIONS];
	unsigned words = word_bytes | (encoder->target.big_endian ? REEL_WORDS_BIG_ENDIAN : 0);

	reel_buffer_u8(stream, (uint8_t)region->kind);
	reel_buffer_u8(stream, (uint8_t)words);
	reel_columns_encode_place(&encoder->columns, region, base);
	encode_missing(stream, region);
}

static struct reel_error *encode_words(struct reel_sample_encoder *encoder, unsigned word_bytes,
				       const struct reel_region *region,
				       struct reel_region_base *base)
{
	struct reel_buffer *raw = &encoder->columns.out[REEL_STREAM_RAW];
	uint8_t *bytes = reel_region_base_move(base, region->address, region->size);
	struct reel_word_walk walk = {
		.bytes = region->bytes,
		.address = region->address,
		.big_endian = encoder->target.big_endian,
		.place = { .stack = region->address, .size = region->size, .bytes = word_bytes },
	};

	if (!bytes)
		return reel_error_no_memory();
	reel_words_of_region(region->address, region->size, word_bytes, &walk.start, &walk.end);
	reel_buffer_append(raw, region->bytes + walk.end, region->size - walk.end);
	reel_columns_encode_words(&encoder->columns, &walk, bytes);
	reel_buffer_append(raw, region->bytes, walk.start);
	/* The bytes outside whole words. */
	if (walk.start)
		memcpy(bytes, region->bytes, walk.start);
	if (walk.end < region->size)
		memcpy(bytes + walk.end, region->bytes + walk.end, region->size - walk.end);
	return NULL;
}

/* ---- samples -------------------------------------------------------------------- */

static void encode_known(struct reel_buffer *stream, const struct reel_sample *sample)
{
	size_t n = sample->layout->n_slots;
	uint8_t known[REEL_REGISTERS_MAX / 8] = { 0 };

	for (size_t i = 0; i < n; i++)
		if (reel_sample_knows(sample, i))
			known[i / 8] |= (uint8_t)(1u << i % 8);
	reel_buffer_append(stream, known, (n + 7) / 8);
}

static void encode_kernel_frame(struct reel_buffer *stream, const struct reel_sample *sample,
				struct reel_thread_base *base)
{
	const struct reel_kernel_frame *frame = &sample->kernel_frame;
	const uint64_t *chain = sample->kernel_chain;
	size_t n = sample->n_kernel_chain;

	reel_buffer_zigzag(stream, (int64_t)(frame->pc - reel_chain_get(chain, n, 0)));
	reel_buffer_zigzag(stream, (int64_t)(frame->sp - base->kernel_sp));
	reel_buffer_zigzag(stream, (int64_t)(frame->fp - frame->sp));
	reel_buffer_zigzag(stream, (int64_t)(frame->return_address - reel_chain_get(chain, n, 1)));
	base->kernel_sp = frame->sp;
}

static void encode_chain(struct reel_buffer *stream, const uint64_t *chain, size_t n)
{
	uint64_t previous = 0;

	if (!n)
		return;
	reel_buffer_uleb(stream, n);
	for (size_t i = 0; i < n; i++) {
		reel_buffer_zigzag(stream, (int64_t)(chain[i] - previous));
		previous = chain[i];
	}
}

static void encode_chains(struct reel_buffer *stream, const struct reel_sample *sample,
			  struct reel_thread_base *base)
{
	encode_chain(stream, sample->kernel_chain, sample->n_kernel_chain);
	encode_chain(stream, sample->frame_chain, sample->n_frame_chain);
	if (sample->has_kernel_frame)
		encode_kernel_frame(stream, sample, base);
}

static uint64_t parts_of(const struct reel_sample *sample)
{
	return (sample->layout ? REEL_PART_REGISTERS : 0) |
	       (sample->n_kernel_chain ? REEL_PART_KERNEL_CHAIN : 0) |
	       (sample->n_frame_chain ? REEL_PART_FRAME_CHAIN : 0) |
	       (sample->has_kernel_frame ? REEL_PART_KERNEL_FRAME : 0) |
	       (sample->steps ? REEL_PART_STEPS : 0);
}

/* Encodes which registers exist, and pc. */
static struct reel_error *begin_registers(struct reel_sample_encoder *encoder,
					  const struct reel_sample *sample, uint32_t layout,
					  struct reel_thread_base *thread)
{
	struct reel_buffer *stream = &encoder->columns.out[REEL_STREAM_REGISTERS];
	struct reel_error *error =
		reel_thread_base_set_layout(thread, layout + 1, sample->layout->n_slots);

	if (error)
		return error;
	reel_buffer_uleb(stream, layout);
	encode_known(stream, sample);
	reel_columns_encode_pc(&encoder->columns, sample, thread);
	return NULL;
}

static struct reel_error *encode_sample(struct reel_sample_encoder *encoder,
					const struct reel_sample *sample, uint32_t layout,
					struct reel_thread_base *thread)
{
	unsigned word_bytes = word_bytes_of(encoder, sample);

	TRY(reel_thread_base_set_regions(thread, sample->n_regions));
	if (sample->layout)
		TRY(begin_registers(encoder, sample, layout, thread));
	for (size_t i = 0; i < sample->n_regions; i++)
		encode_place(encoder, word_bytes, &sample->regions[i], &thread->regions[i]);
	if (sample->layout) {
		reel_columns_encode_registers(&encoder->columns, sample, thread);
		thread->pc = sample->pc;
	}
	for (size_t i = 0; i < sample->n_regions; i++)
		TRY(encode_words(encoder, word_bytes, &sample->regions[i], &thread->regions[i]));
	encode_chains(&encoder->columns.out[REEL_STREAM_CHAINS], sample, thread);
	return NULL;
}

static struct reel_error *encode(struct reel_sample_encoder *encoder,
				 const struct reel_sample *sample, uint32_t *records)
{
	struct reel_thread_base *thread;
	uint32_t layout = 0;

	if (!encoder->n_samples)
		reel_columns_begin(&encoder->columns);
	reel_columns_encode_header(&encoder->columns, sample, parts_of(sample));
	if (sample->layout && !find_layout(encoder, sample->layout, records, &layout))
		return reel_error_no_memory();
	TRY(reel_thread_table_get(&encoder->threads, sample->thread, &thread));
	TRY(encode_sample(encoder, sample, layout, thread));
	for (size_t i = 0; i < REEL_STREAMS; i++)
		if (encoder->columns.out[i].failed)
			return reel_error_no_memory();
	*records += sample->n_labels && !encoder->labels.payload.size;
	reel_labels_encode(&encoder->labels, sample);
	*records += sample->n_runtime_frames && !encoder->frames.payload.size;
	if (encoder->labels.payload.failed || !reel_runtime_frames_encode(&encoder->frames, sample))
		return reel_error_no_memory();
	return NULL;
}

struct reel_error *reel_sample_encode(struct reel_sample_encoder *encoder,
				      const struct reel_sample *sample, uint32_t *records_ret,
				      uint64_t *expanded_ret)
{
	size_t sizes[REEL_STREAMS], n_layouts = encoder->n_layouts;
	size_t labels_size = encoder->labels.payload.size;
	size_t frames_size = encoder->frames.payload.size;
	struct reel_error *error;
	/* All samples share one record. */
	uint32_t records = !encoder->n_samples;

	if (encoder->broken)
		return reel_error_no_memory();
	TRY(check_sample(encoder, sample));
	for (size_t i = 0; i < REEL_STREAMS; i++)
		sizes[i] = encoder->columns.out[i].size;
	error = encode(encoder, sample, &records);
	if (error) {
		for (size_t i = 0; i < REEL_STREAMS; i++)
			encoder->columns.out[i].size = sizes[i];
		encoder->labels.payload.size = labels_size;
		encoder->frames.payload.size = frames_size;
		encoder->labels.payload.failed = encoder->frames.payload.failed = false;
		while (encoder->n_layouts > n_layouts)
			free((void *)encoder->layouts[--encoder->n_layouts].slots);
		encoder->broken = true;
		return error;
	}
	encoder->n_samples++;
	*records_ret += records;
	for (size_t i = 0; i < sample->n_regions; i++)
		*expanded_ret += sample->regions[i].size;
	return NULL;
}

/* ---- the records -------------------------------------------------------------------- */

size_t reel_sample_encoder_size(const struct reel_sample_encoder *encoder)
{
	size_t size = encoder->labels.payload.size + encoder->frames.payload.size;

	for (size_t i = 0; i < REEL_STREAMS; i++)
		size += encoder->columns.out[i].size;
	return size;
}

/* LABELS or FRAMES. */
static void append_optional(enum reel_record_id id, const struct reel_buffer *payload,
			    struct reel_buffer *buffer)
{
	if (!payload->size)
		return;
	reel_buffer_uleb(buffer, (uint64_t)id << 1);
	reel_buffer_uleb(buffer, payload->size);
	reel_buffer_append(buffer, payload->bytes, payload->size);
}

static void append_samples(const struct reel_sample_encoder *encoder, struct reel_buffer *buffer,
			   size_t ends[REEL_STREAMS])
{
	size_t size = reel_uleb_size(encoder->n_samples);

	for (size_t i = 0; i < REEL_STREAMS; i++)
		size += reel_uleb_size(encoder->columns.out[i].size) + encoder->columns.out[i].size;
	reel_buffer_uleb(buffer, (uint64_t)REEL_RECORD_COLUMNS << 1 | 1);
	reel_buffer_uleb(buffer, size);
	reel_buffer_uleb(buffer, encoder->n_samples);
	for (size_t i = 0; i < REEL_STREAMS; i++) {
		reel_buffer_uleb(buffer, encoder->columns.out[i].size);
		reel_buffer_append(buffer, encoder->columns.out[i].bytes,
				   encoder->columns.out[i].size);
		ends[i] = buffer->size;
	}
}

struct reel_error *reel_sample_encoder_finish(struct reel_sample_encoder *encoder,
					      struct reel_buffer *buffer, size_t ends[REEL_STREAMS])
{
	size_t size_before = buffer->size;

	for (size_t i = 0; i < REEL_STREAMS; i++)
		ends[i] = size_before;
	if (!encoder->n_samples)
		return NULL;
	for (size_t i = 0; i < encoder->n_layouts; i++)
		append_layout(encoder, buffer, &encoder->layouts[i]);
	append_optional(REEL_RECORD_LABELS, &encoder->labels.payload, buffer);
	append_optional(REEL_RECORD_FRAMES, &encoder->frames.payload, buffer);
	append_samples(encoder, buffer, ends);
	if (buffer->failed || encoder->payload.failed) {
		buffer->size = size_before;
		buffer->failed = encoder->payload.failed = false;
		return reel_error_no_memory();
	}
	reel_sample_encoder_reset(encoder);
	return NULL;
}
