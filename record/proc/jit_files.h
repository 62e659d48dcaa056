/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in which JITs describe their code: a process's perf map and its jitdump (target/), and the
 * ELF files in its memory (jit_list.h).  The
 * helper (inspection.h) reads them, piece by piece, and keeps them open, since an ended process's
 * files cannot be found any more.  The recorder keeps positions, so a new helper continues there.
 */
#ifndef RECORD_PROC_JIT_FILES_H
#define RECORD_PROC_JIT_FILES_H

#include "record/proc/jit_list.h"
#include "record/proc/proc.h"

enum reel_jit_file {
	REEL_JIT_FILE_MAP,
	REEL_JIT_FILE_DUMP,
	REEL_JIT_FILES,
	REEL_JIT_LIST = REEL_JIT_FILES, /* an ELF file in memory */
};

/* How far a file was read. */
struct reel_jit_position {
	uint64_t device, inode, offset;
	/* Checksum of the bytes before `checked`: it changes if the file is written anew. */
	uint64_t checked;
	uint32_t checksum;
	uint32_t skips; /* as in reel_perf_map */
};

struct reel_jit_question {
	uint64_t space;	  /* whose files are kept open */
	uint32_t is_last; /* they need not stay open */
	/* For each of REEL_JIT_FILES: do not read it. */
	uint8_t is_given_up[8];
	struct reel_jit_position positions[REEL_JIT_FILES];
	struct reel_jit_list_question list;
};

/* State of a file. */
struct reel_jit_file_state {
	struct reel_jit_position position;
	uint64_t n_bad;	     /* invalid lines and records in this read */
	uint32_t is_open;    /* it was found */
	uint32_t has_more;   /* not yet read */
	uint32_t is_refused; /* it exists, but must not be read */
	uint32_t is_anew;    /* it was replaced or rewritten, and read from its start */
};

struct reel_jit_state {
	struct reel_jit_file_state files[REEL_JIT_FILES];
	struct reel_jit_list_state list;
	/* The process was looked up now; only its end shows whether it is the expected process. */
	uint32_t is_new;
};

/* Kinds of entries: each is a struct and the bytes after it. */
enum reel_jit_said {
	REEL_JIT_SAID_FUNCTION, /* reel_jit_said_function, its name */
	REEL_JIT_SAID_FRAMES,	/* nothing; a piece of the function's unwind information */
	REEL_JIT_SAID_LINE,	/* reel_jit_said_line, the file's name */
	REEL_JIT_SAID_MOVE,	/* reel_jit_said_move, nothing */
	REEL_JIT_SAID_ENTRY,	/* reel_jit_entry, nothing */
	REEL_JIT_SAID_WANTED,	/* the same: the functions that follow are of its file */
	REEL_JIT_SAID_COUNT,
};

struct reel_jit_said_function {
	uint64_t time; /* 0: unknown */
	uint64_t address, size, index, frame_address;
	uint32_t file;		 /* enum reel_jit_file */
	uint32_t is_debug_frame; /* its unwind information is .debug_frame, not .eh_frame */
};

struct reel_jit_said_line {
	uint64_t address, line;
};

struct reel_jit_said_move {
	uint64_t time; /* 0: unknown */
	uint64_t from, to, size, index;
};

/* Longer names and unwind information are left out; of an ELF file, the latter has pieces. */
#define REEL_JIT_TEXT_MAX 8192

struct reel_jit_listener {
	void (*say)(void *context, enum reel_jit_said what, const void *bytes, size_t size,
		    struct reel_bytes more);
	void *context;
};

/* Reads some of the new entries.  `dump` is the mapping of the jitdump; without a jitdump, its size
 * is 0. */
void reel_jit_files_read(uint32_t pid, const struct reel_jit_question *question,
			 const struct reel_proc_map *dump, const struct reel_jit_listener *listener,
			 struct reel_jit_state *ret);

#endif
