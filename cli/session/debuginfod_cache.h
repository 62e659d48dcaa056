/* SPDX-License-Identifier: Apache-2.0 */
/* The folder in which elfutils' debuginfod client keeps files. */
#ifndef CLI_SESSION_DEBUGINFOD_CACHE_H
#define CLI_SESSION_DEBUGINFOD_CACHE_H

#include <stdbool.h>

/* The folder need not exist; NULL if the environment does not name it.  The caller frees it. */
char *debuginfod_cache_path(void);
/* Creates the folder, unless it exists; false if it cannot. */
bool debuginfod_cache_make(const char *path);

#endif
