/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted files: their key, and what their blocks' headers hide. SPEC.md, section 3.4. */
#include <sodium.h>
#include <stdio.h>

#include "format/reader_parts.h"

typedef unsigned long long ull;

/* What a block of keys had. */
struct keys {
	size_t n;
	/* Of the first one, to say whose key is wanted. */
	char first[2 * REEL_KEY_ID_SIZE + 1];
};

static void note_key(struct keys *keys, const struct reel_record_key *record)
{
	size_t size = record->key.size < REEL_KEY_ID_SIZE ? record->key.size : REEL_KEY_ID_SIZE;

	if (!keys->n++)
		sodium_bin2hex(keys->first, sizeof(keys->first), record->key.data, size);
}

static struct reel_error *read_keys(struct reel_reader *reader,
				    struct reel_block_reader *block_reader,
				    const struct reel_identities *identities, struct keys *keys)
{
	while (!reader->cipher) {
		struct reel_block_item item;
		struct reel_error *error = reel_block_reader_next(block_reader, &item);

		if (error || item.kind == REEL_ITEM_END)
			return error;
		if (item.kind != REEL_ITEM_RECORD ||
		    item.record.key.algorithm != REEL_KEY_X25519_XCHACHA20_POLY1305)
			continue;
		if (keys->n == REEL_RECIPIENTS_MAX)
			return reel_error_create(REEL_ERROR_CORRUPT, "%s: more than %d keys",
						 reader->source.name, REEL_RECIPIENTS_MAX);
		note_key(keys, &item.record.key);
		error = reel_cipher_open(reader->header.id, &item.record.key, identities,
					 &reader->cipher);
		if (error)
			return reel_error_prefix(error, "%s", reader->source.name);
	}
	return NULL;
}

static struct reel_error *not_for_us(const struct reel_reader *reader,
				     const struct reel_identities *identities,
				     const struct keys *keys)
{
	char others[32] = "";

	if (!keys->n)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: it is encrypted, and its block of keys has none",
					 reader->source.name);
	if (keys->n > 1)
		snprintf(others, sizeof(others), " and %zu more", keys->n - 1);
	return reel_error_create(REEL_ERROR_KEY, "%s: it is encrypted to key %s%s: %s",
				 reader->source.name, keys->first, others,
				 identities->n ? "no key that was given is one of them"
					       : "give the file with the secret key (--identity)");
}

/* Damage is an error here: the caller knows whether there may be another block of keys. */
static struct reel_error *open_keys(struct reel_reader *reader,
				    const struct reel_identities *identities,
				    const struct reel_block *block)
{
	struct reel_block_reader *block_reader;
	struct keys keys = { 0 };
	struct reel_error *error = reel_block_reader_create(reader, &block_reader);

	if (error)
		return error;
	error = reel_block_reader_load(block_reader, block);
	if (!error)
		error = read_keys(reader, block_reader, identities, &keys);
	if (!error && !reader->cipher)
		error = not_for_us(reader, identities, &keys);
	reel_block_reader_destroy(block_reader);
	return error;
}

/* The same, but damage is kept as a problem. */
static struct reel_error *try_keys(struct reel_reader *reader,
				   const struct reel_identities *identities,
				   const struct reel_block *block)
{
	struct reel_error *error = open_keys(reader, identities, block);

	if (!error || (reel_error_code(error) != REEL_ERROR_CORRUPT &&
		       reel_error_code(error) != REEL_ERROR_UNSUPPORTED))
		return error;
	reel_problems_add(&reader->problems, reel_error_code(error), block->offset, "%s",
			  reel_error_message(error));
	reel_error_destroy(error);
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

static struct reel_error *find_keys(struct reel_reader *reader,
				    const struct reel_identities *identities)
{
	for (size_t i = 0; i < reader->n_blocks && !reader->cipher; i++) {
		struct reel_error *error = NULL;

		/* The one that stands first was tried. */
		if (reader->blocks[i].header.type == REEL_BLOCK_KEYS &&
		    reader->blocks[i].offset != REEL_FILE_HEADER_SIZE)
			error = try_keys(reader, identities, &reader->blocks[i]);
		if (error)
			return error;
	}
	if (reader->cipher)
		return NULL;
	return reel_error_create(
		REEL_ERROR_CORRUPT,
		"%s: it is encrypted, and no block of keys is whole: nothing of it "
		"can be read",
		reader->source.name);
}

/* The block's own reading reports, too, that it was changed; but it may never be read. */
static struct reel_error *reveal(struct reel_reader *reader, struct reel_block *block)
{
	uint8_t head[REEL_CIPHER_HEAD_SIZE] = { 0 };
	struct reel_error *error = NULL;

	if (!(block->header.flags & REEL_BLOCK_ENCRYPTED))
		return NULL;
	if (block->header.stored_size >= REEL_CIPHER_OVERHEAD)
		error = reel_source_read(&reader->source, block->offset + REEL_BLOCK_HEADER_SIZE,
					 head, sizeof(head));
	if (error)
		return error;
	error = reel_cipher_reveal(reader->cipher, head, &block->header);
	if (!error)
		return NULL;
	block->header.time_first = block->header.time_last = 0;
	block->header.records = 0;
	reel_problems_add(&reader->problems, reel_error_code(error), block->offset,
			  "%s: block %u at offset %llu: %s", reader->source.name,
			  block->header.sequence, (ull)block->offset, reel_error_message(error));
	reel_error_destroy(error);
	return NULL;
}

struct reel_error *reel_reader_reveal(struct reel_reader *reader,
				      const struct reel_identities *identities)
{
	struct reel_error *error = reader->cipher ? NULL : find_keys(reader, identities);

	for (size_t i = 0; i < reader->n_blocks && !error; i++)
		error = reveal(reader, &reader->blocks[i]);
	return error;
}
