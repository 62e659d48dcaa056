/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "format/block_file.h"
#include "format/block_ring.h"
#include "format/cipher.h"
#include "format/codec/samples.h"
#include "base/files.h"
#include "format/schema.h"

#define LEVEL_DEFAULT 3
/* The maximum cost of another block in a zstd frame, with room to spare. */
#define ZSTD_BLOCK_COST 64

struct reel_block_file {
	int fd;
	struct reel_block_file_options options; /* the name is owned by the file */
	ZSTD_CCtx *zstd;
	int level; /* zstd's current level */
	/* A block ready to write: header and payload. */
	struct reel_buffer output;
	uint8_t header[REEL_FILE_HEADER_SIZE]; /* the file's */
	/* NULL: not encrypted. */
	struct reel_cipher *cipher;
	struct reel_raw_block keys;	 /* written twice */
	struct reel_buffer frame;	 /* a payload before encryption */
	crypto_hash_sha256_state sha256; /* of the bytes written, for a DIGEST */
	/* INDEX_ENTRY records of the blocks so far; incomplete if there are too many. */
	struct reel_raw_block index;
	bool index_is_full;
	uint32_t sequence;
	uint64_t n_side_records;
	uint64_t bytes; /* written */
	/* Without `fd`, blocks go to the ring, and to a copy of it if there is one. */
	struct reel_block_ring ring;
	struct reel_block_file *copy;
	uint64_t n_copied; /* blocks from a ring */
	/* errno of a failed write: no further writes are possible. */
	int write_errno;
	bool is_cut; /* there was no room for the rest */
	/* The fields below are shared by threads. */
	pthread_mutex_t mutex;
	unsigned int users;
	struct reel_block_file_counts counts;
};

/* ---- raw blocks ----------------------------------------------------------------- */

void reel_raw_block_clear(struct reel_raw_block *block)
{
	struct reel_buffer raw = block->raw;
	uint16_t type = block->type;

	raw.size = 0;
	raw.failed = false;
	*block = (struct reel_raw_block){ .raw = raw, .type = type };
}

void reel_raw_block_add_time(struct reel_raw_block *block, uint64_t time)
{
	if (!block->has_time || time < block->time_first)
		block->time_first = time;
	if (!block->has_time || time > block->time_last)
		block->time_last = time;
	block->has_time = true;
}

struct reel_error *reel_raw_block_add(struct reel_raw_block *block,
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
		reel_raw_block_add_time(block, time);
	return NULL;
}

/* ---- life ------------------------------------------------------------------------- */

static bool set_level(struct reel_block_file *file, int level)
{
	if (ZSTD_isError(ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_compressionLevel, level)))
		return false;
	file->level = level;
	return true;
}

static struct reel_error *create_zstd(struct reel_block_file *file)
{
	if (!file->options.level)
		file->options.level = LEVEL_DEFAULT;
	file->zstd = ZSTD_createCCtx();
	if (!file->zstd)
		return reel_error_no_memory();
	if (!set_level(file, file->options.level))
		return reel_error_create(REEL_ERROR_INVALID, "invalid zstd level %d",
					 file->options.level);
	return NULL;
}

static void make_header(struct reel_block_file *file, const struct reel_public_keys *recipients)
{
	struct reel_file_header header = {
		.major = REEL_FORMAT_MAJOR,
		.minor = REEL_FORMAT_MINOR,
		.features = recipients && recipients->n ? REEL_FEATURE_ENCRYPTED : 0,
	};

	memcpy(header.id, file->options.id, sizeof(header.id));
	reel_file_header_store(&header, file->header);
}

/* Creates a key for the file, and its KEY records for those allowed to read it. */
static struct reel_error *create_cipher(struct reel_block_file *file,
					const struct reel_public_keys *recipients)
{
	if (!recipients || !recipients->n)
		return NULL;
	TRY(reel_cipher_create(file->header, &file->cipher));
	for (size_t i = 0; i < recipients->n; i++) {
		uint8_t id[REEL_KEY_ID_SIZE], sealed[REEL_SEALED_KEY_SIZE];
		struct reel_record record = { .id = REEL_RECORD_KEY };

		TRY(reel_cipher_seal_key(file->cipher, &recipients->list[i], id, sealed,
					 &record.key));
		TRY(reel_raw_block_add(&file->keys, &record));
	}
	reel_cipher_bind(file->cipher, file->keys.raw.bytes, file->keys.raw.size);
	return NULL;
}

void reel_block_file_limit_level(struct reel_block_file *file, int level)
{
	if (level > file->options.level)
		level = file->options.level;
	/* On failure the previous level stays, which is valid as well. */
	if (level != file->level)
		set_level(file, level);
}

struct reel_error *reel_block_file_create(int fd, const struct reel_block_file_options *options,
					  struct reel_block_file **ret)
{
	struct reel_block_file *file = calloc(1, sizeof(*file));
	struct reel_error *error;

	if (!file)
		return reel_error_no_memory();
	file->fd = fd;
	file->ring = (struct reel_block_ring){ options->ring_time, options->ring_size, NULL, 0 };
	file->options = *options;
	/* Until nothing can fail any more, the caller owns the descriptor. */
	file->options.owns_fd = false;
	file->options.recipients = NULL;
	file->users = 1;
	file->index.type = REEL_BLOCK_INDEX;
	file->keys.type = REEL_BLOCK_KEYS;
	crypto_hash_sha256_init(&file->sha256);
	pthread_mutex_init(&file->mutex, NULL);
	file->options.name = strdup(options->name);
	error = file->options.name ? create_zstd(file) : reel_error_no_memory();
	make_header(file, options->recipients);
	if (!error)
		error = create_cipher(file, options->recipients);
	if (error) {
		reel_block_file_release(file);
		return error;
	}
	file->options.owns_fd = options->owns_fd;
	*ret = file;
	return NULL;
}

struct reel_error *reel_block_file_copy_cipher(const struct reel_block_file *file,
					       struct reel_cipher **ret)
{
	*ret = NULL;
	return file->cipher ? reel_cipher_copy(file->cipher, ret) : NULL;
}

struct reel_block_file *reel_block_file_use(struct reel_block_file *file)
{
	pthread_mutex_lock(&file->mutex);
	file->users++;
	pthread_mutex_unlock(&file->mutex);
	return file;
}

void reel_block_file_release(struct reel_block_file *file)
{
	bool is_last;

	if (!file)
		return;
	pthread_mutex_lock(&file->mutex);
	is_last = !--file->users;
	pthread_mutex_unlock(&file->mutex);
	if (!is_last)
		return;
	if (file->options.owns_fd && file->fd >= 0)
		close(file->fd);
	ZSTD_freeCCtx(file->zstd);
	reel_buffer_free(&file->output);
	reel_buffer_free(&file->index.raw);
	reel_buffer_free(&file->keys.raw);
	reel_buffer_free(&file->frame);
	reel_cipher_destroy(file->cipher);
	reel_block_ring_free(&file->ring);
	reel_block_file_release(file->copy);
	free((char *)file->options.name);
	pthread_mutex_destroy(&file->mutex);
	free(file);
}

struct reel_block_file_counts reel_block_file_counts(struct reel_block_file *file)
{
	struct reel_block_file_counts counts;

	pthread_mutex_lock(&file->mutex);
	counts = file->counts;
	pthread_mutex_unlock(&file->mutex);
	return counts;
}

/* ---- writing ---------------------------------------------------------------------- */

/*
 * A partial block at the end reads as damage, so cut the file after the last complete block.  The
 * file ends where we write, even if it did not begin there (as with >>).
 */
static void cut_off(const struct reel_block_file *file)
{
	off_t end = lseek(file->fd, 0, SEEK_CUR);
	uint64_t excess = file->bytes - file->counts.bytes;
	struct stat status;

	if (end < 0 || (uint64_t)end < excess || fstat(file->fd, &status) ||
	    !S_ISREG(status.st_mode))
		return;
	/* If this fails as well, a reader skips the damaged end. */
	if (!ftruncate(file->fd, end - (off_t)excess))
		lseek(file->fd, end - (off_t)excess, SEEK_SET);
}

static struct reel_error *write_error(const struct reel_block_file *file)
{
	return reel_error_os(file->write_errno, "writing %s", file->options.name);
}

/* The file ends after its last complete block; its END and index are missing, as if killed. */
static void end_early(struct reel_block_file *file)
{
	file->write_errno = 0;
	file->is_cut = true;
	cut_off(file);
	file->bytes = file->counts.bytes;
}

static struct reel_error *write_all(struct reel_block_file *file, const uint8_t *bytes, size_t size)
{
	const struct reel_block_file_options *options = &file->options;
	uint64_t begin = file->bytes;
	bool has_room = true, is_full = false;

	if (file->write_errno)
		return write_error(file);
	if (options->digest)
		crypto_hash_sha256_update(&file->sha256, bytes, size);
	do {
		size_t done = (size_t)(file->bytes - begin);

		if (options->make_room)
			has_room =
				options->make_room(options->context, file->fd, is_full ? 0 : size);
		if (!has_room) {
			end_early(file);
			return NULL;
		}
		file->write_errno =
			reel_write_all(file->fd, bytes + done, size - done, &file->bytes);
		is_full = file->write_errno == ENOSPC || file->write_errno == EDQUOT;
	} while (is_full && options->make_room);
	if (!file->write_errno)
		return NULL;
	cut_off(file);
	return write_error(file);
}

/* Counts everything written so far as complete. */
static void count(struct reel_block_file *file, uint64_t samples)
{
	pthread_mutex_lock(&file->mutex);
	file->counts.bytes = file->bytes;
	*(file->is_cut ? &file->counts.lost : &file->counts.samples) += samples;
	pthread_mutex_unlock(&file->mutex);
}

/* Makes room for `size` bytes, dropping the buffer's contents; NULL if out of memory. */
static uint8_t *room_in(struct reel_buffer *buffer, size_t size)
{
	buffer->size = 0;
	buffer->failed = false;
	return reel_buffer_reserve(buffer, size);
}

/* Compresses bytes [from, to), and ends a zstd block there, or the frame. */
static size_t compress_part(struct reel_block_file *file, const struct reel_raw_block *block,
			    ZSTD_outBuffer *output, size_t from, size_t to)
{
	bool last = to == block->raw.size;
	ZSTD_inBuffer input = { block->raw.bytes + from, to - from, 0 };

	return ZSTD_compressStream2(file->zstd, output, &input, last ? ZSTD_e_end : ZSTD_e_flush);
}

/* One zstd block for each stream: streams have little in common, so this saves a tenth. */
static size_t compress_streams(struct reel_block_file *file, const struct reel_raw_block *block,
			       ZSTD_outBuffer *output)
{
	size_t at = 0, size;

	ZSTD_CCtx_reset(file->zstd, ZSTD_reset_session_only);
	size = ZSTD_CCtx_setPledgedSrcSize(file->zstd, block->raw.size);
	for (size_t i = 0; i < REEL_STREAMS && !ZSTD_isError(size); i++) {
		/* The stream is empty, or nothing follows it. */
		if (block->ends[i] == at || block->ends[i] == block->raw.size)
			continue;
		size = compress_part(file, block, output, at, block->ends[i]);
		at = block->ends[i];
	}
	if (!ZSTD_isError(size))
		size = compress_part(file, block, output, at, block->raw.size);
	return ZSTD_isError(size) ? size : output->pos;
}

static size_t frame_bound(const struct reel_raw_block *block)
{
	return ZSTD_compressBound(block->raw.size) + REEL_STREAMS * ZSTD_BLOCK_COST;
}

/*
 * Compresses the records into `room` of `bound` bytes.  The frame has its content size but no
 * content checksum: the header has a CRC of the payload, which also covers payloads that are not
 * zstd frames.
 */
static struct reel_error *compress_block(struct reel_block_file *file,
					 const struct reel_raw_block *block, uint8_t *room,
					 size_t bound, size_t *size_ret)
{
	ZSTD_outBuffer output = { room, bound, 0 };

	*size_ret = block->has_ends ? compress_streams(file, block, &output)
				    : ZSTD_compress2(file->zstd, room, bound, block->raw.bytes,
						     block->raw.size);
	if (ZSTD_isError(*size_ret))
		return reel_error_create(REEL_ERROR_NO_MEMORY, "writing %s: zstd: %s",
					 file->options.name, ZSTD_getErrorName(*size_ret));
	return NULL;
}

/* Writes a zstd frame (RFC 8878, 3.1.1) of uncompressed blocks; it is smaller than
 * `compress_block`'s bound. */
static size_t put_raw_frame(const struct reel_raw_block *block, uint8_t *room)
{
	/* A content size of 8 bytes, one segment, no checksum, no dictionary. */
	enum { DESCRIPTOR = 0xE0, PART_MAX = 128 << 10 };
	uint8_t *at = room;
	size_t done = 0;

	reel_store32(at, ZSTD_MAGICNUMBER);
	at[4] = DESCRIPTOR;
	reel_store64(at + 5, block->raw.size);
	at += 13;
	do {
		size_t left = block->raw.size - done, size = left < PART_MAX ? left : PART_MAX;
		uint32_t head = (uint32_t)size << 3 | (size == left);

		at[0] = (uint8_t)head;
		at[1] = (uint8_t)(head >> 8);
		at[2] = (uint8_t)(head >> 16);
		at += 3;
		if (size)
			memcpy(at, block->raw.bytes + done, size);
		at += size;
		done += size;
	} while (done < block->raw.size);
	return (size_t)(at - room);
}

/* Whether a reader would reject it as a bomb, if stored like this. */
static bool is_too_dense(const struct reel_raw_block *block, size_t stored)
{
	const struct reel_block_header header = {
		.type = block->type,
		.stored_size = (uint32_t)stored,
		.raw_size = (uint32_t)block->raw.size,
		.records = block->records,
	};

	return reel_block_check_density(&header) ||
	       block->samples > reel_block_samples_max(header.stored_size);
}

/* Compresses the block into `file->frame`. */
static struct reel_error *pack(struct reel_block_file *file, const struct reel_raw_block *block,
			       size_t *size_ret)
{
	size_t bound = frame_bound(block);
	uint8_t *frame = room_in(&file->frame, bound);

	if (!frame)
		return reel_error_no_memory();
	TRY(compress_block(file, block, frame, bound, size_ret));
	if (is_too_dense(block, *size_ret))
		*size_ret = put_raw_frame(block, frame);
	return NULL;
}

static void add_index_entry(struct reel_block_file *file, const struct reel_block_header *header,
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

	if (file->index_is_full)
		return;
	if (reel_record_encoded_size(&record) > REEL_BLOCK_RAW_MAX - file->index.raw.size) {
		file->index_is_full = true;
		return;
	}
	/* A file without an index is still valid: readers scan it. */
	error = reel_raw_block_add(&file->index, &record);
	file->index_is_full = error != NULL;
	reel_error_destroy(error);
}

struct reel_error *reel_block_file_begin(struct reel_block_file *file)
{
	TRY(write_all(file, file->header, sizeof(file->header)));
	count(file, 0);
	return file->keys.records ? reel_block_file_write(file, &file->keys) : NULL;
}

/* Writes the payload, encrypted if the file is, after its header. */
static struct reel_error *put(struct reel_block_file *file, const struct reel_block_header *fields,
			      const uint8_t *frame, size_t size, uint64_t samples)
{
	uint8_t *room =
		room_in(&file->output, REEL_BLOCK_HEADER_SIZE + size + REEL_CIPHER_OVERHEAD);
	struct reel_block_header header = *fields, stored;
	uint64_t offset = file->bytes;

	if (!room)
		return reel_error_no_memory();
	header.sequence = file->sequence;
	stored = header;
	if (file->cipher && header.type != REEL_BLOCK_KEYS) {
		reel_cipher_seal(file->cipher, &stored, frame, size, room + REEL_BLOCK_HEADER_SIZE);
	} else {
		memcpy(room + REEL_BLOCK_HEADER_SIZE, frame, size);
		stored.stored_size = (uint32_t)size;
		stored.payload_crc = (uint32_t)crc32(0, frame, stored.stored_size);
	}
	reel_block_header_store(&stored, file->options.id, room);
	if (!file->is_cut)
		TRY(write_all(file, room, REEL_BLOCK_HEADER_SIZE + (size_t)stored.stored_size));
	if (file->is_cut) {
		count(file, samples);
		return NULL;
	}
	/* The index contains the fields that the header of an encrypted block hides. */
	header.stored_size = stored.stored_size;
	if (header.type != REEL_BLOCK_INDEX)
		add_index_entry(file, &header, offset);
	file->sequence++;
	file->n_side_records += header.type == REEL_BLOCK_SIDE ? header.records : 0;
	count(file, samples);
	return NULL;
}

/* A file has the head of its first round only. */
static struct reel_error *put_copy(struct reel_block_file *file,
				   const struct reel_held_block *block)
{
	if (block->is_head && file->n_side_records)
		return NULL;
	file->n_copied++;
	return put(file, &block->header, block->frame, block->size, block->samples);
}

/* Adds the block in `file->frame` to the ring. */
static struct reel_error *hold(struct reel_block_file *file, const struct reel_block_header *header,
			       const struct reel_raw_block *block, size_t size)
{
	struct reel_held_block *held = malloc(sizeof(*held) + size);
	struct reel_error *error = NULL;

	if (!held)
		return reel_error_no_memory();
	*held = (struct reel_held_block){
		.header = *header,
		.samples = block->samples,
		.round = block->round,
		.is_head = block->is_head,
		.size = size,
	};
	memcpy(held->frame, file->frame.bytes, size);
	if (file->copy)
		error = put_copy(file->copy, held);
	reel_block_ring_add(&file->ring, held);
	file->bytes += size;
	count(file, block->samples);
	return error;
}

struct reel_error *reel_block_file_write(struct reel_block_file *file,
					 const struct reel_raw_block *block)
{
	const struct reel_block_header header = {
		.type = block->type,
		.codec = REEL_CODEC_ZSTD,
		.flags = block->flags,
		.raw_size = (uint32_t)block->raw.size,
		.expanded_size = block->expanded,
		.time_first = block->time_first,
		.time_last = block->time_last,
		.records = block->records,
	};
	size_t size;

	TRY(pack(file, block, &size));
	return file->ring.size ? hold(file, &header, block, size)
			       : put(file, &header, file->frame.bytes, size, block->samples);
}

/* ---- copies of a ring ------------------------------------------------------------- */

struct reel_error *reel_block_file_copy(struct reel_block_file *ring, struct reel_block_file *copy)
{
	ring->copy = reel_block_file_use(copy);
	TRY(reel_block_file_begin(copy));
	for (const struct reel_held_block *at = ring->ring.first; at; at = at->next)
		TRY(put_copy(copy, at));
	return NULL;
}

struct reel_error *reel_block_file_end_copy(struct reel_block_file *ring,
					    const struct reel_record_end *end)
{
	struct reel_record record = { .id = REEL_RECORD_END, .end = *end };
	struct reel_block_file *copy = ring->copy;
	struct reel_raw_block block = { .type = REEL_BLOCK_SIDE };
	struct reel_error *error;

	record.end.samples = copy->counts.samples;
	record.end.blocks = copy->n_copied + 1;
	record.end.side_records = copy->n_side_records + 1;
	error = reel_raw_block_add(&block, &record);
	if (!error)
		error = reel_block_file_write(copy, &block);
	reel_buffer_free(&block.raw);
	if (!error)
		error = reel_block_file_finish(copy);
	reel_block_file_release(copy);
	ring->copy = NULL;
	return error;
}

/* ---- the end ---------------------------------------------------------------------- */

static struct reel_error *add_digest(struct reel_block_file *file)
{
	uint8_t sha256[REEL_SHA256_SIZE];
	const struct reel_record record = { .id = REEL_RECORD_DIGEST,
					    .digest.sha256 = { sha256, sizeof(sha256) } };

	crypto_hash_sha256_final(&file->sha256, sha256);
	return reel_raw_block_add(&file->index, &record);
}

static struct reel_error *write_index_and_trailer(struct reel_block_file *file)
{
	uint8_t trailer[REEL_TRAILER_SIZE];
	uint64_t index_offset = 0;

	/* Without a second copy, damage at the file's beginning would make all of it useless. */
	if (file->keys.records)
		TRY(reel_block_file_write(file, &file->keys));
	if (!file->index_is_full && file->index.records) {
		if (file->options.digest)
			TRY(add_digest(file));
		index_offset = file->bytes;
		TRY(reel_block_file_write(file, &file->index));
	}
	if (file->is_cut)
		return NULL;
	reel_trailer_store(index_offset, file->options.id, trailer);
	TRY(write_all(file, trailer, sizeof(trailer)));
	count(file, 0);
	return NULL;
}

struct reel_error *reel_block_file_finish(struct reel_block_file *file)
{
	const struct reel_block_file_options *options = &file->options;
	struct reel_error *error = NULL;

	TRY(write_index_and_trailer(file));
	if (options->finished)
		TRY(options->finished(options->context, file->fd));
	/* Network file systems may report only here that the disk is full. */
	if (options->owns_fd && close(file->fd))
		error = reel_error_os(errno, "writing %s", options->name);
	if (options->owns_fd)
		file->fd = -1;
	return error;
}
