/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on stderr. */
#ifndef CLI_PRINT_COMPLAIN_H
#define CLI_PRINT_COMPLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "include/stackreel.h"

/* Prints "stackreel: …" and a newline, escaped, since the text may come from files. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports and destroys the error; true if there was none. */
bool no_error(struct reel_error *error);

/* From now on messages follow what was written to `file` before them; NULL: in no order. */
void complain_after(FILE *file);

#endif
