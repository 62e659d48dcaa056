/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JITs' information about their code, which perf leaves outside of its file: /tmp/perf-PID.map, and
 * the jitdump files (jit-PID.dump) of which a process has mapped a page as code.
 */
#ifndef REPLAY_IMPORT_JIT_IMPORT_H
#define REPLAY_IMPORT_JIT_IMPORT_H

#include "base/id_table.h"
#include "format/writer.h"

/* Processes by pid; all zero is empty. */
struct reel_jit_processes {
	struct reel_id_table table;
};

void reel_jit_processes_free(struct reel_jit_processes *processes);
/* A mapping of a process, in order of time; `path` is its name. */
struct reel_error *reel_jit_processes_add(struct reel_jit_processes *processes, uint32_t pid,
					  const struct reel_record_map *map,
					  struct reel_bytes path) REEL_MUST_CHECK;

struct reel_jit_files_options {
	/* The folder with all files; NULL: the places where perf found them, on this host.  In that
	 * case a file is only used if it can be the process's. */
	const char *directory;
	struct reel_writer *writer;
	/* jitdump's times are on the recording's clock. */
	bool has_same_clock;
	/* The recording's start and end, on CLOCK_REALTIME in seconds. */
	int64_t start, end;
	/* Called for a file that is not used, or only in part; takes ownership of the problem. */
	void (*problem)(void *context, struct reel_error *problem);
	void *context;
};

/* Writes the contents of these processes' files; `*left_out_ret` functions exceeded the limit. */
struct reel_error *reel_jit_files_write(const struct reel_jit_processes *processes,
					const struct reel_jit_files_options *options,
					uint64_t *left_out_ret) REEL_MUST_CHECK;

#endif
