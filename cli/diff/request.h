/* SPDX-License-Identifier: Apache-2.0 */
/* What to compare, and how: the options that commands with comparisons share. */
#ifndef CLI_DIFF_REQUEST_H
#define CLI_DIFF_REQUEST_H

#include "cli/diff/change.h"

struct diff_request {
	struct string_list files[SIDES];
	enum diff_side side; /* of the files that follow */
	enum diff_per per;
	const char *per_event;
	double requests[SIDES];
	struct by by;
	bool has_paths;			/* of calls: count these as well */
	uint64_t false_rate, run_noise; /* in PERCENT */
};

#define DIFF_REQUEST_DEFAULTS .false_rate = 5 * PERCENT, .run_noise = 5 * PERCENT

enum {
	DIFF_KEY_NEW = OPTION_KEY_OWN + 0x80,
	DIFF_KEY_PER,
	DIFF_KEY_FALSE_RATE,
	DIFF_KEY_RUN_NOISE,
};

/* In a command's table of options. */
/* clang-format off */
#define DIFF_REQUEST_OPTIONS                                                                       \
	{ "new", DIFF_KEY_NEW, NULL, 0, "Treat the following captures as the new side", 0 },       \
	{ "per", DIFF_KEY_PER, "WHAT", 0,                                                          \
	  "Compare use per 'second', per unit of work, given for one capture of each side (e.g. "  \
	  "1000:1200 requests), or per count of the named event, instead of shares",               \
	  0 },                                                                                     \
	{ "false-rate", DIFF_KEY_FALSE_RATE, "PERCENT", 0,                                         \
	  "Allow PERCENT of the significant changes to be chance (5)", 0 },                               \
	{ "run-noise", DIFF_KEY_RUN_NOISE, "PERCENT", 0,                                           \
	  "Assume PERCENT variation between runs where a side has only one capture (5)", 0 }
/* clang-format on */

/* Takes files and these options; ARGP_ERR_UNKNOWN for others. The command parses in order. */
error_t diff_request_take(struct diff_request *request, int key, char *arg,
			  struct argp_state *state);
/* At the end: divides the files between the sides, and refuses what cannot be compared. */
void diff_request_check(struct diff_request *request, struct options *common,
			struct argp_state *state);
void diff_request_free(struct diff_request *request);

struct diff_doubts diff_request_doubts(const struct diff_request *request);

/*
 * Counts all captures, and then calls `visit` (NULL: none) with the last one, which is still open.
 * False after an error, which was reported; diff_counts_free is needed in any case.
 */
bool diff_request_read(const struct diff_request *request, struct options *common,
		       bool (*visit)(void *context, struct session *session), void *context,
		       struct diff_counts *ret);

#endif
