/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes captures in other programs' formats. A format is a file in this folder and a line in
 * formats.c: it receives captures in sequence, and each capture's traces, with names.
 */
#ifndef CLI_EXPORT_FORMATS_H
#define CLI_EXPORT_FORMATS_H

#include "cli/session/session.h"

/* ns since 1970 of the first and the last sample; 0 if captures do not state them. */
struct export_span {
	uint64_t from, until;
};

/* The destination. */
struct export_target {
	int fd;
	FILE *file;	/* the same file; NULL for a format that seeks */
	const int *fds; /* instead, of a format with several files */
	bool sandboxed;
	struct export_span *span; /* set by a format that is pushed; NULL: not needed */
};

#define EXPORT_FILES_MAX 4

struct export_format {
	const char *name;
	const char *summary; /* for --help */
	/* The format seeks in its output, by the descriptor: only regular files work. */
	bool needs_file;
	bool is_binary;
	bool has_frame_values; /* not only labels of samples */
	/* The names of its files in the folder of -o, in the order in which they appear;
	 * NULL-terminated, EXPORT_FILES_MAX at most. NULL: one file, of any name. */
	const char *const *files;
	/*
	 * Returns the state for the others. All of them report errors on stderr and return NULL or
	 * false then; `close` is always called.
	 */
	void *(*open)(const struct export_target *target);
	/* `path` is how the user named it. */
	bool (*begin_capture)(void *state, struct session *session, const char *path);
	bool (*add)(void *state, const struct reel_trace *trace,
		    const struct reel_event_info *event);
	/* NULL: nothing to do. */
	bool (*end_capture)(void *state, struct session *session);
	/* `ok`: no error so far. */
	bool (*close)(void *state, bool ok);
};

/* In the order of --help; the last is NULL. */
extern const struct export_format *const export_formats[];
extern const struct export_format export_sqlite, export_ndjson, export_csv, export_perf_script,
	export_speedscope, export_firefox, export_callgrind, export_perf_data,
	export_llvm_sample_profile, export_parquet, export_pprof, export_perfetto, export_otlp;

/* NULL if unknown. */
const struct export_format *export_format_find(const char *name);
/* "sqlite, ndjson or csv"; the caller frees it. */
char *export_format_names(void);

/* Exports a capture's traces, as `options` select them. Returns an enum status; with ERROR,
 * `ok_ret` states whether everything was written nevertheless. */
int export_capture(const struct export_format *format, void *state, const struct options *options,
		   bool *ok_ret);

#endif
