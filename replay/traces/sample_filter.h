/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the caller's struct reel_walk_options. Immutable once made. */
#ifndef REPLAY_TRACES_SAMPLE_FILTER_H
#define REPLAY_TRACES_SAMPLE_FILTER_H

#include "replay/capture/capture.h"
#include "replay/traces/trace_labels.h"

struct reel_sample_filter {
	struct reel_walk_options lists; /* owned */
	uint64_t from, to;		/* of the capture clock */
	/* The event of wakers, if their traces are wanted for those that they woke; else NULL. */
	const struct reel_event_info *waker_event;
	uint32_t share; /* of 2^32 samples, the others are skipped; 0: all */
};

/* `from` may be NULL: everything passes. */
struct reel_error *reel_sample_filter_copy(const struct reel_walk_options *from,
					   struct reel_sample_filter *ret) REEL_MUST_CHECK;
void reel_sample_filter_free(struct reel_sample_filter *filter);
/* Fills in everything of a sample's trace except its frames; `space` is its process, NULL: unknown;
 * `origin` is as from reel_origins_of_sample; `labels` will hold its labels. */
struct reel_error *reel_sample_describe(const struct reel_capture *capture,
					const struct reel_sample *sample,
					const struct reel_space_state *space,
					const struct reel_origin_capture *origin,
					struct reel_trace_labels *labels,
					struct reel_trace *ret) REEL_MUST_CHECK;
/* Whether the filter has lists of processes or threads, so that it may refuse whole blocks. */
bool reel_sample_filter_has_ids(const struct reel_sample_filter *filter);
/* False if the time, CPU, process or thread is not selected; these are in a sample's head. */
bool reel_sample_filter_head_passes(const struct reel_sample_filter *filter, uint64_t time,
				    uint32_t cpu, uint32_t pid, uint32_t tid);
bool reel_sample_filter_passes(const struct reel_sample_filter *filter,
			       const struct reel_trace *trace);

#endif
