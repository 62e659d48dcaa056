/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input file: of a fixed size, at any offset, by any thread.  It is not mapped, since a file
 * that shrinks while it is read would cause a SIGBUS.
 */
#ifndef FORMAT_SOURCE_H
#define FORMAT_SOURCE_H

#include <stdint.h>

#include "base/error.h"

struct reel_source {
	int fd;
	char *name; /* for messages */
	uint64_t size;
};

/* Recognizes the wrong kind of file by its first bytes. */
struct reel_source_kind {
	size_t header_size; /* bytes passed to `check`, fewer if the file is shorter */
	struct reel_error *(*check)(const uint8_t *header, size_t size);
};

/*
 * "-" is standard input.  Input that is not seekable is copied to an unlinked file first, unless
 * `kind` rejects it: before it fills the disk.
 */
struct reel_error *reel_source_open(const char *path, const struct reel_source_kind *kind,
				    struct reel_source *ret) REEL_MUST_CHECK;
/* Takes ownership of `fd`, even on error. */
struct reel_error *reel_source_open_fd(int fd, const char *name,
				       const struct reel_source_kind *kind,
				       struct reel_source *ret) REEL_MUST_CHECK;
/* An empty unlinked file in $TMPDIR; reel_source_append fills it. */
struct reel_error *reel_source_create(struct reel_source *ret) REEL_MUST_CHECK;
struct reel_error *reel_source_append(struct reel_source *source, const void *bytes,
				      size_t size) REEL_MUST_CHECK;
void reel_source_close(struct reel_source *source);
/* Reads exactly `size` bytes; TRUNCATED if the file has become shorter. */
struct reel_error *reel_source_read(const struct reel_source *source, uint64_t offset, void *bytes,
				    size_t size) REEL_MUST_CHECK;

#endif
