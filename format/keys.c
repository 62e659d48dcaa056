/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "format/cipher.h"
#include "format/keys.h"
#include "base/output_place.h"

#define PREFIX_SIZE  9
#define CHECK_SIZE   4
#define PAYLOAD_SIZE (REEL_KEY_SIZE + CHECK_SIZE)
#define BASE64_SIZE  48
#define TEXT_SIZE    (PREFIX_SIZE + BASE64_SIZE)
#define DIGEST_SIZE  32
#define VARIANT	     sodium_base64_VARIANT_URLSAFE_NO_PADDING

static const char public_prefix[] = "reelpub1_", secret_prefix[] = "reelsec1_";

_Static_assert(sizeof(public_prefix) - 1 == PREFIX_SIZE, "");
_Static_assert(sodium_base64_ENCODED_LEN(PAYLOAD_SIZE, VARIANT) == BASE64_SIZE + 1, "");
_Static_assert(TEXT_SIZE < REEL_PUBLIC_KEY_TEXT_SIZE, "include/commands.h");
_Static_assert(crypto_box_PUBLICKEYBYTES == REEL_KEY_SIZE &&
		       crypto_box_SECRETKEYBYTES == REEL_KEY_SIZE,
	       "X25519");

struct reel_error *reel_crypto_init(void)
{
	return sodium_init() < 0
		       ? reel_error_create(
				 REEL_ERROR_OS,
				 "cannot initialize libsodium: no source of random numbers")
		       : NULL;
}

void reel_public_key_id(const struct reel_public_key *key, uint8_t ret[REEL_KEY_ID_SIZE])
{
	uint8_t digest[DIGEST_SIZE];

	crypto_generichash(digest, sizeof(digest), key->bytes, sizeof(key->bytes), NULL, 0);
	memcpy(ret, digest, REEL_KEY_ID_SIZE);
}

/* ---- a key as text ------------------------------------------------------------------- */

static void check_bytes(const char *prefix, const uint8_t key[REEL_KEY_SIZE],
			uint8_t ret[CHECK_SIZE])
{
	crypto_generichash_state state;
	uint8_t digest[DIGEST_SIZE];

	crypto_generichash_init(&state, NULL, 0, sizeof(digest));
	crypto_generichash_update(&state, (const uint8_t *)prefix, PREFIX_SIZE);
	crypto_generichash_update(&state, key, REEL_KEY_SIZE);
	crypto_generichash_final(&state, digest, sizeof(digest));
	memcpy(ret, digest, CHECK_SIZE);
	sodium_memzero(&state, sizeof(state));
}

static void print_key(const char *prefix, const uint8_t key[REEL_KEY_SIZE], char ret[TEXT_SIZE + 1])
{
	uint8_t payload[PAYLOAD_SIZE];

	memcpy(payload, key, REEL_KEY_SIZE);
	check_bytes(prefix, key, payload + REEL_KEY_SIZE);
	memcpy(ret, prefix, PREFIX_SIZE);
	sodium_bin2base64(ret + PREFIX_SIZE, BASE64_SIZE + 1, payload, sizeof(payload), VARIANT);
	sodium_memzero(payload, sizeof(payload));
}

/* `text` has `size` bytes. */
static bool parse_key(const char *prefix, const char *text, size_t size, uint8_t ret[REEL_KEY_SIZE])
{
	uint8_t payload[PAYLOAD_SIZE], check[CHECK_SIZE];
	size_t payload_size;
	const char *end;
	bool valid = size == TEXT_SIZE && !memcmp(text, prefix, PREFIX_SIZE) &&
		     !sodium_base642bin(payload, sizeof(payload), text + PREFIX_SIZE, BASE64_SIZE,
					NULL, &payload_size, &end, VARIANT) &&
		     payload_size == sizeof(payload) && end == text + size;

	if (valid) {
		check_bytes(prefix, payload, check);
		valid = !memcmp(payload + REEL_KEY_SIZE, check, sizeof(check));
	}
	if (valid)
		memcpy(ret, payload, REEL_KEY_SIZE);
	sodium_memzero(payload, sizeof(payload));
	return valid;
}

static bool has_prefix(const char *text, size_t size, const char *prefix)
{
	return size >= PREFIX_SIZE && !memcmp(text, prefix, PREFIX_SIZE);
}

/* ---- key files ------------------------------------------------------------------------ */

/* A file's bytes: excluded from core dumps, and wiped when freed. */
struct text {
	char *bytes;
	size_t size;
};

static void text_free(struct text *text)
{
	sodium_free(text->bytes);
}
#define _cleanup_text_ __attribute__((cleanup(text_free)))

static struct reel_error *read_file(const char *path, struct text *ret)
{
	/* O_NONBLOCK: a FIFO is not a key file, and must not make us wait for its other end. */
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return reel_error_os(errno, "opening key file %s", path);
	if (fstat(fd, &status))
		return reel_error_os(errno, "reading key file %s", path);
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > REEL_KEY_FILE_MAX)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"%s: invalid key file: not a regular file, or larger than 1 MiB", path);
	ret->bytes = sodium_malloc((size_t)status.st_size + 1);
	if (!ret->bytes)
		return reel_error_no_memory();
	while (ret->size < (size_t)status.st_size) {
		ssize_t n = read(fd, ret->bytes + ret->size, (size_t)status.st_size - ret->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return reel_error_os(errno, "reading key file %s", path);
		if (!n)
			break;
		ret->size += (size_t)n;
	}
	return NULL;
}

/* The next line that is not a comment, trimmed; NULL after the last. */
static const char *next_line(const struct text *text, size_t *at, unsigned *number, size_t *size)
{
	while (*at < text->size) {
		const char *line = text->bytes + *at, *end;

		end = memchr(line, '\n', text->size - *at);
		if (!end)
			end = text->bytes + text->size;
		*at = (size_t)(end - text->bytes) + 1;
		++*number;
		while (line < end && (*line == ' ' || *line == '\t'))
			line++;
		while (end > line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
			end--;
		*size = (size_t)(end - line);
		if (*size && *line != '#')
			return line;
	}
	return NULL;
}

/* ---- public keys ------------------------------------------------------------------------ */

static struct reel_error *add_public(struct reel_public_keys *keys,
				     const struct reel_public_key *key)
{
	struct reel_public_key *list;

	for (size_t i = 0; i < keys->n; i++) {
		if (!memcmp(&keys->list[i], key, sizeof(*key)))
			return NULL;
	}
	if (keys->n == REEL_RECIPIENTS_MAX)
		return reel_error_create(REEL_ERROR_INVALID, "more than %d public keys",
					 REEL_RECIPIENTS_MAX);
	list = reallocarray(keys->list, keys->n + 1, sizeof(*list));
	if (!list)
		return reel_error_no_memory();
	keys->list = list;
	keys->list[keys->n++] = *key;
	return NULL;
}

static struct reel_error *add_public_file(struct reel_public_keys *keys, const char *path)
{
	_cleanup_text_ struct text text = { 0 };
	struct reel_error *error = read_file(path, &text);
	size_t at = 0, size, n = 0;
	unsigned number = 0;
	const char *line;

	while (!error && (line = next_line(&text, &at, &number, &size))) {
		struct reel_public_key key;

		if (has_prefix(line, size, secret_prefix))
			error = reel_error_create(
				REEL_ERROR_INVALID,
				"%s, line %u: expected a public key, but this is a secret key; use "
				"its public key ('stackreel keygen -y %s' prints it), and keep "
				"this file off the recording hosts",
				path, number, path);
		else if (!parse_key(public_prefix, line, size, key.bytes))
			error = reel_error_create(REEL_ERROR_INVALID,
						  "%s, line %u: invalid public key: expected %s "
						  "followed by %d characters",
						  path, number, public_prefix, BASE64_SIZE);
		else
			error = add_public(keys, &key);
		n++;
	}
	if (!error && !n)
		error = reel_error_create(REEL_ERROR_INVALID, "%s: no keys found", path);
	return error;
}

struct reel_error *reel_public_keys_add(struct reel_public_keys *keys, const char *text)
{
	struct reel_error *error = reel_crypto_init();
	struct reel_public_key key;
	size_t size = strlen(text);

	if (error)
		return error;
	if (has_prefix(text, size, secret_prefix))
		return reel_error_create(
			REEL_ERROR_INVALID,
			"expected a public key, but this is a secret key, now visible to anyone "
			"who sees this command line; make a new one, and use its public key");
	if (!has_prefix(text, size, public_prefix))
		return add_public_file(keys, text);
	if (!parse_key(public_prefix, text, size, key.bytes))
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid public key '%s': missing or wrong characters",
					 text);
	return add_public(keys, &key);
}

struct reel_error *reel_public_keys_add_list(struct reel_public_keys *keys, const char *const *list)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; list && list[i] && !error; i++)
		error = reel_public_keys_add(keys, list[i]);
	return error;
}

void reel_public_keys_free(struct reel_public_keys *keys)
{
	free(keys->list);
	*keys = (struct reel_public_keys){ 0 };
}

/* ---- identities --------------------------------------------------------------------------- */

static struct reel_error *add_identity(struct reel_identities *identities,
				       const struct reel_identity *identity)
{
	size_t n = identities->n;

	/* The list is full: it has room for powers of two. */
	if (!(n & (n - 1))) {
		/* Not realloc, which would leave a copy in memory; this memory is excluded from
		 * core dumps. */
		struct reel_identity *list = sodium_allocarray(n ? 2 * n : 1, sizeof(*list));

		if (!list)
			return reel_error_no_memory();
		if (n)
			memcpy(list, identities->list, n * sizeof(*list));
		sodium_free(identities->list);
		identities->list = list;
	}
	identities->list[identities->n++] = *identity;
	return NULL;
}

struct reel_error *reel_identities_load(struct reel_identities *identities, const char *path)
{
	_cleanup_text_ struct text text = { 0 };
	struct reel_error *error = NULL;
	size_t at = 0, size, n = 0;
	unsigned number = 0;
	const char *line;

	TRY(reel_crypto_init());
	TRY(read_file(path, &text));
	while (!error && (line = next_line(&text, &at, &number, &size))) {
		struct reel_identity identity;

		if (has_prefix(line, size, public_prefix)) {
			error = reel_error_create(
				REEL_ERROR_INVALID,
				"%s, line %u: expected a secret key, but this is a public key",
				path, number);
		} else if (!parse_key(secret_prefix, line, size, identity.secret) ||
			   crypto_scalarmult_base(identity.public.bytes, identity.secret)) {
			error = reel_error_create(REEL_ERROR_INVALID,
						  "%s, line %u: invalid secret key: expected %s "
						  "followed by %d characters",
						  path, number, secret_prefix, BASE64_SIZE);
		} else {
			error = add_identity(identities, &identity);
		}
		sodium_memzero(&identity, sizeof(identity));
		n++;
	}
	if (!error && !n)
		error = reel_error_create(REEL_ERROR_INVALID, "%s: no keys found", path);
	return error;
}

void reel_identities_free(struct reel_identities *identities)
{
	/* Wipes them. */
	sodium_free(identities->list);
	*identities = (struct reel_identities){ 0 };
}

/* ---- include/commands.h --------------------------------------------------------------------- */

static struct reel_error *write_identity(int fd, const char *path, const char *public_text,
					 const struct reel_identity *identity)
{
	char secret_text[TEXT_SIZE + 1], date[32] = "", text[4 * TEXT_SIZE];
	time_t now = time(NULL);
	struct tm utc;
	int size;

	if (gmtime_r(&now, &utc))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	print_key(secret_prefix, identity->secret, secret_text);
	size = snprintf(text, sizeof(text),
			"# stackreel identity, made %s: keep it secret\n# public key: %s\n%s\n",
			date, public_text, secret_text);
	sodium_memzero(secret_text, sizeof(secret_text));
	for (int at = 0; at < size;) {
		ssize_t n = write(fd, text + at, (size_t)(size - at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			sodium_memzero(text, sizeof(text));
			return reel_error_os(errno, "writing %s", path);
		}
		at += (int)n;
	}
	sodium_memzero(text, sizeof(text));
	return fsync(fd) && errno != EINVAL && errno != EROFS
		       ? reel_error_os(errno, "writing %s", path)
		       : NULL;
}

struct reel_error *reel_identity_create(const char *path,
					char public_ret[REEL_PUBLIC_KEY_TEXT_SIZE])
{
	_cleanup_place_ struct reel_output_place place = { .folder = -1 };
	struct reel_identity identity;
	struct reel_error *error;
	int fd;

	TRY(reel_crypto_init());
	TRY(reel_output_place_open_folder(path, &place));
	fd = reel_output_place_create(&place, place.name);
	if (fd < 0)
		return reel_error_os(errno, "creating %s", path);
	crypto_box_keypair(identity.public.bytes, identity.secret);
	print_key(public_prefix, identity.public.bytes, public_ret);
	error = write_identity(fd, path, public_ret, &identity);
	sodium_memzero(&identity, sizeof(identity));
	if (close(fd) && !error)
		error = reel_error_os(errno, "writing %s", path);
	/* Half a key is useless, so remove it. */
	if (error)
		unlinkat(place.folder, place.name, 0);
	return error;
}

struct reel_error *reel_identity_public_keys(const char *path,
					     void (*visit)(void *context, const char *public_key),
					     void *context)
{
	_cleanup_identities_ struct reel_identities identities = { 0 };

	TRY(reel_identities_load(&identities, path));
	for (size_t i = 0; i < identities.n; i++) {
		char text[TEXT_SIZE + 1];

		print_key(public_prefix, identities.list[i].public.bytes, text);
		visit(context, text);
	}
	return NULL;
}
