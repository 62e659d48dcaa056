/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for locks, and who holds them: `stackreel report --locks`. */
#ifndef CLI_REPORT_REPORT_LOCKS_H
#define CLI_REPORT_REPORT_LOCKS_H

#include "cli/report/locks.h"

/* True if some selected sample waits for a lock; otherwise reports why there may be none. */
bool report_locks_exist(const struct locks *locks, struct session *session);
/* Prints a table of locks with the code that waits for them, and a tree with each lock's holders and
 * their stacks meanwhile. Lines below `limit` percent of all waits for locks are skipped. */
void report_locks_print(const struct locks *locks, uint64_t limit, const struct output *output);

#endif
