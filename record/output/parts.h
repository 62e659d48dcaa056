/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a rotated recording: their names, and the room that they may take.
 *
 * FILE.reel becomes FILE.0001.reel, FILE.0002.reel … (numbers continue after the highest that
 * exists).  In DIR/, names are HOST-YYYYMMDDTHHMMSS.mmmZ.reel, and the parts of earlier recordings
 * of this host count as this recording's.  Until a part is whole and on disk, its name ends in
 * ".partial".
 *
 * The writing thread asks before it writes, and waits until this recording's thread, which may
 * delete files, has made room.  The oldest part goes first.  A recorder that takes over gets no room
 * before the other one has ended, so that both together do not exceed the limits.
 */
#ifndef RECORD_OUTPUT_PARTS_H
#define RECORD_OUTPUT_PARTS_H

#include "base/output_place.h"

struct reel_parts;

struct reel_parts_options {
	const char *path;	   /* FILE or DIR/ */
	uint64_t keep;		   /* old parts; 0: all */
	uint64_t total;		   /* bytes of all parts; 0: no limit */
	uint64_t min_free;	   /* bytes that stay free on the disk */
	uint64_t min_free_percent; /* of the disk */
	/* In DIR/: another recorder is about to end, and may have the lock until then. */
	bool takes_over;
};

struct reel_error *reel_parts_open(const struct reel_parts_options *options,
				   struct reel_parts **ret) REEL_MUST_CHECK;
/* The writing thread gets no more room. */
void reel_parts_end(struct reel_parts *parts);
void reel_parts_close(struct reel_parts *parts);
const struct reel_output_place *reel_parts_place(const struct reel_parts *parts);

/* Creates the next part, and deletes old ones beyond `keep`. */
struct reel_error *reel_parts_create(struct reel_parts *parts, int *fd_ret) REEL_MUST_CHECK;
/* Answers the writing thread, and gives finished parts their names. */
void reel_parts_work(struct reel_parts *parts);
/* Keeps the parts before the current one; `visit` gets the path of each that was not kept yet. */
void reel_parts_protect(struct reel_parts *parts, void (*visit)(void *context, const char *path),
			void *context);

/* The newest part's path, now; NULL: none. */
const char *reel_parts_path(const struct reel_parts *parts);
/* The same once it is finished. */
const char *reel_parts_final_path(const struct reel_parts *parts);
/* The newest finished part's path; NULL: none. */
const char *reel_parts_last(const struct reel_parts *parts);
/* Parts deleted so far because the disk was full. */
uint64_t reel_parts_dropped(const struct reel_parts *parts);
/* Of this recording: parts deleted for any reason. */
uint64_t reel_parts_deleted(const struct reel_parts *parts);
/* Bytes of the parts that may be deleted, and of the one that is written. */
uint64_t reel_parts_bytes(struct reel_parts *parts);

/* For struct reel_writer_options; `context` is the struct reel_parts. */
bool reel_parts_make_room(void *context, int fd, size_t size);
struct reel_error *reel_parts_finished(void *context, int fd);

#endif
