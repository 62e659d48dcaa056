/* SPDX-License-Identifier: Apache-2.0 */
/* Values of variables in the frames of a trace, as a filter asks for. */
#ifndef REPLAY_TRACES_TRACE_VALUES_H
#define REPLAY_TRACES_TRACE_VALUES_H

#include "replay/traces/sample_unwinder.h"

struct reel_trace_values;

/* Both are borrowed. */
struct reel_error *reel_trace_values_create(const struct reel_value_request *requests, size_t n,
					    struct reel_sample_unwinder *unwinder,
					    struct reel_trace_values **ret) REEL_MUST_CHECK;
void reel_trace_values_destroy(struct reel_trace_values *values);
/*
 * Gives `trace` its values, which live until the next call.  The sample was the last one that was
 * unwound; `found` has the names of its `n` frames.
 */
struct reel_error *reel_trace_values_make(struct reel_trace_values *values,
					  const struct reel_sample *sample,
					  const struct reel_space_state *space,
					  const struct reel_address_frames *found, size_t n,
					  struct reel_trace *trace) REEL_MUST_CHECK;
/* The same of values that the scrubbed sample has kept. */
struct reel_error *reel_trace_values_copy_kept(struct reel_trace_values *values,
					       const struct reel_sample *sample,
					       const struct reel_address_frames *found, size_t n,
					       struct reel_trace *trace) REEL_MUST_CHECK;

#endif
