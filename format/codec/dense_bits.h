/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary range coder: converts decisions, each with its predicted probability, to bytes and back
 * (SPEC.md, annex A.2).  Encoder and decoder run the same code, so that their predictions agree; in
 * integers, so that these agree on every CPU.
 */
#ifndef FORMAT_CODEC_DENSE_BITS_H
#define FORMAT_CODEC_DENSE_BITS_H

#include "base/bytes.h"

/* Functions that either encode or decode: each is compiled for both. Builds for fuzzing define it
 * otherwise. */
#ifndef REEL_BOTH_WAYS
#define REEL_BOTH_WAYS static inline __attribute__((always_inline))
#endif

/* Probabilities are for a true decision, in 1/65536. */
#define REEL_BIT_LEAST	24
#define REEL_BIT_SCALE	65536
#define REEL_BIT_COUNTS 127
/* The maximum number of contexts that predict one decision. */
#define REEL_BIT_INPUTS 4
/* Weights of a mix, in 1/65536. */
#define REEL_BIT_WEIGHT_START 80000 /* of all */
#define REEL_BIT_WEIGHT_MAX   (1 << 20)
#define REEL_BIT_ODDS_MAX     2047

/* Statistics of a context.  All 0 is new. */
struct reel_bit_context {
	uint16_t probability; /* xor 32768 */
	uint16_t n_seen : 7;  /* at most REEL_BIT_COUNTS */
	uint16_t check : 9;   /* identifies the owner where the place does not */
};

/* How much each context is trusted among those that predict the same decision. */
struct reel_bit_mix {
	int32_t weights[REEL_BIT_INPUTS];
};

struct reel_bit_coder {
	uint32_t low, high; /* the remaining range, both included */
	uint32_t code;	    /* decoder: the code read, within the range */
	struct reel_buffer *out;
	struct reel_cursor *in;
};

void reel_bit_coder_encode_to(struct reel_bit_coder *coder, struct reel_buffer *out);
/* After the last decision: writes the remaining bytes. */
void reel_bit_coder_finish(struct reel_bit_coder *coder);
/* The cursor fails if there are too few bytes. */
void reel_bit_coder_decode_from(struct reel_bit_coder *coder, struct reel_cursor *in);

/* ln(p / (1 - p)), in 1/256, of 4096 probabilities; and its reverse, of [-2048, 2047]. */
struct reel_bit_tables {
	int16_t odds[4096];
	uint16_t probabilities[4096];
	uint16_t rates[REEL_BIT_COUNTS + 1];
};

void reel_bit_tables_fill(struct reel_bit_tables *ret);

static inline uint32_t reel_bit_probability(const struct reel_bit_context *context)
{
	return context->probability ^ 32768u;
}

/* A decision that is true with `probability`; `bit` is its value when encoding, ignored when
 * decoding. */
REEL_BOTH_WAYS bool reel_bit_code(struct reel_bit_coder *coder, bool decoding, bool bit,
				  uint32_t probability)
{
	uint32_t middle =
		coder->low + (uint32_t)((uint64_t)(coder->high - coder->low) * probability >> 16);

	if (decoding)
		bit = coder->code <= middle;
	if (bit)
		coder->high = middle;
	else
		coder->low = middle + 1;
	while (!((coder->low ^ coder->high) >> 24)) {
		if (decoding)
			coder->code = coder->code << 8 | reel_cursor_u8(coder->in);
		else
			reel_buffer_u8(coder->out, (uint8_t)(coder->high >> 24));
		coder->low <<= 8;
		coder->high = coder->high << 8 | 255;
	}
	return bit;
}

static inline void reel_bit_update(const struct reel_bit_tables *tables,
				   struct reel_bit_context *context, bool bit)
{
	int32_t probability = (int32_t)reel_bit_probability(context);
	int64_t error = (bit ? REEL_BIT_SCALE - 1 : 0) - probability;

	/* Shifts of negative numbers round down (SPEC.md). */
	probability += (int32_t)((error * tables->rates[context->n_seen]) >> 16);
	context->probability = (uint16_t)((uint32_t)probability ^ 32768u);
	if (context->n_seen < REEL_BIT_COUNTS)
		context->n_seen++;
}

/* A decision predicted by one context. */
REEL_BOTH_WAYS bool reel_bit_code_one(struct reel_bit_coder *coder,
				      const struct reel_bit_tables *tables, bool decoding, bool bit,
				      struct reel_bit_context *context)
{
	uint32_t probability = reel_bit_probability(context);

	if (probability < REEL_BIT_LEAST)
		probability = REEL_BIT_LEAST;
	if (probability > REEL_BIT_SCALE - REEL_BIT_LEAST)
		probability = REEL_BIT_SCALE - REEL_BIT_LEAST;
	bit = reel_bit_code(coder, decoding, bit, probability);
	reel_bit_update(tables, context, bit);
	return bit;
}

static inline int32_t reel_bit_odds(const struct reel_bit_tables *tables,
				    const struct reel_bit_context *context)
{
	return context->n_seen ? tables->odds[reel_bit_probability(context) >> 4] : 0;
}

static inline void reel_bit_weigh(int32_t *weight, int32_t odds, int32_t error)
{
	int64_t changed = *weight + (((int64_t)odds * error) >> 14);

	if (changed > REEL_BIT_WEIGHT_MAX)
		changed = REEL_BIT_WEIGHT_MAX;
	if (changed < -REEL_BIT_WEIGHT_MAX)
		changed = -REEL_BIT_WEIGHT_MAX;
	*weight = (int32_t)changed;
}

static inline void reel_bit_mix_start(struct reel_bit_mix *mix, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		mix->weights[i] = (int32_t)(REEL_BIT_WEIGHT_START / n);
}

/* A decision predicted by `n` contexts. */
REEL_BOTH_WAYS bool reel_bit_code_mixed(struct reel_bit_coder *coder,
					const struct reel_bit_tables *tables, bool decoding,
					bool bit, struct reel_bit_context *const *contexts,
					unsigned n, struct reel_bit_mix *mix)
{
	int32_t odds[REEL_BIT_INPUTS], error;
	uint32_t probability;
	int64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		odds[i] = reel_bit_odds(tables, contexts[i]);
		sum += (int64_t)mix->weights[i] * odds[i];
	}
	sum >>= 16;
	if (sum > REEL_BIT_ODDS_MAX)
		sum = REEL_BIT_ODDS_MAX;
	if (sum < -REEL_BIT_ODDS_MAX)
		sum = -REEL_BIT_ODDS_MAX;
	probability = tables->probabilities[sum + REEL_BIT_ODDS_MAX + 1];
	bit = reel_bit_code(coder, decoding, bit, probability);
	error = (bit ? REEL_BIT_SCALE - 1 : 0) - (int32_t)probability;
	for (unsigned i = 0; i < n; i++) {
		reel_bit_weigh(&mix->weights[i], odds[i], error);
		reel_bit_update(tables, contexts[i], bit);
	}
	return bit;
}

#endif
