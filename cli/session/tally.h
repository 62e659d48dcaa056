/* SPDX-License-Identifier: Apache-2.0 */
/* How many samples have what: a name, or a number and a name that tells what it is. */
#ifndef CLI_SESSION_TALLY_H
#define CLI_SESSION_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_value {
	const char *name; /* the caller's */
	uint64_t number;
	uint64_t samples;
	bool is_near; /* to what was asked for */
};

/* All zero but for `by_name` is an empty one. */
struct tally {
	bool by_name; /* else by number */
	void *tree;   /* tsearch's, of `values` */
	struct tally_value **values;
	size_t n, capacity;
};

void tally_add(struct tally *tally, uint64_t number, const char *name);
/* NULL: there is none. `name` counts, or `number`. */
struct tally_value *tally_find(const struct tally *tally, uint64_t number, const char *name);
/* Sorts `values`: those that are near first, then by samples, then as they differ. */
void tally_sort(struct tally *tally);
void tally_free(struct tally *tally);

#endif
