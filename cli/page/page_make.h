/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a page of a capture, a profile, or a comparison; and the options of commands that do. */
#ifndef CLI_PAGE_PAGE_MAKE_H
#define CLI_PAGE_PAGE_MAKE_H

#include "cli/diff/request.h"

struct page_request {
	struct options *common;
	/* More than one file: a comparison. Its groups begin stacks in any case. */
	struct diff_request files;
	bool has_code;		    /* source code */
	struct string_list folders; /* that have its files */
};

#define PAGE_REQUEST_DEFAULTS .files = { DIFF_REQUEST_DEFAULTS }

enum {
	PAGE_KEY_BY = OPTION_KEY_OWN + 0x40,
	PAGE_KEY_SOURCE,
	PAGE_KEY_SOURCE_PATH,
	PAGE_KEY_VALUES,
};

/* In a command's table of options. */
/* clang-format off */
#define PAGE_REQUEST_OPTIONS                                                                       \
	{ "by", PAGE_KEY_BY, "KEY,...", 0,                                                         \
	  "Begin each stack with its thread, process, comm, host, state, event, cpu, or a label "  \
	  "such as lock or container; or with several of these",                                   \
	  0 },                                                                                     \
	OPTION_VALUES(PAGE_KEY_VALUES),                                                            \
	{ "source", PAGE_KEY_SOURCE, NULL, 0,                                                      \
	  "Put the source code around lines with samples in the page, from files of this host", 0 }, \
	{ "source-path", PAGE_KEY_SOURCE_PATH, "DIR", 0,                                           \
	  "Look for source files below DIR, by the end of their path; implies --source "           \
	  "(repeatable)",                                                                          \
	  0 },                                                                                     \
	DIFF_REQUEST_OPTIONS
/* clang-format on */

/* Takes files and these options; ARGP_ERR_UNKNOWN for others. The command parses in order, and
 * checks at the end. */
error_t page_request_take(struct page_request *request, int key, char *arg,
			  struct argp_state *state);
void page_request_check(struct page_request *request, struct argp_state *state);
void page_request_free(struct page_request *request);

/* The last capture, or the only file; as given. */
const char *page_request_file(const struct page_request *request);
bool page_request_is_comparison(const struct page_request *request);

/*
 * The page's content, for page_file_write, and the exit status if it is written; the caller frees
 * it.  NULL after an error, which was reported.
 */
char *page_make(struct page_request *request, int *status_ret);
/* The same of a capture for profiler.firefox.com, to which the page hands it over. */
char *page_firefox_make(const struct options *common, int *status_ret);

#endif
