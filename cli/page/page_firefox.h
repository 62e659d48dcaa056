/* SPDX-License-Identifier: Apache-2.0 */
/* A capture for profiler.firefox.com, as the content of a page that hands it over. */
#ifndef CLI_PAGE_PAGE_FIREFOX_H
#define CLI_PAGE_PAGE_FIREFOX_H

#include "cli/session/options.h"

/* As page_make: for page_file_write; NULL after an error, which was reported. */
char *page_firefox_make(const struct options *common, int *status_ret);

#endif
