/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds the samples of a capture: prepares the unwinder's input. */
#ifndef REPLAY_TRACES_SAMPLE_UNWINDER_H
#define REPLAY_TRACES_SAMPLE_UNWINDER_H

#include "replay/capture/capture.h"
#include "replay/names/code_map.h"
#include "replay/unwind/unwind.h"

/* For one thread at a time. */
struct reel_sample_unwinder;

/* The capture is borrowed and must outlive it; only its modules are changed. */
struct reel_error *reel_sample_unwinder_create(const struct reel_capture *capture,
					       struct reel_sample_unwinder **ret) REEL_MUST_CHECK;
void reel_sample_unwinder_destroy(struct reel_sample_unwinder *unwinder);
/* From now on, calls `reads` for every read of the samples' regions (cfi/state.h).  That excludes
 * the fast path, so unwinding takes several times as long.  NULL: do not call. */
void reel_sample_unwinder_tell(struct reel_sample_unwinder *unwinder,
			       void (*reads)(void *context, size_t region, uint64_t offset,
					     unsigned size),
			       void *context);
/* The sample's process in its state at that time; NULL if unknown. */
const struct reel_space_state *reel_sample_unwinder_space(
	const struct reel_sample_unwinder *unwinder, const struct reel_sample *sample);
/*
 * The sample's user frames, which live until the next call; `space` is its process.  No frames, and
 * REEL_STOP_UNKNOWN_CPU, if this version cannot unwind the process's CPU.
 */
struct reel_error *reel_sample_unwind(struct reel_sample_unwinder *unwinder,
				      const struct reel_sample *sample,
				      const struct reel_space_state *space,
				      const struct reel_unwind_frames **ret,
				      enum reel_stop *stop_ret) REEL_MUST_CHECK;
/* Only with `reads`: the last sample needed code or constants of a module whose file is missing.
 * With the file, the trace may be different. */
bool reel_sample_unwinder_lacks_module(const struct reel_sample_unwinder *unwinder);
/* If the last sample is resolved: the number of addresses of its chain in its trace. */
size_t reel_sample_unwinder_resolved(const struct reel_sample_unwinder *unwinder);
/* Unwinds the last sample again, keeping the frames' states until the next call. */
struct reel_error *reel_sample_unwind_states(struct reel_sample_unwinder *unwinder,
					     const struct reel_sample *sample,
					     const struct reel_space_state *space,
					     struct reel_unwind_frames **ret) REEL_MUST_CHECK;
/* The map of code for the last sample. */
struct reel_code_map *reel_sample_unwinder_code_map(struct reel_sample_unwinder *unwinder);

#endif
