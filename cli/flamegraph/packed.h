/* SPDX-License-Identifier: Apache-2.0 */
/* Text within a page: gzip in base64, so that it is small and inert. */
#ifndef CLI_FLAMEGRAPH_PACKED_H
#define CLI_FLAMEGRAPH_PACKED_H

#include <stddef.h>

/* The caller frees it. */
char *packed_text(const char *text, size_t size, size_t *size_ret);

#endif
