/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a block to bytes and back (SPEC.md, section 6).  Samples are
 * stored as differences to their thread's previous one and taken apart into
 * streams, so an encoder and a decoder have a state that lives for a block.
 * There are two encodings of the same samples; who uses one does not see which.
 */
#ifndef FORMAT_CODEC_SAMPLES_H
#define FORMAT_CODEC_SAMPLES_H

#include "format/codec/streams.h"
#include "format/record.h"
#include "format/record_coder.h"

enum reel_encoding {
	REEL_COLUMNS = 0, /* a COLUMNS record: fast */
	REEL_DENSE = 1,	  /* a DENSE record: two to five times smaller, for ten times the CPU */
};

/* What is known of samples beforehand: it only decides how small they get. */
struct reel_sample_target {
	/* Of the words of a stack, where registers do not tell. */
	unsigned word_bits;
	bool big_endian;
	/* ns between the samples of a CPU, 0 if that is not known; for DENSE. */
	uint64_t period;
};

struct reel_sample_encoder;

struct reel_error *reel_sample_encoder_create(enum reel_encoding encoding,
					      const struct reel_sample_target *target,
					      struct reel_sample_encoder **ret) REEL_MUST_CHECK;
void reel_sample_encoder_destroy(struct reel_sample_encoder *encoder);
/* Forgets all samples. */
void reel_sample_encoder_reset(struct reel_sample_encoder *encoder);
/* The block may have no further sample, thread or layout: it has to end before the next one. */
bool reel_sample_encoder_is_full(const struct reel_sample_encoder *encoder);
/*
 * Takes the sample.  `records_ret` is increased by the number of records that the block gets
 * through it, `expanded_ret` by the bytes of all its regions.  Layouts are compared by content.
 *
 * INVALID for a sample that the format can't hold: nothing happened.
 * NO_MEMORY: the encoder holds the samples before it, and takes no more until it is reset.
 */
struct reel_error *reel_sample_encode(struct reel_sample_encoder *encoder,
				      const struct reel_sample *sample, uint32_t *records_ret,
				      uint64_t *expanded_ret) REEL_MUST_CHECK;
/* Bytes that its samples take so far. */
size_t reel_sample_encoder_size(const struct reel_sample_encoder *encoder);
/*
 * Appends the SAMPLE_LAYOUT records and that of samples, if there are samples, and forgets them.
 * `ends` are the ends of the streams in the buffer: bytes of one kind each; where there are none,
 * the end of what was there.  NO_MEMORY: `buffer` and the encoder are as before.
 */
struct reel_error *reel_sample_encoder_finish(struct reel_sample_encoder *encoder,
					      struct reel_buffer *buffer,
					      size_t ends[REEL_STREAMS]) REEL_MUST_CHECK;

struct reel_sample_decoder;

struct reel_error *reel_sample_decoder_create(struct reel_sample_decoder **ret) REEL_MUST_CHECK;
void reel_sample_decoder_destroy(struct reel_sample_decoder *decoder);
/*
 * Begins a block whose header says that all its regions have `expanded_size`
 * bytes: a sample that would exceed it is CORRUPT.
 */
void reel_sample_decoder_reset(struct reel_sample_decoder *decoder, uint64_t expanded_size);
/*
 * The same, of heads alone where the encoding keeps these by themselves (COLUMNS): samples have no
 * registers, regions and chains then.
 */
void reel_sample_decoder_reset_heads(struct reel_sample_decoder *decoder, uint64_t expanded_size);
/* SAMPLE_LAYOUT. */
struct reel_error *reel_sample_decode_layout(struct reel_sample_decoder *decoder,
					     const struct reel_record_frame *frame) REEL_MUST_CHECK;
/* The layout that was decoded last in this block, NULL if none was; it lives until the reset. */
const struct reel_record_sample_layout *reel_sample_decoder_last_layout(
	const struct reel_sample_decoder *decoder);

/*
 * A record of samples, which are then taken one after the other.  The frame's payload has to live
 * until the last one was.
 */
struct reel_error *reel_samples_begin(struct reel_sample_decoder *decoder,
				      const struct reel_record_frame *frame) REEL_MUST_CHECK;
/* True from there until an error, or until reel_samples_next found no further one. */
bool reel_samples_left(const struct reel_sample_decoder *decoder);
/* The next sample; *found_ret is false behind the last one.  All that ret points to lives until
 * the decoder's next call. */
struct reel_error *reel_samples_next(struct reel_sample_decoder *decoder, struct reel_sample *ret,
				     bool *found_ret) REEL_MUST_CHECK;

#endif
