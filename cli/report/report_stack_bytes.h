/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions use how much stack, and how deep threads go: `stackreel report --stack-bytes`. */
#ifndef CLI_REPORT_REPORT_STACK_BYTES_H
#define CLI_REPORT_REPORT_STACK_BYTES_H

#include "cli/report/stack_bytes.h"

/* True if some selected sample has a stack; otherwise reports why there may be none. */
bool report_stack_bytes_exist(const struct stack_bytes *stacks, const struct session *session);
/*
 * Prints a table of threads and one of functions, which finish() sorted.  `limit` is the size that
 * the user knows stacks to have, 0 if none; lines below `percent_limit` of the deepest stack are
 * skipped.
 */
void report_stack_bytes_print(const struct stack_bytes *stacks, uint64_t limit,
			      uint64_t percent_limit, const struct output *output);

#endif
