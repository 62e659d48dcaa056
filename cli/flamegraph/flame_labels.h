/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of samples, as sets: samples with the same labels share one.  Memory is bounded: of
 * too many values, numbers become ranges between powers of two, such as "64 .. 127", and other
 * values "[more values]".
 */
#ifndef CLI_FLAMEGRAPH_FLAME_LABELS_H
#define CLI_FLAMEGRAPH_FLAME_LABELS_H

#include <stdint.h>

#include "base/hash_index.h"
#include "include/commands.h"

struct flame_label_value {
	char *key, *text;
	uint64_t samples;
};

/* Values by number, in a list of all sets' values. */
struct flame_label_set {
	uint32_t first, n;
	uint64_t samples;
};

struct flame_labels {
	struct flame_label_value *values;
	uint32_t n_values;
	size_t values_capacity;
	struct reel_hash_index by_text;
	struct flame_label_set *sets; /* number 0 is empty */
	uint32_t n_sets;
	size_t sets_capacity;
	uint32_t *members;
	size_t n_members, members_capacity;
	struct reel_hash_index by_members;
};

void flame_labels_init(struct flame_labels *labels);
void flame_labels_free(struct flame_labels *labels);
/* The number of the trace's set; it does not have the label waker-sample, which is unique. */
uint32_t flame_labels_add(struct flame_labels *labels, const struct reel_trace *trace);
/*
 * Keeps the `max` values of each key with the most samples, or fewer; others become
 * ranges or "[more values]".  Returns the new number of each set, to be freed; NULL if nothing changed.
 */
uint32_t *flame_labels_limit(struct flame_labels *labels, size_t max);

#endif
