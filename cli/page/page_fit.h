/* SPDX-License-Identifier: Apache-2.0 */
/* A page below 3 MB: what is too much is added up, and the page shows that. */
#ifndef CLI_PAGE_PAGE_FIT_H
#define CLI_PAGE_PAGE_FIT_H

#include "cli/page/page_source.h"

/* The packed content of a finished profile, which is shrunk as needed; the caller frees it.  If
 * nothing helps, it is larger, which is reported if `loud`. */
char *page_fit(struct flame_profile *profile, const struct page_source *source, bool loud);

#endif
