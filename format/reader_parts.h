/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reader share: reader*.c and block_reader.c. */
#ifndef FORMAT_READER_PARTS_H
#define FORMAT_READER_PARTS_H

#include "format/cipher.h"
#include "format/problems.h"
#include "format/reader.h"
#include "format/source.h"

struct reel_reader {
	struct reel_source source;
	uint8_t stored_header[REEL_FILE_HEADER_SIZE];
	struct reel_file_header header; /* the same */
	struct reel_block *blocks;
	size_t n_blocks, blocks_capacity;
	struct reel_problems problems;
	bool has_trailer;
	uint64_t index_offset; /* the trailer's */
	bool has_index;	       /* the blocks are those of the index */
	bool has_bad_index;    /* it was reported */
	/* The file says that it is, or has blocks that are. */
	bool was_encrypted;
	struct reel_cipher *cipher; /* NULL: not encrypted, or the key is not known (yet) */
	unsigned int tolerance;	    /* enum reel_tolerance */
	/* If it is locked: why, and whose keys would open it. */
	struct reel_error *lock;
	char *lock_keys;
};

struct reel_error *reel_reader_add_block(struct reel_reader *reader,
					 const struct reel_block *block) REEL_MUST_CHECK;
/* Reads the header at `offset`; *found_ret is false if there is no whole one. */
struct reel_error *reel_reader_read_header(const struct reel_reader *reader, uint64_t offset,
					   bool *found_ret, struct reel_block *ret) REEL_MUST_CHECK;
/* "FILE: block N at offset N: " before the message; NULL for NULL. */
struct reel_error *reel_reader_prefix(const struct reel_reader *reader,
				      const struct reel_block *block, struct reel_error *error);
static inline bool reel_reader_is_encrypted(const struct reel_reader *reader)
{
	return reader->header.features & REEL_FEATURE_ENCRYPTED;
}

/*
 * Takes the file's key from the block of keys that should stand first; reader->cipher stays NULL
 * if there is no whole one.  KEY if there is, but for others.
 */
struct reel_error *reel_reader_open_first_keys(
	struct reel_reader *reader, const struct reel_identities *identities) REEL_MUST_CHECK;
/* When the blocks are known: from the other place of keys. CORRUPT if there is no whole one. */
struct reel_error *reel_reader_open_last_keys(
	struct reel_reader *reader, const struct reel_identities *identities) REEL_MUST_CHECK;
/* Is the reader's block number `i` where one of keys may stand? */
bool reel_reader_is_place_of_keys(const struct reel_reader *reader, size_t i);
/* CORRUPT if it is not whole, or not the block of keys that the file's key is bound to. */
struct reel_error *reel_reader_check_keys(const struct reel_reader *reader,
					  const struct reel_block *block) REEL_MUST_CHECK;
/*
 * Of the blocks that were found leaves those that can be what the writer wrote, and tells what
 * their headers hide; the others are problems.
 */
struct reel_error *reel_reader_sift(struct reel_reader *reader) REEL_MUST_CHECK;

/* The records' bytes of the block that was loaded, which live as long. */
struct reel_bytes reel_block_reader_raw(const struct reel_block_reader *block_reader);

/* The file's size less its trailer. */
uint64_t reel_reader_blocks_end(const struct reel_reader *reader);

/*
 * Finds the blocks by the index that the trailer names.  *found_ret is false,
 * and there are no blocks, if it is damaged or not to be believed.
 */
struct reel_error *reel_reader_read_index(struct reel_reader *reader,
					  bool *found_ret) REEL_MUST_CHECK;
/* Finds the blocks by walking through the file, and what is wrong between them. */
struct reel_error *reel_reader_scan(struct reel_reader *reader) REEL_MUST_CHECK;

#endif
