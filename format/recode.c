/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/codec/samples.h"
#include "format/recode.h"

struct reel_recoder {
	struct reel_sample_decoder *decoder;
	struct reel_sample_encoder *encoder;
	struct reel_raw_block block;
	struct reel_buffer rest; /* records that are of no samples */
	uint32_t n_rest;
};

struct reel_error *reel_recoder_create(struct reel_recoder **ret)
{
	struct reel_recoder *recoder = calloc(1, sizeof(*recoder));
	struct reel_error *error;

	if (!recoder)
		return reel_error_no_memory();
	error = reel_sample_decoder_create(&recoder->decoder);
	if (!error)
		error = reel_sample_encoder_create(REEL_DENSE, &recoder->encoder);
	if (error) {
		reel_recoder_destroy(recoder);
		return error;
	}
	*ret = recoder;
	return NULL;
}

void reel_recoder_destroy(struct reel_recoder *recoder)
{
	if (!recoder)
		return;
	reel_sample_decoder_destroy(recoder->decoder);
	reel_sample_encoder_destroy(recoder->encoder);
	reel_buffer_free(&recoder->block.raw);
	reel_buffer_free(&recoder->rest);
	free(recoder);
}

static struct reel_error *recode_samples(struct reel_recoder *recoder,
					 const struct reel_record_frame *frame)
{
	struct reel_error *error = reel_samples_begin(recoder->decoder, frame);
	struct reel_sample sample;
	bool found = !error;

	while (found) {
		error = reel_samples_next(recoder->decoder, &sample, &found);
		if (!error && found)
			error = reel_sample_encode(recoder->encoder, &sample,
						   &recoder->block.records,
						   &recoder->block.expanded);
		if (error)
			return error;
	}
	return error;
}

static struct reel_error *recode_record(struct reel_recoder *recoder,
					const struct reel_record_frame *frame)
{
	if (frame->id == REEL_RECORD_SAMPLE_LAYOUT)
		return reel_sample_decode_layout(recoder->decoder, frame);
	if (frame->id == REEL_RECORD_COLUMNS)
		return recode_samples(recoder, frame);
	reel_record_frame_append(&recoder->rest, frame);
	recoder->n_rest++;
	return NULL;
}

static struct reel_error *recode_records(struct reel_recoder *recoder,
					 const struct reel_raw_block *block)
{
	struct reel_cursor cursor = reel_cursor(block->raw.bytes, block->raw.size);
	struct reel_record_frame frame;
	struct reel_error *error;

	do {
		error = reel_record_frame_next(&cursor, &frame);
		if (!error && frame.id)
			error = recode_record(recoder, &frame);
	} while (!error && frame.id);
	return error;
}

struct reel_error *reel_recode(struct reel_recoder *recoder, const struct reel_raw_block *block,
			       const struct reel_raw_block **ret)
{
	struct reel_raw_block *recoded = &recoder->block;
	struct reel_buffer raw = recoded->raw;
	struct reel_error *error;

	*recoded = *block;
	recoded->raw = raw;
	recoded->raw.size = recoder->rest.size = 0;
	recoded->records = recoder->n_rest = 0;
	recoded->expanded = 0;
	reel_sample_decoder_reset(recoder->decoder, block->expanded);
	reel_sample_encoder_reset(recoder->encoder);
	reel_sample_encoder_set_target(recoder->encoder, &block->target);
	error = recode_records(recoder, block);
	if (!error)
		error = reel_sample_encoder_finish(recoder->encoder, &recoded->raw, recoded->ends);
	if (error)
		return error;
	reel_buffer_append(&recoded->raw, recoder->rest.bytes, recoder->rest.size);
	recoded->records += recoder->n_rest;
	if (recoded->raw.failed || recoder->rest.failed) {
		recoded->raw.failed = recoder->rest.failed = false;
		return reel_error_no_memory();
	}
	*ret = recoded;
	return NULL;
}
