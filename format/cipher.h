/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryption of a capture (SPEC.md, "Encryption"): a random key for each file, sealed to the public
 * keys of those who may read it, and each block's payload a stream of its own under that key,
 * bound to all that is not encrypted: the file's header, its keys, and the block's header.
 */
#ifndef FORMAT_CIPHER_H
#define FORMAT_CIPHER_H

#include "format/block.h"
#include "format/keys.h"
#include "format/record.h"

/* KEY records of a file, and so the keys that one can be encrypted to. */
#define REEL_RECIPIENTS_MAX 64

/* Of a sealed key: crypto_box_SEALBYTES and the key. */
#define REEL_SEALED_KEY_SIZE (48 + 32)

/*
 * What an encrypted payload has more than the zstd frame in it: the skippable frame's header, the
 * stream's header, the message with what the block header hides, and the frame's own tag.
 */
#define REEL_CIPHER_HEAD_SIZE (8 + 24 + 20 + 17)
#define REEL_CIPHER_TAIL_SIZE 17
#define REEL_CIPHER_OVERHEAD  (REEL_CIPHER_HEAD_SIZE + REEL_CIPHER_TAIL_SIZE)

/* The key of one file. Used by several threads at once, but for its creation. */
struct reel_cipher;

/* Makes the library of ciphers ready; safe to call again. */
struct reel_error *reel_cipher_init(void) REEL_MUST_CHECK;

/* A new random key for the file that begins with this header. */
struct reel_error *reel_cipher_create(const uint8_t file_header[REEL_FILE_HEADER_SIZE],
				      struct reel_cipher **ret) REEL_MUST_CHECK;
/*
 * The file's key from a KEY record.  *ret stays NULL if no identity belongs to the record; CORRUPT
 * if one does and the sealed key is not whole.
 */
struct reel_error *reel_cipher_open(const uint8_t file_header[REEL_FILE_HEADER_SIZE],
				    const struct reel_record_key *record,
				    const struct reel_identities *identities,
				    struct reel_cipher **ret) REEL_MUST_CHECK;
/*
 * The raw bytes of the file's block of keys: to be said before anything is sealed or opened, as
 * that is bound to them.
 */
void reel_cipher_bind(struct reel_cipher *cipher, const uint8_t *keys, size_t size);
bool reel_cipher_is_bound_to(const struct reel_cipher *cipher, const uint8_t *keys, size_t size);
/* The same key once more, with a life of its own. */
struct reel_error *reel_cipher_copy(const struct reel_cipher *cipher,
				    struct reel_cipher **ret) REEL_MUST_CHECK;
/* Wipes the key. */
void reel_cipher_destroy(struct reel_cipher *cipher);

/* The KEY record for `key`; the record's bytes lie in `sealed`. */
struct reel_error *reel_cipher_seal_key(const struct reel_cipher *cipher,
					const struct reel_public_key *key,
					uint8_t id_room[REEL_KEY_ID_SIZE],
					uint8_t sealed[REEL_SEALED_KEY_SIZE],
					struct reel_record_key *ret) REEL_MUST_CHECK;

/*
 * Encrypts a block's zstd frame of `size` bytes into `payload`, which has room for
 * REEL_CIPHER_OVERHEAD more.  `header` is whole but for stored_size and payload_crc, which are set
 * (the latter over the encrypted payload), and for what it hides then: flags, times and records
 * are changed to what is stored.
 */
void reel_cipher_seal(const struct reel_cipher *cipher, struct reel_block_header *header,
		      const uint8_t *frame, size_t size, uint8_t *payload);

/*
 * The other way: `header` as it was stored gets back what it hides.  Only the first
 * REEL_CIPHER_HEAD_SIZE bytes of the payload are looked at.  CORRUPT if they were not made with
 * this key for this header, or if that has something where nothing is stored.
 */
struct reel_error *reel_cipher_reveal(const struct reel_cipher *cipher, const uint8_t *payload,
				      struct reel_block_header *header) REEL_MUST_CHECK;
/*
 * The same, and the zstd frame, of header->stored_size - REEL_CIPHER_OVERHEAD bytes, for which
 * there has to be room.  `header` may have been revealed before.
 */
struct reel_error *reel_cipher_unseal(const struct reel_cipher *cipher, const uint8_t *payload,
				      struct reel_block_header *header,
				      uint8_t *frame) REEL_MUST_CHECK;

#endif
