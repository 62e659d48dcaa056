/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "format/tally.h"

typedef unsigned long long ull;

void reel_tally_add_blocks(struct reel_tally *tally, const struct reel_reader *reader)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n);

	for (size_t i = 0; i < n; i++)
		tally->blocks += blocks[i].header.type != REEL_BLOCK_INDEX &&
				 blocks[i].header.type != REEL_BLOCK_KEYS;
}

void reel_tally_add_items(struct reel_tally *tally, const struct reel_block_reader *block_reader)
{
	struct reel_block_counts counts = reel_block_reader_counts(block_reader);

	tally->side_records += counts.side_records;
	tally->samples += counts.samples;
	if (!counts.has_end)
		return;
	tally->has_end = true;
	tally->end = counts.end;
	tally->end_block = counts.block;
}

/* Older files have different counts in END, or none. */
static bool has_counts(const struct reel_tally *tally)
{
	return tally->has_end && tally->end.blocks;
}

static struct reel_error *differs(const struct reel_tally *tally, const struct reel_reader *reader,
				  struct reel_error *what)
{
	return reel_error_prefix(what, "%s: block %u at offset %llu: END counts",
				 reel_reader_name(reader), tally->end_block.header.sequence,
				 (ull)tally->end_block.offset);
}

struct reel_error *reel_tally_check_side(const struct reel_tally *tally,
					 const struct reel_reader *reader)
{
	const struct reel_record_end *end = &tally->end;
	bool blocks_differ = end->blocks != tally->blocks;
	bool records_differ = end->side_records != tally->side_records;
	char blocks[96] = "", records[96] = "";

	if (!has_counts(tally) || (!blocks_differ && !records_differ))
		return NULL;
	if (blocks_differ)
		snprintf(blocks, sizeof(blocks), "%llu blocks, and there are %llu",
			 (ull)end->blocks, (ull)tally->blocks);
	if (records_differ)
		snprintf(records, sizeof(records), "%llu side records, and %llu were read",
			 (ull)end->side_records, (ull)tally->side_records);
	return differs(tally, reader,
		       reel_error_create(REEL_ERROR_CORRUPT, "%s%s%s", blocks,
					 blocks_differ && records_differ ? "; " : "", records));
}

struct reel_error *reel_tally_check_samples(const struct reel_tally *tally,
					    const struct reel_reader *reader)
{
	if (!has_counts(tally) || tally->end.samples == tally->samples)
		return NULL;
	return differs(tally, reader,
		       reel_error_create(REEL_ERROR_CORRUPT, "%llu samples, and %llu were read",
					 (ull)tally->end.samples, (ull)tally->samples));
}
