/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a file from `stackreel aggregate' in place of a capture. */
#ifndef CLI_PROFILE_PROFILE_VIEW_H
#define CLI_PROFILE_PROFILE_VIEW_H

#include "cli/profile/profile_file.h"

struct profile_view {
	const struct options *options;
	struct profile_totals totals;
	/* Of the shown events. */
	struct quality quality;
};

/*
 * Reads the file that `options` name, into profiles that were initialized, and sums them up.  False
 * after an error, which was reported; options that need a capture are an error.
 */
bool profile_view_open(struct profile_view *view, const struct options *options,
		       struct profiles *profiles);
/* Lines with `#': the source, how complete its traces are, and missing files. */
void profile_view_print(const struct profile_view *view, const struct profiles *profiles,
			FILE *file);

#endif
