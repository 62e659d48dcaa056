/* SPDX-License-Identifier: Apache-2.0 */
/* Samples to SAMPLE: SPEC.md, section 6. */
#include "format/sample_encoder_parts.h"

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
		uint64_t value = reel_sample_knows(sample, i) ? sample->values[i] : 0;

		if (reel_sample_knows(sample, i)) {
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
	reel_sample_encode_missing(payload, region);
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
	reel_buffer_uleb(payload, reel_sample_parts_of(sample));
	reel_buffer_zigzag(payload, (int64_t)(sample->pc - base->pc));
	encoder->previous_id = sample->id;
	encoder->previous_time = sample->time;
	base->pc = sample->pc;
}

struct reel_error *reel_plain_sample_encode(struct reel_sample_encoder *encoder,
					    const struct reel_sample *sample, uint32_t layout,
					    struct reel_thread_base *base)
{
	struct reel_buffer *records = &encoder->records;
	struct reel_error *error = NULL;

	encoder->payload.size = 0;
	encode_head(encoder, sample, base);
	if (sample->layout)
		error = encode_registers(&encoder->payload, sample, layout, base);
	if (!error)
		error = encode_regions(encoder, sample, base);
	if (error)
		return error;
	reel_sample_encode_chains(&encoder->payload, sample, base);
	reel_buffer_uleb(records, (uint64_t)REEL_RECORD_SAMPLE << 1 | 1);
	reel_buffer_uleb(records, encoder->payload.size);
	reel_buffer_append(records, encoder->payload.bytes, encoder->payload.size);
	return encoder->payload.failed || records->failed ? reel_error_no_memory() : NULL;
}
