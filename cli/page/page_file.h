/* SPDX-License-Identifier: Apache-2.0 */
/* Pages' files: cli/page/web/, as the Makefile puts them together, and their contents. */
#ifndef CLI_PAGE_PAGE_FILE_H
#define CLI_PAGE_PAGE_FILE_H

#include <stdio.h>

enum page_file {
	PAGE_VIEW,
	PAGE_FIREFOX, /* hands its content over to profiler.firefox.com */
};

/* `packed` is from page_pack. */
void page_file_write(enum page_file page, const char *packed, FILE *file);

#endif
