/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internals of COLUMNS: its state, and the model that predicts words, which encoder and decoder
 * update in the same way (SPEC.md, section 6, "Words").
 */
#ifndef FORMAT_CODEC_COLUMNS_H
#define FORMAT_CODEC_COLUMNS_H

#include "format/codec/coder.h"

#define REEL_WORD_GUESSES    65536
#define REEL_WORD_RECENT     16
#define REEL_WORD_DICTIONARY 4096
#define REEL_WORD_HIGHS	     256
/* Up to this many changed entries are cleared one by one. */
#define REEL_WORD_TOUCHED 4096

/* How a word is written: one byte each; further data is in other streams. */
enum reel_word_token {
	REEL_WORD_BY_PLACE = 0,
	REEL_WORD_BY_WORDS = 1,
	REEL_WORD_ZERO = 2,
	REEL_WORD_NEAR = 3,
	REEL_WORD_FAR = 4,
	REEL_WORD_KNOWN = 5, /* in the dictionary */
	REEL_WORD_HIGH = 6,
	REEL_WORD_RAW = 7,
	REEL_WORD_RECENT_FIRST = 8,
	REEL_WORD_TOKENS = REEL_WORD_RECENT_FIRST + REEL_WORD_RECENT,
};

struct reel_word_model {
	/* Relative values (reel_word_relative). */
	uint64_t by_place[REEL_WORD_GUESSES], by_words[REEL_WORD_GUESSES];
	/* Values. */
	uint64_t recent[REEL_WORD_RECENT], dictionary[REEL_WORD_DICTIONARY];
	uint64_t highs[REEL_WORD_HIGHS]; /* without the low 24 bits */
	/* Changed entries of by_place and by_words; above REEL_WORD_TOUCHED: perhaps all. */
	uint16_t touched[2][REEL_WORD_TOUCHED];
	uint32_t n_touched;
};

struct reel_word_predictions {
	uint32_t place, words; /* indices */
};

static inline struct reel_word_predictions reel_word_predictions_at(
	const struct reel_word_place *place)
{
	return (struct reel_word_predictions){
		(uint32_t)(reel_word_mix(place->above, place->key) >> 48),
		(uint32_t)(reel_word_mix(place->above, place->second) >> 48),
	};
}

static inline void reel_word_model_update(struct reel_word_model *model,
					  struct reel_word_predictions predictions,
					  uint64_t relative)
{
	model->by_place[predictions.place] = relative;
	model->by_words[predictions.words] = relative;
	if (model->n_touched < REEL_WORD_TOUCHED) {
		model->touched[0][model->n_touched] = (uint16_t)predictions.place;
		model->touched[1][model->n_touched] = (uint16_t)predictions.words;
		model->n_touched++;
	} else {
		model->n_touched = REEL_WORD_TOUCHED + 1;
	}
}

/* Makes it the most recent word, removing the one at `rank`: the last one for a new word. */
static inline void reel_word_model_use(struct reel_word_model *model, uint64_t word, unsigned rank)
{
	memmove(model->recent + 1, model->recent, rank * sizeof(*model->recent));
	model->recent[0] = word;
	model->dictionary[reel_word_dictionary_index(word)] = word;
}

static inline uint8_t reel_word_high_index(uint64_t high)
{
	return (uint8_t)((high * 0x9E3779B97F4A7C15u) >> 56);
}

struct reel_columns {
	struct reel_coder coder;
	uint64_t previous_id, previous_time;
	/* The sample's changed registers; the bit above them is pc's. */
	uint8_t changed[REEL_REGISTERS_MAX / 8 + 1];
	struct reel_word_model model;
};

/* Encodes a word outside regions. */
void reel_columns_encode_word(struct reel_columns *columns, uint64_t word,
			      const struct reel_word_place *place);
/* Encodes a region's words that differ from `base`, from the top down, and the gaps between them;
 * then updates `base`. */
void reel_columns_encode_words(struct reel_columns *columns, const struct reel_word_walk *walk,
			       uint8_t *base);

#endif
