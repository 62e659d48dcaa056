/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of CFI whose rule is known, so that another address within one needs neither to be looked up
 * in the CFI nor compiled.  A part of them: what is not found is compiled again, to the same rule.
 * Internal to rules.c, whose writers call it, one at a time.
 */
#ifndef REPLAY_RULE_ROWS_H
#define REPLAY_RULE_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct rule_rows {
	struct rule_row_set *sets; /* a power of two */
	size_t n_sets, n_added;
};

void reel_rule_rows_free(struct rule_rows *rows);

/* The rule's number, 0 if the address is in no row that is known; it is below RULE_ADDRESS_LIMIT.
 */
uint32_t reel_rule_rows_find(const struct rule_rows *rows, uint64_t address);

/* A rule that holds for [begin, end), where `address` lies.  Without memory it is not kept. */
void reel_rule_rows_add(struct rule_rows *rows, uint64_t begin, uint64_t end, uint64_t address,
			uint32_t number);

/* What they take. */
size_t reel_rule_rows_bytes(const struct rule_rows *rows);

#endif
