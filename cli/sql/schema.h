/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the database, which docs/sql.md describes. */
#ifndef CLI_SQL_SCHEMA_H
#define CLI_SQL_SCHEMA_H

/* Increased for every change that a query can notice; also PRAGMA user_version. */
#define SCHEMA_VERSION_TEXT "1"

extern const char schema_tables[], schema_views[];
/* Made after all rows are added: this takes less time and room. */
extern const char schema_indexes[];

#endif
