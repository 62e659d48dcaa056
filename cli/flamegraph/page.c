/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/flamegraph/page.h"
#include "cli/flamegraph/web_files.h"

/* The place of the data: once in each page of cli/flamegraph/web/. */
#define MARKER "@CAPTURE@"

bool page_is_there(void)
{
	return web_flame_page_size;
}

void page_write(enum page page, const char *packed, FILE *file)
{
	const char *start = page == PAGE_FLAME ? web_flame_page : web_diff_page;
	const char *end = start + (page == PAGE_FLAME ? web_flame_page_size : web_diff_page_size);
	const char *marker = memmem(start, (size_t)(end - start), MARKER, strlen(MARKER));

	fwrite(start, 1, (size_t)(marker - start), file);
	fputs(packed, file);
	marker += strlen(MARKER);
	fwrite(marker, 1, (size_t)(end - marker), file);
}
