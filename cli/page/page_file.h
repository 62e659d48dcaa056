/* SPDX-License-Identifier: Apache-2.0 */
/* The page's file: cli/page/web/, as the Makefile puts it together, and its content. */
#ifndef CLI_PAGE_PAGE_FILE_H
#define CLI_PAGE_PAGE_FILE_H

#include <stdio.h>

/* `packed` is from page_pack. */
void page_file_write(const char *packed, FILE *file);

#endif
