/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PAGE_PAGE_PACK_H
#define CLI_PAGE_PAGE_PACK_H

#include <stddef.h>

/* Bytes as pages contain them: gzip in base64, so that they are small and inert. The caller frees
 * the result. */
char *page_pack(const char *bytes, size_t size, size_t *size_ret);

#endif
