/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which side records some of a capture's samples need, to have the traces and the names that they
 * have among all of them.
 *
 * What unwinding needs is not found out by unwinding: the modules may be elsewhere.  A process's
 * mappings, and what was found of its code, are needed up to its last sample, and its parent's up
 * to the fork; modules, and images of them, where they are mapped.  Names of JIT code are needed
 * where a word of a stack, a register or a chain leads to them.
 */
#ifndef REPLAY_REWRITE_NEEDS_H
#define REPLAY_REWRITE_NEEDS_H

#include "replay/capture.h"

struct reel_needs;

/* `from` and `to` (0, UINT64_MAX: none) are times that the samples are from, for what is counted by
 * time alone. The capture is borrowed. */
struct reel_error *reel_needs_create(struct reel_capture *capture, uint64_t from, uint64_t to,
				     struct reel_needs **ret) REEL_MUST_CHECK;
void reel_needs_destroy(struct reel_needs *needs);
/* `space` is its process, NULL: unknown. */
struct reel_error *reel_needs_add(struct reel_needs *needs, const struct reel_sample *sample,
				  const struct reel_space_state *space) REEL_MUST_CHECK;
/* Behind the last sample; reads the side records once more. */
struct reel_error *reel_needs_seal(struct reel_needs *needs) REEL_MUST_CHECK;
/* A reel_block_reader_choose, of a struct reel_needs: false only where reel_needs_record is. */
bool reel_needs_frame(const void *needs, const struct reel_record_frame *frame);
bool reel_needs_record(const struct reel_needs *needs, const struct reel_record *record);

#endif
