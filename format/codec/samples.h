/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes and decodes the samples of a block (SPEC.md, section 6).  Samples are stored as
 * differences to their thread's previous one and split into streams, so encoder and decoder have a
 * state that lives for a block.
 */
#ifndef FORMAT_CODEC_SAMPLES_H
#define FORMAT_CODEC_SAMPLES_H

#include "format/record.h"
#include "format/record_coder.h"

/* The streams that a block's samples are split into (SPEC.md, section 6). */
enum reel_sample_stream {
	REEL_STREAM_HEAD = 0,
	REEL_STREAM_TIME = 1,
	REEL_STREAM_REGIONS = 2,
	REEL_STREAM_REGISTERS = 3,
	REEL_STREAM_GAPS = 4,
	REEL_STREAM_TOKENS = 5,
	REEL_STREAM_NEAR = 6,
	REEL_STREAM_FAR = 7,
	REEL_STREAM_KNOWN_LOW = 8,
	REEL_STREAM_KNOWN_HIGH = 9,
	REEL_STREAM_HIGH = 10,
	REEL_STREAM_LOW_0 = 11,
	REEL_STREAM_LOW_1 = 12,
	REEL_STREAM_LOW_2 = 13,
	REEL_STREAM_RAW = 14,
	REEL_STREAM_CHAINS = 15,
	REEL_STREAMS = 16,
};

/* A region's `words`: 4 or 8, plus this flag for the target's byte order. */
#define REEL_WORDS_BIG_ENDIAN 128u

/* Advance knowledge about samples: it only affects how small they get. */
struct reel_sample_target {
	/* For the words of stacks, where registers do not determine them. */
	unsigned word_bits;
	bool big_endian;
};

struct reel_sample_encoder;

struct reel_error *reel_sample_encoder_create(const struct reel_sample_target *target,
					      struct reel_sample_encoder **ret) REEL_MUST_CHECK;
void reel_sample_encoder_destroy(struct reel_sample_encoder *encoder);
/* Forgets all samples. */
void reel_sample_encoder_reset(struct reel_sample_encoder *encoder);
/* The block cannot take another sample, thread or layout: end it before the next one. */
bool reel_sample_encoder_is_full(const struct reel_sample_encoder *encoder);
/*
 * Encodes the sample.  Increases `records_ret` by the number of records that the block gains, and
 * `expanded_ret` by the bytes of all its regions.  Layouts are compared by content.
 *
 * INVALID for a sample that the format cannot hold: nothing changed.
 * NO_MEMORY: the encoder keeps the previous samples, and takes no more until it is reset.
 */
struct reel_error *reel_sample_encode(struct reel_sample_encoder *encoder,
				      const struct reel_sample *sample, uint32_t *records_ret,
				      uint64_t *expanded_ret) REEL_MUST_CHECK;
/* The bytes that its samples take so far. */
size_t reel_sample_encoder_size(const struct reel_sample_encoder *encoder);
/*
 * Appends the SAMPLE_LAYOUT, LABELS and FRAMES records and the samples' record, if there are
 * samples, and forgets them.  `ends` are the ends of the streams in the buffer, each with one kind
 * of bytes; if there are none, the buffer's previous end.  NO_MEMORY: `buffer` and the encoder are
 * unchanged.
 */
struct reel_error *reel_sample_encoder_finish(struct reel_sample_encoder *encoder,
					      struct reel_buffer *buffer,
					      size_t ends[REEL_STREAMS]) REEL_MUST_CHECK;

struct reel_sample_decoder;

struct reel_error *reel_sample_decoder_create(struct reel_sample_decoder **ret) REEL_MUST_CHECK;
void reel_sample_decoder_destroy(struct reel_sample_decoder *decoder);
/*
 * Begins a block whose header declares `expanded_size` bytes for all its regions: a sample that
 * would exceed it is CORRUPT.
 */
void reel_sample_decoder_reset(struct reel_sample_decoder *decoder, uint64_t expanded_size);
/*
 * The same, but decodes only heads: samples have no registers, regions or chains.
 */
void reel_sample_decoder_reset_heads(struct reel_sample_decoder *decoder, uint64_t expanded_size);
/* SAMPLE_LAYOUT. */
struct reel_error *reel_sample_decode_layout(struct reel_sample_decoder *decoder,
					     const struct reel_record_frame *frame) REEL_MUST_CHECK;
/* The last layout decoded in this block, or NULL; it lives until the reset. */
const struct reel_record_sample_layout *reel_sample_decoder_last_layout(
	const struct reel_sample_decoder *decoder);

/* LABELS, of the samples in the next record; its payload must live until the last one is read. */
struct reel_error *reel_sample_decode_labels(struct reel_sample_decoder *decoder,
					     const struct reel_record_frame *frame) REEL_MUST_CHECK;

/* FRAMES, in the same way. */
struct reel_error *reel_sample_decode_frames(struct reel_sample_decoder *decoder,
					     const struct reel_record_frame *frame) REEL_MUST_CHECK;

/*
 * Begins a record of samples, which are read one by one.  The frame's payload must live until the
 * last one is read.
 */
struct reel_error *reel_samples_begin(struct reel_sample_decoder *decoder,
				      const struct reel_record_frame *frame) REEL_MUST_CHECK;
/* True after reel_samples_begin until an error or until reel_samples_next finds no more. */
bool reel_samples_left(const struct reel_sample_decoder *decoder);
/* The next sample; *found_ret is false after the last one.  All that ret points to lives until the
 * decoder's next call. */
struct reel_error *reel_samples_next(struct reel_sample_decoder *decoder, struct reel_sample *ret,
				     bool *found_ret) REEL_MUST_CHECK;

#endif
