/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as decisions (SPEC.md, annex A.3): each bit is predicted from three contexts.  All
 * functions with `decoding` run in both directions: they return the decoded value, and when
 * decoding they ignore the value passed in.
 */
#ifndef FORMAT_CODEC_DENSE_NUMBERS_H
#define FORMAT_CODEC_DENSE_NUMBERS_H

#include "format/codec/dense_bits.h"
#include "format/codec/words.h"

#define REEL_NUMBER_CONTEXTS 3
/* Bits of a number that share a line of contexts: one cache line on most CPUs. */
#define REEL_NUMBER_LINE  4
#define REEL_NUMBER_LINES 16
/* Mixes of each kind of numbers: one for each bit, the last one for all further bits. */
#define REEL_NUMBER_MIXES 16

/* The kinds of numbers: each learns on its own how much to trust its contexts. */
enum reel_number_kind {
	REEL_NUMBER_CLASS,
	REEL_NUMBER_LEFT, /* words that change */
	REEL_NUMBER_MORE, /* words that stay */
	REEL_NUMBER_RECENT,
	REEL_NUMBER_DISTANCE,
	REEL_NUMBER_KNOWN,
	REEL_NUMBER_HIGH,
	REEL_NUMBER_LOW,
	REEL_NUMBER_ADDRESS,
	REEL_NUMBER_FIELD,
	REEL_NUMBER_GONE,  /* addresses of a chain */
	REEL_NUMBER_CALLS, /* whether there is another */
	REEL_NUMBER_KINDS,
};

/* All 0 is new, except for `mixes`. */
struct reel_number_model {
	struct reel_bit_context lines[1 << REEL_NUMBER_LINES][1 << REEL_NUMBER_LINE];
	struct reel_bit_mix mixes[REEL_NUMBER_KINDS][REEL_NUMBER_MIXES];
};

struct reel_number_coder {
	struct reel_bit_coder bits;
	struct reel_bit_tables tables;
	struct reel_number_model *model;
};

/* The contexts that predict a number. */
struct reel_number_context {
	enum reel_number_kind kind;
	uint64_t contexts[REEL_NUMBER_CONTEXTS];
};

static inline void reel_number_model_start(struct reel_number_model *model)
{
	for (size_t kind = 0; kind < REEL_NUMBER_KINDS; kind++)
		for (size_t i = 0; i < REEL_NUMBER_MIXES; i++)
			reel_bit_mix_start(&model->mixes[kind][i], REEL_NUMBER_CONTEXTS);
}

/* Finds a line for each context. */
static inline void reel_number_lines(struct reel_number_model *model,
				     const struct reel_number_context *context, uint64_t salt,
				     struct reel_bit_context *ret[REEL_NUMBER_CONTEXTS])
{
	for (unsigned i = 0; i < REEL_NUMBER_CONTEXTS; i++)
		ret[i] = model->lines[reel_word_mix(context->contexts[i], salt * 4 + i) >>
				      (64 - REEL_NUMBER_LINES)];
}

/* The `bits` lower bits of `value`, the highest first; `part` of a number with several. */
REEL_BOTH_WAYS uint64_t reel_number_bits(struct reel_number_coder *coder, bool decoding,
					 uint64_t value, unsigned bits,
					 const struct reel_number_context *context, unsigned part)
{
	struct reel_bit_mix *mixes = coder->model->mixes[context->kind];
	uint64_t result = 0;
	unsigned n = 0;

	while (bits) {
		struct reel_bit_context *lines[REEL_NUMBER_CONTEXTS];
		unsigned node = 1, step = bits < REEL_NUMBER_LINE ? bits : REEL_NUMBER_LINE;

		reel_number_lines(coder->model, context, (result * 64 + bits) * 64 + part, lines);
		for (; step; step--, n++) {
			struct reel_bit_context *contexts[REEL_NUMBER_CONTEXTS];
			bool bit = value >> --bits & 1;

			for (unsigned i = 0; i < REEL_NUMBER_CONTEXTS; i++)
				contexts[i] = &lines[i][node];
			bit = reel_bit_code_mixed(
				&coder->bits, &coder->tables, decoding, bit, contexts,
				REEL_NUMBER_CONTEXTS,
				&mixes[n < REEL_NUMBER_MIXES ? n : REEL_NUMBER_MIXES - 1]);
			node = node << 1 | bit;
			result = result << 1 | bit;
		}
	}
	return result;
}

/*
 * Any number: first the bit count of the number plus 1; then the upper `expected` bits below the
 * highest, predicted; then the other bits unpredicted.
 */
REEL_BOTH_WAYS uint64_t reel_number(struct reel_number_coder *coder, bool decoding, uint64_t value,
				    unsigned expected, const struct reel_number_context *context)
{
	uint64_t more = value + 1, result;
	unsigned size = more ? 63 - (unsigned)__builtin_clzll(more) : 64, upper;

	size = (unsigned)reel_number_bits(coder, decoding, size, 7, context, 0);
	if (size >= 64)
		return UINT64_MAX;
	upper = size < expected ? size : expected;
	result = (uint64_t)1 << upper |
		 reel_number_bits(coder, decoding,
				  more >> (size - upper) & (((uint64_t)1 << upper) - 1), upper,
				  context, size + 1);
	for (unsigned i = size - upper; i-- > 0;)
		result = result << 1 |
			 reel_bit_code(&coder->bits, decoding, more >> i & 1, REEL_BIT_SCALE / 2);
	return result - 1;
}

/* Any difference; small ones take few bits. */
REEL_BOTH_WAYS uint64_t reel_number_difference(struct reel_number_coder *coder, bool decoding,
					       uint64_t difference, unsigned expected,
					       const struct reel_number_context *context)
{
	return (uint64_t)reel_unzigzag(
		reel_number(coder, decoding, reel_zigzag((int64_t)difference), expected, context));
}

#endif
