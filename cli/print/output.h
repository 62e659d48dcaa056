/* SPDX-License-Identifier: Apache-2.0 */
/* A command's output file and its look, and messages on stderr. */
#ifndef CLI_PRINT_OUTPUT_H
#define CLI_PRINT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "include/commands.h"

/* Prints "stackreel: …" and a newline, escaped, since the text may come from files. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports and destroys the error; true if there was none. */
bool no_error(struct reel_error *error);

enum status {
	STATUS_OK = 0,
	STATUS_ERROR = 1,
	STATUS_USAGE = 2,
	/* Fewer traces are complete than --min-complete requires. */
	STATUS_INCOMPLETE = 3,
};

struct output {
	FILE *file;
	const char *path;
	bool terminal;
	bool color;
	bool utf8;
	bool short_names; /* set by the command */
	bool courses;	  /* rows of the interactive report show when they ran */
	/* Of the terminal; 0: no limit. */
	unsigned int width;
};

/*
 * `path` NULL or "-" is standard output. Returns false after an error, which is reported on stderr.
 */
bool output_open(struct output *output, const char *path);
/* Opens `path` now, for the following output_open; false after an error, which is reported. */
bool output_reserve(const char *path);
/* From now on an existing file is renamed to PATH.old, as by the recorder, since the user did not
 * choose the output's name. */
void output_keep_old(void);
/* From now on only the owner may read a new file; otherwise umask decides. */
void output_make_private(void);
/*
 * Flushes and closes; returns `status`, or ERROR (and reports why) if a write failed. A reader may
 * close its end of a pipe early: that is not an error.
 */
int output_close(struct output *output, int status);
/* The reader is gone or the disk is full: long work may stop. */
bool output_is_broken(const struct output *output);

/* The locale has UTF-8. */
bool is_utf8_wanted(void);
/* NO_COLOR and TERM allow colours. */
bool colors_wanted(void);
/* ANSI colours, "" if disabled. */
const char *color_bold(const struct output *output);
const char *color_dim(const struct output *output);
/* By the weight of a share, as perf report: red from 5 %, green from 0.5 %. */
const char *color_of_share(const struct output *output, uint64_t percent);
const char *color_end(const struct output *output);

/* A progress line on stderr, for long work: only on a terminal. */
struct progress {
	bool on;
	bool shown;
	uint64_t last; /* reel_now's time */
};

void progress_start(struct progress *progress, bool wanted);
void progress_show(struct progress *progress, uint64_t done, uint64_t total, uint64_t samples);
/* For other work: shows `text` as the progress line. */
void progress_say(struct progress *progress, const char *text);
void progress_end(struct progress *progress);

/*
 * Output to a terminal goes through a pager, as in git: $STACKREEL_PAGER, else $PAGER, else less,
 * which exits if all fits on the screen. No pager is used if the variable is "cat" or empty, or on
 * a dumb terminal.
 *
 * Call this before the first output and before the sandbox, which allows no programs. Starts the
 * process that becomes the pager once there is something to show. Does nothing if standard output
 * is not a terminal.
 */
void pager_prepare(void);

#endif
