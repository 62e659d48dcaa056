/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files, as distributions have for kernel modules: .ko.xz, .ko.zst, .ko.gz. */
#ifndef ELF_PACKED_FILE_H
#define ELF_PACKED_FILE_H

#include <stdint.h>

#include "base/error.h"

/*
 * Unpacks such a file, recognized by its first bytes: closes `*fd`, replaces it by a file in memory
 * with the contents, and sets `*size`.  Leaves other files unchanged.  CORRUPT if unpacking fails,
 * or the contents are many times larger than the file; `path` is for messages.
 */
struct reel_error *reel_packed_file_unpack(const char *path, int *fd,
					   uint64_t *size) REEL_MUST_CHECK;

#endif
