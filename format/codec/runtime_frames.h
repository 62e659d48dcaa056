/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FRAMES: the interpreter frames of the samples in the record that follows (SPEC.md, section 6.7).
 * A sample's frames, from the outermost on, are a path in a tree that all samples of the record
 * share: a sample names the node where it leaves the tree, and adds the others.
 */
#ifndef FORMAT_CODEC_RUNTIME_FRAMES_H
#define FORMAT_CODEC_RUNTIME_FRAMES_H

#include "base/error.h"
#include "base/hash_index.h"
#include "format/record.h"

/* A frame, and all frames outside of it; nodes are numbered from 1. */
struct reel_frame_node {
	uint64_t function, position;
	uint64_t native; /* of the innermost entry on the path where it is known; else 0 */
	uint32_t outer;	 /* number; 0: it is the outermost frame */
	uint16_t depth;	 /* frames up to and including this one */
	uint8_t kind;
};

struct reel_frame_tree {
	struct reel_frame_node *nodes;
	size_t n, capacity;
	uint64_t frames_left; /* limit for the frames of all samples of the record */
};

/* NULL if the format can hold the sample's frames, else why not. */
const char *reel_runtime_frames_check(const struct reel_sample *sample);

/* An empty one is all zero. */
struct reel_frame_encoder {
	struct reel_buffer payload;
	uint64_t bare; /* samples since the last one with frames */
	struct reel_frame_tree tree;
	struct reel_hash_index index; /* of nodes */
	uint64_t multiplier;
};

/* False for lack of memory. */
bool reel_runtime_frames_encode(struct reel_frame_encoder *encoder,
				const struct reel_sample *sample);
/* The record cannot take the frames of another sample. */
bool reel_frame_encoder_is_full(const struct reel_frame_encoder *encoder);
/* Forgets all frames. */
void reel_frame_encoder_reset(struct reel_frame_encoder *encoder);
void reel_frame_encoder_free(struct reel_frame_encoder *encoder);

/* An empty one is all zero. */
struct reel_frame_decoder {
	struct reel_cursor cursor;
	uint64_t bare; /* samples before the next one with frames, if `node` is not 0 */
	uint64_t runtime;
	bool is_cut;
	uint32_t node; /* of the next sample's innermost frame; 0: there are no more */
	bool given;    /* the frames are a sample's already */
	struct reel_frame_tree tree;
	struct reel_runtime_frame *frames; /* room for the most that a sample can have */
};

void reel_frame_decoder_free(struct reel_frame_decoder *decoder);
/* Forgets all frames. */
void reel_frame_decoder_reset(struct reel_frame_decoder *decoder);
/* Checks the whole payload, which must live until the last sample is decoded.  CORRUPT,
 * NO_MEMORY. */
struct reel_error *reel_runtime_frames_begin(struct reel_frame_decoder *decoder,
					     struct reel_cursor payload) REEL_MUST_CHECK;
/* Gives the next sample its frames, which live until the next call. */
void reel_runtime_frames_next(struct reel_frame_decoder *decoder, struct reel_sample *sample);
/* Whether frames are left, after the last sample. */
bool reel_runtime_frames_left(const struct reel_frame_decoder *decoder);

#endif
