/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of processes: whether a process could open a file itself, and the files that it maps.  The
 * recorder may read every file, also one that a process put, mounted or linked to where the recorder
 * looks for another.
 */
#ifndef RECORD_PROC_PROCESS_FILE_H
#define RECORD_PROC_PROCESS_FILE_H

#include <time.h>

#include "record/proc/file_hints.h"
#include "record/proc/proc.h"

/*
 * R_OK if the process (/proc/PID, open) may read the file (any descriptor), else X_OK if it may
 * execute it, or is gone, else 0: by its user and groups for files, and by its capabilities over
 * files whose owner and group are in its user namespace.  A file with an access control list is for
 * its owner and for capabilities only, but anyone may execute it.  Folders above the file do not
 * count.
 */
int reel_rights_of(int process, int file);

/*
 * Finds the file of a mapping and returns a place (O_PATH, so it is not opened yet).  First tries
 * /proc/PID/map_files, which needs CAP_CHECKPOINT_RESTORE and also finds deleted files, if still
 * mapped: then it is exact, the mapped file itself.  Else its path in the process's root directory,
 * if it is the mapping's file there, and the process may read it; or, if the process is gone, in
 * ours.  -1 on failure.  If the inode is unknown, 0, the name decides, and the caller has to check
 * the file.
 */
int reel_proc_find_mapped(uint32_t pid, const struct reel_proc_map *map, bool *exact_ret);
/* Whether the process may execute the file, but not read it: so exec(2) has mapped it, since mmap(2)
 * requires a file that is open for reading.  May ask a file's server, unlike finding it. */
bool reel_proc_only_executes(uint32_t pid, int place);

/* Properties of a file. */
struct reel_proc_file {
	uint32_t device_major, device_minor; /* as stat(2) has them */
	uint64_t inode, generation;
	struct reel_build_id build_id;
	struct timespec changed; /* st_ctim, before the rest was read */
	/* For files without a build-id. */
	uint64_t size, time; /* in bytes; of its last change, ns since 1970 */
	bool has_digest;
	uint8_t digest[REEL_FILE_DIGEST_SIZE];
	struct reel_file_hints hints;
	bool stays; /* it is at the mapping's path in our root: it can be read without the process */
};

/* Reads a place; false if it is not a regular file, or cannot be read.  *fd_ret is the open
 * file. */
bool reel_proc_file(int place, struct reel_proc_file *ret, int *fd_ret);

/* For `stays`. */
bool reel_proc_is_in_our_root(const char *path, const struct reel_proc_file *file);

#endif
