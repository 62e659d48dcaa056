/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as text, and files of public and of secret ones. */
#include "format/keys.h"
#include "include/commands.h"
#include "tests/fuzz/fuzz.h"

/* Any other text would be a file's name. */
static bool is_key(const char *text)
{
	return !strncmp(text, "reelpub1_", 9) || !strncmp(text, "reelsec1_", 9);
}

struct seen {
	const struct reel_identities *identities;
	size_t n;
};

/* A public key printed as text is the same key when read. */
static void check_public(void *context, const char *text)
{
	_cleanup_public_keys_ struct reel_public_keys keys = { 0 };
	struct seen *seen = context;

	must_be(strlen(text) < REEL_PUBLIC_KEY_TEXT_SIZE && is_key(text), "a key's text");
	must(reel_public_keys_add(&keys, text));
	must_be(keys.n == 1 && seen->n < seen->identities->n, "one key");
	must_be(!memcmp(keys.list, &seen->identities->list[seen->n++].public, sizeof(*keys.list)),
		"that identity's public key");
}

static void load_secret(const char *path)
{
	_cleanup_identities_ struct reel_identities identities = { 0 };
	struct seen seen = { &identities, 0 };

	if (!fuzz_fine(reel_identities_load(&identities, path)))
		return;
	must_be(identities.n > 0, "some");
	must(reel_identity_public_keys(path, check_public, &seen));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_public_keys_ struct reel_public_keys keys = { 0 };
	static struct fuzz_file named;
	_cleanup_free_ char *text = fuzz_text((struct reel_bytes){ data, size });

	fuzz_file_fill(&named, data, size);
	load_secret(named.path);
	if (is_key(text))
		(void)fuzz_fine(reel_public_keys_add(&keys, text));
	(void)fuzz_fine(reel_public_keys_add(&keys, named.path));
	for (size_t i = 0; i < keys.n; i++) {
		uint8_t id[REEL_KEY_ID_SIZE];

		reel_public_key_id(&keys.list[i], id);
	}
	return 0;
}
