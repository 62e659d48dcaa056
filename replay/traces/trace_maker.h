/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes traces of sample blocks: decodes, filters, unwinds and names.  Each
 * thread that does so has a maker of its own; makers of one capture share its
 * modules and frames.
 */
#ifndef REPLAY_TRACES_TRACE_MAKER_H
#define REPLAY_TRACES_TRACE_MAKER_H

#include "replay/traces/batch.h"
#include "replay/capture.h"
#include "replay/traces/sample_filter.h"

struct reel_trace_maker;

/* All are borrowed, and outlive it; nothing of them is changed but the capture's modules and
 * frames. */
struct reel_error *reel_trace_maker_create(const struct reel_capture *capture,
					   const struct reel_sample_filter *filter,
					   struct reel_trace_maker **ret) REEL_MUST_CHECK;
void reel_trace_maker_destroy(struct reel_trace_maker *maker);

/* The block that `fill` is of from here on. */
void reel_trace_maker_start(struct reel_trace_maker *maker, const struct reel_block *block);
/*
 * Fills an empty batch with the block's next traces.  False: these were the last ones (there may
 * be none), or batch->error says why nothing comes any more.  What is made of a block does not
 * depend on what the maker did before.
 */
bool reel_trace_maker_fill(struct reel_trace_maker *maker, struct reel_batch *batch);

#endif
