/* SPDX-License-Identifier: Apache-2.0 */
/* Pages' files: cli/page/web/, as the Makefile puts them together, and their contents. */
#ifndef CLI_PAGE_PAGE_FILE_H
#define CLI_PAGE_PAGE_FILE_H

#include <stdio.h>

enum page_file {
	PAGE_VIEW,
	PAGE_FIREFOX, /* hands its content over to profiler.firefox.com */
};

/* Bytes as pages contain them: gzip in base64, so that they are small and inert. The caller frees
 * the result. */
char *page_file_pack(const char *bytes, size_t size, size_t *size_ret);
/* `packed` is from page_file_pack. */
void page_file_write(enum page_file page, const char *packed, FILE *file);

#endif
