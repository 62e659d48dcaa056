/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in columns: encoded samples are decoded again. */
#include "format/codec/samples.h"
#include "tests/fuzz/sample_parts.h"

#define SAMPLES 24

struct codec {
	struct reel_sample_encoder *encoder;
	struct reel_sample_decoder *decoder;
	struct fuzz_sample samples[SAMPLES];
	size_t n, checked;
};

static void encode(struct codec *w, struct reel_cursor *input, struct reel_buffer *ret)
{
	struct reel_sample_target target = { .word_bits = reel_cursor_u8(input) & 1 ? 32 : 64 };
	size_t ends[REEL_STREAMS];
	uint64_t expanded = 0;
	uint32_t records = 0;

	target.big_endian = reel_cursor_u8(input) & 1;
	must(reel_sample_encoder_create(&target, &w->encoder));
	while (w->n < SAMPLES && reel_cursor_left(input)) {
		struct fuzz_sample *sample = &w->samples[w->n];

		fuzz_sample(input, w->n ? &w->samples[w->n - 1].sample : NULL, sample);
		must(reel_sample_encode(w->encoder, &sample->sample, &records, &expanded));
		w->n++;
	}
	must(reel_sample_encoder_finish(w->encoder, ret, ends));
	reel_sample_encoder_destroy(w->encoder);
	reel_sample_decoder_reset(w->decoder, expanded);
}

static void check(struct codec *w, const struct reel_sample *sample)
{
	must_be(w->checked < w->n, "no more samples than were encoded");
	must_be(same_samples(sample, &w->samples[w->checked++].sample), "the sample as it was");
}

static void decode_record(struct codec *w, const struct reel_record_frame *frame)
{
	struct reel_sample sample;
	bool found;

	if (frame->id == REEL_RECORD_SAMPLE_LAYOUT) {
		must(reel_sample_decode_layout(w->decoder, frame));
		return;
	}
	if (frame->id == REEL_RECORD_FRAMES) {
		must(reel_sample_decode_frames(w->decoder, frame));
		return;
	}
	must(reel_samples_begin(w->decoder, frame));
	for (;;) {
		must(reel_samples_next(w->decoder, &sample, &found));
		if (!found)
			break;
		check(w, &sample);
	}
}

static void decode(struct codec *w, const struct reel_buffer *bytes)
{
	struct reel_cursor cursor = reel_cursor(bytes->bytes, bytes->size);
	struct reel_record_frame frame;

	for (;;) {
		must(reel_record_frame_next(&cursor, &frame));
		if (!frame.id)
			break;
		decode_record(w, &frame);
	}
	must_be(w->checked == w->n, "all samples");
}

/* Decoding only heads gives the samples' heads. */
static void decode_heads(struct codec *w, const struct reel_buffer *bytes)
{
	struct reel_cursor cursor = reel_cursor(bytes->bytes, bytes->size);
	struct reel_record_frame frame;
	struct reel_sample sample;
	bool found = true;

	do {
		must(reel_record_frame_next(&cursor, &frame));
	} while (frame.id == REEL_RECORD_SAMPLE_LAYOUT || frame.id == REEL_RECORD_FRAMES);
	reel_sample_decoder_reset_heads(w->decoder, 0);
	must(reel_samples_begin(w->decoder, &frame));
	for (size_t i = 0; i < w->n; i++) {
		must(reel_samples_next(w->decoder, &sample, &found));
		must_be(found && sample.thread == w->samples[i].sample.thread, "the thread");
	}
	must(reel_samples_next(w->decoder, &sample, &found));
	must_be(!found, "no more samples than were encoded");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct codec codec;
	struct codec *w = &codec;
	struct reel_cursor input = reel_cursor(data, size);
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };

	if (!w->decoder)
		must(reel_sample_decoder_create(&w->decoder));
	w->n = w->checked = 0;
	encode(w, &input, &bytes);
	decode(w, &bytes);
	if (w->n)
		decode_heads(w, &bytes);
	for (size_t i = 0; i < w->n; i++)
		fuzz_sample_free(&w->samples[i]);
	return 0;
}
