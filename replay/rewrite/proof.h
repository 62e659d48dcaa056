/* SPDX-License-Identifier: Apache-2.0 */
/* A new capture that appears only if it was read again, and is as it should be. */
#ifndef REPLAY_REWRITE_PROOF_H
#define REPLAY_REWRITE_PROOF_H

#include "format/cipher.h"
#include "replay/capture.h"

struct reel_proof {
	/*
	 * Writes the capture.  *cipher_ret gets its key (struct reel_rewrite_options): whoever
	 * makes a capture need not be among those who may read it, but has to read it once.
	 */
	struct reel_error *(*write)(void *context, int fd, const char *name,
				    struct reel_cipher **cipher_ret);
	/* MISMATCH where it is not as it should be.  NULL: that is not asked. */
	struct reel_error *(*prove)(void *context, struct reel_capture *written);
	/* To open what was written with. */
	struct reel_capture_options options;
	void *context;
};

/* `output` is of a capture that is made of `capture`, as in reel_capture_shrink. */
struct reel_error *reel_proof_write(const struct reel_capture *capture, const char *output,
				    const struct reel_proof *proof) REEL_MUST_CHECK;

/* ---- the same traces ------------------------------------------------------------------------ */

struct reel_same_traces {
	/* Functions, inlined calls and lines, too. */
	bool names;
	bool scrubbed; /* the second one is */
	/* Traces with a frame of such a module of the first one are only counted; NULL: none is. */
	bool (*is_lost)(void *context, uint64_t module_id);
	void *context;
	uint64_t n_same, n_lost; /* results */
};

/* The user's halves of all traces.  MISMATCH, with the first sample that differs. */
struct reel_error *reel_same_traces_check(struct reel_capture *a, struct reel_capture *b,
					  struct reel_same_traces *same) REEL_MUST_CHECK;

#endif
