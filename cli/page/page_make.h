/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a page of a capture, a profile, or a comparison. */
#ifndef CLI_PAGE_PAGE_MAKE_H
#define CLI_PAGE_PAGE_MAKE_H

#include "cli/diff/request.h"
#include "cli/session/options.h"

struct page_request {
	struct options *common;
	/* More than one file: a comparison. Its groups begin stacks in any case. */
	struct diff_request *files;
};

/* Take files and the options of a comparison, as diff_request does. */
error_t page_request_take(struct diff_request *files, struct options *common, int key, char *arg,
			  struct argp_state *state);
void page_request_check(struct diff_request *files, struct options *common,
			struct argp_state *state);

/*
 * The page's content, for page_file_write, and the exit status if it is written; the caller frees
 * it.  NULL after an error, which was reported.
 */
char *page_make(const struct page_request *request, int *status_ret);

#endif
