/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the words of a block's stacks and registers are guessed from: encoder
 * and decoder keep the same (SPEC.md, section 6, "Words").
 */
#ifndef FORMAT_WORD_MODEL_H
#define FORMAT_WORD_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "format/error.h"
#include "format/new_words.h"

#define REEL_WORD_GUESSES    65536
#define REEL_WORD_RECENT     16
#define REEL_WORD_DICTIONARY 4096
/* Entries that changed are cleared one by one if they are no more than this. */
#define REEL_WORD_TOUCHED 4096

/* How a word is written: a byte each, behind which it stands in other streams. */
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
	/* Entries of by_place and by_words; more than REEL_WORD_TOUCHED: all may have changed. */
	uint16_t touched[2][REEL_WORD_TOUCHED];
	uint32_t n_touched;
};

/* Where a word stands. */
struct reel_word_place {
	uint64_t address;	/* what addresses of the stack are relative to */
	uint64_t stack, size;	/* the region: what is an address of the stack */
	uint64_t key;		/* of the place */
	uint64_t above, second; /* relative values of the two words above it */
	unsigned bytes;		/* 4 or 8 */
};

/* Bit 63 marks the value as relative to its address. */
#define REEL_WORD_RELATIVE ((uint64_t)1 << 63)

/* The upper bits are the best ones. */
static inline uint64_t reel_word_mix(uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9E3779B97F4A7C15u) ^ (b * 0xC2B2AE3D27D4EB4Fu);

	hash ^= hash >> 29;
	return hash * 0xBF58476D1CE4E5B9u;
}

/* Is it an address of the region that lies whole words away from the word's own? */
static inline bool reel_word_is_stack(uint64_t word, const struct reel_word_place *place)
{
	return word - place->stack <= place->size &&
	       !((word - place->address) & (place->bytes - 1));
}

/* The same for the same word in a frame that lies elsewhere. */
static inline uint64_t reel_word_relative(uint64_t word, const struct reel_word_place *place)
{
	return reel_word_is_stack(word, place) ? (word - place->address) | REEL_WORD_RELATIVE
					       : word;
}

/* What a guess stands for at this place. */
static inline uint64_t reel_word_of_guess(uint64_t guess, const struct reel_word_place *place)
{
	/* The distance's sign is bit 62. */
	uint64_t target = place->address + (uint64_t)((int64_t)(guess << 1) >> 1);
	uint64_t word = guess & REEL_WORD_RELATIVE ? target : guess;

	return place->bytes == 4 ? word & UINT32_MAX : word;
}

struct reel_word_guesses {
	uint32_t place, words; /* indices */
};

static inline struct reel_word_guesses reel_word_guesses_at(const struct reel_word_place *place)
{
	return (struct reel_word_guesses){
		(uint32_t)(reel_word_mix(place->above, place->key) >> 48),
		(uint32_t)(reel_word_mix(place->above, place->second) >> 48),
	};
}

static inline void reel_word_model_learn(struct reel_word_model *model,
					 struct reel_word_guesses guesses, uint64_t relative)
{
	model->by_place[guesses.place] = relative;
	model->by_words[guesses.words] = relative;
	if (model->n_touched < REEL_WORD_TOUCHED) {
		model->touched[0][model->n_touched] = (uint16_t)guesses.place;
		model->touched[1][model->n_touched] = (uint16_t)guesses.words;
		model->n_touched++;
	} else {
		model->n_touched = REEL_WORD_TOUCHED + 1;
	}
}

static inline uint32_t reel_word_dictionary_index(uint64_t word)
{
	return (uint32_t)((word * 0x9E3779B97F4A7C15u) >> 52);
}

/* Makes it the first of the recent ones; what was at `rank` goes, the last one for a new word. */
static inline void reel_word_model_use(struct reel_word_model *model, uint64_t word, unsigned rank)
{
	memmove(model->recent + 1, model->recent, rank * sizeof(*model->recent));
	model->recent[0] = word;
	model->dictionary[reel_word_dictionary_index(word)] = word;
}

struct reel_error *reel_word_model_create(struct reel_word_model **ret) REEL_MUST_CHECK;
/* Forgets all. */
void reel_word_model_reset(struct reel_word_model *model);
void reel_word_model_destroy(struct reel_word_model *model);

#endif
