/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COLUMNS for encoder.c and decoder.c: its state, the fields of a sample in both directions, and
 * the model that predicts words, which both update in the same way (SPEC.md, section 6).
 *
 * A sample is coded in this order: header; which registers changed, and pc; each region's place, as
 * places predict registers; registers; the words of each region; its chains.
 */
#ifndef FORMAT_CODEC_COLUMNS_H
#define FORMAT_CODEC_COLUMNS_H

#include <string.h>

#include "format/codec/samples.h"
#include "format/codec/thread_table.h"
#include "format/codec/words.h"

/* A sample's `parts`: which data follows. */
enum reel_sample_parts {
	REEL_PART_REGISTERS = 1 << 0,
	REEL_PART_KERNEL_CHAIN = 1 << 1,
	REEL_PART_FRAME_CHAIN = 1 << 2,
	REEL_PART_KERNEL_FRAME = 1 << 3,
	REEL_PART_STEPS = 1 << 4,
	REEL_PARTS_KNOWN = 31,
};

static inline bool reel_sample_knows(const struct reel_sample *sample, size_t i)
{
	return sample->known[i / 8] >> i % 8 & 1;
}

/* The n-th address of a chain, or 0: kernel frames' addresses are stored as differences to it. */
static inline uint64_t reel_chain_get(const uint64_t *chain, size_t n_chain, size_t n)
{
	return n < n_chain ? chain[n] : 0;
}

/* address + size <= 2^64, without the sum. */
static inline bool reel_region_fits(uint64_t address, uint64_t size)
{
	return !size || address <= UINT64_MAX - (size - 1);
}

static inline bool reel_bytes_are_zero(const uint8_t *bytes, size_t size)
{
	/* Each byte equals the previous one, and the first is 0. */
	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

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
	/* Values.  The decoder's recent ones begin at `newest` and continue at the start.  It counts
	 * down past 0, which takes a power of 2. */
	uint64_t recent[REEL_WORD_RECENT], dictionary[REEL_WORD_DICTIONARY];
	unsigned newest;
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

_Static_assert(!(REEL_WORD_RECENT & (REEL_WORD_RECENT - 1)), "newest wraps");

static inline uint64_t *reel_word_recent(struct reel_word_model *model, unsigned rank)
{
	return &model->recent[(model->newest + rank) % REEL_WORD_RECENT];
}

/* Makes it the most recent word; it is not among the recent ones, or stays there twice. */
static inline void reel_word_model_add(struct reel_word_model *model, uint64_t word)
{
	model->newest--;
	*reel_word_recent(model, 0) = word;
	model->dictionary[reel_word_dictionary_index(word)] = word;
}

/* Makes the word at `rank` the most recent one. */
static inline uint64_t reel_word_model_use(struct reel_word_model *model, unsigned rank)
{
	uint64_t word = *reel_word_recent(model, rank);

	for (; rank; rank--)
		*reel_word_recent(model, rank) = *reel_word_recent(model, rank - 1);
	*reel_word_recent(model, 0) = word;
	model->dictionary[reel_word_dictionary_index(word)] = word;
	return word;
}

static inline uint8_t reel_word_high_index(uint64_t high)
{
	return (uint8_t)((high * 0x9E3779B97F4A7C15u) >> 56);
}

struct reel_columns {
	/* The record's streams: samples are encoded to `out` and decoded from `in`. */
	struct reel_buffer out[REEL_STREAMS];
	struct reel_cursor in[REEL_STREAMS];
	uint64_t previous_id, previous_time;
	/* The sample's changed registers; the bit above them is pc's. */
	uint8_t changed[REEL_REGISTERS_MAX / 8 + 1];
	struct reel_word_model *model;
};

/* Needs `columns` zeroed, and leaves it so that reel_columns_free takes it.  NO_MEMORY. */
struct reel_error *reel_columns_init(struct reel_columns *columns) REEL_MUST_CHECK;
void reel_columns_free(struct reel_columns *columns);

/* A record begins: forgets everything learned. */
void reel_columns_begin(struct reel_columns *columns);

void reel_columns_encode_header(struct reel_columns *columns, const struct reel_sample *sample,
				uint64_t parts);
/* `thread` has the values of the thread's previous sample; they become this sample's. */
void reel_columns_encode_pc(struct reel_columns *columns, const struct reel_sample *sample,
			    const struct reel_thread_base *thread);
void reel_columns_encode_place(struct reel_columns *columns, const struct reel_region *region,
			       const struct reel_region_base *base);
void reel_columns_encode_registers(struct reel_columns *columns, const struct reel_sample *sample,
				   struct reel_thread_base *thread);
/* Encodes a word outside regions. */
void reel_columns_encode_word(struct reel_columns *columns, uint64_t word,
			      const struct reel_word_place *place);
/* Encodes a region's words that differ from `base`, from the top down, and the gaps between them;
 * then updates `base`. */
void reel_columns_encode_words(struct reel_columns *columns, const struct reel_word_walk *walk,
			       uint8_t *base);

/* The same from streams, which are hostile: values are checked as far as the next function relies
 * on them.  CORRUPT. */
struct reel_error *reel_columns_decode_header(struct reel_columns *columns, uint64_t *parts_ret,
					      struct reel_sample *ret) REEL_MUST_CHECK;
/* sample->layout and `known` are set. */
struct reel_error *reel_columns_decode_pc(struct reel_columns *columns,
					  const struct reel_sample *sample,
					  const struct reel_thread_base *thread,
					  uint64_t *ret) REEL_MUST_CHECK;
/* *size_ret may have any value. */
void reel_columns_decode_place(struct reel_columns *columns, const struct reel_region_base *base,
			       uint64_t *address_ret, uint64_t *size_ret);
/* sample->pc and the regions' addresses and sizes are set as well. */
struct reel_error *reel_columns_decode_registers(struct reel_columns *columns,
						 const struct reel_sample *sample,
						 struct reel_thread_base *thread) REEL_MUST_CHECK;
struct reel_error *reel_columns_decode_words(struct reel_columns *columns,
					     const struct reel_word_walk *walk,
					     uint8_t *bytes) REEL_MUST_CHECK;

#endif
