/* SPDX-License-Identifier: Apache-2.0 */
/* Counts samples by a name, or by a number that has a name. */
#ifndef CLI_SESSION_TALLY_H
#define CLI_SESSION_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_value {
	const char *name; /* the caller's */
	uint64_t number;
	uint64_t samples;
	bool is_near; /* to the requested value */
};

/* An empty tally is all zero except `by_name`. */
struct tally {
	bool by_name; /* else by number */
	void *tree;   /* tsearch's, of `values` */
	struct tally_value **values;
	size_t n, capacity;
};

void tally_add(struct tally *tally, uint64_t number, const char *name);
/* Looks up by `name` or by `number`; NULL if not found. */
struct tally_value *tally_find(const struct tally *tally, uint64_t number, const char *name);
/* Sorts `values`: near ones first, then by samples, then by value. */
void tally_sort(struct tally *tally);
void tally_free(struct tally *tally);

#endif
