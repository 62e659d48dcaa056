/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encrypted files (SPEC.md, section 3.4): finding their key, and dropping the blocks that the
 * writer cannot have written.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/reader_internal.h"

typedef unsigned long long ull;

/* In hexadecimal digits. */
#define KEY_ID_TEXT (2 * REEL_KEY_ID_SIZE)

/* The contents of a key block. */
struct keys {
	size_t n;
	bool has_others; /* with unknown algorithms */
	/* The ids of the keys that open it, separated by ", "; and the first id. */
	char ids[REEL_RECIPIENTS_MAX * (KEY_ID_TEXT + 2) + 1];
	char first[KEY_ID_TEXT + 1];
};

static void note_key(struct keys *keys, const struct reel_record_key *record)
{
	size_t size = record->key.size < REEL_KEY_ID_SIZE ? record->key.size : REEL_KEY_ID_SIZE;

	char id[KEY_ID_TEXT + 1];

	sodium_bin2hex(id, sizeof(id), record->key.data, size);
	if (!keys->n)
		memcpy(keys->first, id, sizeof(id));
	if (keys->n++)
		strcat(keys->ids, ", ");
	strcat(keys->ids, id);
}

/* Opens the file's key if the record has it for one of the identities. */
static struct reel_error *try_key(struct reel_reader *reader,
				  const struct reel_identities *identities,
				  const struct reel_record_key *record, struct keys *keys)
{
	struct reel_error *error;

	if (record->algorithm != REEL_KEY_X25519_XCHACHA20_POLY1305) {
		keys->has_others = true;
		return NULL;
	}
	if (keys->n == REEL_RECIPIENTS_MAX)
		return NULL;
	note_key(keys, record);
	if (reader->cipher)
		return NULL;
	error = reel_cipher_open(reader->stored_header, record, identities, &reader->cipher);
	return reel_error_prefix(error, "%s", reader->source.name);
}

static struct reel_error *not_for_us(const struct reel_reader *reader,
				     const struct reel_identities *identities,
				     const struct keys *keys)
{
	char others[32] = "";

	if (!keys->n && keys->has_others)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"%s: unknown encryption; use the version of stackreel that wrote the file",
			reader->source.name);
	if (!keys->n)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: encrypted, but its key block contains no keys",
					 reader->source.name);
	if (keys->n > 1)
		snprintf(others, sizeof(others), " and %zu more", keys->n - 1);
	return reel_error_create(REEL_ERROR_KEY, "%s: encrypted to key %s%s: %s",
				 reader->source.name, keys->first, others,
				 identities->n ? "none of your keys matches"
					       : "use --identity FILE with the secret key");
}

/* Opens the file without the key if tolerated. */
static struct reel_error *lock(struct reel_reader *reader, const struct keys *keys,
			       struct reel_error *error)
{
	if (!(reader->tolerance & REEL_TOLERATE_LOCK) || reel_error_code(error) != REEL_ERROR_KEY)
		return error;
	reader->lock = error;
	reader->lock_keys = strdup(keys->ids);
	return reader->lock_keys ? NULL : reel_error_no_memory();
}

/* Checks a key block's header, except its place, its sizes and its number of records. */
static bool is_header_of_keys(const struct reel_block_header *header)
{
	static const uint8_t nothing[REEL_BLOCK_RESERVED_SIZE];

	return header->type == REEL_BLOCK_KEYS && header->codec == REEL_CODEC_ZSTD &&
	       !header->flags && !header->expanded_size && !header->time_first &&
	       !header->time_last && !memcmp(header->reserved, nothing, sizeof(nothing));
}

static struct reel_error *load(const struct reel_reader *reader,
			       struct reel_block_reader *block_reader,
			       const struct reel_block *block)
{
	if (is_header_of_keys(&block->header))
		return reel_block_reader_load(block_reader, block);
	return reel_reader_prefix(
		reader, block,
		reel_error_create(REEL_ERROR_CORRUPT, "invalid header of a key block"));
}

/* Reads all records, and tries each if there are identities. */
static struct reel_error *read_records(struct reel_reader *reader,
				       struct reel_block_reader *block_reader,
				       const struct reel_identities *identities, struct keys *keys)
{
	struct reel_block_item item = { .kind = REEL_ITEM_UNKNOWN };

	while (item.kind != REEL_ITEM_END) {
		TRY(reel_block_reader_next(block_reader, &item));
		if (item.kind == REEL_ITEM_RECORD && identities)
			TRY(try_key(reader, identities, &item.record.key, keys));
	}
	return NULL;
}

static struct reel_error *open_keys(struct reel_reader *reader,
				    const struct reel_identities *identities,
				    const struct reel_block *block)
{
	_cleanup_block_reader_ struct reel_block_reader *block_reader = NULL;
	struct keys keys = { 0 };
	struct reel_bytes raw;

	TRY(reel_block_reader_create(reader, &block_reader));
	TRY(load(reader, block_reader, block));
	TRY(read_records(reader, block_reader, identities, &keys));
	if (!reader->cipher)
		return lock(reader, &keys, not_for_us(reader, identities, &keys));
	raw = reel_block_reader_raw(block_reader);
	reel_cipher_bind(reader->cipher, raw.data, raw.size);
	return NULL;
}

/* Damage is not an error: there may be another key block, and sifting reports it. */
static struct reel_error *try_keys(struct reel_reader *reader,
				   const struct reel_identities *identities,
				   const struct reel_block *block)
{
	struct reel_error *error = open_keys(reader, identities, block);

	if (!error || reel_error_code(error) != REEL_ERROR_CORRUPT)
		return error;
	reel_error_destroy(error);
	reel_cipher_destroy(reader->cipher);
	reader->cipher = NULL;
	return NULL;
}

struct reel_error *reel_reader_open_first_keys(struct reel_reader *reader,
					       const struct reel_identities *identities)
{
	struct reel_block block;
	struct reel_error *error;
	bool found;

	error = reel_reader_read_header(reader, REEL_FILE_HEADER_SIZE, &found, &block);
	if (error || !found || block.header.type != REEL_BLOCK_KEYS ||
	    block.header.stored_size >
		    reader->source.size - REEL_FILE_HEADER_SIZE - REEL_BLOCK_HEADER_SIZE)
		return error;
	return try_keys(reader, identities, &block);
}

/* Whether block number `i` is where a key block is allowed. */
static bool is_place_of_keys(const struct reel_reader *reader, size_t i)
{
	const struct reel_block *blocks = reader->blocks;
	size_t n = reader->n_blocks;

	return blocks[i].offset == REEL_FILE_HEADER_SIZE || i + 1 == n ||
	       (i + 2 == n && blocks[i + 1].header.type == REEL_BLOCK_INDEX);
}

struct reel_error *reel_reader_open_last_keys(struct reel_reader *reader,
					      const struct reel_identities *identities)
{
	for (size_t i = 0; i < reader->n_blocks && !reader->cipher && !reader->lock; i++) {
		/* The first key block was already tried. */
		if (reader->blocks[i].header.type == REEL_BLOCK_KEYS &&
		    reader->blocks[i].offset != REEL_FILE_HEADER_SIZE &&
		    is_place_of_keys(reader, i))
			TRY(try_keys(reader, identities, &reader->blocks[i]));
	}
	if (reader->cipher || reader->lock)
		return NULL;
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "%s: encrypted, but no key block is intact: nothing can be read",
				 reader->source.name);
}

/* CORRUPT if it is damaged, or not the key block that the file's key is bound to. */
static struct reel_error *check_keys(const struct reel_reader *reader,
				     const struct reel_block *block)
{
	_cleanup_block_reader_ struct reel_block_reader *block_reader = NULL;
	struct reel_bytes raw;

	TRY(reel_block_reader_create(reader, &block_reader));
	TRY(load(reader, block_reader, block));
	TRY(read_records(NULL, block_reader, NULL, NULL));
	raw = reel_block_reader_raw(block_reader);
	if (!reader->cipher || reel_cipher_is_bound_to(reader->cipher, raw.data, raw.size))
		return NULL;
	return reel_reader_prefix(
		reader, block,
		reel_error_create(REEL_ERROR_CORRUPT, "its keys do not match the file"));
}

/* ---- blocks that the writer cannot have written --------------------------------------------- */

/*
 * Anyone who can write to a file can add or replace blocks.  In an encrypted file that takes the
 * key, except for blocks that are, or claim to be, unencrypted.
 */

/* Reads a whole block whose header did not open: payload damage is a better explanation. */
static struct reel_error *find_reason(const struct reel_reader *reader,
				      const struct reel_block *block, struct reel_error *error)
{
	struct reel_block_reader *block_reader;
	struct reel_error *reason = reel_block_reader_create(reader, &block_reader);

	if (!reason) {
		reason = reel_block_reader_load(block_reader, block);
		reel_block_reader_destroy(block_reader);
	}
	if (!reason)
		return error;
	reel_error_destroy(error);
	return reason;
}

/* Restores the hidden fields of an encrypted block's header. */
static struct reel_error *reveal(const struct reel_reader *reader, struct reel_block *block)
{
	uint8_t head[REEL_CIPHER_HEAD_SIZE] = { 0 };
	struct reel_error *error;

	if (block->header.stored_size >= REEL_CIPHER_OVERHEAD)
		TRY(reel_source_read(&reader->source, block->offset + REEL_BLOCK_HEADER_SIZE, head,
				     sizeof(head)));
	error = reel_cipher_reveal(reader->cipher, head, &block->header);
	return error ? find_reason(reader, block, reel_reader_prefix(reader, block, error)) : NULL;
}

/* For an encrypted file. */
static struct reel_error *check_plain(const struct reel_reader *reader, size_t i)
{
	if (reader->blocks[i].header.type == REEL_BLOCK_KEYS && is_place_of_keys(reader, i))
		return check_keys(reader, &reader->blocks[i]);
	return reel_reader_prefix(reader, &reader->blocks[i],
				  reel_error_create(REEL_ERROR_CORRUPT,
						    "block is not encrypted, but the file is: "
						    "somebody changed its header or inserted it"));
}

static struct reel_error *check(struct reel_reader *reader, size_t i)
{
	struct reel_block *block = &reader->blocks[i];
	bool is_encrypted = block->header.flags & REEL_BLOCK_ENCRYPTED;

	if (reel_reader_is_encrypted(reader)) {
		if (is_encrypted)
			return reader->lock ? NULL : reveal(reader, block);
		return check_plain(reader, i);
	}
	if (!is_encrypted && block->header.type != REEL_BLOCK_KEYS)
		return NULL;
	reader->was_encrypted = true;
	return reel_reader_prefix(
		reader, block,
		reel_error_create(REEL_ERROR_CORRUPT,
				  "block is from an encrypted file, but this file is not "
				  "encrypted: somebody changed a header or inserted it"));
}

static bool is_fatal(const struct reel_error *error)
{
	enum reel_error_code code = reel_error_code(error);

	return code != REEL_ERROR_CORRUPT && code != REEL_ERROR_UNSUPPORTED &&
	       code != REEL_ERROR_TRUNCATED;
}

static void report(struct reel_reader *reader, const struct reel_block *block,
		   struct reel_error *error)
{
	if (!reader->has_bad_index || block->offset != reader->index_offset)
		reel_problems_add(&reader->problems, reel_error_code(error), block->offset, "%s",
				  reel_error_message(error));
	reel_error_destroy(error);
}

/*
 * Anyone can change the trailer, or make it name no index.  A scan finds the same blocks, but if
 * the scan finds nothing wrong, somebody did that.
 */
static void check_index(struct reel_reader *reader)
{
	const struct reel_block *last = &reader->blocks[reader->n_blocks - 1];

	if (reader->has_index || !reader->has_trailer || reader->problems.n ||
	    (!reader->index_offset && last->header.type != REEL_BLOCK_INDEX))
		return;
	reel_problems_add(&reader->problems, REEL_ERROR_CORRUPT, reader->index_offset,
			  "%s: trailer and index do not match the blocks: somebody changed them; "
			  "scanning the file",
			  reader->source.name);
}

struct reel_error *reel_reader_sift(struct reel_reader *reader)
{
	struct reel_error *error = NULL;
	_cleanup_free_ bool *are_right = calloc(reader->n_blocks + 1, sizeof(*are_right));
	size_t n = 0;

	if (!are_right)
		return reel_error_no_memory();
	reader->was_encrypted = reel_reader_is_encrypted(reader);
	/* A block's position matters, so judge all blocks before removing any. */
	for (size_t i = 0; i < reader->n_blocks; i++) {
		error = check(reader, i);
		if (error && is_fatal(error))
			return error;
		are_right[i] = !error;
		if (error)
			report(reader, &reader->blocks[i], error);
	}
	if (reader->n_blocks && reader->cipher)
		check_index(reader);
	for (size_t i = 0; i < reader->n_blocks; i++)
		if (are_right[i])
			reader->blocks[n++] = reader->blocks[i];
	reader->n_blocks = n;
	return NULL;
}
