/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page's content: a capture's stacks, threads and times, as cli/page/web/capture.js reads them.
 *
 *	size of the header, 4 bytes, little-endian
 *	header: JSON, with a table of the columns
 *	columns (cli/page/columns.h)
 */
#ifndef CLI_PAGE_PAGE_CONTENT_H
#define CLI_PAGE_PAGE_CONTENT_H

#include "cli/flamegraph/flame_profile.h"
#include "cli/page/page_code.h"
#include "cli/page/page_diff.h"

struct page_source {
	struct flame_source of;
	/* NULL for a profile that `stackreel aggregate' made. */
	struct reel_capture *capture;
	const struct page_diff *diff; /* NULL: no comparison */
	const struct page_code *code; /* NULL: no source code, and no instructions */
	const struct page_instructions *instructions;
};

/* The content of a finished profile; the caller frees it. */
char *page_content_make(struct flame_profile *profile, const struct page_source *source,
			size_t *size_ret);

#endif
