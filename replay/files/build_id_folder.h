/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of files by their build-ids, for debuggers.  Everything in the capture was chosen by its
 * author, so only hexadecimal digits from it become part of paths, and links below the folder are
 * not followed.
 */
#ifndef REPLAY_FILES_BUILD_ID_FOLDER_H
#define REPLAY_FILES_BUILD_ID_FOLDER_H

#include "base/error.h"
#include "format/record.h"

struct reel_build_id_folder {
	const char *name;
	int fd;
};

/* Below the folder: two folders and a file; and the path for display. */
struct reel_build_id_path {
	const char *top;
	char middle[3], name[2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
	char whole[sizeof(".build-id/xx/") + 2 * REEL_BUILD_ID_MAX + sizeof(".debug")];
};

/* Creates the folder if it is missing.  `name` is borrowed. */
struct reel_error *reel_build_id_folder_open(const char *name,
					     struct reel_build_id_folder *ret) REEL_MUST_CHECK;
void reel_build_id_folder_close(struct reel_build_id_folder *folder);

/* .build-id/xx/yyyy and the suffix ("" or ".debug"); without a usable build-id, a file in
 * .no-build-id/, by the file's digest, or else by a hash of the module's path. */
void reel_build_id_path_make(const struct reel_record_module *module, const char *suffix,
			     struct reel_build_id_path *ret);

/* The contents of a new file: bytes, or a whole file's. */
struct reel_contents {
	const uint8_t *bytes;
	uint64_t size;
	int fd; /* the file, if `bytes` is NULL */
};

/* An existing file is an error unless it may be replaced. */
struct reel_error *reel_build_id_folder_write(const struct reel_build_id_folder *folder,
					      const struct reel_build_id_path *path,
					      const struct reel_contents *contents,
					      bool replace) REEL_MUST_CHECK;

#endif
