/* SPDX-License-Identifier: Apache-2.0 */
/* Counts samples by a name, or by a number that has a name. */
#ifndef CLI_SESSION_SAMPLE_COUNTS_H
#define CLI_SESSION_SAMPLE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample_count {
	char *name;
	uint64_t number;
	uint64_t samples;
	bool is_near; /* to the requested value */
};

/* An empty counts is all zero except `by_name`. */
struct sample_counts {
	bool by_name; /* else by number */
	void *tree;   /* tsearch's, of `values` */
	struct sample_count **values;
	size_t n, capacity;
};

void sample_counts_add(struct sample_counts *counts, uint64_t number, const char *name);
/* Adds all of `more`, whose members are counted alike. */
void sample_counts_join(struct sample_counts *counts, const struct sample_counts *more);
/* Looks up by `name` or by `number`; NULL if not found. */
struct sample_count *sample_counts_find(const struct sample_counts *counts, uint64_t number,
					const char *name);
/* Sorts `values`: near ones first, then by samples, then by value. */
void sample_counts_sort(struct sample_counts *counts);
/* The first `max` of them after sorting, quoted, and the number of the others; the caller frees it. */
char *sample_counts_list(struct sample_counts *counts, size_t max);
void sample_counts_free(struct sample_counts *counts);

#endif
