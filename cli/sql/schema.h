/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the database, which docs/sql.md describes. */
#ifndef CLI_SQL_SCHEMA_H
#define CLI_SQL_SCHEMA_H

/* Another one for every change that a query can notice; it is PRAGMA user_version, too. */
#define SCHEMA_VERSION	    1
#define SCHEMA_VERSION_TEXT "1"

extern const char schema_tables[], schema_views[];
/* Made when all is in: they then take less time and room. */
extern const char schema_indexes[];

#endif
