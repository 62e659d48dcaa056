/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/PID/maps piece by piece into a buffer of fixed size: a process may have 65,530
 * mappings (vm.max_map_count), each with a path of several KB. That is hundreds of MB of text,
 * which take the kernel seconds.
 */
#ifndef RECORD_PROC_MAPS_READER_H
#define RECORD_PROC_MAPS_READER_H

#include <limits.h>

#include "record/proc/proc.h"

struct reel_maps_reader {
	size_t used;
	bool skips; /* skipping the rest of a line that was too long */
	/* The end of the last mapping if it is executable, but not a file's; else 0. */
	uint64_t copy_end;
	/* The previous line if it is a file's data, and was not visited; else empty. */
	char data[PATH_MAX + 128];
	char buffer[32 << 10];
};

/* Limits of a read. If anything is left out, the lowest addresses were visited. */
struct reel_maps_limits {
	size_t mappings;   /* that are visited */
	size_t path_bytes; /* of their paths */
	uint64_t deadline; /* reel_now's time */
};

/*
 * Takes text and calls `visit` for each executable mapping with a complete line, and for a file's data
 * next to executable memory that is not a file's: it may be a copy of the file's text.
 */
void reel_maps_reader_parse(struct reel_maps_reader *reader, const char *text, size_t size,
			    void (*visit)(void *context, const struct reel_proc_map *map),
			    void *context);

/* Reads an open maps file. */
enum reel_answer reel_maps_read(int fd, const struct reel_maps_limits *limits,
				void (*visit)(void *context, const struct reel_proc_map *map),
				void *context);

#endif
