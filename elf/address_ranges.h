/* SPDX-License-Identifier: Apache-2.0 */
/* A set of addresses, as ranges: those read or looked up. */
#ifndef ELF_ADDRESS_RANGES_H
#define ELF_ADDRESS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_address_range {
	uint64_t begin, end;
};

struct reel_address_ranges {
	struct reel_address_range *all;
	size_t n, capacity;
	size_t n_tidy; /* the first ranges, already in order */
	bool failed;   /* memory ran out for a range */
};

void reel_address_ranges_add(struct reel_address_ranges *ranges, uint64_t begin, uint64_t end);
/* Sorts the ranges and merges those that overlap or touch. */
void reel_address_ranges_tidy(struct reel_address_ranges *ranges);
/* The index of the first tidy range that ends after `address`; n if all end earlier. */
size_t reel_address_ranges_search(const struct reel_address_ranges *ranges, uint64_t address);
void reel_address_ranges_free(struct reel_address_ranges *ranges);

#endif
