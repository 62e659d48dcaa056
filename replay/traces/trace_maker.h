/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes traces from sample blocks: decodes, filters, unwinds and names.  Each thread has its own
 * maker; makers of one capture share its modules and frames.
 */
#ifndef REPLAY_TRACES_TRACE_MAKER_H
#define REPLAY_TRACES_TRACE_MAKER_H

#include "replay/traces/batch.h"
#include "replay/capture/capture.h"
#include "replay/traces/sample_filter.h"

struct reel_trace_maker;

/* All are borrowed and must outlive it; only the capture's modules and frames are changed. */
struct reel_error *reel_trace_maker_create(const struct reel_capture *capture,
					   const struct reel_sample_filter *filter,
					   struct reel_trace_maker **ret) REEL_MUST_CHECK;
void reel_trace_maker_destroy(struct reel_trace_maker *maker);

/* Sets the block for reel_trace_maker_fill. */
void reel_trace_maker_start(struct reel_trace_maker *maker, const struct reel_block *block);
/*
 * Fills an empty batch with the block's next traces.  False: these were the last traces (there may
 * be none), or batch->error is the reason for the end.  The result for a block does not depend on
 * earlier blocks.
 */
bool reel_trace_maker_fill(struct reel_trace_maker *maker, struct reel_batch *batch);

#endif
