/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the decoder: sample_decoder.c, samples_decoder.c. */
#ifndef FORMAT_SAMPLE_DECODER_PARTS_H
#define FORMAT_SAMPLE_DECODER_PARTS_H

#include "format/codec.h"
#include "format/head_coder.h"
#include "format/sample_parts.h"
#include "format/thread_table.h"
#include "format/word_coder.h"
#include "format/word_model.h"

/* A growing array that is used again for every sample. */
struct reel_decoder_array {
	void *items;
	size_t capacity;
};

struct reel_sample_decoder {
	struct reel_thread_table threads;
	struct reel_record_sample_layout layouts[REEL_LAYOUTS_MAX];
	size_t n_layouts;
	uint64_t previous_id, previous_time;
	/* Bytes that regions may still have in this block. */
	uint64_t expanded_left;
	/* What the decoded sample points to. */
	struct reel_region regions[REEL_REGIONS_MAX];
	struct reel_decoder_array missing[REEL_REGIONS_MAX]; /* of struct reel_range */
	struct reel_decoder_array kernel_chain, frame_chain; /* of uint64_t */

	/* The SAMPLES or CODED_SAMPLES that is being decoded. */
	struct reel_word_model *model; /* NULL until there is a SAMPLES */
	struct reel_word_coder *coder; /* NULL until there is a CODED_SAMPLES */
	struct reel_head_coder head;
	bool coded;
	struct reel_cursor streams[REEL_STREAMS];
	uint64_t n_samples, next_sample;
	bool in_samples;
	uint8_t words[REEL_REGIONS_MAX]; /* each region's `words` */
};

struct reel_error *reel_decoder_corrupt(const char *what);
struct reel_error *reel_decoder_ends_within(const char *what);
/* Forgets the samples so far. */
void reel_decoder_forget(struct reel_sample_decoder *decoder);
/* n_layouts if there is none of that id. */
size_t reel_decoder_find_layout(const struct reel_sample_decoder *decoder, uint64_t id);
/* Padding bits are 0, and only what is known may change. */
bool reel_decoder_masks_are_valid(const uint8_t *known, const uint8_t *changed, size_t n);
struct reel_error *reel_decoder_missing(struct reel_cursor *cursor,
					struct reel_decoder_array *array,
					struct reel_region *region) REEL_MUST_CHECK;
bool reel_decoder_missing_are_zero(const struct reel_region *region);
/* Takes the region's size off what the block's header allows. */
struct reel_error *reel_decoder_check_region(struct reel_sample_decoder *decoder, uint64_t address,
					     uint64_t size) REEL_MUST_CHECK;
/* See struct reel_region; from `end` on nothing was written over what `before` had. */
size_t reel_decoder_unchanged_from(const struct reel_region_base *before,
				   const struct reel_region *region, size_t end);
/* The chains and the kernel frame that `parts` names, off one cursor. */
struct reel_error *reel_decoder_chains(struct reel_sample_decoder *decoder,
				       struct reel_cursor *cursor, uint64_t parts,
				       struct reel_thread_base *base,
				       struct reel_sample *ret) REEL_MUST_CHECK;
/* Its parts are ones that this version knows. */
struct reel_error *reel_decoder_check_parts(uint64_t parts) REEL_MUST_CHECK;

#endif
