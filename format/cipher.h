/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryption of a capture (SPEC.md, "Encryption"): a random key for each file, sealed to the public
 * keys of its readers.  Each block's payload is a separate stream under that key, bound to all
 * unencrypted data: the file's header, its keys, and the block's header.
 */
#ifndef FORMAT_CIPHER_H
#define FORMAT_CIPHER_H

#include "format/block.h"
#include "format/keys.h"
#include "format/record.h"

/* KEY records of a file, and so the keys that a file can be encrypted to. */
#define REEL_RECIPIENTS_MAX 64

/* The size of a sealed key: crypto_box_SEALBYTES and the key. */
#define REEL_SEALED_KEY_SIZE (48 + 32)

/*
 * An encrypted payload's overhead over its zstd frame: the skippable frame's header, the stream's
 * header, the message with the hidden fields of the block header, and the frame's own tag.
 */
#define REEL_CIPHER_HEAD_SIZE (8 + 24 + 20 + 17)
#define REEL_CIPHER_TAIL_SIZE 17
#define REEL_CIPHER_OVERHEAD  (REEL_CIPHER_HEAD_SIZE + REEL_CIPHER_TAIL_SIZE)

/* The key of one file.  Once created, several threads may use it at once. */
struct reel_cipher;

/* A new random key for the file that begins with this header. */
struct reel_error *reel_cipher_create(const uint8_t file_header[REEL_FILE_HEADER_SIZE],
				      struct reel_cipher **ret) REEL_MUST_CHECK;
/*
 * Opens the file's key from a KEY record. *ret stays NULL if no identity matches the record;
 * CORRUPT if one matches and the sealed key is damaged.
 */
struct reel_error *reel_cipher_open(const uint8_t file_header[REEL_FILE_HEADER_SIZE],
				    const struct reel_record_key *record,
				    const struct reel_identities *identities,
				    struct reel_cipher **ret) REEL_MUST_CHECK;
/*
 * Sets the raw bytes of the file's key block: call it before sealing or opening anything, as
 * payloads are bound to those bytes.
 */
void reel_cipher_bind(struct reel_cipher *cipher, const uint8_t *keys, size_t size);
bool reel_cipher_is_bound_to(const struct reel_cipher *cipher, const uint8_t *keys, size_t size);
/* An independent copy of the key. */
struct reel_error *reel_cipher_copy(const struct reel_cipher *cipher,
				    struct reel_cipher **ret) REEL_MUST_CHECK;
/* Wipes the key. */
void reel_cipher_destroy(struct reel_cipher *cipher);

/* The KEY record for `key`; `sealed` stores the record's bytes. */
struct reel_error *reel_cipher_seal_key(const struct reel_cipher *cipher,
					const struct reel_public_key *key,
					uint8_t id_room[REEL_KEY_ID_SIZE],
					uint8_t sealed[REEL_SEALED_KEY_SIZE],
					struct reel_record_key *ret) REEL_MUST_CHECK;

/*
 * Encrypts a block's zstd frame of `size` bytes into `payload`, which has room for
 * REEL_CIPHER_OVERHEAD more.  Sets stored_size and payload_crc in `header` (the latter over the
 * encrypted payload), which is otherwise complete, and replaces the hidden fields (flags, times and
 * records) by their stored values.
 */
void reel_cipher_seal(const struct reel_cipher *cipher, struct reel_block_header *header,
		      const uint8_t *frame, size_t size, uint8_t *payload);

/*
 * The reverse: restores the hidden fields of `header` as it was stored.  Reads only the first
 * REEL_CIPHER_HEAD_SIZE bytes of the payload.  CORRUPT if they were not made with this key for this
 * header, or if a hidden field is not empty in it.
 */
struct reel_error *reel_cipher_reveal(const struct reel_cipher *cipher, const uint8_t *payload,
				      struct reel_block_header *header) REEL_MUST_CHECK;
/*
 * The same, and returns the zstd frame of header->stored_size - REEL_CIPHER_OVERHEAD bytes, which
 * the caller provides room for.  `header` may already have been revealed.
 */
struct reel_error *reel_cipher_unseal(const struct reel_cipher *cipher, const uint8_t *payload,
				      struct reel_block_header *header,
				      uint8_t *frame) REEL_MUST_CHECK;

#endif
