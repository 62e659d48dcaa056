/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of a sample (SPEC.md, 6.6), from what BPF found. */
#ifndef RECORD_SAMPLING_SAMPLE_LABELS_H
#define RECORD_SAMPLING_SAMPLE_LABELS_H

#include "format/record.h"
#include "record/sampling/held_samples.h"
#include "record/processes/tracker.h"
#include "record/sampling/sampler.h"

struct reel_sample_labels {
	struct reel_sample_label labels[REEL_LABELS_MAX];
	char trace[2 * 16], span[2 * 8]; /* texts */
};

/* What a thread waits for; its owner is as in struct reel_bpf_sample. */
struct reel_lock {
	uint64_t address; /* 0: not known to be a lock */
	uint32_t owner;
};

/* Of a wait of one of the process's threads; `waker` may be NULL.  The labels of `to` live until
 * the next call; its request's and service's are kept. */
void reel_sample_labels_set_wait(struct reel_sample_labels *labels,
				 const struct reel_tracker *tracker, uint32_t pid,
				 struct reel_lock lock, const struct reel_waker *waker,
				 struct reel_sample *to);

/* A probe's values, of an event that has these. */
void reel_sample_labels_set_values(struct reel_sample_labels *labels,
				   const struct reel_bpf_value specifications[REEL_BPF_VALUES_MAX],
				   const struct reel_bpf_values *values, struct reel_sample *to);

/* The request that the thread works for; after the above. */
void reel_sample_labels_set_request(struct reel_sample_labels *labels,
				    const struct reel_bpf_request *request, struct reel_sample *to);

/* The service of its process, which has to live as long; after the above. */
void reel_sample_labels_set_service(struct reel_sample_labels *labels,
				    const struct reel_proc_service *service,
				    struct reel_sample *to);

#endif
