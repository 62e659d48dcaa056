/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With --config, the recorder is a child: it gives up its privileges, and so cannot start itself
 * again.  On SIGHUP the parent checks the new configuration and executes itself: the options and the
 * program may have changed, and its process ID stays.  It then starts a second recorder, and ends
 * the first one once the second one takes samples.  If the second one fails, the first one goes on.
 */
#ifndef RECORD_SUPERVISOR_H
#define RECORD_SUPERVISOR_H

#include <stdbool.h>

/*
 * Returns only in the child, which records; or false and a message if it cannot be started.
 * `may_overlap`: two recorders can run at once; otherwise, the first one is ended before the second
 * one starts.  *takeover_ret is as in struct reel_options.
 */
bool reel_supervisor_fork(int argc, char **argv, bool may_overlap, int *takeover_ret);

#endif
