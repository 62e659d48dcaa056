/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the encoder: sample_encoder.c, stream_words.c. */
#ifndef FORMAT_SAMPLE_ENCODER_PARTS_H
#define FORMAT_SAMPLE_ENCODER_PARTS_H

#include "format/codec.h"
#include "format/head_coder.h"
#include "format/sample_parts.h"
#include "format/sample_words.h"
#include "format/thread_table.h"
#include "format/word_coder.h"
#include "format/word_model.h"

struct reel_sample_encoder {
	struct reel_thread_table threads;
	/* Those of the block; a layout's id is its position. */
	struct reel_record_sample_layout layouts[REEL_LAYOUTS_MAX];
	size_t n_layouts;
	uint64_t previous_id, previous_time;
	/* Memory ran out within a sample: the state is not what a decoder would have. */
	bool broken;
	/* Of the target, for what does not tell by itself. */
	unsigned word_bytes;
	bool big_endian;
	struct reel_word_model *model;
	uint64_t n_samples;
	struct reel_buffer streams[REEL_STREAMS];
	/* Of REEL_FORM_CODED. */
	struct reel_word_coder *coder;
	struct reel_head_coder head;
	uint64_t period;
	/* A layout's payload, of which the size stands in front. */
	struct reel_buffer payload;
};

static inline bool reel_sample_knows(const struct reel_sample *sample, size_t i)
{
	return sample->known[i / 8] >> i % 8 & 1;
}

/* A word that is none of a region. */
void reel_stream_word_encode(struct reel_sample_encoder *encoder, uint64_t word,
			     const struct reel_word_place *place);
/* The words of a region that differ from `base`, from the top down, and the gaps between them; then
 * they do not differ any more. */
void reel_stream_words_encode(struct reel_sample_encoder *encoder,
			      const struct reel_word_walk *walk, uint8_t *base);

#endif
