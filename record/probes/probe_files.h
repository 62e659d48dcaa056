/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens the files in which probes are placed. */
#ifndef RECORD_PROBES_PROBE_FILES_H
#define RECORD_PROBES_PROBE_FILES_H

#include "base/error.h"
#include "record/probes/probes.h"

#define REEL_PROBE_FILES_MAX 64

/* Different files: containers may have their own. */
struct reel_probe_files {
	struct reel_probe_file {
		int fd, to_read; /* the same file */
		int debug;	 /* -1 without one */
		uint64_t device, inode;
	} all[REEL_PROBE_FILES_MAX];
	size_t n;
};

struct reel_error *reel_probe_files_open(const char *name, const struct reel_probe_targets *targets,
					 struct reel_probe_files *ret) REEL_MUST_CHECK;

/* Why probes in these files may have no hits, as text; "" for no reason.  Reads /proc, for up to two
 * seconds. */
void reel_probe_files_warn(const char *name, const struct reel_probe_targets *targets,
			   const struct reel_probe_files *files, size_t size, char *ret);

#endif
