/* SPDX-License-Identifier: Apache-2.0 */
/* Included into each file: what emscripten's headers have not. */
#ifndef HOST_WASM_LIBC_H
#define HOST_WASM_LIBC_H

#include <stddef.h>

/* Linux's; lseek() answers EINVAL, as for a file system without holes. */
#define SEEK_DATA 3

void qsort_r(void *items, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
	     void *context);

#endif
