/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in which JITs say what code they made: a process's perf map and its jitdump (target/).
 * The helper (inspection.h) reads them, piece by piece, and keeps them open: when a process has
 * ended nothing leads to its files any more.  Whatever is here twice, the recorder was told.
 */
#ifndef RECORD_WATCHING_JIT_FILES_H
#define RECORD_WATCHING_JIT_FILES_H

#include "record/watching/proc.h"

enum reel_jit_file {
	REEL_JIT_FILE_MAP,
	REEL_JIT_FILE_DUMP,
	REEL_JIT_FILES,
};

/* How far one was read. */
struct reel_jit_position {
	uint64_t device, inode, offset;
	/* Of the bytes before `checked`: another one says that it was written anew. */
	uint64_t checked;
	uint32_t checksum;
	uint32_t skips; /* as reel_perf_map has it */
};

struct reel_jit_question {
	uint64_t space;	  /* for whom files are kept open */
	uint32_t is_last; /* they need not be any more */
	/* Of REEL_JIT_FILES: not to be looked at. */
	uint8_t is_given_up[8];
	struct reel_jit_position positions[REEL_JIT_FILES];
};

/* What was found out about a file. */
struct reel_jit_file_state {
	struct reel_jit_position position;
	uint64_t n_bad;	     /* lines and records that make no sense, just now */
	uint32_t is_open;    /* it was found */
	uint32_t has_more;   /* that was not read yet */
	uint32_t is_refused; /* it is there, and is none that may be read */
	uint32_t is_anew;    /* it is not what was read before, and was read from its start */
};

struct reel_jit_state {
	struct reel_jit_file_state files[REEL_JIT_FILES];
	/* The process was looked up now: whether it is the one meant only its end tells. */
	uint32_t is_new;
};

/* What is said: a struct of these, and what follows it. */
enum reel_jit_said {
	REEL_JIT_SAID_FUNCTION, /* reel_jit_said_function, its name */
	REEL_JIT_SAID_FRAMES,	/* nothing; the function's .eh_frame */
	REEL_JIT_SAID_LINE,	/* reel_jit_said_line, the file's name */
	REEL_JIT_SAID_MOVE,	/* reel_jit_said_move, nothing */
	REEL_JIT_SAID_COUNT,
};

struct reel_jit_said_function {
	uint64_t time; /* 0: that is not said */
	uint64_t address, size, index, frame_address;
	uint64_t file; /* enum reel_jit_file */
};

struct reel_jit_said_line {
	uint64_t address, line;
};

struct reel_jit_said_move {
	uint64_t time; /* 0: that is not said */
	uint64_t from, to, size, index;
};

/* Longer names, and unwind information, are left out. */
#define REEL_JIT_TEXT_MAX 8192

struct reel_jit_listener {
	void (*say)(void *context, enum reel_jit_said what, const void *bytes, size_t size,
		    struct reel_bytes more);
	void *context;
};

/* Reads what is new, some of it.  `dump` is the mapping that tells of a jitdump; its size is 0 if
 * there is none. */
void reel_jit_files_read(uint32_t pid, const struct reel_jit_question *question,
			 const struct reel_proc_map *dump, const struct reel_jit_listener *listener,
			 struct reel_jit_state *ret);

#endif
