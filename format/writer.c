/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "format/cipher.h"
#include "format/codec.h"
#include "format/schema.h"
#include "format/writer.h"

#define LEVEL_DEFAULT	   3
#define BLOCK_EXPANDED_END (64u << 20)
#define BLOCK_RAW_END	   (8u << 20)
/*
 * A sample of so many bytes gets a block of its own: its record may turn out
 * to be too large, and then it has to go without taking others with it.  One
 * below adds less than REEL_BLOCK_RAW_MAX - BLOCK_RAW_END: runs are at least
 * REEL_RUN_GAP apart, so they add an eighth, and chains and missing ranges 4 MiB.
 */
#define LARGE_SAMPLE (32u << 20)

/* A record's tag and size: two LEB128 of 64 bits. */
#define FRAME_HEAD_MAX 20

/* A block that is being filled. */
struct open_block {
	struct reel_buffer raw;
	uint16_t type;
	uint8_t flags;
	uint32_t records;
	uint64_t expanded;
	bool has_time;
	uint64_t time_first, time_last;
	/* Of a sample block: all samples so far are scrubbed, and there is one. */
	bool has_sample, all_scrubbed;
};

struct reel_writer {
	int fd;
	char *name;
	struct reel_writer_options options;
	uint8_t id[REEL_FILE_ID_SIZE];
	ZSTD_CCtx *zstd;
	struct reel_sample_encoder *encoder;
	struct open_block side, samples;
	/* A block as it is written: header and payload. */
	struct reel_buffer output;
	/* NULL: not encrypted. */
	struct reel_cipher *cipher;
	struct reel_buffer frame; /* a payload before encryption */
	struct open_block keys;	  /* the same as often as they are written */
	/* INDEX_ENTRY records of the blocks so far; not complete if there are too many. */
	struct open_block index;
	bool index_is_full;
	uint32_t sequence;
	bool has_last_id;
	uint64_t last_id;
	struct reel_writer_counts counts;
	/* errno of the write that failed: nothing can follow it. */
	int write_errno;
	bool finished;
};

static struct reel_error *write_error(const struct reel_writer *writer)
{
	return reel_error_os(writer->write_errno, "writing %s", writer->name);
}

static struct reel_error *write_all(struct reel_writer *writer, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(writer->fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = writer->fd, .events = POLLOUT }, 1, -1);
			continue;
		}
		if (n < 0) {
			writer->write_errno = errno;
			return write_error(writer);
		}
		bytes += n;
		size -= (size_t)n;
		writer->counts.file_bytes += (uint64_t)n;
	}
	return NULL;
}

/* ---- blocks ------------------------------------------------------------------- */

static void block_clear(struct open_block *block)
{
	struct reel_buffer raw = block->raw;
	uint16_t type = block->type;

	raw.size = 0;
	raw.failed = false;
	*block = (struct open_block){ .raw = raw, .type = type };
}

static void block_add_time(struct open_block *block, uint64_t time)
{
	if (!block->has_time || time < block->time_first)
		block->time_first = time;
	if (!block->has_time || time > block->time_last)
		block->time_last = time;
	block->has_time = true;
}

/* Appends the record to the block's raw bytes, or leaves them as they were. */
static struct reel_error *block_add_record(struct open_block *block,
					   const struct reel_record *record)
{
	uint64_t time;

	reel_record_encode(&block->raw, record);
	if (block->raw.failed) {
		block->raw.failed = false;
		return reel_error_no_memory();
	}
	block->records++;
	if (reel_record_time(record, &time))
		block_add_time(block, time);
	return NULL;
}

/* `size` bytes in the buffer, whatever is in it; NULL if memory is short. */
static uint8_t *room_in(struct reel_buffer *buffer, size_t size)
{
	buffer->size = 0;
	buffer->failed = false;
	return reel_buffer_reserve(buffer, size);
}

/* Compresses the records into `room` of `bound` bytes. */
static struct reel_error *compress_block(struct reel_writer *writer, const struct open_block *block,
					 uint8_t *room, size_t bound, size_t *size_ret)
{
	size_t size;

	/*
	 * The frame has its content size, which ZSTD_compress2 knows, and no
	 * content checksum: the header has a CRC of the payload, which is there
	 * for payloads that are no zstd frame too.
	 */
	size = ZSTD_compress2(writer->zstd, room, bound, block->raw.bytes, block->raw.size);
	if (ZSTD_isError(size))
		return reel_error_create(REEL_ERROR_NO_MEMORY, "writing %s: zstd: %s", writer->name,
					 ZSTD_getErrorName(size));
	*size_ret = size;
	return NULL;
}

/* Puts header and payload into the output; what of the header is known then is set. */
static struct reel_error *put_block(struct reel_writer *writer, const struct open_block *block,
				    struct reel_block_header *header)
{
	bool encrypts = writer->cipher && block->type != REEL_BLOCK_KEYS;
	size_t bound = ZSTD_compressBound(block->raw.size), size;
	uint8_t *room =
		room_in(&writer->output, REEL_BLOCK_HEADER_SIZE + bound + REEL_CIPHER_OVERHEAD);
	uint8_t *frame = encrypts ? room_in(&writer->frame, bound) : room;
	uint8_t *payload;
	struct reel_error *error;

	if (!room || !frame)
		return reel_error_no_memory();
	payload = room + REEL_BLOCK_HEADER_SIZE;
	if (!encrypts)
		frame = payload;
	error = compress_block(writer, block, frame, bound, &size);
	if (error)
		return error;
	if (encrypts) {
		reel_cipher_seal(writer->cipher, header, frame, size, payload);
	} else {
		header->stored_size = (uint32_t)size;
		header->payload_crc = (uint32_t)crc32(0, payload, header->stored_size);
	}
	reel_block_header_store(header, writer->id, room);
	return NULL;
}

static void add_index_entry(struct reel_writer *writer, const struct reel_block_header *header,
			    uint64_t offset)
{
	struct reel_record record = {
		.id = REEL_RECORD_INDEX_ENTRY,
		.index_entry = {
			.offset = offset,
			.type = header->type,
			.sequence = header->sequence,
			.stored_size = header->stored_size,
			.raw_size = header->raw_size,
			.expanded_size = header->expanded_size,
			.time_first = header->time_first,
			.time_last = header->time_last,
			.records = header->records,
		},
	};
	struct reel_error *error;

	if (writer->index_is_full)
		return;
	if (reel_record_encoded_size(&record) > REEL_BLOCK_RAW_MAX - writer->index.raw.size) {
		writer->index_is_full = true;
		return;
	}
	/* A file without an index is as good: it is scanned. */
	error = block_add_record(&writer->index, &record);
	writer->index_is_full = error != NULL;
	reel_error_destroy(error);
}

static uint8_t flags_of(const struct reel_writer *writer, const struct open_block *block)
{
	if (block->type != REEL_BLOCK_SAMPLES)
		return 0;
	return writer->options.sample_flags |
	       (block->has_sample && block->all_scrubbed ? REEL_BLOCK_SCRUBBED : 0);
}

/* Writes the block if it has records, and empties it. */
static struct reel_error *write_block(struct reel_writer *writer, struct open_block *block)
{
	uint64_t offset = writer->counts.file_bytes;
	struct reel_block_header header = {
		.type = block->type,
		.codec = REEL_CODEC_ZSTD,
		.flags = flags_of(writer, block),
		.sequence = writer->sequence,
		.raw_size = (uint32_t)block->raw.size,
		.expanded_size = block->expanded,
		.time_first = block->time_first,
		.time_last = block->time_last,
		.records = block->records,
	};
	struct reel_block_header stored = header;
	struct reel_error *error;

	if (!block->records)
		return NULL;
	error = put_block(writer, block, &stored);
	if (!error)
		error = write_all(writer, writer->output.bytes,
				  REEL_BLOCK_HEADER_SIZE + (size_t)stored.stored_size);
	if (error)
		return error;
	/* The index has what the header of an encrypted block hides. */
	header.stored_size = stored.stored_size;
	if (block != &writer->index)
		add_index_entry(writer, &header, offset);
	writer->sequence++;
	writer->counts.blocks++;
	if (block != &writer->keys)
		block_clear(block);
	return NULL;
}

/* ---- life --------------------------------------------------------------------- */

static struct reel_error *make_file_id(const uint8_t *file_id, uint8_t ret[REEL_FILE_ID_SIZE])
{
	if (file_id) {
		memcpy(ret, file_id, REEL_FILE_ID_SIZE);
		return NULL;
	}
	/* So few bytes come at once, or not at all. */
	while (getrandom(ret, REEL_FILE_ID_SIZE, 0) != REEL_FILE_ID_SIZE) {
		if (errno != EINTR)
			return reel_error_os(errno, "making a random file id");
	}
	return NULL;
}

static struct reel_error *create_zstd(struct reel_writer *writer)
{
	int level = writer->options.level ? writer->options.level : LEVEL_DEFAULT;

	writer->zstd = ZSTD_createCCtx();
	if (!writer->zstd)
		return reel_error_no_memory();
	if (ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, level)))
		return reel_error_create(REEL_ERROR_INVALID, "zstd has no level %d", level);
	return NULL;
}

static struct reel_error *write_file_header(struct reel_writer *writer)
{
	struct reel_file_header header = {
		.major = REEL_FORMAT_MAJOR,
		.minor = REEL_FORMAT_MINOR,
		.features = writer->cipher ? REEL_FEATURE_ENCRYPTED : 0,
	};
	uint8_t bytes[REEL_FILE_HEADER_SIZE];

	memcpy(header.id, writer->id, sizeof(header.id));
	reel_file_header_store(&header, bytes);
	return write_all(writer, bytes, sizeof(bytes));
}

/* A new key for the file, and the records of it for those who may read it. */
static struct reel_error *create_cipher(struct reel_writer *writer)
{
	const struct reel_public_keys *recipients = writer->options.recipients;
	struct reel_error *error;

	writer->options.recipients = NULL;
	if (!recipients || !recipients->n)
		return NULL;
	error = reel_cipher_create(writer->id, &writer->cipher);
	for (size_t i = 0; i < recipients->n && !error; i++) {
		uint8_t id[REEL_KEY_ID_SIZE], sealed[REEL_SEALED_KEY_SIZE];
		struct reel_record record = { .id = REEL_RECORD_KEY };

		error = reel_cipher_seal_key(writer->cipher, &recipients->list[i], id, sealed,
					     &record.key);
		if (!error)
			error = block_add_record(&writer->keys, &record);
	}
	return error;
}

static struct reel_error *setup(struct reel_writer *writer, const char *name,
				const uint8_t *file_id)
{
	struct reel_error *error;

	writer->name = strdup(name);
	if (!writer->name)
		return reel_error_no_memory();
	error = make_file_id(file_id, writer->id);
	if (!error)
		error = create_cipher(writer);
	if (!error)
		error = create_zstd(writer);
	if (!error)
		error = reel_sample_encoder_create(&writer->encoder);
	if (!error)
		error = write_file_header(writer);
	if (!error)
		error = write_block(writer, &writer->keys);
	return error;
}

struct reel_error *reel_writer_create(int fd, const char *name,
				      const struct reel_writer_options *options,
				      const uint8_t *file_id, struct reel_writer **ret)
{
	struct reel_writer *writer = calloc(1, sizeof(*writer));
	struct reel_error *error;

	if (!writer)
		return reel_error_no_memory();
	writer->fd = fd;
	if (options)
		writer->options = *options;
	if (!writer->options.block_expanded)
		writer->options.block_expanded = BLOCK_EXPANDED_END;
	writer->side.type = REEL_BLOCK_SIDE;
	writer->samples.type = REEL_BLOCK_SAMPLES;
	writer->index.type = REEL_BLOCK_INDEX;
	writer->keys.type = REEL_BLOCK_KEYS;
	error = setup(writer, name, file_id);
	if (error) {
		reel_writer_destroy(writer);
		return error;
	}
	*ret = writer;
	return NULL;
}

void reel_writer_destroy(struct reel_writer *writer)
{
	if (!writer)
		return;
	reel_sample_encoder_destroy(writer->encoder);
	ZSTD_freeCCtx(writer->zstd);
	reel_buffer_free(&writer->side.raw);
	reel_buffer_free(&writer->samples.raw);
	reel_buffer_free(&writer->index.raw);
	reel_buffer_free(&writer->keys.raw);
	reel_buffer_free(&writer->frame);
	reel_cipher_destroy(writer->cipher);
	reel_buffer_free(&writer->output);
	free(writer->name);
	free(writer);
}

const uint8_t *reel_writer_file_id(const struct reel_writer *writer)
{
	return writer->id;
}

struct reel_writer_counts reel_writer_counts(const struct reel_writer *writer)
{
	return writer->counts;
}

/* ---- records -------------------------------------------------------------------- */

static struct reel_error *check_writable(const struct reel_writer *writer)
{
	if (writer->write_errno)
		return write_error(writer);
	if (writer->finished)
		return reel_error_create(REEL_ERROR_INVALID, "writing %s: the capture is finished",
					 writer->name);
	return NULL;
}

/* A text or bytes longer than the format allows; NULL if there is none. */
static const char *oversized_field(const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];

		if (field->max && reel_schema_bytes(field, record).size > field->max)
			return field->name;
	}
	return NULL;
}

static struct reel_error *check_record(const struct reel_writer *writer,
				       const struct reel_record *record)
{
	const char *name = reel_record_name(record->id), *field, *problem;

	if (!reel_schema_of(record->id) || reel_record_block_type(record->id) != REEL_BLOCK_SIDE)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: record %d is no side record", writer->name,
					 (int)record->id);
	field = oversized_field(record);
	if (field)
		return reel_error_create(REEL_ERROR_INVALID, "writing %s: %s: %s is too long",
					 writer->name, name, field);
	problem = reel_record_check(record);
	if (problem)
		return reel_error_create(REEL_ERROR_INVALID, "writing %s: %s: %s", writer->name,
					 name, problem);
	if (reel_record_encoded_size(record) > REEL_BLOCK_RAW_MAX)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: %s exceeds the size of a block", writer->name,
					 name);
	return NULL;
}

struct reel_error *reel_writer_record(struct reel_writer *writer, const struct reel_record *record)
{
	struct reel_error *error = check_writable(writer);

	if (!error)
		error = check_record(writer, record);
	if (!error && reel_record_encoded_size(record) > REEL_BLOCK_RAW_MAX - writer->side.raw.size)
		error = write_block(writer, &writer->side);
	if (!error)
		error = block_add_record(&writer->side, record);
	if (!error && writer->side.raw.size >= BLOCK_RAW_END)
		error = write_block(writer, &writer->side);
	return error;
}

static struct reel_error *flush(struct reel_writer *writer)
{
	struct reel_error *error = write_block(writer, &writer->side);

	if (!error)
		error = write_block(writer, &writer->samples);
	if (!error)
		reel_sample_encoder_reset(writer->encoder);
	return error;
}

struct reel_error *reel_writer_flush(struct reel_writer *writer)
{
	struct reel_error *error = check_writable(writer);

	return error ? error : flush(writer);
}

static bool sample_block_is_full(const struct reel_writer *writer)
{
	return writer->samples.expanded >= writer->options.block_expanded ||
	       writer->samples.raw.size >= BLOCK_RAW_END;
}

static uint64_t expanded_size(const struct reel_sample *sample)
{
	uint64_t size = 0;

	for (size_t i = 0; i < sample->n_regions; i++)
		size += sample->regions[i].size;
	return size;
}

/* Ends the block in which the sample has no place. */
static struct reel_error *make_place(struct reel_writer *writer, const struct reel_sample *sample)
{
	uint64_t expanded = expanded_size(sample);

	if (!writer->samples.records)
		return NULL;
	if (expanded < LARGE_SAMPLE &&
	    expanded <= REEL_BLOCK_EXPANDED_MAX - writer->samples.expanded &&
	    !reel_sample_encoder_is_full(writer->encoder))
		return NULL;
	return flush(writer);
}

/* The block is as it was before, but for the encoder: there is no other sample in it then. */
static struct reel_error *drop_oversized(struct reel_writer *writer,
					 const struct open_block *before)
{
	struct reel_buffer raw = writer->samples.raw;

	raw.size = before->raw.size;
	writer->samples = *before;
	writer->samples.raw = raw;
	reel_sample_encoder_reset(writer->encoder);
	return reel_error_create(REEL_ERROR_INVALID,
				 "writing %s: a sample exceeds the size of a block", writer->name);
}

static struct reel_error *encode_sample(struct reel_writer *writer,
					const struct reel_sample *sample)
{
	struct open_block *block = &writer->samples;
	struct open_block before = *block;
	struct reel_error *error;

	error = reel_sample_encode(writer->encoder, &block->raw, sample, &block->records,
				   &block->expanded);
	if (error) {
		block->raw.failed = false;
		return reel_error_prefix(error, "writing %s", writer->name);
	}
	if (block->raw.size > REEL_BLOCK_RAW_MAX || block->expanded > REEL_BLOCK_EXPANDED_MAX)
		return drop_oversized(writer, &before);
	block_add_time(block, sample->time);
	block->all_scrubbed =
		(!block->has_sample || block->all_scrubbed) && sample->flags & REEL_SAMPLE_SCRUBBED;
	block->has_sample = true;
	return NULL;
}

struct reel_error *reel_writer_sample(struct reel_writer *writer, const struct reel_sample *sample)
{
	struct reel_error *error = check_writable(writer);

	if (error)
		return error;
	if (writer->has_last_id && sample->id <= writer->last_id)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: sample ids do not ascend (%llu after %llu)",
					 writer->name, (unsigned long long)sample->id,
					 (unsigned long long)writer->last_id);
	error = make_place(writer, sample);
	if (!error)
		error = encode_sample(writer, sample);
	if (error)
		return error;
	writer->has_last_id = true;
	writer->last_id = sample->id;
	writer->counts.samples++;
	writer->counts.stack_bytes += expanded_size(sample);
	return sample_block_is_full(writer) ? flush(writer) : NULL;
}

struct reel_error *reel_writer_weight(struct reel_writer *writer,
				      const struct reel_record_sample_weight *weight)
{
	struct reel_record record = { .id = REEL_RECORD_SAMPLE_WEIGHT, .sample_weight = *weight };
	struct reel_error *error = check_writable(writer);

	if (!error)
		error = block_add_record(&writer->samples, &record);
	if (error)
		return error;
	return sample_block_is_full(writer) ? flush(writer) : NULL;
}

/* Appends the frame to the block, or leaves it as it was. */
static struct reel_error *block_add_frame(struct open_block *block,
					  const struct reel_record_frame *frame,
					  const struct reel_record *record)
{
	size_t size_before = block->raw.size;
	uint64_t time;

	reel_record_frame_append(&block->raw, frame);
	if (block->raw.failed) {
		block->raw.size = size_before;
		block->raw.failed = false;
		return reel_error_no_memory();
	}
	block->records++;
	if (record && reel_record_time(record, &time))
		block_add_time(block, time);
	return NULL;
}

struct reel_error *reel_writer_copy(struct reel_writer *writer, uint16_t block_type,
				    const struct reel_record_frame *frame,
				    const struct reel_record *record)
{
	bool is_side = block_type == REEL_BLOCK_SIDE;
	struct open_block *block = is_side ? &writer->side : &writer->samples;
	struct reel_error *error = check_writable(writer);

	if (error)
		return error;
	if (reel_cursor_left(&frame->payload) > REEL_BLOCK_RAW_MAX - FRAME_HEAD_MAX)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: a record exceeds the size of a block",
					 writer->name);
	if (reel_cursor_left(&frame->payload) + FRAME_HEAD_MAX >
	    REEL_BLOCK_RAW_MAX - block->raw.size)
		error = is_side ? write_block(writer, block) : flush(writer);
	if (!error)
		error = block_add_frame(block, frame, record);
	if (error)
		return error;
	if (is_side)
		return block->raw.size >= BLOCK_RAW_END ? write_block(writer, block) : NULL;
	return sample_block_is_full(writer) ? flush(writer) : NULL;
}

struct reel_error *reel_writer_finish(struct reel_writer *writer)
{
	struct reel_error *error = check_writable(writer);
	uint8_t trailer[REEL_TRAILER_SIZE];
	uint64_t index_offset = 0;

	if (!error)
		error = flush(writer);
	/* Once more: without them, damage at the file's beginning would make all of it useless. */
	if (!error)
		error = write_block(writer, &writer->keys);
	if (error)
		return error;
	if (!writer->index_is_full && writer->index.records) {
		index_offset = writer->counts.file_bytes;
		error = write_block(writer, &writer->index);
		if (error)
			return error;
	}
	reel_trailer_store(index_offset, writer->id, trailer);
	writer->finished = true;
	return write_all(writer, trailer, sizeof(trailer));
}
