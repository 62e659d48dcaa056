/* SPDX-License-Identifier: Apache-2.0 */
/* The list of captures, for commands that read several in sequence. */
#ifndef CLI_SESSION_INPUTS_H
#define CLI_SESSION_INPUTS_H

#include "cli/session/options.h"

/* Like parse_option's ARGP_KEY_END, for captures given as arguments: if `files` is empty, adds the
 * one from -i or the default.  Standard input must be the last, since reading it may enter the
 * sandbox, which blocks other files (options_sandbox). With --shard fewer may remain, or none. */
void inputs_check(struct string_list *files, struct options *options, struct argp_state *state);

/*
 * Of several captures, keeps this shard's and clears --shard; a single capture is divided by its
 * blocks.
 */
void inputs_take_shard(struct string_list *files, struct options *options);

#endif
