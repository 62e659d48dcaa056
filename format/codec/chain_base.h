/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of addresses, leaf first: a thread's last one, which the next is relative to, or the one
 * that is being decoded. */
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

/* Takes `gone` addresses (at most n) off the leaf's end, and makes room for `added` ones there,
 * which are then to be written; false, and as before, without memory. */
bool reel_chain_base_replace(struct reel_chain_base *base, size_t gone, size_t added);
void reel_chain_base_free(struct reel_chain_base *base);

#endif
