/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/page/page_file.h"

/* cli/page/page_bytes.S. */
extern const char page_bytes[], page_bytes_end[], page_firefox_bytes[], page_firefox_bytes_end[];

/* The place of the content: once in the page. */
#define MARKER "@CONTENT@"

void page_file_write(enum page_file page, const char *packed, FILE *file)
{
	const char *bytes = page == PAGE_VIEW ? page_bytes : page_firefox_bytes;
	const char *end = page == PAGE_VIEW ? page_bytes_end : page_firefox_bytes_end;
	const char *marker = memmem(bytes, (size_t)(end - bytes), MARKER, strlen(MARKER));
	const char *rest = marker + strlen(MARKER);

	fwrite(bytes, 1, (size_t)(marker - bytes), file);
	fputs(packed, file);
	fwrite(rest, 1, (size_t)(end - rest), file);
}
