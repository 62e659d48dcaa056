/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes samples can ask for: those of the sampled threads, and those that they were
 * forked from, whose mappings they began with.  A host that starts thousands of processes a second
 * has samples of few of them, and what is recorded of the others is not kept.
 */
#ifndef REPLAY_SAMPLED_H
#define REPLAY_SAMPLED_H

#include "format/reader.h"

struct reel_sampled;

/*
 * Of the samples of these blocks, which are not later than `to`.  *ret is NULL where all records
 * are to be kept: there are too few to look for others, or the samples have to be decoded to know
 * their threads.
 */
struct reel_error *reel_sampled_create(struct reel_block_reader *block_reader,
				       const struct reel_reader *reader,
				       const struct reel_block *const *sample_blocks,
				       size_t n_sample_blocks, uint64_t to,
				       struct reel_sampled **ret) REEL_MUST_CHECK;
void reel_sampled_destroy(struct reel_sampled *sampled);
/* A reel_block_reader_choose, of a struct reel_sampled: false for records of other processes. */
bool reel_sampled_wants(const void *sampled, const struct reel_record_frame *frame);

#endif
