/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a page's content that is JSON. */
#ifndef CLI_PAGE_PAGE_HEADER_H
#define CLI_PAGE_PAGE_HEADER_H

#include "cli/page/columns.h"
#include "cli/page/page_source.h"
#include "cli/page/page_strings.h"

struct page_header {
	const struct flame_profile *profile;
	const struct page_source *source;
	const struct page_strings *strings;
	const struct columns *columns;
};

void page_header_print(const struct page_header *header, FILE *file);

#endif
