/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the reader's files: reader*.c and block_reader.c. */
#ifndef FORMAT_READER_INTERNAL_H
#define FORMAT_READER_INTERNAL_H

#include "format/cipher.h"
#include "format/reader.h"
#include "format/source.h"

/* A bounded list of problems, however many a file has. */
struct reel_problems {
	struct reel_problem *list;
	size_t n, max;
	/* Problems beyond `max`; the last item reports the number. */
	uint64_t more;
	/* Memory ran out: some are not in the list. */
	bool failed;
};

void reel_problems_init(struct reel_problems *problems, size_t max);
void reel_problems_clear(struct reel_problems *problems);
void reel_problems_free(struct reel_problems *problems);
void reel_problems_add(struct reel_problems *problems, enum reel_error_code code, uint64_t offset,
		       const char *format, ...) __attribute__((format(printf, 4, 5)));

struct reel_reader {
	struct reel_source source;
	uint8_t stored_header[REEL_FILE_HEADER_SIZE];
	struct reel_file_header header; /* the same */
	struct reel_block *blocks;
	size_t n_blocks, blocks_capacity;
	struct reel_problems problems;
	bool has_trailer;
	uint64_t index_offset; /* the trailer's */
	bool has_index;	       /* the blocks come from the index */
	bool has_bad_index;    /* already reported */
	/* The file declares itself encrypted, or has encrypted blocks. */
	bool was_encrypted;
	struct reel_cipher *cipher; /* NULL: not encrypted, or the key is (still) unknown */
	unsigned int tolerance;	    /* enum reel_tolerance */
	/* If locked: the reason, and the keys that would open it. */
	struct reel_error *lock;
	char *lock_keys;
};

/* Reads the header at `offset`; *found_ret is false if none is valid. */
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
 * Takes the file's key from the first block, which should have the keys; reader->cipher stays NULL
 * if that block is damaged.  KEY if it is valid, but for others.
 */
struct reel_error *reel_reader_open_first_keys(
	struct reel_reader *reader, const struct reel_identities *identities) REEL_MUST_CHECK;
/* Uses the second key block, once the blocks are known.  CORRUPT if it is damaged. */
struct reel_error *reel_reader_open_last_keys(
	struct reel_reader *reader, const struct reel_identities *identities) REEL_MUST_CHECK;
/*
 * Keeps only those blocks that the writer can have written, and restores the hidden fields of their
 * headers; the others become problems.
 */
struct reel_error *reel_reader_sift(struct reel_reader *reader) REEL_MUST_CHECK;

/* The raw records of the loaded block, which live as long as it. */
struct reel_bytes reel_block_reader_raw(const struct reel_block_reader *block_reader);

/*
 * Finds the blocks by the index that the trailer names.  If the index is damaged or wrong,
 * *found_ret is false and there are no blocks.
 */
struct reel_error *reel_reader_read_index(struct reel_reader *reader,
					  bool *found_ret) REEL_MUST_CHECK;
/* Finds the blocks by scanning the file, and the problems between them. */
struct reel_error *reel_reader_scan(struct reel_reader *reader) REEL_MUST_CHECK;

#endif
