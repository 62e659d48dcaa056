/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree and the stacks of `stackreel report`. */
#ifndef CLI_REPORT_TREE_H
#define CLI_REPORT_TREE_H

#include "cli/output.h"
#include "cli/profile.h"

/* From the root down, children by their share; branches below `limit` percent are left out. */
void report_tree_print(const struct profile *profile, uint64_t limit, const struct output *output);
/* "80% main();foo();bar()" for each stack, the largest share first. */
void report_residency_print(const struct profile *profile, uint64_t limit,
			    const struct output *output);

#endif
