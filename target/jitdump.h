/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitdump, jit-PID.dump: what a JIT says of the functions that it makes, with times
 * (tools/perf/Documentation/jitdump-specification.txt of the kernel).  What belongs to a function
 * stands in front of its JIT_CODE_LOAD, and is visited with it.  The file grows while it is read.
 */
#ifndef TARGET_JITDUMP_H
#define TARGET_JITDUMP_H

#include "base/bytes.h"
#include "base/error.h"

/* What belongs to a function, up to its code, is left out where it is longer. Whoever reads a file
 * has room for so much. */
#define REEL_JITDUMP_ROOM (1u << 20)
/* So many bytes say what file it is. */
#define REEL_JITDUMP_HEADER 40u

struct reel_jitdump {
	bool has_header, big_endian;
	/* Times are those of a clock of the CPU's, and not of CLOCK_MONOTONIC. */
	bool has_cpu_times;
	uint32_t machine; /* e_machine */
	uint32_t pid;	  /* in the JIT's PID namespace */
	uint64_t n_bad;	  /* records that make no sense, or are too long */
};

struct reel_jitdump_line {
	uint64_t address;
	uint32_t line;
	struct reel_bytes file;
};

/* To be walked by reel_jitdump_next_line; ascending or not, as the JIT wrote them. */
struct reel_jitdump_lines {
	struct reel_cursor entries;
	uint64_t left;
	uint64_t shift;
	bool big_endian;
	struct reel_bytes file; /* of the entry before */
};

struct reel_jitdump_function {
	uint64_t time;
	uint64_t address, size; /* not 0; the end is at most 2^64 */
	uint64_t index;		/* MOVE names it by that */
	struct reel_bytes name; /* without its NUL */
	/* Unwind information; its first byte counts to have that address.  Empty: there is none. */
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
 * Visits functions and moves, and says how far the file was taken: what is left is handed over
 * again, with what follows it.  That may be behind the bytes that there are, as code is passed
 * over.  CORRUPT, VERSION: the header is none of these files', and nothing can be read of it.
 */
struct reel_error *reel_jitdump_parse(struct reel_jitdump *dump, const uint8_t *bytes, size_t size,
				      const struct reel_jitdump_visitor *visitor,
				      uint64_t *taken_ret) REEL_MUST_CHECK;

/* False behind the last one. */
bool reel_jitdump_next_line(struct reel_jitdump_lines *lines, struct reel_jitdump_line *ret);

#endif
