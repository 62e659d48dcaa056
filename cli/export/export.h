/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures as other programs' files.  A format is a file in this folder and a line in formats.c: it
 * is given captures, one after the other, and of each its traces, with names.
 */
#ifndef CLI_EXPORT_EXPORT_H
#define CLI_EXPORT_EXPORT_H

#include "cli/session/session.h"

/* ns since 1970 of the first and the last sample; 0 where captures do not tell. */
struct export_span {
	uint64_t from, until;
};

/* Where it is written to. */
struct export_target {
	int fd;
	FILE *file; /* the same; NULL for a format that is written here and there */
	bool sandboxed;
	struct export_span *span; /* for a format that is pushed to set; NULL: nobody asks */
};

struct export_format {
	const char *name;
	const char *summary; /* for --help */
	/* It is written here and there, by the descriptor: to a regular file alone. */
	bool needs_file;
	bool is_binary;
	/*
	 * What these give is passed to the others.  All of them say on stderr what is wrong, and
	 * give NULL or false then; `close` is called in any case.
	 */
	void *(*open)(const struct export_target *target);
	/* `path` is how the user named it. */
	bool (*begin_capture)(void *state, struct session *session, const char *path);
	bool (*add)(void *state, const struct reel_trace *trace,
		    const struct reel_event_info *event);
	bool (*end_capture)(void *state, struct session *session);
	/* `ok`: there was no error so far. */
	bool (*close)(void *state, bool ok);
};

/* In the order of --help; the last has no name. */
extern const struct export_format *const export_formats[];
/* NULL if there is none. */
const struct export_format *export_format_find(const char *name);
/* "sqlite, ndjson or csv"; to be freed. */
char *export_format_names(void);

/* A capture's traces, as `options` select them.  Gives an enum status; with ERROR, `ok_ret` says
 * whether all was written nevertheless. */
int export_capture(const struct export_format *format, void *state, const struct options *options,
		   bool *ok_ret);

#endif
