/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops blocks that the writer cannot have written: SPEC.md, section 3.4.  Anyone who can write to
 * a file can add or replace blocks.  In an encrypted file that takes the key, except for blocks
 * that are, or claim to be, unencrypted.
 */
#include <stdlib.h>

#include "format/reader_internal.h"

/* Reads a whole block whose header did not open: payload damage is a better explanation. */
static struct reel_error *find_reason(const struct reel_reader *reader,
				      const struct reel_block *block, struct reel_error *error)
{
	struct reel_block_reader *block_reader;
	struct reel_error *reason = reel_block_reader_create(reader, &block_reader);

	if (!reason) {
		reason = reel_block_reader_load(block_reader, block);
		reel_block_reader_destroy(block_reader);
	}
	if (!reason)
		return error;
	reel_error_destroy(error);
	return reason;
}

/* Restores the hidden fields of an encrypted block's header. */
static struct reel_error *reveal(const struct reel_reader *reader, struct reel_block *block)
{
	uint8_t head[REEL_CIPHER_HEAD_SIZE] = { 0 };
	struct reel_error *error;

	if (block->header.stored_size >= REEL_CIPHER_OVERHEAD)
		TRY(reel_source_read(&reader->source, block->offset + REEL_BLOCK_HEADER_SIZE, head,
				     sizeof(head)));
	error = reel_cipher_reveal(reader->cipher, head, &block->header);
	return error ? find_reason(reader, block, reel_reader_prefix(reader, block, error)) : NULL;
}

/* For an encrypted file. */
static struct reel_error *check_plain(const struct reel_reader *reader, size_t i)
{
	if (reader->blocks[i].header.type == REEL_BLOCK_KEYS &&
	    reel_reader_is_place_of_keys(reader, i))
		return reel_reader_check_keys(reader, &reader->blocks[i]);
	return reel_reader_prefix(reader, &reader->blocks[i],
				  reel_error_create(REEL_ERROR_CORRUPT,
						    "block is not encrypted, but the file is: "
						    "somebody changed its header or inserted it"));
}

static struct reel_error *check(struct reel_reader *reader, size_t i)
{
	struct reel_block *block = &reader->blocks[i];
	bool is_encrypted = block->header.flags & REEL_BLOCK_ENCRYPTED;

	if (reel_reader_is_encrypted(reader)) {
		if (is_encrypted)
			return reader->lock ? NULL : reveal(reader, block);
		return check_plain(reader, i);
	}
	if (!is_encrypted && block->header.type != REEL_BLOCK_KEYS)
		return NULL;
	reader->was_encrypted = true;
	return reel_reader_prefix(
		reader, block,
		reel_error_create(REEL_ERROR_CORRUPT,
				  "block is from an encrypted file, but this file is not "
				  "encrypted: somebody changed a header or inserted it"));
}

static bool is_fatal(const struct reel_error *error)
{
	enum reel_error_code code = reel_error_code(error);

	return code != REEL_ERROR_CORRUPT && code != REEL_ERROR_UNSUPPORTED &&
	       code != REEL_ERROR_TRUNCATED;
}

static void report(struct reel_reader *reader, const struct reel_block *block,
		   struct reel_error *error)
{
	if (!reader->has_bad_index || block->offset != reader->index_offset)
		reel_problems_add(&reader->problems, reel_error_code(error), block->offset, "%s",
				  reel_error_message(error));
	reel_error_destroy(error);
}

/*
 * Anyone can change the trailer, or make it name no index.  A scan finds the same blocks, but if
 * the scan finds nothing wrong, somebody did that.
 */
static void check_index(struct reel_reader *reader)
{
	const struct reel_block *last = &reader->blocks[reader->n_blocks - 1];

	if (reader->has_index || !reader->has_trailer || reader->problems.n ||
	    (!reader->index_offset && last->header.type != REEL_BLOCK_INDEX))
		return;
	reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, reader->index_offset,
			  "%s: trailer and index do not match the blocks: somebody changed them; "
			  "scanning the file",
			  reader->source.name);
}

struct reel_error *reel_reader_sift(struct reel_reader *reader)
{
	struct reel_error *error = NULL;
	_cleanup_free_ bool *are_right = calloc(reader->n_blocks + 1, sizeof(*are_right));
	size_t n = 0;

	if (!are_right)
		return reel_error_no_memory();
	reader->was_encrypted = reel_reader_is_encrypted(reader);
	/* A block's position matters, so judge all blocks before removing any. */
	for (size_t i = 0; i < reader->n_blocks; i++) {
		error = check(reader, i);
		if (error && is_fatal(error))
			return error;
		are_right[i] = !error;
		if (error)
			report(reader, &reader->blocks[i], error);
	}
	if (reader->n_blocks && reader->cipher)
		check_index(reader);
	for (size_t i = 0; i < reader->n_blocks; i++)
		if (are_right[i])
			reader->blocks[n++] = reader->blocks[i];
	reader->n_blocks = n;
	return NULL;
}
