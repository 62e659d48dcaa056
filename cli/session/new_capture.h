/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that make a capture: their options, the call of the library, and the summary. */
#ifndef CLI_SESSION_NEW_CAPTURE_H
#define CLI_SESSION_NEW_CAPTURE_H

#include "cli/session/session.h"

/* The key of --keep; other options of these commands only set a member of struct new_capture. */
#define NEW_CAPTURE_KEEP OPTION_KEY_OWN

/* How a command that makes a capture from a capture differs from the others. */
struct new_capture_verb {
	const char *doc;
	/* NULL: none. */
	const struct argp_option *options;
	const struct argp_child *children;
	/* One of the library's functions.  NULL: the command calls it itself. */
	struct reel_error *(*make)(struct reel_capture *capture, const char *output,
				   const struct reel_rewrite_options *options,
				   struct reel_rewrite_counts *counts);
	const char *samples_are; /* " with the same traces", or NULL */
	/* A further remark for the summary, or NULL; the caller frees it.  NULL: never. */
	char *(*remark)(const struct reel_rewrite_options *options,
			const struct reel_rewrite_counts *counts);
	bool takes_many; /* FILE..., instead of one that has a default */
};

struct new_capture {
	struct options common;
	const struct new_capture_verb *verb;
	struct string_list files; /* if it takes many */
	struct value_list keep;
	uint64_t *samples; /* ids of those that --where selects */
	size_t samples_capacity;
	/* For the library; borrows from the others. */
	struct reel_rewrite_options rewrite;
};

/* --encrypt-to, --decrypt, --identity and FILE: for commands that need no modules. */
extern const struct argp_child new_capture_children[];

/* Parses the command line.  Free `ret` after use. */
void new_capture_parse(const struct new_capture_verb *verb, int argc, char **argv,
		       struct new_capture *ret);
void new_capture_free(struct new_capture *command);
/* A whole command; returns the exit status. */
int new_capture_command(const struct new_capture_verb *verb, int argc, char **argv);

/* One line on stderr, unless -q or where the capture itself goes to standard output.  Uses the
 * samples and bytes of `counts`; `samples_are` and `remark` may be NULL. */
void new_capture_print(const struct options *options, const char *output,
		       const struct reel_rewrite_counts *counts, const char *samples_are,
		       const char *remark);

/* True, and a warning, if the new capture lacks something because this version does not know it. */
bool new_capture_left_out(const struct options *options, const struct reel_rewrite_counts *counts);

/* Reports the error. STATUS_USAGE if the options ask for the impossible, else STATUS_ERROR. */
int new_capture_failed(struct reel_error *error);

#endif
