/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SQLite database in an already open file, which may have no name. SQLite opens nothing by name
 * here: no statement can read or write other files.
 */
#ifndef CLI_SQL_DATABASE_H
#define CLI_SQL_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "include/commands.h"

struct database {
	bool reads_values; /* a checked query reads frame_values */
	sqlite3 *connection;
	bool failed; /* and the error was reported */
};

/* Creates an empty one. `sandboxed`: temporary files cannot be made any more. All of these report
 * the first error on stderr and return false then. */
bool database_open(struct database *database, int fd, bool sandboxed);
/* False if it failed before; the written data is in the file nevertheless. */
bool database_close(struct database *database);

/* Statements without a result. */
bool database_run(struct database *database, const char *sql);
/* NULL after an error; the caller finalizes it. */
sqlite3_stmt *database_prepare(struct database *database, const char *sql);
/* The same to insert a row, with a value for each column of the table. */
sqlite3_stmt *database_prepare_insert(struct database *database, const char *table);
/* Runs a statement without rows and resets it. */
bool database_step(struct database *database, sqlite3_stmt *statement);
/* Reports the connection's error and returns false. */
bool database_fail(struct database *database);

/* INTEGER has 63 bits and a sign: larger numbers become REAL. */
void bind_number(sqlite3_stmt *statement, int column, uint64_t value);
/* The same bits as a signed number, so that printf('%x') is right. */
void bind_bits(sqlite3_stmt *statement, int column, uint64_t value);
/* Escaped, as report prints it. */
void bind_text(sqlite3_stmt *statement, int column, const char *text);
/* The same; NULL for an empty text. */
void bind_text_or_null(sqlite3_stmt *statement, int column, const char *text);
/*
 * Not escaped: the text is not from the capture, or is escaped already. It must live until the
 * statement is done.
 */
void bind_literal(sqlite3_stmt *statement, int column, const char *text);
/* A number; NULL for 0. */
void bind_or_null(sqlite3_stmt *statement, int column, uint64_t value);
/* ns since 1970 of a time of the capture's clock; NULL if the capture does not state it. */
void bind_wall_time(sqlite3_stmt *statement, int column, const struct reel_capture_info *info,
		    uint64_t time);

#endif
