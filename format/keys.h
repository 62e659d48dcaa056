/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of encrypted captures, X25519 (RFC 7748): the recorder has public keys, and replay has
 * an identity, the secret key that belongs to one of them.
 *
 * Both are one word of text: "reelpub1_" or "reelsec1_", then base64url (RFC 4648, section 5,
 * without padding) of the 32 bytes of the key and of the first 4 bytes of BLAKE2b-256 of prefix and
 * key, against typing errors.  A key file has one key on each line; empty lines and lines that
 * begin with '#' are comments.
 */
#ifndef FORMAT_KEYS_H
#define FORMAT_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define REEL_KEY_SIZE	 32
#define REEL_KEY_ID_SIZE 8
/* The maximum size of a key file. */
#define REEL_KEY_FILE_MAX (1u << 20)

struct reel_public_key {
	uint8_t bytes[REEL_KEY_SIZE];
};

struct reel_public_keys {
	struct reel_public_key *list;
	size_t n;
};

struct reel_identity {
	struct reel_public_key public;
	uint8_t secret[REEL_KEY_SIZE];
};

/* Secrets are wiped when freed. */
struct reel_identities {
	struct reel_identity *list;
	size_t n;
};

/* Initializes the crypto library; safe to call again. */
struct reel_error *reel_crypto_init(void) REEL_MUST_CHECK;

/* Identifies a key: the first bytes of BLAKE2b-256 of the public key. */
void reel_public_key_id(const struct reel_public_key *key, uint8_t ret[REEL_KEY_ID_SIZE]);

/*
 * Adds the public key in `text`, or those in the file that `text` names; skips duplicates.  INVALID
 * if there is none, if a key is secret (those do not belong where captures are made), or if there
 * are more than REEL_RECIPIENTS_MAX in all.
 */
struct reel_error *reel_public_keys_add(struct reel_public_keys *keys,
					const char *text) REEL_MUST_CHECK;
/* The same for each item of a NULL-terminated list; the list may be NULL. */
struct reel_error *reel_public_keys_add_list(struct reel_public_keys *keys,
					     const char *const *list) REEL_MUST_CHECK;
void reel_public_keys_free(struct reel_public_keys *keys);

/* Adds the identities of a file; INVALID if it has none. */
struct reel_error *reel_identities_load(struct reel_identities *identities,
					const char *path) REEL_MUST_CHECK;
void reel_identities_free(struct reel_identities *identities);

#define _cleanup_identities_  __attribute__((cleanup(reel_identities_free)))
#define _cleanup_public_keys_ __attribute__((cleanup(reel_public_keys_free)))

#endif
