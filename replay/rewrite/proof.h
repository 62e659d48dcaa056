/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the traces of a capture with those of a new one that was made of it. */
#ifndef REPLAY_REWRITE_PROOF_H
#define REPLAY_REWRITE_PROOF_H

#include "replay/capture/capture.h"

struct reel_same_traces {
	/* Also compare functions, inlined calls and lines. */
	bool names;
	bool scrubbed; /* the second capture is scrubbed */
	bool values;   /* also compare values of all variables */
	/* Traces of the first with a frame of such a module are only counted; NULL: none. */
	bool (*is_lost)(void *context, uint64_t module_id);
	void *context;
	uint64_t n_same, n_lost; /* results */
};

/* Compares the user parts of all traces.  MISMATCH, with the first sample that differs. */
struct reel_error *reel_same_traces_check(struct reel_capture *a, struct reel_capture *b,
					  struct reel_same_traces *same) REEL_MUST_CHECK;

#endif
