/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a capture: finds its blocks (by index, or by scanning if the index is missing or wrong),
 * resynchronizes after damage, and decodes blocks one by one, in any order and from several
 * threads.
 */
#ifndef FORMAT_READER_H
#define FORMAT_READER_H

#include "format/block.h"
#include "format/codec/samples.h"
#include "format/keys.h"

struct reel_cipher;
struct reel_reader;

/* A block found in the file; the header is complete, the payload not yet checked. */
struct reel_block {
	uint64_t offset; /* of its header frame */
	struct reel_block_header header;
};

/* A problem in the file: kept, not fatal. */
struct reel_problem {
	enum reel_error_code code; /* CORRUPT, TRUNCATED or UNSUPPORTED */
	uint64_t offset;	   /* in the file */
	char *message;
};

/* Faults that still let a file be opened. */
enum reel_tolerance {
	/* Instead of KEY the reader is locked: only its key blocks can be loaded (others: KEY). */
	REEL_TOLERATE_LOCK = 1,
	/* The file header is damaged, but the first block follows it: the header's values are taken
	 * from that block, and this is a problem.  Not for encrypted files, which need every byte
	 * of the header, and not for streams. */
	REEL_TOLERATE_HEADER = 2,
};

/* All members may be 0. */
struct reel_reader_options {
	/* The keys to try on an encrypted capture.  NULL: none, which is KEY. */
	const struct reel_identities *identities;
	/* The file's key, if it is known: no other is looked for.  The reader takes ownership, even
	 * if opening fails.  NULL: unknown. */
	struct reel_cipher *cipher;
	unsigned int tolerance; /* enum reel_tolerance; 0: none */
	/* Called when the file is open, and a stream was copied, before anything but its first
	 * bytes is examined.  May be NULL. */
	void (*opened)(void *context);
	void *context;
};

/*
 * Opens a capture; "-" is standard input, which like a pipe is spooled to an unlinked temporary
 * file (TMPDIR).  Fails if the file header is incomplete; any later damage only adds problems.
 * KEY if it is encrypted, but to none of the identities; CORRUPT if its keys are damaged.
 * `options` may be NULL.
 */
struct reel_error *reel_reader_open(const char *path, const struct reel_reader_options *options,
				    struct reel_reader **ret) REEL_MUST_CHECK;
/* The same from a seekable descriptor; takes ownership of `fd`. */
struct reel_error *reel_reader_open_fd(int fd, const char *name,
				       const struct reel_reader_options *options,
				       struct reel_reader **ret) REEL_MUST_CHECK;
/* The reason for the lock, and the keys (their ids) that would open it; NULL if not locked. */
const struct reel_error *reel_reader_lock(const struct reel_reader *reader);
const char *reel_reader_lock_keys(const struct reel_reader *reader);
void reel_reader_close(struct reel_reader *reader);
void reel_reader_close_pointer(struct reel_reader **reader);
#define _cleanup_reader_ __attribute__((cleanup(reel_reader_close_pointer)))

const char *reel_reader_name(const struct reel_reader *reader);
const struct reel_file_header *reel_reader_header(const struct reel_reader *reader);
uint64_t reel_reader_file_size(const struct reel_reader *reader);
/* The descriptor of the file, or of the copy if the file is not seekable. */
int reel_reader_fd(const struct reel_reader *reader);
/* The user who owns the file. */
uint32_t reel_reader_owner(const struct reel_reader *reader);
/* The SHA-256 of the file's first `size` bytes. */
struct reel_error *reel_reader_sha256(const struct reel_reader *reader, uint64_t size,
				      uint8_t ret[REEL_SHA256_SIZE]) REEL_MUST_CHECK;
/* In the file's order. */
const struct reel_block *reel_reader_blocks(const struct reel_reader *reader, size_t *count_ret);
/* Problems of the frames, found when the file was opened. */
const struct reel_problem *reel_reader_problems(const struct reel_reader *reader,
						size_t *count_ret);
/* The file is encrypted, or has encrypted blocks, which are rejected. */
bool reel_reader_was_encrypted(const struct reel_reader *reader);
/* The file has a complete trailer: the writer finished it. */
bool reel_reader_has_trailer(const struct reel_reader *reader);

/* Whether this version can read the type, codec and flags. */
bool reel_block_is_known(const struct reel_block_header *header);
/* The block may have data of these times; one without times may be from a newer version. */
bool reel_block_overlaps(const struct reel_block_header *header, uint64_t from, uint64_t to);

/*
 * A block's raw bytes, and the state to decode its samples; one thread uses it for one block after
 * the other.
 */
struct reel_block_reader;

struct reel_error *reel_block_reader_create(const struct reel_reader *reader,
					    struct reel_block_reader **ret) REEL_MUST_CHECK;
void reel_block_reader_destroy(struct reel_block_reader *block_reader);
void reel_block_reader_destroy_pointer(struct reel_block_reader **block_reader);
#define _cleanup_block_reader_ __attribute__((cleanup(reel_block_reader_destroy_pointer)))
/*
 * Reads, checks and decompresses `block`.  UNSUPPORTED for a type, codec or flag that is unknown
 * and not optional (a block with an unknown optional one reads as empty); CORRUPT with block and
 * offset.
 */
struct reel_error *reel_block_reader_load(struct reel_block_reader *block_reader,
					  const struct reel_block *block) REEL_MUST_CHECK;
/* The same for a sample block, but decodes only the heads, if they can be decoded alone. */
struct reel_error *reel_block_reader_load_heads(struct reel_block_reader *block_reader,
						const struct reel_block *block) REEL_MUST_CHECK;
/* Starts the block that was loaded again, as if by reel_block_reader_load. */
void reel_block_reader_rewind(struct reel_block_reader *block_reader);
/*
 * From now on side records that `wants` rejects are counted, but not decoded, checked or returned,
 * except a block's first.  NULL: returns all.
 */
void reel_block_reader_choose(struct reel_block_reader *block_reader,
			      bool (*wants)(const void *context,
					    const struct reel_record_frame *frame),
			      const void *context);
/* Reads the payload and verifies its checksum, without a key: CORRUPT, as above. */
struct reel_error *reel_block_reader_check_payload(struct reel_block_reader *block_reader,
						   const struct reel_block *block) REEL_MUST_CHECK;

/* The items of a block, in order. */
struct reel_block_item {
	enum {
		REEL_ITEM_END = 0,
		REEL_ITEM_RECORD = 1,  /* `record` */
		REEL_ITEM_SAMPLE = 2,  /* `sample` */
		REEL_ITEM_LAYOUT = 3,  /* `layout` */
		REEL_ITEM_UNKNOWN = 4, /* unknown, skippable: only `frame` */
	} kind;
	struct reel_record_frame frame;
	struct reel_record record;
	struct reel_sample sample;
	const struct reel_record_sample_layout *layout;
};

/*
 * The next item; all that it points to lives until the next call.  After an error (CORRUPT;
 * UNSUPPORTED for an unknown critical record) the block is at its end.  At the end the header's
 * counts are compared with the number of items.
 */
struct reel_error *reel_block_reader_next(struct reel_block_reader *block_reader,
					  struct reel_block_item *ret) REEL_MUST_CHECK;
/*
 * The block's items so far, including skipped ones; 0 for an optional block, as a reader need not
 * know its contents.  Also its last END.
 */
struct reel_block_counts {
	uint64_t side_records, samples;
	uint64_t refused; /* side records skipped by reel_block_reader_choose */
	bool has_end;
	struct reel_record_end end;
	struct reel_block block; /* the block itself */
};

struct reel_block_counts reel_block_reader_counts(const struct reel_block_reader *block_reader);
/*
 * The block's records skipped so far because of values that SPEC.md does not allow.  The first few
 * are kept; the last kept one reports how many more there are.  They live until the next call.
 */
const struct reel_problem *reel_block_reader_problems(const struct reel_block_reader *block_reader,
						      size_t *count_ret);

#endif
