/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output to a terminal goes through a pager, as in git: $STACKREEL_PAGER, else $PAGER, else less,
 * which exits if all fits on the screen. No pager is used if the variable is "cat" or empty, or on
 * a dumb terminal.
 */
#ifndef CLI_PRINT_PAGER_H
#define CLI_PRINT_PAGER_H

#include <stdbool.h>

/*
 * Call this before the first output and before the sandbox, which allows no programs. Starts the
 * process that becomes the pager once there is something to show. Does nothing if standard output
 * is not a terminal.
 */
void pager_prepare(void);
/* From now on standard output, and standard error if it is the terminal, go to the pager, if there
 * is one. */
void pager_start(void);
/* Waits until the user quits the pager. False if it could not be run, which is reported. */
bool pager_end(void);

#endif
