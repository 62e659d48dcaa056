/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file's outer frames (SPEC.md, "File structure"): file header, block headers, trailer.  All
 * are zstd skippable frames, so `zstd -dc` skips them and yields the blocks' raw bytes.
 */
#ifndef FORMAT_BLOCK_H
#define FORMAT_BLOCK_H

#include "base/bytes.h"

#define REEL_FORMAT_MAJOR 1
#define REEL_FORMAT_MINOR 0

#define REEL_FILE_HEADER_SIZE	 48
#define REEL_BLOCK_HEADER_SIZE	 80
#define REEL_TRAILER_SIZE	 32
#define REEL_FILE_ID_SIZE	 16
#define REEL_FILE_ID_OFFSET	 24 /* in the file header */
#define REEL_BLOCK_RESERVED_SIZE 12
/* The start of every block header in a file: magic, frame size, signature, file tag. */
#define REEL_BLOCK_MARK_SIZE 16

/* The largest values that a reader accepts and a writer produces. */
#define REEL_BLOCK_STORED_MAX	(65u << 20)
#define REEL_BLOCK_RAW_MAX	(64u << 20)
#define REEL_BLOCK_EXPANDED_MAX (256u << 20)
/* The window of a payload's zstd frame. */
#define REEL_WINDOW_MAX (64u << 20)

enum reel_features {
	/* All blocks except key blocks are encrypted. */
	REEL_FEATURE_ENCRYPTED = 1 << 0,
	REEL_FEATURES_KNOWN = 1,
};

struct reel_file_header {
	uint16_t major, minor;
	uint32_t features; /* incompatible ones */
	uint8_t id[REEL_FILE_ID_SIZE];
};

enum reel_block_type {
	REEL_BLOCK_SIDE = 1,	/* everything but samples */
	REEL_BLOCK_SAMPLES = 2, /* SAMPLE_LAYOUT, LABELS, COLUMNS */
	REEL_BLOCK_INDEX = 3,	/* INDEX_ENTRY, DIGEST */
	REEL_BLOCK_KEYS = 4,	/* KEY; never encrypted */
};

enum reel_block_codec {
	REEL_CODEC_ZSTD = 1, /* the payload is one zstd frame */
};

enum reel_block_flags {
	/* A reader that does not know the type, codec or a flag may skip the block. */
	REEL_BLOCK_OPTIONAL = 1 << 0,
	REEL_BLOCK_ENCRYPTED = 1 << 1,
	REEL_BLOCK_SCRUBBED = 1 << 2,
};

struct reel_block_header {
	uint16_t type;
	uint8_t codec;
	uint8_t flags;
	uint32_t sequence;	/* 0, 1, 2 … in the file */
	uint32_t stored_size;	/* payload bytes after this header */
	uint32_t raw_size;	/* record bytes after decoding */
	uint64_t expanded_size; /* bytes of all its samples' regions */
	uint64_t time_first, time_last;
	uint32_t records;
	uint32_t payload_crc;
	uint8_t reserved[REEL_BLOCK_RESERVED_SIZE]; /* 0; any other value is unknown here */
};

void reel_file_header_store(const struct reel_file_header *header,
			    uint8_t bytes[REEL_FILE_HEADER_SIZE]);
/* NOT_A_CAPTURE, UNSUPPORTED (newer major version, unknown features), CORRUPT (checksum),
 * TRUNCATED. */
struct reel_error *reel_file_header_load(const uint8_t *bytes, size_t size,
					 struct reel_file_header *ret) REEL_MUST_CHECK;

/* The bytes to search for when resynchronizing. */
/* Loads the part of the file's id that a block header has; the rest of `id` stays. */
void reel_block_tag_load(const uint8_t bytes[REEL_BLOCK_HEADER_SIZE],
			 uint8_t id[REEL_FILE_ID_SIZE]);
void reel_block_mark_store(const uint8_t id[REEL_FILE_ID_SIZE],
			   uint8_t bytes[REEL_BLOCK_MARK_SIZE]);
void reel_block_header_store(const struct reel_block_header *header,
			     const uint8_t id[REEL_FILE_ID_SIZE],
			     uint8_t bytes[REEL_BLOCK_HEADER_SIZE]);
/*
 * The limits for each stored byte (SPEC.md, section 9): returns NULL, or which value exceeds them.
 * An uncompressed payload never does.
 */
const char *reel_block_check_density(const struct reel_block_header *header);
/* The maximum number of samples in a block of that stored size. */
uint64_t reel_block_samples_max(uint32_t stored_size);
/* True if `bytes` is a valid block header of the file `id`, within the limits. */
bool reel_block_header_load(const uint8_t bytes[REEL_BLOCK_HEADER_SIZE],
			    const uint8_t id[REEL_FILE_ID_SIZE], struct reel_block_header *ret);

void reel_trailer_store(uint64_t index_offset, const uint8_t id[REEL_FILE_ID_SIZE],
			uint8_t bytes[REEL_TRAILER_SIZE]);
bool reel_trailer_load(const uint8_t bytes[REEL_TRAILER_SIZE], const uint8_t id[REEL_FILE_ID_SIZE],
		       uint64_t *index_offset_ret);

#endif
