/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <zlib.h>

#include "format/cipher.h"

#define KEY_SIZE    crypto_secretstream_xchacha20poly1305_KEYBYTES
#define STREAM_SIZE crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define TAG_SIZE    crypto_secretstream_xchacha20poly1305_ABYTES
#define FRAME_SIZE  8
/* The header's times and records, which it hides. */
#define HIDDEN_SIZE 20
#define MAGIC	    0x184D2A5Bu

_Static_assert(FRAME_SIZE + STREAM_SIZE + HIDDEN_SIZE + TAG_SIZE == REEL_CIPHER_HEAD_SIZE, "");
_Static_assert(TAG_SIZE == REEL_CIPHER_TAIL_SIZE, "");
_Static_assert(crypto_box_SEALBYTES + KEY_SIZE == REEL_SEALED_KEY_SIZE, "");

#define HASH_SIZE crypto_generichash_BYTES

struct reel_cipher {
	uint8_t file_header[REEL_FILE_HEADER_SIZE];
	uint8_t keys_hash[HASH_SIZE]; /* of the raw bytes of the block of keys */
	uint8_t key[KEY_SIZE];
};

/* ---- the file's key ------------------------------------------------------------------- */

/* In memory that is excluded from core dumps, and from swap if the limits allow. */
static struct reel_error *cipher_new(const uint8_t file_header[REEL_FILE_HEADER_SIZE],
				     struct reel_cipher **ret)
{
	struct reel_error *error = reel_crypto_init();

	*ret = NULL;
	if (error)
		return error;
	*ret = sodium_malloc(sizeof(**ret));
	if (!*ret)
		return reel_error_no_memory();
	memset(*ret, 0, sizeof(**ret));
	memcpy((*ret)->file_header, file_header, sizeof((*ret)->file_header));
	return NULL;
}

struct reel_error *reel_cipher_create(const uint8_t file_header[REEL_FILE_HEADER_SIZE],
				      struct reel_cipher **ret)
{
	TRY(cipher_new(file_header, ret));
	crypto_secretstream_xchacha20poly1305_keygen((*ret)->key);
	return NULL;
}

struct reel_error *reel_cipher_copy(const struct reel_cipher *cipher, struct reel_cipher **ret)
{
	TRY(cipher_new(cipher->file_header, ret));
	**ret = *cipher;
	return NULL;
}

void reel_cipher_destroy(struct reel_cipher *cipher)
{
	/* This also wipes it. */
	sodium_free(cipher);
}

static void hash_keys(const uint8_t *keys, size_t size, uint8_t ret[HASH_SIZE])
{
	crypto_generichash(ret, HASH_SIZE, keys, size, NULL, 0);
}

void reel_cipher_bind(struct reel_cipher *cipher, const uint8_t *keys, size_t size)
{
	hash_keys(keys, size, cipher->keys_hash);
}

bool reel_cipher_is_bound_to(const struct reel_cipher *cipher, const uint8_t *keys, size_t size)
{
	uint8_t hash[HASH_SIZE];

	hash_keys(keys, size, hash);
	return !sodium_memcmp(hash, cipher->keys_hash, sizeof(hash));
}

static const struct reel_identity *identity_of(const struct reel_identities *identities,
					       const struct reel_record_key *record)
{
	for (size_t i = 0; i < identities->n; i++) {
		uint8_t id[REEL_KEY_ID_SIZE];

		reel_public_key_id(&identities->list[i].public, id);
		if (record->key.size == sizeof(id) && !memcmp(record->key.data, id, sizeof(id)))
			return &identities->list[i];
	}
	return NULL;
}

struct reel_error *reel_cipher_open(const uint8_t file_header[REEL_FILE_HEADER_SIZE],
				    const struct reel_record_key *record,
				    const struct reel_identities *identities,
				    struct reel_cipher **ret)
{
	const struct reel_identity *identity = identity_of(identities, record);

	*ret = NULL;
	if (!identity)
		return NULL;
	TRY(cipher_new(file_header, ret));
	if (record->sealed.size == REEL_SEALED_KEY_SIZE &&
	    !crypto_box_seal_open((*ret)->key, record->sealed.data, record->sealed.size,
				  identity->public.bytes, identity->secret))
		return NULL;
	reel_cipher_destroy(*ret);
	*ret = NULL;
	return reel_error_create(REEL_ERROR_CORRUPT, "the sealed key is damaged or was changed");
}

struct reel_error *reel_cipher_seal_key(const struct reel_cipher *cipher,
					const struct reel_public_key *key,
					uint8_t id_room[REEL_KEY_ID_SIZE],
					uint8_t sealed[REEL_SEALED_KEY_SIZE],
					struct reel_record_key *ret)
{
	/* Some 32-byte values are not usable points of the curve. */
	if (crypto_box_seal(sealed, cipher->key, sizeof(cipher->key), key->bytes))
		return reel_error_create(REEL_ERROR_INVALID, "unusable public key");
	reel_public_key_id(key, id_room);
	*ret = (struct reel_record_key){
		.algorithm = REEL_KEY_X25519_XCHACHA20_POLY1305,
		.key = { id_room, REEL_KEY_ID_SIZE },
		.sealed = { sealed, REEL_SEALED_KEY_SIZE },
	};
	return NULL;
}

/* ---- payloads --------------------------------------------------------------------------- */

#define ASSOCIATED_SIZE (REEL_FILE_HEADER_SIZE + HASH_SIZE + REEL_BLOCK_HEADER_SIZE)

/* The data that both messages of a payload are bound to. */
static void associate(const struct reel_cipher *cipher, const struct reel_block_header *header,
		      uint8_t ret[ASSOCIATED_SIZE])
{
	struct reel_block_header stored = *header;
	uint8_t *bytes = ret + REEL_FILE_HEADER_SIZE + HASH_SIZE;

	stored.time_first = stored.time_last = 0;
	stored.records = stored.payload_crc = 0;
	memcpy(ret, cipher->file_header, REEL_FILE_HEADER_SIZE);
	memcpy(ret + REEL_FILE_HEADER_SIZE, cipher->keys_hash, HASH_SIZE);
	reel_block_header_store(&stored, cipher->file_header + REEL_FILE_ID_OFFSET, bytes);
	/* Zeroed because it depends on the payload's CRC. */
	memset(bytes + REEL_BLOCK_HEADER_SIZE - 4, 0, 4);
}

void reel_cipher_seal(const struct reel_cipher *cipher, struct reel_block_header *header,
		      const uint8_t *frame, size_t size, uint8_t *payload)
{
	crypto_secretstream_xchacha20poly1305_state state;
	uint8_t associated[ASSOCIATED_SIZE], hidden[HIDDEN_SIZE], *at = payload;

	header->stored_size = (uint32_t)(size + REEL_CIPHER_OVERHEAD);
	header->flags |= REEL_BLOCK_ENCRYPTED;
	associate(cipher, header, associated);
	reel_store64(hidden, header->time_first);
	reel_store64(hidden + 8, header->time_last);
	reel_store32(hidden + 16, header->records);
	header->time_first = header->time_last = 0;
	header->records = 0;

	reel_store32(at, MAGIC);
	reel_store32(at + 4, header->stored_size - FRAME_SIZE);
	at += FRAME_SIZE;
	crypto_secretstream_xchacha20poly1305_init_push(&state, at, cipher->key);
	at += STREAM_SIZE;
	crypto_secretstream_xchacha20poly1305_push(
		&state, at, NULL, hidden, sizeof(hidden), associated, sizeof(associated),
		crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
	at += sizeof(hidden) + TAG_SIZE;
	crypto_secretstream_xchacha20poly1305_push(&state, at, NULL, frame, size, associated,
						   sizeof(associated),
						   crypto_secretstream_xchacha20poly1305_TAG_FINAL);
	sodium_memzero(&state, sizeof(state));
	header->payload_crc = (uint32_t)crc32(0, payload, header->stored_size);
}

static struct reel_error *is_another(void)
{
	return reel_error_create(
		REEL_ERROR_CORRUPT,
		"decryption failed: the block was changed, or belongs to a different capture");
}

/* Begins reading a payload: its frame header and the first message. */
static struct reel_error *pull_head(const struct reel_cipher *cipher, const uint8_t *payload,
				    const uint8_t associated[ASSOCIATED_SIZE],
				    crypto_secretstream_xchacha20poly1305_state *state,
				    struct reel_block_header *header)
{
	const uint8_t *stream = payload + FRAME_SIZE;
	uint8_t hidden[HIDDEN_SIZE], tag;

	if (header->stored_size < REEL_CIPHER_OVERHEAD || reel_load32(payload) != MAGIC ||
	    reel_load32(payload + 4) != header->stored_size - FRAME_SIZE)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "the payload is not a single frame of an encrypted block");
	if (crypto_secretstream_xchacha20poly1305_init_pull(state, stream, cipher->key) ||
	    crypto_secretstream_xchacha20poly1305_pull(state, hidden, NULL, &tag,
						       stream + STREAM_SIZE, HIDDEN_SIZE + TAG_SIZE,
						       associated, ASSOCIATED_SIZE) ||
	    tag != crypto_secretstream_xchacha20poly1305_TAG_MESSAGE)
		return is_another();
	header->time_first = reel_load64(hidden);
	header->time_last = reel_load64(hidden + 8);
	header->records = reel_load32(hidden + 16);
	return NULL;
}

struct reel_error *reel_cipher_reveal(const struct reel_cipher *cipher, const uint8_t *payload,
				      struct reel_block_header *header)
{
	crypto_secretstream_xchacha20poly1305_state state;
	uint8_t associated[ASSOCIATED_SIZE];
	struct reel_error *error;

	if (header->time_first || header->time_last || header->records ||
	    !sodium_is_zero(header->reserved, sizeof(header->reserved)))
		return is_another();
	associate(cipher, header, associated);
	error = pull_head(cipher, payload, associated, &state, header);
	sodium_memzero(&state, sizeof(state));
	return error;
}

struct reel_error *reel_cipher_unseal(const struct reel_cipher *cipher, const uint8_t *payload,
				      struct reel_block_header *header, uint8_t *frame)
{
	crypto_secretstream_xchacha20poly1305_state state;
	uint8_t associated[ASSOCIATED_SIZE], tag;
	struct reel_error *error;

	associate(cipher, header, associated);
	error = pull_head(cipher, payload, associated, &state, header);
	if (!error &&
	    (crypto_secretstream_xchacha20poly1305_pull(
		     &state, frame, NULL, &tag, payload + REEL_CIPHER_HEAD_SIZE,
		     header->stored_size - REEL_CIPHER_HEAD_SIZE, associated, sizeof(associated)) ||
	     tag != crypto_secretstream_xchacha20poly1305_TAG_FINAL))
		error = is_another();
	sodium_memzero(&state, sizeof(state));
	return error;
}
