/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "cli/flamegraph/page.h"
#include "cli/flamegraph/web_files.h"

/* Where the data goes: cli/flamegraph/web/ has it once in each page. */
#define MARKER "@CAPTURE@"

bool page_is_there(void)
{
	if (web_flame_page_size)
		return true;
	complain("this stackreel has no pages, as it was built where npm's packages were missing: "
		 "-o FILE.svg draws a picture instead, and `make deps all', where npm is "
		 "installed, builds one that has them");
	return false;
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
