/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a block's payload into records and samples. */
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"
#include "format/reader_internal.h"
#include "format/schema.h"

#define PROBLEMS_MAX 16

typedef unsigned long long ull;

/* A buffer for one block, at least as large as needed. */
struct room {
	uint8_t *bytes;
	size_t capacity;
};

static void room_free(struct room *room)
{
	reel_large_memory_free(room->bytes, room->capacity);
	*room = (struct room){ 0 };
}

struct reel_block_reader {
	const struct reel_reader *reader;
	struct reel_block block;
	struct room stored, frame, raw;
	ZSTD_DCtx *zstd;
	struct reel_sample_decoder *decoder;
	struct reel_cursor cursor;
	struct reel_record_frame samples; /* the record of samples being decoded */
	uint64_t n_records;		  /* so far */
	uint64_t samples_left;
	struct reel_block_counts counts;
	/* Returns no more items, whatever is left. */
	bool ended;
	bool (*wants)(const void *context, const struct reel_record_frame *frame);
	const void *wants_context;
	struct reel_problems problems;
};

struct reel_error *reel_block_reader_create(const struct reel_reader *reader,
					    struct reel_block_reader **ret)
{
	struct reel_block_reader *block_reader = calloc(1, sizeof(*block_reader));
	struct reel_error *error;

	if (!block_reader)
		return reel_error_no_memory();
	block_reader->reader = reader;
	block_reader->ended = true;
	reel_problems_init(&block_reader->problems, PROBLEMS_MAX);
	block_reader->zstd = ZSTD_createDCtx();
	error = block_reader->zstd ? reel_sample_decoder_create(&block_reader->decoder)
				   : reel_error_no_memory();
	if (error) {
		reel_block_reader_destroy(block_reader);
		return error;
	}
	*ret = block_reader;
	return NULL;
}

void reel_block_reader_destroy_pointer(struct reel_block_reader **block_reader)
{
	reel_block_reader_destroy(*block_reader);
}

void reel_block_reader_destroy(struct reel_block_reader *block_reader)
{
	if (!block_reader)
		return;
	reel_sample_decoder_destroy(block_reader->decoder);
	ZSTD_freeDCtx(block_reader->zstd);
	room_free(&block_reader->stored);
	room_free(&block_reader->frame);
	room_free(&block_reader->raw);
	reel_problems_free(&block_reader->problems);
	free(block_reader);
}

/* Loses the content: there is never memory for both. */
static bool room_reserve(struct room *room, size_t size)
{
	if (room->bytes && size <= room->capacity)
		return true;
	room_free(room);
	/* One byte for an empty block, so that the address is never NULL. */
	size += !size;
	room->bytes = reel_large_memory_allocate(size);
	room->capacity = room->bytes ? size : 0;
	return room->bytes != NULL;
}

struct reel_error *reel_reader_prefix(const struct reel_reader *reader,
				      const struct reel_block *block, struct reel_error *error)
{
	return reel_error_prefix(error, "%s: block %u at offset %llu", reader->source.name,
				 block->header.sequence, (unsigned long long)block->offset);
}

static struct reel_error *prefix(const struct reel_block_reader *block_reader,
				 struct reel_error *error)
{
	return reel_reader_prefix(block_reader->reader, &block_reader->block, error);
}

static struct reel_error *corrupt(const struct reel_block_reader *block_reader, const char *what)
{
	return prefix(block_reader, reel_error_create(REEL_ERROR_CORRUPT, "%s", what));
}

/* ---- payload -------------------------------------------------------------------- */

/* The header field with an unknown value; NULL if all are known. */
static const char *unknown_of(const struct reel_block_header *header)
{
	const uint8_t known = REEL_BLOCK_OPTIONAL | REEL_BLOCK_ENCRYPTED | REEL_BLOCK_SCRUBBED;

	if (header->type < REEL_BLOCK_SIDE || header->type > REEL_BLOCK_KEYS)
		return "unknown block type";
	if (header->codec != REEL_CODEC_ZSTD)
		return "unknown codec";
	if (header->flags & ~known)
		return "unknown flags";
	return NULL;
}

bool reel_block_is_known(const struct reel_block_header *header)
{
	return !unknown_of(header);
}

bool reel_block_overlaps(const struct reel_block_header *header, uint64_t from, uint64_t to)
{
	return !header->time_last || (header->time_first <= to && header->time_last >= from);
}

/* The reader drops such blocks, but may read one before sifting, as with the index. */
static bool is_forged(const struct reel_reader *reader, const struct reel_block_header *header)
{
	bool is_encrypted = header->flags & REEL_BLOCK_ENCRYPTED;

	return reel_reader_is_encrypted(reader) ? !is_encrypted && header->type != REEL_BLOCK_KEYS
						: is_encrypted;
}

static struct reel_error *read_payload(struct reel_block_reader *block_reader)
{
	const struct reel_block *block = &block_reader->block;
	uint32_t size = block->header.stored_size;

	if (!room_reserve(&block_reader->stored, size))
		return reel_error_no_memory();
	TRY(reel_source_read(&block_reader->reader->source, block->offset + REEL_BLOCK_HEADER_SIZE,
			     block_reader->stored.bytes, size));
	if ((uint32_t)crc32(0, block_reader->stored.bytes, size) != block->header.payload_crc)
		return corrupt(block_reader, "wrong payload checksum");
	return NULL;
}

/* The window that a zstd frame requires (RFC 8878, 3.1.1.1); its header is complete. */
static uint64_t window_size(const uint8_t *frame)
{
	uint64_t base;

	/* A single segment: the window is the content. */
	if (frame[4] & 0x20)
		return 0;
	base = 1ull << (10 + (frame[5] >> 3));
	return base + base / 8 * (frame[5] & 7);
}

/* Checks that the payload is a single, non-skippable zstd frame that declares raw_size bytes. */
static const char *check_frame(const uint8_t *payload, size_t size, uint32_t raw_size)
{
	if (size < 4 || reel_load32(payload) != ZSTD_MAGICNUMBER ||
	    ZSTD_findFrameCompressedSize(payload, size) != size)
		return "the payload is not a single zstd frame";
	if (ZSTD_getFrameContentSize(payload, size) != raw_size)
		return "the payload's raw size differs from the header's";
	if (ZSTD_getDictID_fromFrame(payload, size))
		return "the payload requires a zstd dictionary";
	if (window_size(payload) > REEL_WINDOW_MAX)
		return "the payload's zstd window exceeds 64 MiB";
	return NULL;
}

/* The payload's zstd frame, decrypted if necessary. */
static struct reel_error *take_frame(struct reel_block_reader *block_reader,
				     const uint8_t **frame_ret, size_t *size_ret)
{
	struct reel_block_header *header = &block_reader->block.header;
	struct reel_error *error;

	*frame_ret = block_reader->stored.bytes;
	*size_ret = header->stored_size;
	if (!(header->flags & REEL_BLOCK_ENCRYPTED))
		return NULL;
	if (!room_reserve(&block_reader->frame, header->stored_size))
		return reel_error_no_memory();
	error = reel_cipher_unseal(block_reader->reader->cipher, *frame_ret, header,
				   block_reader->frame.bytes);
	if (error)
		return prefix(block_reader, error);
	*frame_ret = block_reader->frame.bytes;
	*size_ret -= REEL_CIPHER_OVERHEAD;
	return NULL;
}

static struct reel_error *decompress(struct reel_block_reader *block_reader)
{
	const struct reel_block_header *header = &block_reader->block.header;
	size_t size, frame_size;
	const uint8_t *frame;
	const char *problem;

	TRY(take_frame(block_reader, &frame, &frame_size));
	/* Only now is the header of an encrypted block complete. */
	problem = reel_block_check_density(header);
	if (!problem)
		problem = check_frame(frame, frame_size, header->raw_size);
	if (problem)
		return corrupt(block_reader, problem);
	if (!room_reserve(&block_reader->raw, header->raw_size))
		return reel_error_no_memory();
	size = ZSTD_decompressDCtx(block_reader->zstd, block_reader->raw.bytes, header->raw_size,
				   frame, frame_size);
	if (ZSTD_isError(size))
		return prefix(block_reader, reel_error_create(REEL_ERROR_CORRUPT, "payload: %s",
							      ZSTD_getErrorName(size)));
	if (size != header->raw_size)
		return corrupt(block_reader, "the payload's raw size differs from the header's");
	return NULL;
}

static void clear_counts(struct reel_block_reader *block_reader)
{
	block_reader->n_records = 0;
	block_reader->counts = (struct reel_block_counts){ .block = block_reader->block };
	reel_problems_clear(&block_reader->problems);
}

struct reel_error *reel_block_reader_load(struct reel_block_reader *block_reader,
					  const struct reel_block *block)
{
	const char *unknown = unknown_of(&block->header);
	struct reel_error *error;

	block_reader->block = *block;
	block_reader->ended = true;
	clear_counts(block_reader);
	if (block->header.flags & REEL_BLOCK_ENCRYPTED && block_reader->reader->lock)
		return reel_error_create(REEL_ERROR_KEY, "%s",
					 reel_error_message(block_reader->reader->lock));
	if (is_forged(block_reader->reader, &block->header))
		return corrupt(block_reader, "block is not encrypted, but the file is");
	if (unknown && block->header.flags & REEL_BLOCK_OPTIONAL)
		return NULL;
	if (unknown)
		return prefix(block_reader,
			      reel_error_create(REEL_ERROR_UNSUPPORTED, "%s: use a newer stackreel",
						unknown));
	error = read_payload(block_reader);
	if (!error)
		error = decompress(block_reader);
	/* Each thread keeps one block to decode from; drop the buffers that it came from. */
	room_free(&block_reader->stored);
	room_free(&block_reader->frame);
	if (error)
		return error;
	reel_block_reader_rewind(block_reader);
	return NULL;
}

void reel_block_reader_rewind(struct reel_block_reader *block_reader)
{
	const struct reel_block *block = &block_reader->block;

	block_reader->cursor = reel_cursor(block_reader->raw.bytes, block->header.raw_size);
	reel_sample_decoder_reset(block_reader->decoder, block->header.expanded_size);
	block_reader->samples_left = reel_block_samples_max(block->header.stored_size);
	clear_counts(block_reader);
	block_reader->ended = false;
}

struct reel_error *reel_block_reader_load_heads(struct reel_block_reader *block_reader,
						const struct reel_block *block)
{
	TRY(reel_block_reader_load(block_reader, block));
	reel_sample_decoder_reset_heads(block_reader->decoder, block->header.expanded_size);
	return NULL;
}

void reel_block_reader_choose(struct reel_block_reader *block_reader,
			      bool (*wants)(const void *context,
					    const struct reel_record_frame *frame),
			      const void *context)
{
	block_reader->wants = wants;
	block_reader->wants_context = context;
}

struct reel_error *reel_block_reader_check_payload(struct reel_block_reader *block_reader,
						   const struct reel_block *block)
{
	struct reel_error *error;

	block_reader->block = *block;
	block_reader->ended = true;
	error = read_payload(block_reader);
	room_free(&block_reader->stored);
	return error;
}

struct reel_bytes reel_block_reader_raw(const struct reel_block_reader *block_reader)
{
	return (struct reel_bytes){ block_reader->raw.bytes, block_reader->block.header.raw_size };
}

/* ---- records -------------------------------------------------------------------- */

/* Decodes item->frame, a known record in a block of the right type. */
static struct reel_error *decode_known(struct reel_block_reader *block_reader,
				       struct reel_block_item *item, const char **problem_ret)
{
	struct reel_error *error;

	switch (item->frame.id) {
	case REEL_RECORD_COLUMNS:
		return reel_samples_begin(block_reader->decoder, &item->frame);
	case REEL_RECORD_SAMPLE_LAYOUT:
		item->kind = REEL_ITEM_LAYOUT;
		error = reel_sample_decode_layout(block_reader->decoder, &item->frame);
		item->layout = reel_sample_decoder_last_layout(block_reader->decoder);
		return error;
	case REEL_RECORD_LABELS:
		return reel_sample_decode_labels(block_reader->decoder, &item->frame);
	case REEL_RECORD_FRAMES:
		return reel_sample_decode_frames(block_reader->decoder, &item->frame);
	default:
		item->kind = REEL_ITEM_RECORD;
		TRY(reel_record_decode(&item->frame, &item->record));
		*problem_ret = reel_record_check(&item->record);
		if (!*problem_ret && item->frame.id == REEL_RECORD_END) {
			block_reader->counts.has_end = true;
			block_reader->counts.end = item->record.end;
		}
		return NULL;
	}
}

static struct reel_error *decode_item(struct reel_block_reader *block_reader,
				      struct reel_block_item *item, const char **problem_ret)
{
	uint16_t type = reel_record_block_type(item->frame.id);

	if (!type && item->frame.critical)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "unknown critical record; use a newer stackreel");
	if (!type) {
		item->kind = REEL_ITEM_UNKNOWN;
		return NULL;
	}
	if (type != block_reader->block.header.type)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "record is in the wrong type of block");
	return decode_known(block_reader, item, problem_ret);
}

static struct reel_error *check_end(const struct reel_block_reader *block_reader)
{
	uint32_t expected = block_reader->block.header.records;

	if (block_reader->n_records == expected)
		return NULL;
	return prefix(block_reader,
		      reel_error_create(REEL_ERROR_CORRUPT,
					"block has %llu records, but its header says %u",
					(ull)block_reader->n_records, expected));
}

static struct reel_error *prefix_record(const struct reel_block_reader *block_reader,
					const struct reel_record_frame *frame,
					struct reel_error *error)
{
	error = reel_error_prefix(error, "record %llu at byte %zu", (ull)frame->id, frame->offset);
	return prefix(block_reader, error);
}

/* A sample of the current record; *found_ret is false after its last one. */
static struct reel_error *next_sample(struct reel_block_reader *block_reader,
				      struct reel_block_item *item, bool *found_ret,
				      const char **problem_ret)
{
	struct reel_error *error;

	item->kind = REEL_ITEM_SAMPLE;
	item->frame = block_reader->samples;
	error = reel_samples_next(block_reader->decoder, &item->sample, found_ret);
	if (error)
		return prefix_record(block_reader, &item->frame, error);
	block_reader->counts.samples += *found_ret;
	if (*found_ret)
		*problem_ret = reel_sample_check(&item->sample);
	return NULL;
}

/* The frame of the next wanted record; its id is 0 after the last one. */
static struct reel_error *next_frame(struct reel_block_reader *block_reader,
				     struct reel_record_frame *ret)
{
	for (;;) {
		struct reel_error *error = reel_record_frame_next(&block_reader->cursor, ret);

		if (error)
			return prefix(block_reader, error);
		if (!ret->id || !block_reader->wants || !block_reader->n_records ||
		    reel_record_block_type(ret->id) != REEL_BLOCK_SIDE ||
		    block_reader->wants(block_reader->wants_context, ret))
			return NULL;
		block_reader->n_records++;
		block_reader->counts.refused++;
	}
}

/* One record, or a sample of one that has many; *problem_ret is the reason to skip it. */
static struct reel_error *next_item(struct reel_block_reader *block_reader,
				    struct reel_block_item *item, const char **problem_ret)
{
	bool found = false;
	struct reel_error *error;

	if (reel_samples_left(block_reader->decoder)) {
		error = next_sample(block_reader, item, &found, problem_ret);
		if (error || found)
			return error;
	}
	do {
		TRY(next_frame(block_reader, &item->frame));
		if (!item->frame.id) {
			item->kind = REEL_ITEM_END;
			block_reader->ended = true;
			return check_end(block_reader);
		}
		error = decode_item(block_reader, item, problem_ret);
		if (error)
			return prefix_record(block_reader, &item->frame, error);
		block_reader->n_records++;
		/* Labels and frames are returned with the samples. */
	} while (item->frame.id == REEL_RECORD_LABELS || item->frame.id == REEL_RECORD_FRAMES);
	if (!reel_samples_left(block_reader->decoder))
		return NULL;
	block_reader->samples = item->frame;
	return next_item(block_reader, item, problem_ret);
}

struct reel_error *reel_block_reader_next(struct reel_block_reader *block_reader,
					  struct reel_block_item *ret)
{
	ret->kind = REEL_ITEM_END;
	while (!block_reader->ended) {
		const char *problem = NULL;
		struct reel_error *error = next_item(block_reader, ret, &problem);

		if (!error && ret->kind == REEL_ITEM_SAMPLE && !block_reader->samples_left--)
			error = prefix_record(
				block_reader, &ret->frame,
				reel_error_create(REEL_ERROR_CORRUPT,
						  "too many samples for the block's stored size"));
		if (error) {
			block_reader->ended = true;
			return error;
		}
		if (!problem)
			break;
		reel_problems_add(
			&block_reader->problems, REEL_ERROR_CORRUPT, block_reader->block.offset,
			"%s: block %u at offset %llu: record %llu at byte %zu: %s",
			block_reader->reader->source.name, block_reader->block.header.sequence,
			(ull)block_reader->block.offset, (ull)ret->frame.id, ret->frame.offset,
			problem);
		ret->kind = REEL_ITEM_END;
	}
	return NULL;
}

struct reel_block_counts reel_block_reader_counts(const struct reel_block_reader *block_reader)
{
	struct reel_block_counts counts = block_reader->counts;

	if (counts.block.header.type == REEL_BLOCK_SIDE)
		counts.side_records = block_reader->n_records;
	if (counts.block.header.flags & REEL_BLOCK_OPTIONAL)
		counts.side_records = counts.samples = 0;
	return counts;
}

const struct reel_problem *reel_block_reader_problems(const struct reel_block_reader *block_reader,
						      size_t *count_ret)
{
	*count_ret = block_reader->problems.n;
	return block_reader->problems.list;
}
