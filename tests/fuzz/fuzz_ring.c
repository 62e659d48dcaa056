/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of samples in the BPF ring buffer, converted to samples of the file and written: every
 * consistent record can be written, and is unchanged when read.
 */
#include "format/codec/samples.h"
#include "record/sampling/sample_translator.h"
#include "tests/fuzz/sample_parts.h"

static void check_within(const struct reel_sampler_parts *parts, const uint8_t *record, size_t size)
{
	const uint8_t *end = record + size;

	for (size_t i = 0; i < parts->sample->n_regions; i++)
		must_be(parts->region_bytes[i] >= record &&
				parts->region_bytes[i] + parts->sample->regions[i].size <= end,
			"a region of the record");
}

static void check_missing(const struct reel_sample *sample)
{
	for (size_t i = 0; i < sample->n_regions; i++) {
		const struct reel_region *region = &sample->regions[i];
		uint64_t end = 0;

		for (size_t j = 0; j < region->n_missing; j++) {
			const struct reel_range *range = &region->missing[j];

			must_be(range->size && range->offset >= end &&
					range->offset <= region->size &&
					range->size <= region->size - range->offset,
				"missing bytes of the region, in order");
			end = range->offset + range->size;
			/* BPF leaves 0 there, the input does not. */
			memset((uint8_t *)region->bytes + range->offset, 0, range->size);
		}
	}
}

static void encode_and_decode(const struct reel_sample *sample)
{
	const struct reel_sample_target target = { .word_bits = 64 };
	static struct reel_sample_encoder *encoder;
	static struct reel_sample_decoder *decoder;
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	size_t ends[REEL_STREAMS];
	struct reel_record_frame frame;
	struct reel_cursor cursor;
	struct reel_sample read;
	uint64_t expanded = 0;
	uint32_t records = 0;
	bool found = false;

	if (!encoder) {
		must(reel_sample_encoder_create(&target, &encoder));
		must(reel_sample_decoder_create(&decoder));
	}
	reel_sample_encoder_reset(encoder);
	if (!fuzz_fine(reel_sample_encode(encoder, sample, &records, &expanded)))
		return;
	must(reel_sample_encoder_finish(encoder, &bytes, ends));
	reel_sample_decoder_reset(decoder, expanded);
	cursor = reel_cursor(bytes.bytes, bytes.size);
	must(reel_record_frame_next(&cursor, &frame));
	if (frame.id == REEL_RECORD_SAMPLE_LAYOUT) {
		must(reel_sample_decode_layout(decoder, &frame));
		must(reel_record_frame_next(&cursor, &frame));
	}
	must(reel_samples_begin(decoder, &frame));
	must(reel_samples_next(decoder, &read, &found));
	must_be(found && same_samples(sample, &read), "the sample as it was");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct reel_sample_translator translator;
	struct reel_sampler_parts parts;
	struct reel_sample *sample;
	/* As in the ring: aligned, without following bytes. */
	uint64_t *record = malloc(size + 1);

	must_be(record != NULL, "memory");
	memcpy(record, data, size);
	reel_sample_translator_free(&translator);
	translator = (struct reel_sample_translator){ .page_size = 4096 };
	if (reel_sampler_parts_parse((const struct reel_bpf_sample *)record, size, &parts)) {
		check_within(&parts, (const uint8_t *)record, size);
		sample = reel_sample_translate(&translator, &parts);
		must_be(sample != NULL, "room for a first layout");
		check_missing(sample);
		encode_and_decode(sample);
	}
	free(record);
	return 0;
}
