/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of files by their build-ids, as debuggers look for them.  Whoever made the capture chose
 * everything in it, so nothing of it becomes part of a path but hexadecimal digits, and no link is
 * followed below the folder.
 */
#ifndef REPLAY_BUILD_ID_FOLDER_H
#define REPLAY_BUILD_ID_FOLDER_H

#include "base/error.h"
#include "format/record.h"

struct reel_build_id_folder {
	const char *name;
	int fd;
};

/* Below the folder: two folders and a file; and how it is shown. */
struct reel_build_id_path {
	const char *top;
	char middle[3], name[2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
	char whole[sizeof(".build-id/xx/") + 2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
};

/* It is made if it is not there. `name` is borrowed. */
struct reel_error *reel_build_id_folder_open(const char *name,
					     struct reel_build_id_folder *ret) REEL_MUST_CHECK;
void reel_build_id_folder_close(struct reel_build_id_folder *folder);

/* .build-id/xx/yyyy and the suffix ("" or ".debug"); without a build-id that it could be below,
 * .no-build-id/, by the file's digest, or else by a hash of the module's path. */
void reel_build_id_path_make(const struct reel_record_module *module, const char *suffix,
			     struct reel_build_id_path *ret);

/* What a file is to have: bytes, or a file from its beginning to its end. */
struct reel_contents {
	const uint8_t *bytes;
	uint64_t size;
	int fd; /* of a file, if `bytes` is NULL */
};

/* One that is there already is an error, unless it is to be replaced. */
struct reel_error *reel_build_id_folder_write(const struct reel_build_id_folder *folder,
					      const struct reel_build_id_path *path,
					      const struct reel_contents *contents,
					      bool replace) REEL_MUST_CHECK;

#endif
