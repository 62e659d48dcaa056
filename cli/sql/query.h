/* SPDX-License-Identifier: Apache-2.0 */
/* A read-only query of a database, and its rows, which are stored in a temporary file until
 * complete: a failing query prints nothing. */
#ifndef CLI_SQL_QUERY_H
#define CLI_SQL_QUERY_H

#include "cli/sql/database.h"
#include "cli/print/output.h"

enum query_format {
	QUERY_TABLE,
	QUERY_TSV,
	QUERY_CSV,
	QUERY_JSON,
};

struct query_column {
	char *name;   /* escaped */
	size_t width; /* of the widest cell, and of the name */
	bool is_text; /* not all cells are numbers */
};

/* The format of stored rows: a byte each, then the cells, each followed by its bytes. */
struct query_cell {
	uint32_t kind; /* SQLITE_NULL, SQLITE_TEXT … */
	uint32_t size;
};

struct query_result {
	FILE *cells;
	struct query_column *columns;
	int n_columns;
};

/* From now on only queries are allowed. */
void query_forbid_rest(struct database *database);
/* Until this. */
void query_allow_all(struct database *database);
/* Whether `sql` is one allowed statement; otherwise reports why not on stderr. */
bool query_check(struct database *database, const char *sql);
/* `cells`: an empty file, to write and to read. */
bool query_run(struct database *database, const char *sql, FILE *cells, struct query_result *ret);
void query_result_free(struct query_result *result);
/* False if reading back the cells fails. */
bool query_print(const struct query_result *result, enum query_format format, bool header,
		 const struct output *output);

#endif
