/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a file that `stackreel aggregate' made, in the place of a capture. */
#ifndef CLI_REPORT_PROFILE_VIEW_H
#define CLI_REPORT_PROFILE_VIEW_H

#include "cli/report/profile_file.h"

struct profile_view {
	const struct options *options;
	struct profile_totals totals;
	/* Of the events that are shown. */
	struct quality quality;
};

/*
 * Reads the file that `options` name, into profiles that were initialized, and sums them up.  False
 * after an error, which was said: that the options ask for what only captures have is one.
 */
bool profile_view_open(struct profile_view *view, const struct options *options,
		       struct profiles *profiles);
/* Lines with `#': of what, how complete its traces are, and what is missing. */
void profile_view_print(const struct profile_view *view, const struct profiles *profiles,
			FILE *file);

#endif
