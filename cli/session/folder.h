/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of captures, such as the parts of a rotated recording, of one or several hosts. */
#ifndef CLI_SESSION_FOLDER_H
#define CLI_SESSION_FOLDER_H

#include "cli/session/options.h"

struct folder_part {
	char *path;
	const struct reel_outline *outline;
};

struct folder {
	struct folder_part *parts; /* by host and start */
	size_t n;
	uint64_t others; /* files that are not captures */
	uint64_t unread; /* captures that cannot be read; reported */
};

bool folder_is(const char *path);
/*
 * Reads the outlines of all captures in options->file, found by their content; names that begin with
 * a dot are skipped.  A file is a folder with itself.  With `contents` as reel_outline_read.
 */
struct reel_error *folder_read(const struct options *options, bool contents, struct folder *ret);
void folder_free(struct folder *folder);

/*
 * Joins the folder's captures of the time in the options to one, in a file without a name that the
 * caller closes, and reports what is missing.  The options then select all of it.
 */
struct reel_error *folder_join(struct options *options, bool *damaged_ret, int *fd_ret);

#endif
