/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of a sample (SPEC.md, 6.6), from what BPF found. */
#ifndef RECORD_SAMPLE_LABELS_H
#define RECORD_SAMPLE_LABELS_H

#include "format/record.h"
#include "record/processes/tracker.h"

struct reel_sample_labels {
	struct reel_sample_label labels[REEL_LABELS_MAX];
};

/* The lock that a thread of the process waits for, and its owner as in struct reel_bpf_sample.  The
 * labels of `to` live until the next call. */
void reel_sample_labels_set_lock(struct reel_sample_labels *labels,
				 const struct reel_tracker *tracker, uint32_t pid, uint64_t lock,
				 uint32_t owner, struct reel_sample *to);

#endif
