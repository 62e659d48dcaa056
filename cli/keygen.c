/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel keygen: the keys of encrypted captures. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session/options.h"
#include "cli/print/output.h"
#include "cli/session/session.h"
#include "cli/print/text.h"

#define DEFAULT_KEY_FILE "stackreel.key"

struct keygen {
	const char *file;
	bool only_print;
};

static error_t parse_keygen_option(int key, char *arg, struct argp_state *state)
{
	struct keygen *keygen = state->input;

	switch (key) {
	case 'y':
		keygen->only_print = true;
		return 0;
	case 'o':
	case ARGP_KEY_ARG:
		if (keygen->file)
			options_error(state, "only one file is allowed: %s and %s", keygen->file,
				      arg);
		keygen->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!keygen->file)
			keygen->file = DEFAULT_KEY_FILE;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ NULL, 'y', NULL, 0,
	  "Print the public keys of the secret keys in KEYFILE, and make no keys", 0 },
	{ "output", 'o', "KEYFILE", 0, "Same as KEYFILE", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_keygen_option,
	.args_doc = "[KEYFILE]",
	.doc = "Make a key pair: write the secret key to KEYFILE (" DEFAULT_KEY_FILE
	       "), which must not exist yet, and print the public key.\v"
	       "Record with 'stackreel record --encrypt-to PUBLIC_KEY', which only needs the "
	       "public key, and read with 'stackreel report --identity KEYFILE'. Without KEYFILE, "
	       "captures encrypted to it are lost.",
};

static void print_key(void *context, const char *public_key)
{
	struct output *output = context;

	fprintf(output->file, "%s\n", public_key);
}

int command_keygen(int argc, char **argv)
{
	char public_key[REEL_PUBLIC_KEY_TEXT_SIZE];
	struct keygen keygen = { 0 };
	struct reel_error *error;
	struct output output;

	argp_parse(&parser, argc, argv, 0, NULL, &keygen);
	if (!output_open(&output, NULL))
		return STATUS_ERROR;
	if (keygen.only_print) {
		error = reel_identity_public_keys(keygen.file, print_key, &output);
	} else {
		error = reel_identity_create(keygen.file, public_key);
		if (!error)
			print_key(&output, public_key);
	}
	return output_close(&output, no_error(error) ? STATUS_OK : STATUS_ERROR);
}
