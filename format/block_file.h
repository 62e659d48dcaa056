/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that a writer's blocks go to: compresses and encrypts a block's raw bytes and writes
 * them, with the frames around them (SPEC.md, sections 2 and 3).  Only one thread may call at a
 * time, except reel_block_file_counts.
 */
#ifndef FORMAT_BLOCK_FILE_H
#define FORMAT_BLOCK_FILE_H

#include "format/block.h"
#include "format/cipher.h"
#include "format/record.h"
#include "format/codec/samples.h"

/* A block that is being filled or waits to be written. */
struct reel_raw_block {
	struct reel_buffer raw;
	uint16_t type;
	uint8_t flags;
	uint32_t records;
	uint64_t samples; /* in them */
	uint64_t expanded;
	bool has_time;
	uint64_t time_first, time_last;
	/* Whether all samples so far are scrubbed. */
	bool all_scrubbed;
	/* For a ring (format/block_ring.h). */
	uint32_t round;
	bool is_head;
	/* Where its samples' streams end in `raw`, if it has streams. */
	bool has_ends;
	size_t ends[REEL_STREAMS];
};

/* Empties it; keeps its memory and its type. */
void reel_raw_block_clear(struct reel_raw_block *block);
void reel_raw_block_add_time(struct reel_raw_block *block, uint64_t time);
/* Appends the record to the block's raw bytes; on error they are unchanged. */
struct reel_error *reel_raw_block_add(struct reel_raw_block *block,
				      const struct reel_record *record) REEL_MUST_CHECK;

struct reel_block_file;

struct reel_block_file_options {
	const char *name; /* for messages */
	int level;	  /* zstd's */
	bool digest;	  /* write a DIGEST */
	/* reel_block_file_finish closes `fd`, or else freeing the file does. */
	bool owns_fd;
	/* Encrypt to these; NULL or empty: do not encrypt.  Used by reel_block_file_create only. */
	const struct reel_public_keys *recipients;
	uint8_t id[REEL_FILE_ID_SIZE];
	/*
	 * Called by the writing thread before it writes `size` bytes to `fd`, and again with 0 if the
	 * disk is full; false: there is no room, and the rest of the file is lost.  NULL: a full disk
	 * is an error.
	 */
	bool (*make_room)(void *context, int fd, size_t size);
	/* Called with the finished file before it is closed; NULL: none. */
	struct reel_error *(*finished)(void *context, int fd);
	void *context;
	/* Not 0: keep blocks in memory instead, in a ring with these limits (format/block_ring.h);
	 * there is no `fd`, and reel_block_file_begin and _finish are not called. */
	uint64_t ring_time, ring_size;
};

/*
 * `fd` need not be seekable.  Writes nothing yet.  If a later write fails, the incomplete block is
 * cut off again, if the file can be truncated.
 */
struct reel_error *reel_block_file_create(int fd, const struct reel_block_file_options *options,
					  struct reel_block_file **ret) REEL_MUST_CHECK;
/* The last user frees it; it starts with one user. */
struct reel_block_file *reel_block_file_use(struct reel_block_file *file);
void reel_block_file_release(struct reel_block_file *file);

/* Copies the file's key so that its writer can read it again; *ret is NULL if not encrypted. */
struct reel_error *reel_block_file_copy_cipher(const struct reel_block_file *file,
					       struct reel_cipher **ret) REEL_MUST_CHECK;

/* Writes the file header, and the keys of an encrypted file. */
struct reel_error *reel_block_file_begin(struct reel_block_file *file) REEL_MUST_CHECK;
/* Compresses the next blocks at this level if the file's is higher. */
void reel_block_file_limit_level(struct reel_block_file *file, int level);
/* Processes a block from its raw bytes into the file. */
struct reel_error *reel_block_file_write(struct reel_block_file *file,
					 const struct reel_raw_block *block) REEL_MUST_CHECK;
/* Writes the keys again, the index and the trailer. */
struct reel_error *reel_block_file_finish(struct reel_block_file *file) REEL_MUST_CHECK;

/*
 * Writes the blocks of a ring to `copy`, which it begins, and from then on each new block as well,
 * until reel_block_file_end_copy, which adds END, with its counts, and finishes `copy`.
 */
struct reel_error *reel_block_file_copy(struct reel_block_file *ring,
					struct reel_block_file *copy) REEL_MUST_CHECK;
struct reel_error *reel_block_file_end_copy(struct reel_block_file *ring,
					    const struct reel_record_end *end) REEL_MUST_CHECK;

/* The file's contents so far: complete blocks and the frames around them.  A ring counts what it
 * ever had. */
struct reel_block_file_counts {
	uint64_t bytes, samples;
	uint64_t lost; /* samples for which there was no room */
};

/* From any thread. */
struct reel_block_file_counts reel_block_file_counts(struct reel_block_file *file);

#endif
