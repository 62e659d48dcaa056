/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of addresses, leaf first: a thread's previous one, to which the next one is relative, or
 * the one being decoded. */
#ifndef FORMAT_CODEC_CHAIN_BASE_H
#define FORMAT_CODEC_CHAIN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, it is empty. */
struct reel_chain_base {
	uint64_t *addresses;
	size_t n, capacity;
};

/* Removes `gone` addresses (at most n) from the leaf's end, and makes room there for `added` ones,
 * which the caller writes; false and unchanged if out of memory. */
bool reel_chain_base_replace(struct reel_chain_base *base, size_t gone, size_t added);
void reel_chain_base_free(struct reel_chain_base *base);

#endif
