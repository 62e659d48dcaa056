/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Writes all bytes, however slow a pipe is, blocking or not; 0, or the errno.  `*written`, unless
 * NULL, grows by the bytes written, even on error.
 */
int reel_write_all(int fd, const void *bytes, size_t size, uint64_t *written);

/* Copies a file from beginning to end, to the current position of `to`; 0, or the errno. */
int reel_copy_all(int from, int to);

/* Reads all of these bytes; false at the file's end as well (with errno 0). */
bool reel_read_at(int fd, void *ret, size_t size, uint64_t offset);

/*
 * A new file without a name, to read and write, in $TMPDIR or /var/tmp: the file may be large, and
 * /tmp is memory on many hosts (file-hierarchy(7)), so /tmp is only the fallback for /var/tmp.
 */
struct reel_error *reel_temporary_file(int *fd_ret) REEL_MUST_CHECK;

#endif
