/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted files: finding their key.  SPEC.md, section 3.4. */
#include <sodium.h>
#include <stdio.h>

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

bool reel_reader_is_place_of_keys(const struct reel_reader *reader, size_t i)
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
		    reel_reader_is_place_of_keys(reader, i))
			TRY(try_keys(reader, identities, &reader->blocks[i]));
	}
	if (reader->cipher || reader->lock)
		return NULL;
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "%s: encrypted, but no key block is intact: nothing can be read",
				 reader->source.name);
}

struct reel_error *reel_reader_check_keys(const struct reel_reader *reader,
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
