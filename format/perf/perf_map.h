/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps, /tmp/perf-PID.map: a line "START SIZE NAME" for each function that a JIT made, numbers
 * in hexadecimal.  The file grows while it is read, so only whole lines are taken.
 */
#ifndef FORMAT_PERF_PERF_MAP_H
#define FORMAT_PERF_PERF_MAP_H

#include "base/bytes.h"
#include "base/error.h"

/* Longer lines are bad.  Anyone who reads a file needs room for one. */
#define REEL_PERF_MAP_LINE_MAX 8192

struct reel_perf_map_line {
	uint64_t address;
	uint64_t size;		/* not 0; the end is at most 2^64 */
	struct reel_bytes name; /* not empty, without a NUL */
};

/* The state of reading a file; initially all 0. */
struct reel_perf_map {
	uint64_t n_bad; /* invalid lines */
	bool skips;	/* inside a line that is too long */
};

/*
 * Visits the lines and returns how many bytes were taken: the caller passes the rest again, with
 * the bytes that follow.  LINE_MAX bytes without an end of line are taken completely.  The last
 * line of a finished file may have no newline: then the caller adds it.
 */
struct reel_error *reel_perf_map_parse(
	struct reel_perf_map *map, const uint8_t *bytes, size_t size,
	struct reel_error *(*visit)(void *context, const struct reel_perf_map_line *line),
	void *context, size_t *taken_ret) REEL_MUST_CHECK;

#endif
