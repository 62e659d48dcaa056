/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that comes out.  It gets its name when it is whole, so that nothing
 * is left of one that failed, and what had the name before stays until then.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include "base/place.h"

struct reel_output_file {
	int fd;
	/* It gets the place's name, and can be read, too; not so standard output, or a device. */
	bool is_new;
	struct reel_place place;
	char *temporary; /* its name until then; NULL: it has none */
};

/* `mode` is a new file's, of base/place.h.  INVALID: it is the file that `source` is open on, by
 * whatever name. */
struct reel_error *reel_output_file_open(const char *path, mode_t mode, int source,
					 struct reel_output_file *ret) REEL_MUST_CHECK;
/* Takes `error` over: if there is one, nothing gets a name. */
struct reel_error *reel_output_file_close(struct reel_output_file *file,
					  struct reel_error *error) REEL_MUST_CHECK;

#endif
