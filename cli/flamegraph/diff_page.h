/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between captures, as a page of a flame graph. */
#ifndef CLI_FLAMEGRAPH_DIFF_PAGE_H
#define CLI_FLAMEGRAPH_DIFF_PAGE_H

#include "cli/session/options.h"

/* `options->file` against the old ones.  Gives an enum status. */
int diff_page_make(struct options *options, const struct string_list *old);

#endif
