/* SPDX-License-Identifier: Apache-2.0 */
/* SAMPLE_LAYOUT and SAMPLE to bytes: SPEC.md, section 6. */
#include <stdlib.h>

#include "format/codec.h"
#include "format/runs.h"
#include "format/sample_parts.h"
#include "format/schema.h"
#include "format/thread_table.h"

struct reel_sample_encoder {
	struct reel_thread_table threads;
	/* Those of the block; a layout's id is its position. */
	struct reel_record_sample_layout layouts[REEL_LAYOUTS_MAX];
	size_t n_layouts;
	uint64_t previous_id, previous_time;
	/* Memory ran out within a sample: the state is not what a decoder would have. */
	bool broken;
	struct reel_runs runs;
	/* A record's payload, of which the size stands in front. */
	struct reel_buffer payload;
};

struct reel_error *reel_sample_encoder_create(struct reel_sample_encoder **ret)
{
	struct reel_sample_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return reel_error_no_memory();
	reel_thread_table_init(&encoder->threads);
	*ret = encoder;
	return NULL;
}

void reel_sample_encoder_reset(struct reel_sample_encoder *encoder)
{
	reel_thread_table_reset(&encoder->threads);
	while (encoder->n_layouts)
		free((void *)encoder->layouts[--encoder->n_layouts].slots);
	encoder->previous_id = encoder->previous_time = 0;
	encoder->broken = encoder->payload.failed = false;
}

void reel_sample_encoder_destroy(struct reel_sample_encoder *encoder)
{
	if (!encoder)
		return;
	reel_sample_encoder_reset(encoder);
	reel_thread_table_free(&encoder->threads);
	reel_runs_free(&encoder->runs);
	reel_buffer_free(&encoder->payload);
	free(encoder);
}

bool reel_sample_encoder_is_full(const struct reel_sample_encoder *encoder)
{
	return encoder->threads.n_bases == REEL_THREADS_MAX ||
	       encoder->n_layouts == REEL_LAYOUTS_MAX;
}

/* ---- what the format can't hold -------------------------------------------- */

static bool is_known(const struct reel_sample *sample, size_t i)
{
	return sample->known[i / 8] >> i % 8 & 1;
}

static const char *check_registers(const struct reel_sample *sample)
{
	const struct reel_record_sample_layout *layout = sample->layout;

	if (!layout)
		return NULL;
	if (layout->n_slots > REEL_REGISTERS_MAX)
		return "too many registers";
	for (size_t i = 0; i < layout->n_slots; i++) {
		if (layout->slots[i].size != 4 && layout->slots[i].size != 8)
			return "a register is neither of 4 nor of 8 bytes";
		if (layout->slots[i].size == 4 && is_known(sample, i) &&
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
		problem = reel_sample_check(sample);
	if (!problem && reel_sample_encoder_is_full(encoder))
		problem = "the block is full";
	if (!problem)
		return NULL;
	return reel_error_create(REEL_ERROR_INVALID, "sample %llu can't be written: %s",
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

static void append_record(struct reel_buffer *buffer, enum reel_record_id id,
			  const struct reel_buffer *payload)
{
	/* SAMPLE_LAYOUT and SAMPLE are critical. */
	reel_buffer_uleb(buffer, (uint64_t)id << 1 | 1);
	reel_buffer_uleb(buffer, payload->size);
	reel_buffer_append(buffer, payload->bytes, payload->size);
}

static bool add_layout(struct reel_sample_encoder *encoder, struct reel_buffer *buffer,
		       const struct reel_record_sample_layout *layout)
{
	struct reel_register_slot *slots = malloc(layout->n_slots * sizeof(*slots) + 1);

	if (!slots)
		return false;
	encoder->payload.size = 0;
	reel_buffer_uleb(&encoder->payload, encoder->n_layouts);
	reel_buffer_uleb(&encoder->payload, layout->n_slots);
	for (size_t i = 0; i < layout->n_slots; i++) {
		slots[i] = layout->slots[i];
		reel_buffer_uleb(&encoder->payload, slots[i].dwarf);
		reel_buffer_u8(&encoder->payload, slots[i].size);
	}
	append_record(buffer, REEL_RECORD_SAMPLE_LAYOUT, &encoder->payload);
	encoder->layouts[encoder->n_layouts] = (struct reel_record_sample_layout){
		encoder->n_layouts,
		layout->n_slots,
		slots,
	};
	encoder->n_layouts++;
	return true;
}

/* The layout's position; appends its record if the block does not have it yet. */
static bool find_layout(struct reel_sample_encoder *encoder, struct reel_buffer *buffer,
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
	return add_layout(encoder, buffer, layout);
}

/* ---- samples -------------------------------------------------------------------- */

static struct reel_error *encode_registers(struct reel_buffer *payload,
					   const struct reel_sample *sample, uint32_t layout,
					   struct reel_thread_base *base)
{
	const struct reel_register_slot *slots = sample->layout->slots;
	size_t n = sample->layout->n_slots, n_bytes = (n + 7) / 8;
	uint8_t known[REEL_REGISTERS_MAX / 8] = { 0 }, changed[REEL_REGISTERS_MAX / 8] = { 0 };
	struct reel_error *error = reel_thread_base_set_layout(base, layout + 1, n);

	if (error)
		return error;
	for (size_t i = 0; i < n; i++) {
		uint64_t value = is_known(sample, i) ? sample->values[i] : 0;

		if (is_known(sample, i)) {
			known[i / 8] |= (uint8_t)(1u << i % 8);
			if (value != base->values[i])
				changed[i / 8] |= (uint8_t)(1u << i % 8);
		}
		base->values[i] = value;
	}
	reel_buffer_uleb(payload, layout);
	reel_buffer_append(payload, known, n_bytes);
	reel_buffer_append(payload, changed, n_bytes);
	for (size_t i = 0; i < n; i++) {
		if (!(changed[i / 8] >> i % 8 & 1))
			continue;
		if (slots[i].size == 4)
			reel_buffer_u32(payload, (uint32_t)base->values[i]);
		else
			reel_buffer_u64(payload, base->values[i]);
	}
	return NULL;
}

static void encode_missing(struct reel_buffer *payload, const struct reel_region *region)
{
	uint64_t end = 0;

	reel_buffer_uleb(payload, region->n_missing);
	for (size_t i = 0; i < region->n_missing; i++) {
		reel_buffer_uleb(payload, region->missing[i].offset - end);
		reel_buffer_uleb(payload, region->missing[i].size);
		end = region->missing[i].offset + region->missing[i].size;
	}
}

/* Writes the runs, and makes `base` equal to the region. */
static void encode_runs(struct reel_buffer *payload, const struct reel_runs *runs,
			const uint8_t *bytes, uint8_t *base)
{
	size_t end = 0;

	reel_buffer_uleb(payload, runs->n);
	for (size_t i = 0; i < runs->n; i++) {
		const struct reel_run *run = &runs->runs[i];

		reel_buffer_uleb(payload, run->offset - end);
		reel_buffer_uleb(payload, run->size);
		reel_buffer_append(payload, bytes + run->offset, run->size);
		memcpy(base + run->offset, bytes + run->offset, run->size);
		end = run->offset + run->size;
	}
}

static struct reel_error *encode_region(struct reel_sample_encoder *encoder,
					const struct reel_region *region,
					struct reel_region_base *base)
{
	struct reel_buffer *payload = &encoder->payload;
	uint64_t previous_address = base->address;
	uint8_t *bytes = reel_region_base_move(base, region->address, region->size);

	if (!bytes || !reel_runs_find(&encoder->runs, bytes, region->bytes, region->size))
		return reel_error_no_memory();
	reel_buffer_u8(payload, (uint8_t)region->kind);
	reel_buffer_zigzag(payload, (int64_t)(region->address - previous_address));
	reel_buffer_uleb(payload, region->size);
	encode_missing(payload, region);
	encode_runs(payload, &encoder->runs, region->bytes, bytes);
	return NULL;
}

static struct reel_error *encode_regions(struct reel_sample_encoder *encoder,
					 const struct reel_sample *sample,
					 struct reel_thread_base *base)
{
	struct reel_error *error = reel_thread_base_set_regions(base, sample->n_regions);

	reel_buffer_uleb(&encoder->payload, sample->n_regions);
	for (size_t i = 0; !error && i < sample->n_regions; i++)
		error = encode_region(encoder, &sample->regions[i], &base->regions[i]);
	return error;
}

static void encode_chain(struct reel_buffer *payload, const uint64_t *chain, size_t n)
{
	uint64_t previous = 0;

	reel_buffer_uleb(payload, n);
	for (size_t i = 0; i < n; i++) {
		reel_buffer_zigzag(payload, (int64_t)(chain[i] - previous));
		previous = chain[i];
	}
}

static void encode_kernel_frame(struct reel_buffer *payload, const struct reel_sample *sample,
				struct reel_thread_base *base)
{
	const struct reel_kernel_frame *frame = &sample->kernel_frame;
	const uint64_t *chain = sample->kernel_chain;
	size_t n = sample->n_kernel_chain;

	reel_buffer_zigzag(payload, (int64_t)(frame->pc - reel_chain_get(chain, n, 0)));
	reel_buffer_zigzag(payload, (int64_t)(frame->sp - base->kernel_sp));
	reel_buffer_zigzag(payload, (int64_t)(frame->fp - frame->sp));
	reel_buffer_zigzag(payload, (int64_t)(frame->return_address - reel_chain_get(chain, n, 1)));
	base->kernel_sp = frame->sp;
}

static uint64_t parts_of(const struct reel_sample *sample)
{
	return (sample->layout ? REEL_PART_REGISTERS : 0) |
	       (sample->n_kernel_chain ? REEL_PART_KERNEL_CHAIN : 0) |
	       (sample->n_frame_chain ? REEL_PART_FRAME_CHAIN : 0) |
	       (sample->has_kernel_frame ? REEL_PART_KERNEL_FRAME : 0);
}

static void encode_head(struct reel_sample_encoder *encoder, const struct reel_sample *sample,
			struct reel_thread_base *base)
{
	struct reel_buffer *payload = &encoder->payload;

	reel_buffer_zigzag(payload, (int64_t)(sample->id - encoder->previous_id));
	reel_buffer_zigzag(payload, (int64_t)(sample->time - encoder->previous_time));
	reel_buffer_uleb(payload, sample->thread);
	reel_buffer_uleb(payload, sample->cpu);
	reel_buffer_uleb(payload, sample->event);
	reel_buffer_uleb(payload, sample->weight);
	reel_buffer_u8(payload, (uint8_t)sample->where);
	reel_buffer_uleb(payload, sample->flags);
	reel_buffer_uleb(payload, parts_of(sample));
	reel_buffer_zigzag(payload, (int64_t)(sample->pc - base->pc));
	encoder->previous_id = sample->id;
	encoder->previous_time = sample->time;
	base->pc = sample->pc;
}

static struct reel_error *encode_payload(struct reel_sample_encoder *encoder,
					 const struct reel_sample *sample, uint32_t layout)
{
	struct reel_thread_base *base;
	struct reel_error *error = reel_thread_table_get(&encoder->threads, sample->thread, &base);

	if (error)
		return error;
	encoder->payload.size = 0;
	encode_head(encoder, sample, base);
	if (sample->layout)
		error = encode_registers(&encoder->payload, sample, layout, base);
	if (!error)
		error = encode_regions(encoder, sample, base);
	if (error)
		return error;
	if (sample->n_kernel_chain)
		encode_chain(&encoder->payload, sample->kernel_chain, sample->n_kernel_chain);
	if (sample->n_frame_chain)
		encode_chain(&encoder->payload, sample->frame_chain, sample->n_frame_chain);
	if (sample->has_kernel_frame)
		encode_kernel_frame(&encoder->payload, sample, base);
	return NULL;
}

static struct reel_error *encode(struct reel_sample_encoder *encoder, struct reel_buffer *buffer,
				 const struct reel_sample *sample, uint32_t *records)
{
	struct reel_error *error;
	uint32_t layout = 0;

	if (sample->layout && !find_layout(encoder, buffer, sample->layout, records, &layout))
		return reel_error_no_memory();
	error = encode_payload(encoder, sample, layout);
	if (error)
		return error;
	append_record(buffer, REEL_RECORD_SAMPLE, &encoder->payload);
	++*records;
	return encoder->payload.failed || buffer->failed ? reel_error_no_memory() : NULL;
}

struct reel_error *reel_sample_encode(struct reel_sample_encoder *encoder,
				      struct reel_buffer *buffer, const struct reel_sample *sample,
				      uint32_t *records_ret, uint64_t *expanded_ret)
{
	size_t size_before = buffer->size;
	struct reel_error *error;
	uint32_t records = 0;

	if (encoder->broken)
		return reel_error_no_memory();
	error = check_sample(encoder, sample);
	if (error)
		return error;
	error = encode(encoder, buffer, sample, &records);
	if (error) {
		buffer->size = size_before;
		encoder->broken = true;
		return error;
	}
	*records_ret += records;
	for (size_t i = 0; i < sample->n_regions; i++)
		*expanded_ret += sample->regions[i].size;
	return NULL;
}
