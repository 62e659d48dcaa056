/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command writes, and how it looks there. */
#ifndef CLI_PRINT_OUTPUT_H
#define CLI_PRINT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum status {
	STATUS_OK = 0,
	STATUS_ERROR = 1,
	STATUS_USAGE = 2,
	/* Fewer traces are complete than --min-complete asks for. */
	STATUS_INCOMPLETE = 3,
};

struct output {
	FILE *file;
	const char *path;
	bool terminal;
	bool color;
	bool utf8;
	/* Of the terminal; 0: no limit. */
	unsigned int width;
};

/* `path` NULL or "-" is standard output. Says on stderr what is wrong and gives false. */
bool output_open(struct output *output, const char *path);
/* Opens `path` now, for the output_open that comes; false after a complaint, as there. */
bool output_reserve(const char *path);
/* From now on a file that is there already becomes PATH.old, as the recorder does it: its name was
 * nobody's choice. */
void output_keep_old(void);
/* From now on a new file is for its owner alone; otherwise umask decides who may read it. */
void output_make_private(void);
/*
 * Flushes and closes; returns `status`, or ERROR (and says why) if something could not be
 * written.  A reader that closed its end of a pipe has what it wanted: that is no error.
 */
int output_close(struct output *output, int status);
/* Nobody reads any more, or the disk is full: long work may end. */
bool output_is_broken(const struct output *output);

/* NO_COLOR and TERM have nothing against it. */
bool colors_wanted(void);
/* ANSI colours, "" where they are off. */
const char *color_bold(const struct output *output);
const char *color_dim(const struct output *output);
/* By the weight of a share, as perf report: red from 5 %, green from 0.5 %. */
const char *color_of_share(const struct output *output, uint64_t percent);
const char *color_end(const struct output *output);

/* CLOCK_MONOTONIC, in ms. */
uint64_t now_ms(void);

/* A progress line on stderr, for long work: only on a terminal. */
struct progress {
	bool on;
	bool shown;
	uint64_t last; /* ms */
};

void progress_start(struct progress *progress, bool wanted);
void progress_show(struct progress *progress, uint64_t done, uint64_t total, uint64_t samples);
/* Of other work: a line of its own. */
void progress_say(struct progress *progress, const char *text);
void progress_end(struct progress *progress);

/* "stackreel: …" and a newline, on stderr, escaped: what is printed comes from files, too. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
