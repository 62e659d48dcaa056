/* SPDX-License-Identifier: Apache-2.0 */
/* Samples whose frame chain is their already unwound trace (SPEC.md, TRACE_STEPS). */
#ifndef REPLAY_CAPTURE_RESOLVED_H
#define REPLAY_CAPTURE_RESOLVED_H

#include "format/record.h"
#include "replay/unwind/unwind.h"

/* A capture's TRACE_STEPS records; all zero: none. */
struct reel_resolved {
	struct reel_resolved_steps {
		size_t at; /* in `bytes` */
		uint32_t size;
		uint32_t stop; /* + 1; 0: no such record */
	} * all;	       /* by id */
	size_t n, capacity;
	struct reel_buffer bytes;
};

void reel_resolved_free(struct reel_resolved *resolved);
struct reel_error *reel_resolved_add(struct reel_resolved *resolved,
				     const struct reel_record_trace_steps *record) REEL_MUST_CHECK;

static inline bool reel_sample_is_resolved(const struct reel_sample *sample)
{
	return sample->flags & REEL_SAMPLE_RESOLVED;
}

/*
 * The sample's frames.  If the record that describes how they were found is missing, they are
 * treated as another recorder's.  *n_chain_ret: the number of addresses of the frame chain in the
 * trace; they are followed by a walk by frame pointers.
 */
struct reel_error *reel_resolved_unwind(const struct reel_resolved *resolved,
					const struct reel_sample *sample, uint32_t max_frames,
					struct reel_unwind_frames *ret, enum reel_stop *stop_ret,
					size_t *n_chain_ret) REEL_MUST_CHECK;

/*
 * The reverse: describes how these frames were found as `steps` of a record.  `is_whole`: the
 * sample's chain will have only these frames.
 */
void reel_resolved_steps(const struct reel_unwind_frames *frames, bool is_whole,
			 struct reel_buffer *ret);

#endif
