/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of stacks that functions and threads use, from the stack pointers of samples' frames. */
#ifndef CLI_REPORT_STACK_BYTES_H
#define CLI_REPORT_STACK_BYTES_H

#include "cli/session/session.h"

/*
 * Prints a table of threads and one of functions: `stackreel report --stack-bytes`. `limit` is the size
 * that the user knows stacks to have, 0 if none; lines below `percent_limit` of the deepest stack are
 * skipped. Returns the exit status.
 */
int stack_bytes_report(struct session *session, uint64_t limit, uint64_t percent_limit);

#endif
