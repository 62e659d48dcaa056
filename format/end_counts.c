/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "format/end_counts.h"

typedef unsigned long long ull;

void reel_end_counts_add_blocks(struct reel_end_counts *end_counts,
				const struct reel_reader *reader)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n);

	for (size_t i = 0; i < n; i++)
		end_counts->blocks += blocks[i].header.type != REEL_BLOCK_INDEX &&
				      blocks[i].header.type != REEL_BLOCK_KEYS;
}

void reel_end_counts_add_items(struct reel_end_counts *end_counts,
			       const struct reel_block_reader *block_reader)
{
	struct reel_block_counts counts = reel_block_reader_counts(block_reader);

	end_counts->side_records += counts.side_records;
	end_counts->samples += counts.samples;
	if (!counts.has_end)
		return;
	end_counts->has_end = true;
	end_counts->end = counts.end;
	end_counts->end_block = counts.block;
}

/* Older files have different counts in END, or none. */
static bool has_counts(const struct reel_end_counts *end_counts)
{
	return end_counts->has_end && end_counts->end.blocks;
}

static struct reel_error *differs(const struct reel_end_counts *end_counts,
				  const struct reel_reader *reader, struct reel_error *what)
{
	return reel_error_prefix(what, "%s: block %u at offset %llu: END counts",
				 reel_reader_name(reader), end_counts->end_block.header.sequence,
				 (ull)end_counts->end_block.offset);
}

struct reel_error *reel_end_counts_check_side(const struct reel_end_counts *end_counts,
					      const struct reel_reader *reader)
{
	const struct reel_record_end *end = &end_counts->end;
	bool blocks_differ = end->blocks != end_counts->blocks;
	bool records_differ = end->side_records != end_counts->side_records;
	char blocks[96] = "", records[96] = "";

	if (!has_counts(end_counts) || (!blocks_differ && !records_differ))
		return NULL;
	if (blocks_differ)
		snprintf(blocks, sizeof(blocks), "%llu blocks, but the file has %llu",
			 (ull)end->blocks, (ull)end_counts->blocks);
	if (records_differ)
		snprintf(records, sizeof(records), "%llu side records, but %llu were read",
			 (ull)end->side_records, (ull)end_counts->side_records);
	return differs(end_counts, reader,
		       reel_error_create(REEL_ERROR_CORRUPT, "%s%s%s", blocks,
					 blocks_differ && records_differ ? "; " : "", records));
}

struct reel_error *reel_end_counts_check_samples(const struct reel_end_counts *end_counts,
						 const struct reel_reader *reader)
{
	if (!has_counts(end_counts) || end_counts->end.samples == end_counts->samples)
		return NULL;
	return differs(end_counts, reader,
		       reel_error_create(REEL_ERROR_CORRUPT, "%llu samples, but %llu were read",
					 (ull)end_counts->end.samples, (ull)end_counts->samples));
}
