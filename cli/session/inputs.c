/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/session/inputs.h"

void inputs_take_shard(struct string_list *files, struct options *options)
{
	const struct shard *shard = &options->shard;
	size_t n = 0;

	if (!shard->count || files->count < 2)
		return;
	for (size_t i = shard->number; i < files->count; i += shard->count)
		files->items[n++] = files->items[i];
	files->count = n;
	options->may_be_idle = true;
	options->shard = (struct shard){ 0 };
}

void inputs_check(struct string_list *files, struct options *options, struct argp_state *state)
{
	if (!files->count)
		string_list_add(files, options->file);
	else if (strcmp(options->file, DEFAULT_CAPTURE) != 0)
		options_error(state,
			      "give captures either by -i or as arguments, not both: %s and %s",
			      options->file, files->items[0]);
	for (size_t i = 0; i + 1 < files->count; i++) {
		if (!strcmp(files->items[i], "-"))
			argp_error(state, "only the last capture can be standard input");
	}
	if (files->count > 1 && options->sandbox == SANDBOX_ON)
		argp_error(state, "--sandbox only works with a single capture");
	options->file = files->items[0];
	inputs_take_shard(files, options);
	limits_apply(&options->limits, options->file);
}
