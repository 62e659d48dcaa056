/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of encrypted captures, X25519 (RFC 7748): whoever records has public ones, whoever
 * replays has an identity, which is the secret key that belongs to one.
 *
 * Both are one word of text: "reelpub1_" or "reelsec1_", then base64url (RFC 4648, section 5,
 * without padding) of the 32 bytes of the key and of the first 4 bytes of BLAKE2b-256 of prefix
 * and key, against slips.  A key file has one on each line; empty lines and those that begin with
 * '#' are comments.
 */
#ifndef FORMAT_KEYS_H
#define FORMAT_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define REEL_KEY_SIZE	 32
#define REEL_KEY_ID_SIZE 8
/* A key file is not larger. */
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

/* Their secrets are wiped when they are freed. */
struct reel_identities {
	struct reel_identity *list;
	size_t n;
};

/* To tell keys apart: the first bytes of BLAKE2b-256 of the public key. */
void reel_public_key_id(const struct reel_public_key *key, uint8_t ret[REEL_KEY_ID_SIZE]);

/*
 * Adds the public key that `text` is, or those of the file that it names; one that is there
 * already is not added again.  INVALID if there is none, or a secret one (which has no business
 * where captures are made), or more than REEL_RECIPIENTS_MAX in all.
 */
struct reel_error *reel_public_keys_add(struct reel_public_keys *keys,
					const char *text) REEL_MUST_CHECK;
/* The same for each of a list that ends with NULL, or is. */
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
