/* SPDX-License-Identifier: Apache-2.0 */
/* The last columns of a table: functions and their modules. */
#ifndef CLI_REPORT_NAME_COLUMN_H
#define CLI_REPORT_NAME_COLUMN_H

#include "cli/print/output.h"
#include "cli/profile/symbols.h"

#define NAME_HEAD	 "FUNCTION"
#define NAME_MODULE_HEAD "MODULE"

/* The shortest cut of a name on a narrow terminal. */
#define NAME_WIDTH_MIN 12

struct name_column {
	/* Headings. */
	const char *head, *module_head;
	bool has_modules;
	size_t width, module_width;
};

/* What a terminal's width leaves for a name after `used` columns, at least NAME_WIDTH_MIN; 0 where
 * there is no limit. */
size_t name_room(size_t used, const struct output *output);
/* Prints at most `width` columns (0: no limit); if cut, the last one marks the cut. Returns the
 * number of columns used. */
size_t name_print(const char *name, size_t width, const struct output *output);
/* The same, but cuts off the start, except of a name with its arguments. */
size_t name_print_end(const char *name, size_t width, const struct output *output);

/* The headings of a column for these symbols. */
struct name_column name_heads_of(enum symbols_by by);
/* Makes room for a row; both are escaped, `module` is "" for none. */
void name_column_add(struct name_column *column, const char *name, const char *module);
/* Call this when all rows are known; `used` columns precede these on the line. If possible, lines
 * fit the terminal's width. */
void name_column_fit(struct name_column *column, size_t used, const struct output *output);
/* Each ends the line; the head also ends bold text. */
void name_column_print_head(const struct name_column *column, const struct output *output);
void name_column_print(const struct name_column *column, const char *name, const char *module,
		       const struct output *output);

#endif
