/* SPDX-License-Identifier: Apache-2.0 */
/* Fits a page into 3 MB: rare data is added up, and the page reports this. */
#ifndef CLI_PAGE_PAGE_FIT_H
#define CLI_PAGE_PAGE_FIT_H

#include "cli/page/page_source.h"

/* The packed content of a finished profile, which is shrunk as needed; the caller frees it.
 * `loud`: reports a page that is still larger. */
char *page_fit(struct flame_profile *profile, const struct page_source *source, bool loud);

#endif
