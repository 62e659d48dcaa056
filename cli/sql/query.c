/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/sql/query.h"
#include "cli/print/text.h"
#include "cli/session/session.h"

/* ---- allowed operations ------------------------------------------------------------------- */

/* Pragmas that only report the schema; others may change later statements. */
static bool pragma_only_tells(const char *name, const char *argument)
{
	static const char *const with_argument[] = { "table_info",	"table_xinfo", "index_list",
						     "index_info",	"index_xinfo", "table_list",
						     "foreign_key_list" };
	static const char *const without[] = { "user_version",	  "application_id", "table_list",
					       "compile_options", "function_list",  "encoding" };

	for (size_t i = 0; i < sizeof(with_argument) / sizeof(*with_argument); i++) {
		if (argument && !strcasecmp(name, with_argument[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++) {
		if (!argument && !strcasecmp(name, without[i]))
			return true;
	}
	return false;
}

static int authorize(void *context, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	struct database *of = context;

	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_READ:
		of->reads_values |= !strcasecmp(first, "frame_values");
		return SQLITE_OK;
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	/* SQLite asks this when a function such as json_each is used as a table; with query_only,
	 * updates are impossible. */
	case SQLITE_UPDATE:
		return strcmp(first, "sqlite_master") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_FUNCTION:
		return strcasecmp(second, "load_extension") ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return pragma_only_tells(first, second) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

void query_forbid_rest(struct database *database)
{
	database_run(database, "PRAGMA query_only = ON");
	sqlite3_set_authorizer(database->connection, authorize, database);
}

void query_allow_all(struct database *database)
{
	sqlite3_set_authorizer(database->connection, NULL, NULL);
	database_run(database, "PRAGMA query_only = OFF");
}

/* ---- preparing ------------------------------------------------------------------------------ */

static bool fail(struct database *database)
{
	int code = sqlite3_errcode(database->connection);

	if ((code == SQLITE_AUTH || code == SQLITE_READONLY) && !database->failed)
		complain("%s (queries can only read the capture's database)",
			 sqlite3_errmsg(database->connection));
	else
		return database_fail(database);
	database->failed = true;
	return false;
}

static bool refuse(struct database *database, const char *why)
{
	complain("%s", why);
	database->failed = true;
	return false;
}

static bool prepare(struct database *database, const char *sql, sqlite3_stmt **ret)
{
	sqlite3_stmt *more = NULL;
	const char *rest;

	if (sqlite3_prepare_v2(database->connection, sql, -1, ret, &rest) != SQLITE_OK)
		return fail(database);
	if (!*ret)
		return refuse(database, "the query is empty");
	/* The rest may be blanks and comments. */
	while (*rest && !more) {
		if (sqlite3_prepare_v2(database->connection, rest, -1, &more, &rest) != SQLITE_OK)
			return fail(database);
	}
	if (!more)
		return true;
	sqlite3_finalize(more);
	return refuse(database, "only one statement is allowed");
}

bool query_check(struct database *database, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	bool ok = prepare(database, sql, &statement);

	sqlite3_finalize(statement);
	return ok;
}

/* ---- running ------------------------------------------------------------------------------- */

/* The printed form, except for escapes; x'0123' for bytes that are not text. */
static char *print_blob(const uint8_t *bytes, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	char *text = memory_resize(NULL, 2 * size + 4, 1), *to = text;

	*to++ = 'x';
	*to++ = '\'';
	for (size_t i = 0; i < size; i++) {
		*to++ = hex[bytes[i] >> 4];
		*to++ = hex[bytes[i] & 15];
	}
	*to++ = '\'';
	*to = '\0';
	return text;
}

/* False: out of memory, which is the connection's error. */
static bool keep_cell(sqlite3_stmt *statement, int i, struct query_column *column, FILE *cells)
{
	struct query_cell cell = { .kind = (uint32_t)sqlite3_column_type(statement, i) };
	_cleanup_free_ char *blob = NULL, *escaped = NULL;
	const char *text = NULL;
	size_t width;

	if (cell.kind == SQLITE_BLOB)
		text = blob = print_blob(sqlite3_column_blob(statement, i),
					 (size_t)sqlite3_column_bytes(statement, i));
	else if (cell.kind != SQLITE_NULL)
		text = (const char *)sqlite3_column_text(statement, i);
	if (!text && cell.kind != SQLITE_NULL)
		return false;
	if (text)
		cell.size = blob ? (uint32_t)strlen(blob)
				 : (uint32_t)sqlite3_column_bytes(statement, i);
	fwrite(&cell, sizeof(cell), 1, cells);
	if (cell.size)
		fwrite(text, 1, cell.size, cells);
	escaped = text_escape_again((const uint8_t *)text, cell.size, "");
	width = text_width(escaped);
	if (width > column->width)
		column->width = width;
	column->is_text |= cell.kind == SQLITE_TEXT || cell.kind == SQLITE_BLOB;
	return true;
}

static bool keep_row(sqlite3_stmt *statement, struct query_result *result)
{
	fputc('r', result->cells);
	for (int i = 0; i < result->n_columns; i++) {
		if (!keep_cell(statement, i, &result->columns[i], result->cells))
			return false;
	}
	return true;
}

static void start_result(struct query_result *result, sqlite3_stmt *statement, FILE *cells)
{
	*result = (struct query_result){ .cells = cells,
					 .n_columns = sqlite3_column_count(statement) };
	result->columns = memory_get((size_t)(result->n_columns + 1) * sizeof(*result->columns));
	for (int i = 0; i < result->n_columns; i++) {
		const char *name = sqlite3_column_name(statement, i);

		memory_check(name);
		result->columns[i].name =
			text_escape_again((const uint8_t *)name, strlen(name), "");
		result->columns[i].width = text_width(result->columns[i].name);
	}
}

bool query_run(struct database *database, const char *sql, FILE *cells, struct query_result *ret)
{
	sqlite3_stmt *statement = NULL;
	int step = SQLITE_DONE;
	bool ok = prepare(database, sql, &statement);

	*ret = (struct query_result){ 0 };
	if (ok)
		start_result(ret, statement, cells);
	while (ok && (step = sqlite3_step(statement)) == SQLITE_ROW && !ferror(cells))
		ok = keep_row(statement, ret) || fail(database);
	if (ok && ferror(cells))
		ok = refuse(database,
			    "cannot write to a temporary file (TMPDIR); the disk may be full");
	else if (ok && step != SQLITE_DONE)
		ok = fail(database);
	sqlite3_finalize(statement);
	return ok;
}

void query_result_free(struct query_result *result)
{
	for (int i = 0; i < result->n_columns; i++)
		free(result->columns[i].name);
	free(result->columns);
}
