/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/maps, read piece by piece into a buffer of fixed size: a process may have 65,530
 * mappings (vm.max_map_count), each with a path of several KB, which is hundreds of MB of text that
 * take the kernel seconds.
 */
#ifndef RECORD_WATCHING_MAPS_READER_H
#define RECORD_WATCHING_MAPS_READER_H

#include "record/watching/proc.h"

struct reel_maps_reader {
	size_t used;
	bool skips; /* the rest of a line that was too long */
	char buffer[32 << 10];
};

/* What is read at most. Whatever is left out, what was visited are the lowest addresses. */
struct reel_maps_limits {
	size_t mappings;   /* executable ones */
	size_t path_bytes; /* of these */
	uint64_t deadline; /* reel_now's time */
};

/* Takes text and calls `visit` for each executable mapping of which the line is whole. */
void reel_maps_reader_take(struct reel_maps_reader *reader, const char *text, size_t size,
			   void (*visit)(void *context, const struct reel_proc_map *map),
			   void *context);

/* Reads an open file of that kind. */
enum reel_answer reel_maps_read(int fd, const struct reel_maps_limits *limits,
				void (*visit)(void *context, const struct reel_proc_map *map),
				void *context);

#endif
