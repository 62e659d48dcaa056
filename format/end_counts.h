/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a capture contains everything that its END record counts (SPEC.md, section 5): nothing
 * else shows that its end is missing or that records were skilfully removed.
 */
#ifndef FORMAT_END_COUNTS_H
#define FORMAT_END_COUNTS_H

#include "format/reader.h"

/* Zeroed, it has counted nothing. */
struct reel_end_counts {
	uint64_t blocks, side_records, samples;
	bool has_end;
	struct reel_record_end end; /* the last END */
	struct reel_block end_block;
};

void reel_end_counts_add_blocks(struct reel_end_counts *end_counts,
				const struct reel_reader *reader);
/* Adds a block of side records or samples after its last item. */
void reel_end_counts_add_items(struct reel_end_counts *end_counts,
			       const struct reel_block_reader *block_reader);

/* CORRUPT if an END counts other blocks or side records; all blocks must have been added. */
struct reel_error *reel_end_counts_check_side(const struct reel_end_counts *end_counts,
					      const struct reel_reader *reader) REEL_MUST_CHECK;
/* The same for samples. */
struct reel_error *reel_end_counts_check_samples(const struct reel_end_counts *end_counts,
						 const struct reel_reader *reader) REEL_MUST_CHECK;

#endif
