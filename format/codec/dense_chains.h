/* SPDX-License-Identifier: Apache-2.0 */
/* DENSE: chains of addresses, from the root to the leaf (SPEC.md, annex A.7). */
#ifndef FORMAT_CODEC_DENSE_CHAINS_H
#define FORMAT_CODEC_DENSE_CHAINS_H

#include "base/error.h"
#include "format/codec/dense_words.h"

/* Addresses that differ from the thread's previous chain. */
struct reel_dense_chains {
	uint64_t *added; /* from the root's end */
	size_t capacity;
};

void reel_dense_chains_free(struct reel_dense_chains *chains);
/* `base` is the thread's previous chain, and becomes this one; false if out of memory. */
bool reel_dense_chain_encode(struct reel_dense_words *words, const struct reel_coder_chain *which,
			     const uint64_t *chain, size_t n, struct reel_chain_base *base);
/* CORRUPT for a chain that is too long; if stream 5 ends within it, its cursor has failed. */
struct reel_error *reel_dense_chain_decode(struct reel_dense_chains *chains,
					   struct reel_dense_words *words,
					   const struct reel_coder_chain *which,
					   struct reel_chain_base *base) REEL_MUST_CHECK;

#endif
