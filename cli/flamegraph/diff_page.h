/* SPDX-License-Identifier: Apache-2.0 */
/* Changes between captures, as a flame graph page. */
#ifndef CLI_FLAMEGRAPH_DIFF_PAGE_H
#define CLI_FLAMEGRAPH_DIFF_PAGE_H

#include "cli/session/options.h"

/* Compares `options->file` with the old captures. Returns an enum status. */
int diff_page_make(struct options *options, const struct string_list *old);

#endif
