/* SPDX-License-Identifier: Apache-2.0 */
/* SAMPLE_WEIGHT records: weights that became known only after the sample was written. */
#ifndef REPLAY_LATE_WEIGHTS_H
#define REPLAY_LATE_WEIGHTS_H

#include "format/reader.h"

struct reel_late_weight {
	uint64_t sample, weight;
};

/* Zeroed, there are none. Immutable once read. */
struct reel_late_weights {
	struct reel_late_weight *list; /* ascending by sample */
	size_t n, capacity;
};

/*
 * Such a weight may stand in a later block than its sample, so all are collected first: a pass
 * over the samples.  Damage is left for the pass that makes traces of them.
 */
struct reel_error *reel_late_weights_read(const struct reel_reader *reader,
					  struct reel_late_weights *ret) REEL_MUST_CHECK;
void reel_late_weights_free(struct reel_late_weights *weights);
uint64_t reel_late_weights_of(const struct reel_late_weights *weights,
			      const struct reel_sample *sample);

#endif
