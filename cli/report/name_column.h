/* SPDX-License-Identifier: Apache-2.0 */
/* The last columns of a table: functions, and the modules that they are of. */
#ifndef CLI_REPORT_NAME_COLUMN_H
#define CLI_REPORT_NAME_COLUMN_H

#include "cli/print/output.h"

#define NAME_HEAD	 "SYMBOL"
#define NAME_MODULE_HEAD "MODULE"

/* What is left of a name where a terminal is too narrow for it. */
#define NAME_WIDTH_MIN 12

struct name_column {
	/* Headings. */
	const char *head, *module_head;
	bool has_modules;
	size_t width, module_width;
};

/* In no more than `width` columns of a terminal (0: any number), of which the last one tells that
 * something is missing. Gives how many it took. */
size_t name_print(const char *name, size_t width, const struct output *output);

/* Makes room for a row; both are escaped, `module` is "" for none. */
void name_column_add(struct name_column *column, const char *name, const char *module);
/* Once all rows are known; `used` columns of the line stand before these.  On a terminal no line
 * is longer than it is wide, if that is at all possible. */
void name_column_fit(struct name_column *column, size_t used, const struct output *output);
/* Each ends the line; the head ends what was printed bold, too. */
void name_column_print_head(const struct name_column *column, const struct output *output);
void name_column_print(const struct name_column *column, const char *name, const char *module,
		       const struct output *output);

#endif
