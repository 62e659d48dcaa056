/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a capture: finds its blocks (by index, or by scanning where that is
 * missing or wrong), resynchronizes after damage, and decodes blocks one by
 * one, in any order and from several threads.
 */
#ifndef FORMAT_READER_H
#define FORMAT_READER_H

#include "format/block.h"
#include "format/codec/samples.h"
#include "format/keys.h"

struct reel_cipher;
struct reel_reader;

/* A block as it was found in the file; the header is whole, the payload not yet looked at. */
struct reel_block {
	uint64_t offset; /* of its header frame */
	struct reel_block_header header;
};

/* Something that was not right: kept, not fatal. */
struct reel_problem {
	enum reel_error_code code; /* CORRUPT, TRUNCATED or UNSUPPORTED */
	uint64_t offset;	   /* in the file */
	char *message;
};

/*
 * Opens a capture; "-" is standard input, which is spooled to an unlinked
 * temporary file as a pipe is (TMPDIR).  Fails if the file header is not whole; everything
 * behind it only makes problems.
 */
struct reel_error *reel_reader_open(const char *path, struct reel_reader **ret) REEL_MUST_CHECK;
/* The same from a descriptor that can be read at any offset; takes ownership of `fd`. */
struct reel_error *reel_reader_open_fd(int fd, const char *name,
				       struct reel_reader **ret) REEL_MUST_CHECK;
/*
 * The same for a capture that may be encrypted: KEY if no identity is one that it was encrypted to
 * (nor without any, as above), CORRUPT if its keys are damaged.
 */
struct reel_error *reel_reader_open_encrypted(const char *path,
					      const struct reel_identities *identities,
					      void (*opened)(void *context), void *context,
					      struct reel_reader **ret) REEL_MUST_CHECK;
struct reel_error *reel_reader_open_encrypted_fd(int fd, const char *name,
						 const struct reel_identities *identities,
						 struct reel_reader **ret) REEL_MUST_CHECK;
/* What may be wrong with a file that is open all the same. */
enum reel_tolerance {
	/* Where it would be KEY: it is locked, so that no block of it but those of keys can be
	 * loaded (KEY). */
	REEL_TOLERATE_LOCK = 1,
	/* The file header is damaged, but the first block stands behind it: what it says is taken
	 * from there, and that is a problem.  Not of an encrypted file, which can't be read without
	 * any byte of it, nor of a stream. */
	REEL_TOLERATE_HEADER = 2,
};

/* The same, with some of these. */
struct reel_error *reel_reader_open_tolerant(const char *path,
					     const struct reel_identities *identities,
					     unsigned int tolerance, void (*opened)(void *context),
					     void *context,
					     struct reel_reader **ret) REEL_MUST_CHECK;
/* Why it is locked, and the keys (their ids) that would open it; NULL if it is not. */
const struct reel_error *reel_reader_lock(const struct reel_reader *reader);
const char *reel_reader_lock_keys(const struct reel_reader *reader);
/* The same for who has the file's key itself, or NULL; takes ownership of it, too. */
struct reel_error *reel_reader_open_cipher_fd(int fd, const char *name, struct reel_cipher *cipher,
					      struct reel_reader **ret) REEL_MUST_CHECK;
void reel_reader_close(struct reel_reader *reader);

const char *reel_reader_name(const struct reel_reader *reader);
const struct reel_file_header *reel_reader_header(const struct reel_reader *reader);
uint64_t reel_reader_file_size(const struct reel_reader *reader);
/* Of the file, or of the copy of what can't be read at any offset. */
int reel_reader_fd(const struct reel_reader *reader);
/* In the file's order. */
const struct reel_block *reel_reader_blocks(const struct reel_reader *reader, size_t *count_ret);
/* Problems of the frames, found when the file was opened. */
const struct reel_problem *reel_reader_problems(const struct reel_reader *reader,
						size_t *count_ret);
/* The file is encrypted, or has encrypted blocks, which are refused then. */
bool reel_reader_was_encrypted(const struct reel_reader *reader);
/* A whole trailer was there: the writer finished the file. */
bool reel_reader_has_trailer(const struct reel_reader *reader);

/* Type, codec and flags are ones that this version can read. */
bool reel_block_is_known(const struct reel_block_header *header);
/* Something in it may be of these times; one without times may be of a newer version. */
bool reel_block_overlaps(const struct reel_block_header *header, uint64_t from, uint64_t to);

/*
 * A block's raw bytes, and the state to decode its samples; to be used for one
 * block after the other by one thread.
 */
struct reel_block_reader;

struct reel_error *reel_block_reader_create(const struct reel_reader *reader,
					    struct reel_block_reader **ret) REEL_MUST_CHECK;
void reel_block_reader_destroy(struct reel_block_reader *block_reader);
/*
 * Reads, checks and decompresses `block`.  UNSUPPORTED for a type, codec or
 * flag that is not known and not optional (a block that is known to be
 * optional and unknown reads as empty); CORRUPT with block and offset.
 */
struct reel_error *reel_block_reader_load(struct reel_block_reader *block_reader,
					  const struct reel_block *block) REEL_MUST_CHECK;
/* The same for a block of samples, of which only the heads are decoded, if they can be alone. */
struct reel_error *reel_block_reader_load_heads(struct reel_block_reader *block_reader,
						const struct reel_block *block) REEL_MUST_CHECK;
/*
 * From now on side records that `wants` refuses are counted, but neither decoded nor checked nor
 * given; a block's first one always is.  NULL: all are given.
 */
void reel_block_reader_choose(struct reel_block_reader *block_reader,
			      bool (*wants)(const void *context,
					    const struct reel_record_frame *frame),
			      const void *context);
/* Reads the payload and compares its checksum, which takes no key: CORRUPT, as above. */
struct reel_error *reel_block_reader_check_payload(struct reel_block_reader *block_reader,
						   const struct reel_block *block) REEL_MUST_CHECK;

/* What a block holds, one after the other. */
struct reel_block_item {
	enum {
		REEL_ITEM_END = 0,
		REEL_ITEM_RECORD = 1,  /* `record` */
		REEL_ITEM_SAMPLE = 2,  /* `sample` */
		REEL_ITEM_LAYOUT = 3,  /* `layout` */
		REEL_ITEM_UNKNOWN = 4, /* not known, may be passed over: only `frame` */
	} kind;
	struct reel_record_frame frame;
	struct reel_record record;
	struct reel_sample sample;
	const struct reel_record_sample_layout *layout;
};

/*
 * The next item; all that it points to lives until the next call.  After an
 * error (CORRUPT; UNSUPPORTED for an unknown critical record) the block is at
 * its end.  At the end the header's counts are checked against what was there.
 */
struct reel_error *reel_block_reader_next(struct reel_block_reader *block_reader,
					  struct reel_block_item *ret) REEL_MUST_CHECK;
/*
 * What the block had so far, also what was passed over; 0 of a block that is optional, since a
 * reader need not know what that has.  And its last END.
 */
struct reel_block_counts {
	uint64_t side_records, samples;
	uint64_t refused; /* of the side records: reel_block_reader_choose */
	bool has_end;
	struct reel_record_end end;
	struct reel_block block; /* the block itself */
};

struct reel_block_counts reel_block_reader_counts(const struct reel_block_reader *block_reader);
/*
 * Records of the block that were passed over so far, since a value in them is
 * not one that SPEC.md has.  The first few are kept; the last one kept says how
 * many more there are.  They live until the next call.
 */
const struct reel_problem *reel_block_reader_problems(const struct reel_block_reader *block_reader,
						      size_t *count_ret);

#endif
