/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the blocks of a file: by its index, or by a scan. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "format/reader_internal.h"

typedef unsigned long long ull;

static struct reel_error *add_block(struct reel_reader *reader, const struct reel_block *block)
{
	if (!reel_array_reserve(&reader->blocks, reader->n_blocks, &reader->blocks_capacity,
				sizeof(*reader->blocks)))
		return reel_error_no_memory();
	reader->blocks[reader->n_blocks++] = *block;
	return NULL;
}

/* The file's size less its trailer. */
static uint64_t blocks_end(const struct reel_reader *reader)
{
	return reader->source.size - (reader->has_trailer ? REEL_TRAILER_SIZE : 0);
}

struct reel_error *reel_reader_read_header(const struct reel_reader *reader, uint64_t offset,
					   bool *found_ret, struct reel_block *ret)
{
	uint64_t end = blocks_end(reader);
	uint8_t bytes[REEL_BLOCK_HEADER_SIZE];

	*found_ret = false;
	if (offset > end || end - offset < sizeof(bytes))
		return NULL;
	TRY(reel_source_read(&reader->source, offset, bytes, sizeof(bytes)));
	ret->offset = offset;
	*found_ret = reel_block_header_load(bytes, reader->header.id, &ret->header);
	return NULL;
}

/* ---- by the index --------------------------------------------------------------------- */

/*
 * SPEC.md, section 3.3.  The index is used only if its blocks exist and fill the file without a
 * gap: then it agrees with a scan.  Otherwise a scan reports the problems.
 */

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
	return add_block(reader, &block);
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
		if (item.kind != REEL_ITEM_RECORD || item.record.id != REEL_RECORD_INDEX_ENTRY)
			continue;
		error = believe(reader, &item.record.index_entry, &offset, believed_ret);
		if (error || !*believed_ret)
			return error;
	}
	*believed_ret = offset == index->offset && index->header.sequence == reader->n_blocks;
	return *believed_ret ? add_block(reader, index) : NULL;
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
			     index.header.stored_size ==
				     blocks_end(reader) - index.offset - REEL_BLOCK_HEADER_SIZE;
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

/* ---- by a scan ------------------------------------------------------------------------ */

/*
 * Walks from header to header, and resynchronizes after damage: SPEC.md, section 10.  No byte is
 * searched twice, so the time is linear in the file's size, whatever its contents.
 */

#define WINDOW (256u << 10)

struct scan {
	struct reel_reader *reader;
	uint64_t end;		/* of the blocks */
	uint64_t next_sequence; /* the largest so far, plus 1 */
	bool is_cut;		/* already reported that the file ends too early */
	bool has_trailer;	/* found one followed by other data */
	uint8_t mark[REEL_BLOCK_MARK_SIZE];
	uint8_t *window;
};

/* The first valid header in the window's `size` bytes, at or after `at`. */
static bool search_window(const struct scan *scan, size_t size, size_t at, size_t *ret)
{
	struct reel_block_header header;

	while (size - at >= REEL_BLOCK_HEADER_SIZE) {
		const uint8_t *hit =
			memmem(scan->window + at, size - at, scan->mark, sizeof(scan->mark));

		if (!hit)
			return false;
		at = (size_t)(hit - scan->window);
		if (size - at < REEL_BLOCK_HEADER_SIZE)
			return false;
		if (reel_block_header_load(hit, scan->reader->header.id, &header)) {
			*ret = at;
			return true;
		}
		at++;
	}
	return false;
}

/* Where bytes other than 0 may begin, at or after `offset`; a header's first byte is never 0.
 * Holes take no disk space, but any amount of time to search. */
static uint64_t skip_hole(const struct scan *scan, uint64_t offset)
{
	off_t data = lseek(scan->reader->source.fd, (off_t)offset, SEEK_DATA);

	/* Only a hole follows, or the file system does not report holes. */
	if (data < 0)
		return errno == ENXIO ? scan->end : offset;
	return (uint64_t)data;
}

/* The offset of the first valid header from `offset` on, or the blocks' end if there is none. */
static struct reel_error *search(struct scan *scan, uint64_t offset, uint64_t *ret)
{
	while (offset < scan->end && scan->end - offset >= REEL_BLOCK_HEADER_SIZE) {
		size_t hit, size;

		offset = skip_hole(scan, offset);
		if (offset >= scan->end)
			break;
		size = scan->end - offset < WINDOW ? scan->end - offset : WINDOW;
		TRY(reel_source_read(&scan->reader->source, offset, scan->window, size));
		if (search_window(scan, size, 0, &hit)) {
			*ret = offset + hit;
			return NULL;
		}
		/* A header may extend into the next window. */
		offset += size - (REEL_BLOCK_HEADER_SIZE - 1);
	}
	*ret = scan->end;
	return NULL;
}

static struct reel_error *add_scanned(struct scan *scan, const struct reel_block *block)
{
	struct reel_reader *reader = scan->reader;
	uint32_t sequence = block->header.sequence;

	if (sequence > scan->next_sequence)
		reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, block->offset,
				  "%s: %llu blocks are missing before block %u at offset %llu",
				  reader->source.name, (ull)(sequence - scan->next_sequence),
				  sequence, (ull)block->offset);
	else if (sequence < scan->next_sequence)
		reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, block->offset,
				  "%s: block %u at offset %llu: follows a block with the same or a "
				  "larger number",
				  reader->source.name, sequence, (ull)block->offset);
	if (sequence >= scan->next_sequence)
		scan->next_sequence = (uint64_t)sequence + 1;
	if (scan->has_trailer)
		reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, block->offset,
				  "%s: block %u at offset %llu: follows a trailer",
				  reader->source.name, sequence, (ull)block->offset);
	return add_block(reader, block);
}

/* A trailer followed by damage: the writer did finish the file. */
static struct reel_error *read_inner_trailer(struct scan *scan, uint64_t offset, bool *found_ret)
{
	uint8_t bytes[REEL_TRAILER_SIZE];
	uint64_t index_offset;

	*found_ret = false;
	if (scan->end - offset < sizeof(bytes))
		return NULL;
	TRY(reel_source_read(&scan->reader->source, offset, bytes, sizeof(bytes)));
	*found_ret = reel_trailer_load(bytes, scan->reader->header.id, &index_offset);
	scan->has_trailer |= *found_ret;
	return NULL;
}

/* The header at `block` is valid, but the file or another block ends its payload too early. */
static void report_cut_block(struct scan *scan, const struct reel_block *block, uint64_t end)
{
	struct reel_reader *reader = scan->reader;
	bool at_file_end = end == reader->source.size;

	scan->is_cut |= at_file_end;
	reel_problems_add(&reader->problems,
			  at_file_end ? REEL_ERROR_TRUNCATED : REEL_ERROR_CORRUPT, block->offset,
			  "%s: block %u at offset %llu: %s ends after %llu of its %u payload bytes",
			  reader->source.name, block->header.sequence, (ull)block->offset,
			  at_file_end ? "the file" : "it",
			  (ull)(end - block->offset - REEL_BLOCK_HEADER_SIZE),
			  block->header.stored_size);
}

/* Whether the file's last bytes, from `offset` on, are the beginning of a header or trailer. */
static struct reel_error *is_cut_header(const struct scan *scan, uint64_t offset, bool *ret)
{
	const struct reel_reader *reader = scan->reader;
	uint8_t bytes[REEL_BLOCK_HEADER_SIZE], trailer[REEL_TRAILER_SIZE];
	size_t size = reader->source.size - offset, mark_size = sizeof(scan->mark);

	*ret = false;
	if (reader->has_trailer || reader->source.size - offset >= sizeof(bytes))
		return NULL;
	TRY(reel_source_read(&reader->source, offset, bytes, size));
	reel_trailer_store(0, reader->header.id, trailer);
	*ret = !memcmp(bytes, scan->mark, size < mark_size ? size : mark_size) ||
	       (size < sizeof(trailer) && !memcmp(bytes, trailer, size < 16 ? size : 16));
	return NULL;
}

/* There is no valid block at `offset`; the next one is at `found`. */
static struct reel_error *report_damage(struct scan *scan, uint64_t offset, uint64_t found)
{
	struct reel_reader *reader = scan->reader;
	bool is_cut = false;

	if (found < offset) {
		reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, found,
				  "%s: block at offset %llu begins within the previous block: "
				  "bytes are missing",
				  reader->source.name, (ull)found);
		return NULL;
	}
	if (found == scan->end)
		TRY(is_cut_header(scan, offset, &is_cut));
	scan->is_cut |= is_cut;
	if (is_cut)
		reel_problems_add(&reader->problems, REEL_ERROR_TRUNCATED, offset,
				  "%s: file ends within the header at offset %llu",
				  reader->source.name, (ull)offset);
	else
		reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, offset,
				  "%s: %llu damaged bytes at offset %llu", reader->source.name,
				  (ull)(found - offset), (ull)offset);
	return NULL;
}

/* The current position, and where to search from if there is nothing valid at it. */
struct position {
	uint64_t at, resync;
};

/* Skips a complete block or a trailer; *passed_ret is false without one. */
static struct reel_error *pass(struct scan *scan, struct position *position, bool *is_header_ret,
			       struct reel_block *block, bool *passed_ret)
{
	struct reel_error *error;

	TRY(reel_reader_read_header(scan->reader, position->at, is_header_ret, block));
	if (!*is_header_ret) {
		error = read_inner_trailer(scan, position->at, passed_ret);
		if (*passed_ret)
			position->at = position->resync = position->at + REEL_TRAILER_SIZE;
		return error;
	}
	/* The header is valid, but its payload may be cut: the next header may be inside it. */
	position->resync = position->at + REEL_BLOCK_HEADER_SIZE;
	*passed_ret = block->header.stored_size <= scan->end - position->resync;
	if (!*passed_ret)
		return NULL;
	position->at = position->resync + block->header.stored_size;
	return add_scanned(scan, block);
}

static struct reel_error *walk(struct scan *scan)
{
	struct position position = { REEL_FILE_HEADER_SIZE, REEL_FILE_HEADER_SIZE };

	while (position.at < scan->end) {
		bool is_header, passed = false;
		struct reel_block block;
		uint64_t found;

		TRY(pass(scan, &position, &is_header, &block, &passed));
		if (passed)
			continue;
		TRY(search(scan, position.resync, &found));
		if (is_header)
			report_cut_block(scan, &block, found);
		else
			TRY(report_damage(scan, position.at, found));
		position.at = position.resync = found;
	}
	return NULL;
}

struct reel_error *reel_reader_scan(struct reel_reader *reader)
{
	_cleanup_free_ uint8_t *window = malloc(WINDOW);
	struct scan scan = {
		.reader = reader,
		.end = blocks_end(reader),
		.window = window,
	};

	if (!window)
		return reel_error_no_memory();
	reel_block_mark_store(reader->header.id, scan.mark);
	TRY(walk(&scan));
	reader->has_trailer |= scan.has_trailer;
	if (!reader->has_trailer && !scan.is_cut)
		reel_problems_add(
			&reader->problems, REEL_ERROR_TRUNCATED, reader->source.size,
			"%s: file ends at offset %llu without a trailer: unfinished or truncated",
			reader->source.name, (ull)reader->source.size);
	return NULL;
}
