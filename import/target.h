/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that comes out.  It gets its name when it is whole, so that nothing
 * is left of one that failed, and what had the name before stays until then.
 */
#ifndef IMPORT_TARGET_H
#define IMPORT_TARGET_H

#include "format/error.h"

struct reel_import_target {
	int fd;
	char *path;	 /* NULL: what is written needs no name */
	char *temporary; /* its name until then; NULL: it has none */
};

/* INVALID: it is the file that `source` is open on, by whatever name. */
struct reel_error *reel_import_target_open(const char *path, int source,
					   struct reel_import_target *ret) REEL_MUST_CHECK;
/* Takes `error` over: if there is one, nothing gets a name. */
struct reel_error *reel_import_target_close(struct reel_import_target *target,
					    struct reel_error *error) REEL_MUST_CHECK;

#endif
