/* SPDX-License-Identifier: Apache-2.0 */
/* The last columns of a table: functions, and the modules that they are of. */
#ifndef CLI_NAME_COLUMN_H
#define CLI_NAME_COLUMN_H

#include "cli/output.h"

struct name_column {
	bool has_modules;
	size_t width;
};

/* Makes room for a row; both are escaped, `module` is "" for none. */
void name_column_add(struct name_column *column, const char *name, const char *module);
/* Once all rows are known; `used` columns of the line stand before these. */
void name_column_fit(struct name_column *column, size_t used, const struct output *output);
/* Each ends the line; the head ends what was printed bold, too. */
void name_column_print_head(const struct name_column *column, const struct output *output);
void name_column_print(const struct name_column *column, const char *name, const char *module,
		       const struct output *output);

#endif
