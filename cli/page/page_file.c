/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "cli/page/page_file.h"

/* cli/page/page_bytes.S. */
extern const char page_bytes[], page_bytes_end[];

/* The place of the content: once in the page. */
#define MARKER "@CONTENT@"

void page_file_write(const char *packed, FILE *file)
{
	const char *marker =
		memmem(page_bytes, (size_t)(page_bytes_end - page_bytes), MARKER, strlen(MARKER));
	const char *rest = marker + strlen(MARKER);

	fwrite(page_bytes, 1, (size_t)(marker - page_bytes), file);
	fputs(packed, file);
	fwrite(rest, 1, (size_t)(page_bytes_end - rest), file);
}
