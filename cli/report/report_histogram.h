/* SPDX-License-Identifier: Apache-2.0 */
/* The distribution of a label's numbers, in powers of two. */
#ifndef CLI_REPORT_REPORT_HISTOGRAM_H
#define CLI_REPORT_REPORT_HISTOGRAM_H

#include "cli/print/output.h"
#include "cli/profile/profile.h"

/* All values of the profiles' only group are numbers; otherwise reports why not. */
bool report_histogram_is_possible(const struct profiles *profiles);
void report_histogram_print(const struct profiles *profiles, const struct profile *profile,
			    const struct output *output);

#endif
