/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "format/block.h"

/* From zstd's skippable frames (RFC 8878, 3.1.2), 0x184D2A50 to 0x184D2A5F. */
#define MAGIC_FILE    0x184D2A5Eu
#define MAGIC_BLOCK   0x184D2A5Du
#define MAGIC_TRAILER 0x184D2A5Cu
/* Magic and frame size: zstd's skippable header. */
#define FRAME_HEADER_SIZE 8
#define SIGNATURE_SIZE	  8
#define FILE_TAG_SIZE	  4
/* Magic, frame size and signature of the file header. */
#define FILE_FIXED_SIZE (FRAME_HEADER_SIZE + SIGNATURE_SIZE)

static const uint8_t file_signature[SIGNATURE_SIZE] = {
	0x89, 'R', 'E', 'E', 'L', 0x0D, 0x0A, 0x1A
};
static const uint8_t block_signature[4] = { 'R', 'B', 'L', 'K' };
static const uint8_t trailer_signature[SIGNATURE_SIZE] = {
	'R', 'E', 'E', 'L', 'E', 'N', 'D', '\n'
};

static void store_frame(uint8_t *bytes, uint32_t magic, size_t size)
{
	memset(bytes, 0, size);
	reel_store32(bytes, magic);
	reel_store32(bytes + 4, (uint32_t)(size - FRAME_HEADER_SIZE));
}

/* The last four bytes are the CRC-32 of the bytes before them. */
static void store_crc(uint8_t *bytes, size_t size)
{
	reel_store32(bytes + size - 4, (uint32_t)crc32(0, bytes, (uInt)(size - 4)));
}

static bool crc_is_right(const uint8_t *bytes, size_t size)
{
	return reel_load32(bytes + size - 4) == (uint32_t)crc32(0, bytes, (uInt)(size - 4));
}

void reel_file_header_store(const struct reel_file_header *header,
			    uint8_t bytes[REEL_FILE_HEADER_SIZE])
{
	store_frame(bytes, MAGIC_FILE, REEL_FILE_HEADER_SIZE);
	memcpy(bytes + 8, file_signature, SIGNATURE_SIZE);
	reel_store16(bytes + 16, header->major);
	reel_store16(bytes + 18, header->minor);
	reel_store32(bytes + 20, header->features);
	memcpy(bytes + 24, header->id, REEL_FILE_ID_SIZE);
	store_crc(bytes, REEL_FILE_HEADER_SIZE);
}

/* SPEC.md, 2.1. */
static struct reel_error *check_version(const struct reel_file_header *header)
{
	if (header->major != REEL_FORMAT_MAJOR && (header->major || header->minor != 1))
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "unsupported format version %u.%u (this program reads "
					 "0.1 and %u.x); use the version of stackreel that wrote "
					 "the file",
					 header->major, header->minor, REEL_FORMAT_MAJOR);
	if (header->features & ~REEL_FEATURES_KNOWN)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "unknown features (0x%x); use a newer stackreel",
					 header->features & ~REEL_FEATURES_KNOWN);
	return NULL;
}

static struct reel_error *not_a_capture(const uint8_t *bytes, size_t size)
{
	/* perf.data's magic in either byte order (tools/perf/util/header.c). */
	if (size >= 8 && (!memcmp(bytes, "PERFILE2", 8) || !memcmp(bytes, "2ELIFREP", 8)))
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE,
					 "a perf.data file, not a stackreel capture; convert it "
					 "with 'stackreel import'");
	return reel_error_create(REEL_ERROR_NOT_A_CAPTURE, "not a stackreel capture");
}

struct reel_error *reel_file_header_load(const uint8_t *bytes, size_t size,
					 struct reel_file_header *ret)
{
	uint8_t fixed[REEL_FILE_HEADER_SIZE];

	store_frame(fixed, MAGIC_FILE, REEL_FILE_HEADER_SIZE);
	memcpy(fixed + 8, file_signature, SIGNATURE_SIZE);
	if (memcmp(bytes, fixed, size < FILE_FIXED_SIZE ? size : FILE_FIXED_SIZE))
		return not_a_capture(bytes, size);
	if (size < REEL_FILE_HEADER_SIZE)
		return reel_error_create(REEL_ERROR_TRUNCATED,
					 "the file ends within its header, at %zu bytes", size);
	if (!crc_is_right(bytes, REEL_FILE_HEADER_SIZE))
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "file header at offset 0: wrong checksum");
	ret->major = reel_load16(bytes + 16);
	ret->minor = reel_load16(bytes + 18);
	ret->features = reel_load32(bytes + 20);
	memcpy(ret->id, bytes + 24, REEL_FILE_ID_SIZE);
	return check_version(ret);
}

void reel_block_mark_store(const uint8_t id[REEL_FILE_ID_SIZE], uint8_t bytes[REEL_BLOCK_MARK_SIZE])
{
	reel_store32(bytes, MAGIC_BLOCK);
	reel_store32(bytes + 4, REEL_BLOCK_HEADER_SIZE - FRAME_HEADER_SIZE);
	memcpy(bytes + 8, block_signature, sizeof(block_signature));
	memcpy(bytes + 12, id, FILE_TAG_SIZE);
}

void reel_block_tag_load(const uint8_t bytes[REEL_BLOCK_HEADER_SIZE], uint8_t id[REEL_FILE_ID_SIZE])
{
	memcpy(id, bytes + 12, FILE_TAG_SIZE);
}

void reel_block_header_store(const struct reel_block_header *header,
			     const uint8_t id[REEL_FILE_ID_SIZE],
			     uint8_t bytes[REEL_BLOCK_HEADER_SIZE])
{
	memset(bytes, 0, REEL_BLOCK_HEADER_SIZE);
	reel_block_mark_store(id, bytes);
	reel_store16(bytes + 16, header->type);
	bytes[18] = header->codec;
	bytes[19] = header->flags;
	reel_store32(bytes + 20, header->sequence);
	reel_store32(bytes + 24, header->stored_size);
	reel_store32(bytes + 28, header->raw_size);
	reel_store64(bytes + 32, header->expanded_size);
	reel_store64(bytes + 40, header->time_first);
	reel_store64(bytes + 48, header->time_last);
	reel_store32(bytes + 56, header->records);
	reel_store32(bytes + 60, header->payload_crc);
	memcpy(bytes + 64, header->reserved, REEL_BLOCK_RESERVED_SIZE);
	store_crc(bytes, REEL_BLOCK_HEADER_SIZE);
}

bool reel_block_header_load(const uint8_t bytes[REEL_BLOCK_HEADER_SIZE],
			    const uint8_t id[REEL_FILE_ID_SIZE], struct reel_block_header *ret)
{
	uint8_t mark[REEL_BLOCK_MARK_SIZE];

	reel_block_mark_store(id, mark);
	if (memcmp(bytes, mark, sizeof(mark)) || !crc_is_right(bytes, REEL_BLOCK_HEADER_SIZE))
		return false;
	ret->type = reel_load16(bytes + 16);
	ret->codec = bytes[18];
	ret->flags = bytes[19];
	ret->sequence = reel_load32(bytes + 20);
	ret->stored_size = reel_load32(bytes + 24);
	ret->raw_size = reel_load32(bytes + 28);
	ret->expanded_size = reel_load64(bytes + 32);
	ret->time_first = reel_load64(bytes + 40);
	ret->time_last = reel_load64(bytes + 48);
	ret->records = reel_load32(bytes + 56);
	ret->payload_crc = reel_load32(bytes + 60);
	memcpy(ret->reserved, bytes + 64, REEL_BLOCK_RESERVED_SIZE);
	return ret->stored_size <= REEL_BLOCK_STORED_MAX && ret->raw_size <= REEL_BLOCK_RAW_MAX &&
	       ret->expanded_size <= REEL_BLOCK_EXPANDED_MAX;
}

/* Limits per stored byte, all well above the densest recorded blocks (SPEC.md, section 9). */
#define RAW_A_BYTE	   64
#define SAMPLES_RAW_A_BYTE 256 /* stacks that were scrubbed, or are alike */
#define RAW_FREE	   4096
#define RECORDS_A_BYTE	   4
#define SAMPLES_A_BYTE	   16
#define RECORDS_FREE	   256

const char *reel_block_check_density(const struct reel_block_header *header)
{
	uint64_t stored = header->stored_size;
	unsigned raw = header->type == REEL_BLOCK_SAMPLES ? SAMPLES_RAW_A_BYTE : RAW_A_BYTE;

	if (header->raw_size > raw * stored + RAW_FREE)
		return "too many raw bytes for its stored size";
	if (header->records > RECORDS_A_BYTE * stored + RECORDS_FREE)
		return "too many records for its stored size";
	return NULL;
}

uint64_t reel_block_samples_max(uint32_t stored_size)
{
	return SAMPLES_A_BYTE * (uint64_t)stored_size + RECORDS_FREE;
}

void reel_trailer_store(uint64_t index_offset, const uint8_t id[REEL_FILE_ID_SIZE],
			uint8_t bytes[REEL_TRAILER_SIZE])
{
	store_frame(bytes, MAGIC_TRAILER, REEL_TRAILER_SIZE);
	memcpy(bytes + 8, trailer_signature, SIGNATURE_SIZE);
	reel_store64(bytes + 16, index_offset);
	memcpy(bytes + 24, id, FILE_TAG_SIZE);
	store_crc(bytes, REEL_TRAILER_SIZE);
}

bool reel_trailer_load(const uint8_t bytes[REEL_TRAILER_SIZE], const uint8_t id[REEL_FILE_ID_SIZE],
		       uint64_t *index_offset_ret)
{
	uint8_t expected[REEL_TRAILER_SIZE];
	uint64_t index_offset = reel_load64(bytes + 16);

	/* All bytes of a trailer are known except the index offset. */
	reel_trailer_store(index_offset, id, expected);
	if (memcmp(bytes, expected, sizeof(expected)))
		return false;
	*index_offset_ret = index_offset;
	return true;
}
