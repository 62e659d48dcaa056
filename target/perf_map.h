/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps, /tmp/perf-PID.map: a line "START SIZE NAME" for each function that a JIT made, numbers
 * in hexadecimal.  It grows while it is read, so only whole lines are taken.
 */
#ifndef TARGET_PERF_MAP_H
#define TARGET_PERF_MAP_H

#include "base/bytes.h"
#include "base/error.h"

/* Longer lines are bad. Whoever reads a file has room for one. */
#define REEL_PERF_MAP_LINE_MAX 8192

struct reel_perf_map_line {
	uint64_t address;
	uint64_t size;		/* not 0; the end is at most 2^64 */
	struct reel_bytes name; /* not empty, without a NUL */
};

/* Where one is in a file; at first all 0. */
struct reel_perf_map {
	uint64_t n_bad; /* lines that are none */
	bool skips;	/* the rest of one that is too long */
};

/*
 * Visits the lines and says how many of the bytes were taken: what is left is handed over again,
 * with what follows it.  Nothing is left of LINE_MAX bytes that hold no end of a line.  The last
 * line of a file that nobody writes to any more may lack its newline: then the caller adds it.
 */
struct reel_error *reel_perf_map_parse(
	struct reel_perf_map *map, const uint8_t *bytes, size_t size,
	struct reel_error *(*visit)(void *context, const struct reel_perf_map_line *line),
	void *context, size_t *taken_ret) REEL_MUST_CHECK;

#endif
