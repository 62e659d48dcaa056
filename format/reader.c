/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/reader_internal.h"

/* Nobody reads a report of more. */
#define PROBLEMS_MAX 1000

/*
 * Each block header has its own checksum, and the file's tag, which is enough to find all blocks.
 * The rest of the file's id, and its version, stay unknown.
 */
static struct reel_error *guess_file_header(struct reel_reader *reader, struct reel_error *damage)
{
	uint8_t bytes[REEL_BLOCK_HEADER_SIZE];
	struct reel_file_header guess = { .major = REEL_FORMAT_MAJOR, .minor = REEL_FORMAT_MINOR };
	struct reel_block_header block;
	struct reel_error *error;

	if (!damage || !(reader->tolerance & REEL_TOLERATE_HEADER) ||
	    reader->source.size < REEL_FILE_HEADER_SIZE + sizeof(bytes) ||
	    (reel_error_code(damage) != REEL_ERROR_CORRUPT &&
	     reel_error_code(damage) != REEL_ERROR_NOT_A_CAPTURE))
		return damage;
	error = reel_source_read(&reader->source, REEL_FILE_HEADER_SIZE, bytes, sizeof(bytes));
	if (error) {
		reel_error_destroy(damage);
		return error;
	}
	reel_block_tag_load(bytes, guess.id);
	if (!reel_block_header_load(bytes, guess.id, &block) ||
	    block.flags & REEL_BLOCK_ENCRYPTED || block.type == REEL_BLOCK_KEYS)
		return damage;
	reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, 0,
			  "%s: damaged file header; reading blocks in this version's format",
			  reader->source.name);
	reel_error_destroy(damage);
	reader->header = guess;
	return NULL;
}

static struct reel_error *read_file_header(struct reel_reader *reader)
{
	size_t size = sizeof(reader->stored_header);
	struct reel_error *error;

	if (reader->source.size < size)
		size = reader->source.size;
	TRY(reel_source_read(&reader->source, 0, reader->stored_header, size));
	error = reel_file_header_load(reader->stored_header, size, &reader->header);
	error = guess_file_header(reader, error);
	return reel_error_prefix(error, "%s", reader->source.name);
}

static struct reel_error *read_trailer(struct reel_reader *reader)
{
	uint8_t bytes[REEL_TRAILER_SIZE];

	if (reader->source.size < REEL_FILE_HEADER_SIZE + sizeof(bytes))
		return NULL;
	TRY(reel_source_read(&reader->source, reader->source.size - sizeof(bytes), bytes,
			     sizeof(bytes)));
	reader->has_trailer = reel_trailer_load(bytes, reader->header.id, &reader->index_offset);
	return NULL;
}

/* Payloads are compressed and have no holes; those of unknown blocks are not read. */
#define HOLES_MAX  16
#define HOLES_FREE (64u << 20)

static struct reel_error *check_holes(const struct reel_reader *reader)
{
	uint64_t size = 0, stored;
	struct stat status;

	if (fstat(reader->source.fd, &status) || !status.st_blocks)
		return NULL; /* some file systems do not report holes */
	stored = (uint64_t)status.st_blocks * 512;
	for (size_t i = 0; i < reader->n_blocks; i++) {
		if (reel_block_is_known(&reader->blocks[i].header))
			size += reader->blocks[i].header.stored_size;
	}
	if (size <= HOLES_FREE || (size - HOLES_FREE) / HOLES_MAX <= stored)
		return NULL;
	return reel_error_create(
		REEL_ERROR_CORRUPT,
		"%s: not written by a recorder: of %llu bytes in blocks, all but %llu are holes",
		reader->source.name, (unsigned long long)size, (unsigned long long)stored);
}

static struct reel_error *find_blocks(struct reel_reader *reader,
				      const struct reel_identities *identities)
{
	bool is_encrypted;

	TRY(read_file_header(reader));
	is_encrypted = reel_reader_is_encrypted(reader);
	if (is_encrypted && !reader->cipher)
		TRY(reel_reader_open_first_keys(reader, identities));
	TRY(read_trailer(reader));
	if (reader->has_trailer && reader->index_offset && (reader->cipher || !is_encrypted))
		TRY(reel_reader_read_index(reader, &reader->has_index));
	if (!reader->has_index)
		TRY(reel_reader_scan(reader));
	TRY(check_holes(reader));
	if (is_encrypted && !reader->cipher && !reader->lock)
		TRY(reel_reader_open_last_keys(reader, identities));
	TRY(reel_reader_sift(reader));
	return reader->problems.failed ? reel_error_no_memory() : NULL;
}

static struct reel_error *check_capture(const uint8_t *bytes, size_t size)
{
	struct reel_file_header header;

	return reel_file_header_load(bytes, size, &header);
}

static const struct reel_source_kind capture_kind = { REEL_FILE_HEADER_SIZE, check_capture };

/* `error` is that of opening the source, which the reader now owns, as it owns the key. */
static struct reel_error *open_source(struct reel_error *error, struct reel_source *source,
				      const struct reel_reader_options *options,
				      struct reel_reader **ret)
{
	static const struct reel_reader_options no_options;
	static const struct reel_identities nobody;
	_cleanup_reader_ struct reel_reader *reader = NULL;

	if (!options)
		options = &no_options;
	if (!error) {
		reader = calloc(1, sizeof(*reader));
		if (!reader) {
			reel_source_close(source);
			error = reel_error_no_memory();
		}
	}
	if (error) {
		reel_cipher_destroy(options->cipher);
		return error;
	}
	reader->source = *source;
	reader->cipher = options->cipher;
	reader->tolerance = options->tolerance;
	reel_problems_init(&reader->problems, PROBLEMS_MAX);
	if (options->opened)
		options->opened(options->context);
	TRY(find_blocks(reader, options->identities ? options->identities : &nobody));
	*ret = reader;
	reader = NULL;
	return NULL;
}

struct reel_error *reel_reader_open(const char *path, const struct reel_reader_options *options,
				    struct reel_reader **ret)
{
	struct reel_source source;
	struct reel_error *error = reel_source_open(path, &capture_kind, &source);

	return open_source(error, &source, options, ret);
}

struct reel_error *reel_reader_open_fd(int fd, const char *name,
				       const struct reel_reader_options *options,
				       struct reel_reader **ret)
{
	struct reel_source source;
	struct reel_error *error = reel_source_open_fd(fd, name, &capture_kind, &source);

	return open_source(error, &source, options, ret);
}

const struct reel_error *reel_reader_lock(const struct reel_reader *reader)
{
	return reader->lock;
}

const char *reel_reader_lock_keys(const struct reel_reader *reader)
{
	return reader->lock_keys;
}

void reel_reader_close_pointer(struct reel_reader **reader)
{
	reel_reader_close(*reader);
}

void reel_reader_close(struct reel_reader *reader)
{
	if (!reader)
		return;
	reel_source_close(&reader->source);
	reel_cipher_destroy(reader->cipher);
	reel_error_destroy(reader->lock);
	free(reader->lock_keys);
	reel_problems_free(&reader->problems);
	free(reader->blocks);
	free(reader);
}

const char *reel_reader_name(const struct reel_reader *reader)
{
	return reader->source.name;
}

const struct reel_file_header *reel_reader_header(const struct reel_reader *reader)
{
	return &reader->header;
}

uint64_t reel_reader_file_size(const struct reel_reader *reader)
{
	return reader->source.size;
}

int reel_reader_fd(const struct reel_reader *reader)
{
	return reader->source.fd;
}

uint32_t reel_reader_owner(const struct reel_reader *reader)
{
	struct stat status;

	return fstat(reader->source.fd, &status) ? UINT32_MAX : status.st_uid;
}

struct reel_error *reel_reader_sha256(const struct reel_reader *reader, uint64_t size,
				      uint8_t ret[REEL_SHA256_SIZE])
{
	crypto_hash_sha256_state state;
	uint8_t bytes[16384];

	crypto_hash_sha256_init(&state);
	for (uint64_t at = 0; at < size;) {
		size_t n = size - at < sizeof(bytes) ? size - at : sizeof(bytes);

		TRY(reel_source_read(&reader->source, at, bytes, n));
		crypto_hash_sha256_update(&state, bytes, n);
		at += n;
	}
	crypto_hash_sha256_final(&state, ret);
	return NULL;
}

const struct reel_block *reel_reader_blocks(const struct reel_reader *reader, size_t *count_ret)
{
	*count_ret = reader->n_blocks;
	return reader->blocks;
}

const struct reel_problem *reel_reader_problems(const struct reel_reader *reader, size_t *count_ret)
{
	*count_ret = reader->problems.n;
	return reader->problems.list;
}

bool reel_reader_was_encrypted(const struct reel_reader *reader)
{
	return reader->was_encrypted;
}

bool reel_reader_has_trailer(const struct reel_reader *reader)
{
	return reader->has_trailer;
}
