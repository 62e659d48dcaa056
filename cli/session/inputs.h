/* SPDX-License-Identifier: Apache-2.0 */
/* Of commands that read several captures, one after the other: which. */
#ifndef CLI_SESSION_INPUTS_H
#define CLI_SESSION_INPUTS_H

#include "cli/session/options.h"

/* As parse_option's ARGP_KEY_END, for captures that were arguments: `files` gets that of -i, or the
 * default one, if there is none.  Standard input must be the last, since reading it may close the
 * way to any other file (options_sandbox).  With --shard fewer may be left, or none. */
void inputs_check(struct string_list *files, struct options *options, struct argp_state *state);

/* Of several captures, keeps those of --shard, which is done then: one is divided by its blocks. */
void inputs_take_shard(struct string_list *files, struct options *options);

#endif
