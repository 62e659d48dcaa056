/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is printed to a terminal goes through a pager, as git's does: $STACKREEL_PAGER, else $PAGER,
 * else less, which shows what fits on the screen and ends.  There is none where that says "cat" or
 * nothing, or where the terminal is a dumb one.
 */
#ifndef CLI_PRINT_PAGER_H
#define CLI_PRINT_PAGER_H

#include <stdbool.h>

/*
 * For standard output: before the first of it and before the sandbox, which allows no program:
 * makes the process that becomes the pager once there is something to show.  Does nothing if
 * standard output is no terminal.
 */
void pager_prepare(void);
/* From here on what is printed to standard output, and standard error's messages on the terminal,
 * go to the pager, if there is one. */
void pager_start(void);
bool pager_is_on(void);
/* Waits until its user has read.  False, after a complaint, if it could not be run. */
bool pager_end(void);

#endif
