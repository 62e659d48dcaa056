/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of an oracle's chain and ours, the place where they part, and the reason. */
#ifndef TESTS_TRUTH_DIFFERENCE_H
#define TESTS_TRUTH_DIFFERENCE_H

#include "tests/truth/cfi_judge.h"

struct truth_difference {
	size_t common; /* frames from the leaf on that are equal */
	char class[320];
	bool explained;
};

void truth_difference_find(const struct truth_sample *sample, const struct truth_verdict *verdict,
			   const struct truth_chain *oracle, bool is_libdw,
			   struct truth_difference *ret);

/* ---- counts by class, with the first examples of each --------------------------------------- */

struct truth_class;

struct truth_tally {
	struct truth_class *classes;
	size_t n;
};

/* `verdict` and `oracle` may be NULL; `frame` is the last common one. */
void truth_tally_add(struct truth_tally *tally, const char *class, bool explained,
		     const struct truth_sample *sample, const struct truth_verdict *verdict,
		     const struct truth_chain *oracle, size_t frame);
/* The number of unexplained differences. */
uint64_t truth_tally_print(const struct truth_tally *tally, uint64_t total, size_t examples);
void truth_tally_clear(struct truth_tally *tally);

#endif
