/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "format/codec/dense_chains.h"
#include "format/codec/dense_numbers.h"

enum salt {
	SALT_GONE = 2040,
	SALT_MORE = 2042,
	SALT_ADDRESS = 2044,
};

/* A position in a chain, going from the root to the leaf: the last two addresses. */
struct position {
	uint64_t caller, outer;
	const struct reel_chain_base *base;
	size_t left; /* addresses of `base` not yet matched */
};

static struct position position_behind(const struct reel_chain_base *base, size_t gone)
{
	return (struct position){
		.caller = reel_chain_get(base->addresses, base->n, gone),
		.outer = reel_chain_get(base->addresses, base->n, gone + 1),
		.base = base,
		.left = gone,
	};
}

static void step(struct position *position, uint64_t address)
{
	position->outer = position->caller;
	position->caller = address;
	position->left -= position->left > 0;
}

/* The number of the previous chain's addresses missing in this one, from the leaf on. */
static uint64_t code_gone(struct reel_number_coder *numbers, bool decoding,
			  const struct reel_coder_chain *which, const struct reel_chain_base *base,
			  uint64_t gone)
{
	uint64_t salt = SALT_GONE + which->kind;
	uint64_t leaf = reel_chain_get(base->addresses, base->n, 0);
	uint64_t caller = reel_chain_get(base->addresses, base->n, 1);
	const struct reel_number_context context = {
		REEL_NUMBER_GONE,
		{ reel_word_mix(leaf, salt), reel_word_mix(leaf, reel_word_mix(caller, salt)),
		  reel_word_mix(which->pc, reel_word_mix(which->pc_before, salt)) },
	};

	return decoding ? reel_number(numbers, true, 0, 12, &context)
			: reel_number(numbers, false, gone, 12, &context);
}

/* Whether there is another address below. */
static bool code_more(struct reel_number_coder *numbers, bool decoding,
		      const struct reel_coder_chain *which, const struct position *position,
		      bool more)
{
	uint64_t salt = SALT_MORE + which->kind;
	const struct reel_number_context context = {
		REEL_NUMBER_CALLS,
		{ reel_word_mix(position->caller, salt),
		  reel_word_mix(position->caller, reel_word_mix(position->outer, salt)),
		  reel_word_mix(position->left > 0, salt) },
	};

	return decoding ? reel_number_bits(numbers, true, 0, 1, &context, 0)
			: reel_number_bits(numbers, false, more, 1, &context, 0);
}

/* The next address below. */
static uint64_t code_address(struct reel_dense_words *words, bool decoding,
			     const struct reel_coder_chain *which, const struct position *position,
			     bool differs, uint64_t address)
{
	size_t left = position->left;
	const struct reel_dense_address place = {
		.salt = SALT_ADDRESS + which->kind,
		.caller = position->caller,
		.outer = position->outer,
		.before = left ? position->base->addresses[left - 1] : 0,
		.differs = differs && left,
	};

	return reel_dense_words_code_address(words, decoding, address, &place);
}

/* The number of equal addresses in both, from the root on. */
static size_t common(const uint64_t *chain, size_t n, const struct reel_chain_base *base)
{
	size_t i = 0;

	while (i < n && i < base->n && chain[n - 1 - i] == base->addresses[base->n - 1 - i])
		i++;
	return i;
}

bool reel_dense_chain_encode(struct reel_dense_words *words, const struct reel_coder_chain *which,
			     const uint64_t *chain, size_t n, struct reel_chain_base *base)
{
	struct reel_number_coder *numbers = reel_dense_words_numbers(words);
	size_t kept = common(chain, n, base), gone = base->n - kept;
	struct position position = position_behind(base, gone);

	code_gone(numbers, false, which, base, gone);
	for (size_t i = n - kept; i-- > 0; step(&position, chain[i])) {
		code_more(numbers, false, which, &position, true);
		code_address(words, false, which, &position, i + 1 == n - kept, chain[i]);
	}
	code_more(numbers, false, which, &position, false);
	if (!reel_chain_base_replace(base, gone, n - kept))
		return false;
	for (size_t i = 0; i < n - kept; i++)
		base->addresses[i] = chain[i];
	return true;
}

/* Decodes the addresses that differ; returns their number. */
static struct reel_error *decode_added(struct reel_dense_chains *chains,
				       struct reel_dense_words *words,
				       const struct reel_coder_chain *which,
				       struct position position, size_t most, size_t *n_ret)
{
	struct reel_number_coder *numbers = reel_dense_words_numbers(words);
	size_t n = 0;

	while (code_more(numbers, true, which, &position, false) && !numbers->bits.in->failed) {
		uint64_t address;

		if (n == most)
			return reel_error_create(REEL_ERROR_CORRUPT,
						 "a chain has more than %d addresses",
						 REEL_CHAIN_MAX);
		if (!reel_array_reserve(&chains->added, n, &chains->capacity,
					sizeof(*chains->added)))
			return reel_error_no_memory();
		address = code_address(words, true, which, &position, !n, 0);
		chains->added[n++] = address;
		step(&position, address);
	}
	*n_ret = n;
	return NULL;
}

struct reel_error *reel_dense_chain_decode(struct reel_dense_chains *chains,
					   struct reel_dense_words *words,
					   const struct reel_coder_chain *which,
					   struct reel_chain_base *base)
{
	uint64_t gone = code_gone(reel_dense_words_numbers(words), true, which, base, 0);
	size_t n;

	if (gone > base->n)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "more addresses of a chain are removed than it had");
	TRY(decode_added(chains, words, which, position_behind(base, gone),
			 REEL_CHAIN_MAX - (base->n - gone), &n));
	if (!reel_chain_base_replace(base, gone, n))
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++)
		base->addresses[i] = chains->added[n - 1 - i];
	return NULL;
}

void reel_dense_chains_free(struct reel_dense_chains *chains)
{
	free(chains->added);
}
