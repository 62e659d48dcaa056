/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files that are compressed, as distributions have kernel modules: .ko.xz, .ko.zst, .ko.gz.
 */
#ifndef ELF_PACKED_FILE_H
#define ELF_PACKED_FILE_H

#include <stdint.h>

#include "base/error.h"

/*
 * Puts what is in such a file, as its first bytes tell, in its place: closes `*fd`, which becomes
 * one of a file in memory, and sets `*size`.  Another file stays as it is.  CORRUPT where that
 * cannot be done, or what is in it is many times larger than the file; `path` is for messages.
 */
struct reel_error *reel_packed_file_unpack(const char *path, int *fd,
					   uint64_t *size) REEL_MUST_CHECK;

#endif
