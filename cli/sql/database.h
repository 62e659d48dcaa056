/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SQLite database in a file that is open already, and may have no name.  SQLite opens nothing by
 * a name here: whatever a statement asks for, no other file is read or written.
 */
#ifndef CLI_SQL_DATABASE_H
#define CLI_SQL_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database {
	sqlite3 *connection;
	bool failed; /* and that was said */
};

/* An empty one.  `sandboxed`: no temporary files can be made any more.  All of these say on stderr
 * what is wrong, once, and give false then. */
bool database_open(struct database *database, int fd, bool sandboxed);
/* False if it failed before; what was written is in the file then all the same. */
bool database_close(struct database *database);

/* Statements without a result. */
bool database_run(struct database *database, const char *sql);
/* NULL after an error; to be finalized. */
sqlite3_stmt *database_prepare(struct database *database, const char *sql);
/* One that gives no rows, to be used again then. */
bool database_step(struct database *database, sqlite3_stmt *statement);
/* Says the connection's error, and gives false. */
bool database_fail(struct database *database);

/* INTEGER has 63 bits and a sign: a number that needs more is a REAL. */
void bind_number(sqlite3_stmt *statement, int column, uint64_t value);
/* The same bits as a signed number, so that printf('%x') is right. */
void bind_bits(sqlite3_stmt *statement, int column, uint64_t value);
/* Escaped, as report prints it. */
void bind_text(sqlite3_stmt *statement, int column, const char *text);
/* The same; NULL of an empty text. */
void bind_text_or_null(sqlite3_stmt *statement, int column, const char *text);
/* As it is: not of the capture, or escaped before.  It stays until the statement is done. */
void bind_literal(sqlite3_stmt *statement, int column, const char *text);
/* NULL of 0. */
void bind_id(sqlite3_stmt *statement, int column, uint32_t id);

#endif
