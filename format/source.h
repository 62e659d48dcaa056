/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that is read: of a fixed size, at any offset, by any thread.  It is
 * not mapped, since a file that gets shorter meanwhile would be a SIGBUS then.
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

/* How to tell at a file's first bytes that it is another kind of file. */
struct reel_source_kind {
	size_t header_size; /* bytes that `check` gets, fewer where the file is shorter */
	struct reel_error *(*check)(const uint8_t *header, size_t size);
};

/*
 * "-" is standard input. What can't be read at any offset is copied to an unlinked file first,
 * unless `kind` refuses it: not after a disk full of it.
 */
struct reel_error *reel_source_open(const char *path, const struct reel_source_kind *kind,
				    struct reel_source *ret) REEL_MUST_CHECK;
/* Takes ownership of `fd`, also where it fails. */
struct reel_error *reel_source_open_fd(int fd, const char *name,
				       const struct reel_source_kind *kind,
				       struct reel_source *ret) REEL_MUST_CHECK;
/* An empty unlinked file in $TMPDIR, to be filled by reel_source_append. */
struct reel_error *reel_source_create(struct reel_source *ret) REEL_MUST_CHECK;
struct reel_error *reel_source_append(struct reel_source *source, const void *bytes,
				      size_t size) REEL_MUST_CHECK;
void reel_source_close(struct reel_source *source);
/* Exactly `size` bytes; TRUNCATED if the file has become shorter than it was. */
struct reel_error *reel_source_read(const struct reel_source *source, uint64_t offset, void *bytes,
				    size_t size) REEL_MUST_CHECK;

#endif
