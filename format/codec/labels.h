/* SPDX-License-Identifier: Apache-2.0 */
/* LABELS: the labels of the samples in the record that follows (SPEC.md, section 6.6). */
#ifndef FORMAT_CODEC_LABELS_H
#define FORMAT_CODEC_LABELS_H

#include "base/error.h"
#include "format/record.h"

/* NULL if the format can hold the sample's labels, else why not. */
const char *reel_labels_check(const struct reel_sample *sample);

/* An empty one is all zero. */
struct reel_label_encoder {
	struct reel_buffer payload;
	uint64_t unlabelled; /* samples since the last one with labels */
};

/* The payload may fail for lack of memory. */
void reel_labels_encode(struct reel_label_encoder *encoder, const struct reel_sample *sample);
void reel_label_encoder_reset(struct reel_label_encoder *encoder);

/* An empty one is all zero. */
struct reel_label_decoder {
	struct reel_cursor cursor;
	uint64_t unlabelled; /* samples before the next one with labels, if `n` is not 0 */
	size_t n;
	bool given; /* the labels are a sample's already */
	struct reel_sample_label labels[REEL_LABELS_MAX];
};

/* Checks the whole payload, which must live until the last sample is decoded.  CORRUPT. */
struct reel_error *reel_labels_begin(struct reel_label_decoder *decoder,
				     struct reel_cursor payload) REEL_MUST_CHECK;
/* Gives the next sample its labels, which live until the next call. */
void reel_labels_next(struct reel_label_decoder *decoder, struct reel_sample *sample);
/* Whether labels are left, after the last sample. */
bool reel_labels_left(const struct reel_label_decoder *decoder);

#endif
