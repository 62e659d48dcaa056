/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Writes it all, however slowly a pipe takes it, whether or not it blocks; 0, or the errno.
 * `*written` grows by what went out, after an error too; NULL: nobody asks.
 */
int reel_write_all(int fd, const void *bytes, size_t size, uint64_t *written);

/* A file from its beginning to its end, to where `to` is; 0, or the errno. */
int reel_copy_all(int from, int to);

/* All of these bytes; false at the file's end too (errno is 0 then). */
bool reel_read_at(int fd, void *ret, size_t size, uint64_t offset);

/*
 * A new file without a name, to be read and written, in $TMPDIR or /var/tmp: it may be large, and
 * /tmp is memory on many hosts (file-hierarchy(7)), so it is taken only where there is no /var/tmp.
 */
struct reel_error *reel_temporary_file(int *fd_ret) REEL_MUST_CHECK;

#endif
