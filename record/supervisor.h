/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With --config, the recorder is a child: it gives up its privileges, and so cannot start itself
 * again.  On SIGHUP the parent checks the new configuration, ends the recorder, and executes
 * itself: the options and the program may have changed, and its process ID stays.
 */
#ifndef RECORD_SUPERVISOR_H
#define RECORD_SUPERVISOR_H

#include <stdbool.h>

/* Returns only in the child, which records; or false and a message if it cannot be started. */
bool reel_supervisor_fork(int argc, char **argv);

#endif
