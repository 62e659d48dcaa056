/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds the samples of a capture: makes the unwinder's input of them. */
#ifndef REPLAY_TRACES_SAMPLE_UNWINDER_H
#define REPLAY_TRACES_SAMPLE_UNWINDER_H

#include "replay/capture.h"
#include "replay/names/code_map.h"
#include "replay/unwind/unwind.h"

/* For one thread at a time. */
struct reel_sample_unwinder;

/* The capture is borrowed, and outlives it; nothing of it is changed but its modules. */
struct reel_error *reel_sample_unwinder_create(const struct reel_capture *capture,
					       struct reel_sample_unwinder **ret) REEL_MUST_CHECK;
void reel_sample_unwinder_destroy(struct reel_sample_unwinder *unwinder);
/* From here on `reads` is called for every read of the samples' regions (cfi/state.h).
 * That excludes the fast path, so unwinding takes several times as long.  NULL: it is not called.
 */
void reel_sample_unwinder_tell(struct reel_sample_unwinder *unwinder,
			       void (*reads)(void *context, size_t region, uint64_t offset,
					     unsigned size),
			       void *context);
/* The process that the sample is of, as it was then; NULL if it is unknown. */
const struct reel_space_state *reel_sample_unwinder_space(
	const struct reel_sample_unwinder *unwinder, const struct reel_sample *sample);
/*
 * The sample's user frames, which live until the next call; `space` is its process.  None, and
 * REEL_STOP_UNKNOWN_CPU, if the process is of a CPU that this version can't unwind.
 */
struct reel_error *reel_sample_unwind(struct reel_sample_unwinder *unwinder,
				      const struct reel_sample *sample,
				      const struct reel_space_state *space,
				      const struct reel_unwind_frames **ret,
				      enum reel_stop *stop_ret) REEL_MUST_CHECK;
/* While `reads` is set: for the sample that was unwound last, code or constants of a module were
 * needed whose file is missing.  With the file the trace may be another one. */
bool reel_sample_unwinder_lacks_module(const struct reel_sample_unwinder *unwinder);
/* Of a resolved sample that was unwound last: how many addresses of its chain are its trace. */
size_t reel_sample_unwinder_resolved(const struct reel_sample_unwinder *unwinder);
/* Where code lay for the sample that was unwound last. */
struct reel_code_map *reel_sample_unwinder_code_map(struct reel_sample_unwinder *unwinder);

#endif
