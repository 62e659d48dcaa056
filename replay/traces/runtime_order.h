/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a sample's interpreter frames and native frames.  One call of the interpreter's
 * native function runs the frames of a segment, up to an entry (struct reel_runtime_frame), which
 * take the place of its own frame.
 */
#ifndef REPLAY_TRACES_RUNTIME_ORDER_H
#define REPLAY_TRACES_RUNTIME_ORDER_H

#include "format/record.h"
#include "replay/names/frame_table.h"
#include "replay/unwind/unwind.h"

struct reel_runtime_order {
	/* Leaf first. */
	struct reel_ordered_frame {
		uint32_t index; /* of the native frame, or the interpreter's */
		bool is_runtime;
	} * frames;
	size_t n, capacity;
	/* The native frame of each segment. */
	size_t owners[REEL_RUNTIME_FRAMES_MAX];
	size_t n_owners;
};

void reel_runtime_order_free(struct reel_runtime_order *order);
/*
 * Orders the frames of a sample that has some of an interpreter's.  `unwound` are the native ones,
 * with `names`; `is_complete`: all are known.  With `only`, native frames are left out.
 */
struct reel_error *reel_runtime_order_make(struct reel_runtime_order *order,
					   const struct reel_sample *sample,
					   const struct reel_unwind_frames *unwound,
					   const struct reel_address_frames *names,
					   bool is_complete, bool only) REEL_MUST_CHECK;

#endif
