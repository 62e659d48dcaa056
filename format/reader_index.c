/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding blocks by the index block: SPEC.md, section 3.3.  It is used only if its blocks exist and
 * fill the file without a gap: then it agrees with a scan.  Otherwise a scan reports the problems.
 */

#include "format/reader_internal.h"

/* Checks the entry's block, which must begin at the previous block's end, `offset`. */
static struct reel_error *believe(struct reel_reader *reader,
				  const struct reel_record_index_entry *entry, uint64_t *offset,
				  bool *believed_ret)
{
	struct reel_block block;
	struct reel_error *error;

	*believed_ret = false;
	if (entry->offset != *offset || entry->sequence != reader->n_blocks)
		return NULL;
	error = reel_reader_read_header(reader, entry->offset, believed_ret, &block);
	if (error || !*believed_ret)
		return error;
	*believed_ret = block.header.sequence == entry->sequence;
	*offset += REEL_BLOCK_HEADER_SIZE + block.header.stored_size;
	return reel_reader_add_block(reader, &block);
}

static struct reel_error *believe_all(struct reel_reader *reader,
				      struct reel_block_reader *block_reader,
				      const struct reel_block *index, bool *believed_ret)
{
	uint64_t offset = REEL_FILE_HEADER_SIZE;
	struct reel_block_item item;
	struct reel_error *error;

	for (;;) {
		TRY(reel_block_reader_next(block_reader, &item));
		if (item.kind == REEL_ITEM_END)
			break;
		if (item.kind != REEL_ITEM_RECORD)
			continue;
		error = believe(reader, &item.record.index_entry, &offset, believed_ret);
		if (error || !*believed_ret)
			return error;
	}
	*believed_ret = offset == index->offset && index->header.sequence == reader->n_blocks;
	return *believed_ret ? reel_reader_add_block(reader, index) : NULL;
}

static struct reel_error *read_index(struct reel_reader *reader, const struct reel_block *index,
				     bool *believed_ret)
{
	_cleanup_block_reader_ struct reel_block_reader *block_reader = NULL;

	TRY(reel_block_reader_create(reader, &block_reader));
	TRY(reel_block_reader_load(block_reader, index));
	return believe_all(reader, block_reader, index, believed_ret);
}

static bool is_damage(const struct reel_error *error)
{
	enum reel_error_code code = reel_error_code(error);

	return code == REEL_ERROR_CORRUPT || code == REEL_ERROR_UNSUPPORTED;
}

struct reel_error *reel_reader_read_index(struct reel_reader *reader, bool *found_ret)
{
	struct reel_block index;
	struct reel_error *error = NULL;

	TRY(reel_reader_read_header(reader, reader->index_offset, found_ret, &index));
	/* The index comes right before the trailer. */
	if (*found_ret)
		*found_ret = index.header.type == REEL_BLOCK_INDEX &&
			     index.header.stored_size == reel_reader_blocks_end(reader) -
								 index.offset -
								 REEL_BLOCK_HEADER_SIZE;
	if (*found_ret) {
		*found_ret = false;
		error = read_index(reader, &index, found_ret);
	}
	if (error && !is_damage(error))
		return error;
	/* A valid index with wrong entries does no harm: the scan reports the problems. */
	if (error)
		reel_problems_add(&reader->problems, reel_error_code(error), reader->index_offset,
				  "%s; scanning the file", reel_error_message(error));
	reader->has_bad_index = error != NULL;
	if (error || !*found_ret)
		reader->n_blocks = 0;
	*found_ret = !error && *found_ret;
	reel_error_destroy(error);
	return NULL;
}
