/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a capture has as much as its END record counts (SPEC.md, section 5): what is missing at
 * its end, or was left out by who knew how, shows by nothing else.
 */
#ifndef FORMAT_TALLY_H
#define FORMAT_TALLY_H

#include "format/reader.h"

/* Zeroed, it has counted nothing. */
struct reel_tally {
	uint64_t blocks, side_records, samples;
	bool has_end;
	struct reel_record_end end; /* the last one */
	struct reel_block end_block;
};

void reel_tally_add_blocks(struct reel_tally *tally, const struct reel_reader *reader);
/* What came of a block of side records or samples, when no more comes. */
void reel_tally_add_items(struct reel_tally *tally, const struct reel_block_reader *block_reader);

/* CORRUPT if there is an END that counts other blocks or side records; all have to be added. */
struct reel_error *reel_tally_check_side(const struct reel_tally *tally,
					 const struct reel_reader *reader) REEL_MUST_CHECK;
/* The same of samples. */
struct reel_error *reel_tally_check_samples(const struct reel_tally *tally,
					    const struct reel_reader *reader) REEL_MUST_CHECK;

#endif
