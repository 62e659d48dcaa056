/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/session/inputs.h"

void inputs_check(struct string_list *files, struct options *options, struct argp_state *state)
{
	if (!files->count)
		string_list_add(files, options->file);
	else if (strcmp(options->file, DEFAULT_CAPTURE) != 0)
		options_error(state,
			      "captures are named by -i or as arguments, not both: %s and %s",
			      options->file, files->items[0]);
	for (size_t i = 0; i + 1 < files->count; i++) {
		if (!strcmp(files->items[i], "-"))
			argp_error(state, "standard input can only be the last of the captures");
	}
	if (files->count > 1 && options->sandbox == SANDBOX_ON)
		argp_error(state, "--sandbox is for one capture");
	options->file = files->items[0];
	limits_apply(&options->limits, options->file);
}
