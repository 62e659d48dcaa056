/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the side records that some of a capture's samples need for the same traces and names as in
 * the whole capture.
 *
 * It does not unwind, since the modules may be elsewhere.  A process's mappings and recorded code
 * are needed up to its last sample, its parent's up to the fork; modules and their images if they
 * are mapped.  Names of JIT code are needed if a word of a stack, a register or a chain leads to
 * them.
 */
#ifndef REPLAY_REWRITE_NEEDS_H
#define REPLAY_REWRITE_NEEDS_H

#include "replay/capture/capture.h"

struct reel_needs;

/* The samples are from `from` to `to` (0, UINT64_MAX: unlimited), for records selected by time
 * alone.  The capture is borrowed. */
struct reel_error *reel_needs_create(struct reel_capture *capture, uint64_t from, uint64_t to,
				     struct reel_needs **ret) REEL_MUST_CHECK;
void reel_needs_destroy(struct reel_needs *needs);
/* `space` is its process, NULL: unknown. */
struct reel_error *reel_needs_add(struct reel_needs *needs, const struct reel_sample *sample,
				  const struct reel_space_state *space) REEL_MUST_CHECK;
/* Call after the last sample; reads the side records again. */
struct reel_error *reel_needs_seal(struct reel_needs *needs) REEL_MUST_CHECK;
/* A reel_block_reader_choose of a struct reel_needs; false only if reel_needs_record is. */
bool reel_needs_frame(const void *needs, const struct reel_record_frame *frame);
bool reel_needs_record(const struct reel_needs *needs, const struct reel_record *record);

#endif
