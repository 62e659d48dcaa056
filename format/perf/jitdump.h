/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitdump, jit-PID.dump: what a JIT reports about its functions, with times (the kernel's
 * tools/perf/Documentation/jitdump-specification.txt).  Details of a function precede its
 * JIT_CODE_LOAD, and are visited with it.  The file grows while it is read.
 */
#ifndef FORMAT_PERF_JITDUMP_H
#define FORMAT_PERF_JITDUMP_H

#include "base/bytes.h"
#include "base/error.h"

/* Details of a function, up to its code, are skipped if longer.  Anyone who reads a file needs room
 * for this many bytes. */
#define REEL_JITDUMP_ROOM (1u << 20)
/* This many bytes identify the file. */
#define REEL_JITDUMP_HEADER 40u

struct reel_jitdump {
	bool has_header, big_endian;
	/* Times are from a clock of the CPU, not CLOCK_MONOTONIC. */
	bool has_cpu_times;
	uint32_t machine; /* e_machine */
	uint32_t pid;	  /* in the JIT's PID namespace */
	uint64_t n_bad;	  /* records that are invalid or too long */
};

struct reel_jitdump_line {
	uint64_t address;
	uint32_t line;
	struct reel_bytes file;
};

/* For reel_jitdump_next_line; ascending or not, as the JIT wrote them. */
struct reel_jitdump_lines {
	struct reel_cursor entries;
	uint64_t left;
	uint64_t shift;
	bool big_endian;
	struct reel_bytes file; /* of the previous entry */
};

struct reel_jitdump_function {
	uint64_t time;
	uint64_t address, size; /* not 0; the end is at most 2^64 */
	uint64_t index;		/* MOVE refers to it */
	struct reel_bytes name; /* without its NUL */
	/* Unwind information, whose first byte has `frame_address`.  Empty if missing. */
	struct reel_bytes eh_frame;
	uint64_t frame_address;
	struct reel_jitdump_lines lines;
};

struct reel_jitdump_move {
	uint64_t time;
	uint64_t from, to, size;
	uint64_t index;
};

struct reel_jitdump_visitor {
	struct reel_error *(*function)(void *context, const struct reel_jitdump_function *function);
	struct reel_error *(*move)(void *context, const struct reel_jitdump_move *move);
	void *context;
};

/*
 * Visits functions and moves, and returns how far it got: the caller passes the rest again, with
 * the bytes that follow.  The position may be past the available bytes, as code is skipped.
 * CORRUPT, VERSION: not a jitdump header, and nothing can be read from the file.
 */
struct reel_error *reel_jitdump_parse(struct reel_jitdump *dump, const uint8_t *bytes, size_t size,
				      const struct reel_jitdump_visitor *visitor,
				      uint64_t *taken_ret) REEL_MUST_CHECK;

/* False after the last line. */
bool reel_jitdump_next_line(struct reel_jitdump_lines *lines, struct reel_jitdump_line *ret);

#endif
