/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a new capture that appears only after it was read back and verified. */
#ifndef REPLAY_REWRITE_PROOF_H
#define REPLAY_REWRITE_PROOF_H

#include "format/cipher.h"
#include "replay/capture/capture.h"

struct reel_proof {
	/*
	 * Writes the capture.  *cipher_ret gets its key (struct reel_rewrite_options): the writer
	 * need not be a recipient but has to read the capture once.
	 */
	struct reel_error *(*write)(void *context, int fd, const char *name,
				    struct reel_cipher **cipher_ret);
	/* Returns MISMATCH if the capture is wrong.  NULL: do not check. */
	struct reel_error *(*prove)(void *context, struct reel_capture *written);
	/* To open the written capture. */
	struct reel_capture_options options;
	void *context;
};

/* `output` is a capture made from `capture`, as in reel_capture_shrink. */
struct reel_error *reel_proof_write(const struct reel_capture *capture, const char *output,
				    const struct reel_proof *proof) REEL_MUST_CHECK;

/* ---- the same traces ------------------------------------------------------------------------ */

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
