/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file.  It gets its name when it is complete, so a failed one leaves nothing, and a
 * previous file of that name stays until then.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include "base/output_place.h"

struct reel_output_file {
	int fd;
	/* It gets the place's name and can be read back; false for standard output and devices. */
	bool is_new;
	struct reel_output_place place;
	char *temporary; /* its name until then; NULL if nameless */
};

/* `mode` is a new file's, from base/output_place.h.  INVALID if `source` is open on the same file,
 * by whatever name. */
struct reel_error *reel_output_file_open(const char *path, mode_t mode, int source,
					 struct reel_output_file *ret) REEL_MUST_CHECK;
/* Takes ownership of `error`: if set, nothing gets a name. */
struct reel_error *reel_output_file_close(struct reel_output_file *file,
					  struct reel_error *error) REEL_MUST_CHECK;
/* Discards the file. */
void reel_output_file_abandon(struct reel_output_file *file);

/* Creates a file that has its name, and may replace another one, from the start, and opens it for
 * writing; a FIFO or a device is only opened.  `keeps_old`: reel_output_place_move_old first. */
struct reel_error *reel_output_file_create(const char *path, mode_t mode, bool keeps_old,
					   int *fd_ret) REEL_MUST_CHECK;

#endif
