/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes that samples can need: the sampled threads' own, and the processes that
 * they were forked from, with whose mappings they began.  A host that starts thousands of processes
 * a second has samples of few of them, and records of the others are not kept.
 */
#ifndef REPLAY_CAPTURE_SAMPLED_H
#define REPLAY_CAPTURE_SAMPLED_H

#include "format/reader.h"

struct reel_sampled;

/*
 * For the samples of these blocks, none later than `to`.  *ret is NULL if there are too few
 * records for a search: all should be kept.
 */
struct reel_error *reel_sampled_create(struct reel_block_reader *block_reader,
				       const struct reel_reader *reader,
				       const struct reel_block *const *sample_blocks,
				       size_t n_sample_blocks, uint64_t to,
				       struct reel_sampled **ret) REEL_MUST_CHECK;
void reel_sampled_destroy(struct reel_sampled *sampled);
/* A reel_block_reader_choose of a struct reel_sampled: false for records of other processes. */
bool reel_sampled_wants(const void *sampled, const struct reel_record_frame *frame);

#endif
