/* SPDX-License-Identifier: Apache-2.0 */
/* The values that a variable had, each with its samples. */
#ifndef CLI_PROFILE_VALUE_COUNTS_H
#define CLI_PROFILE_VALUE_COUNTS_H

#include "cli/profile/call_tree.h"

struct value_count {
	char *text;
	bool is_number, is_signed;
	uint64_t number;
	struct amount amount;
	/* The caller of most samples so far (a majority vote, exact if it has more than half). */
	const struct reel_frame *caller;
	uint64_t caller_lead;
};

struct value_counts {
	char *name; /* of the variable; NULL: not set */
	/* In the order of their texts, until sorted otherwise. */
	struct value_count *values;
	size_t n, capacity;
	struct amount unknown[REEL_VALUE_NOT_CAPTURED + 1]; /* by state; of KNOWN all known ones */
};

/* `caller` may be NULL. */
void value_counts_add(struct value_counts *counts, const struct reel_frame_value *value,
		      uint64_t weight, const struct reel_frame *caller);
/* Many different decimal numbers become ranges between powers of two, in their order. */
bool value_counts_have_ranges(const struct value_counts *counts);
void value_counts_make_ranges(struct value_counts *counts);
/* The values with the most weight first. */
void value_counts_sort(struct value_counts *counts);
void value_counts_free(struct value_counts *counts);

#endif
