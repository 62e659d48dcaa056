/* SPDX-License-Identifier: Apache-2.0 */
/* The format `sqlite' beyond cli/export/formats.h: queries. */
#ifndef CLI_SQL_SQLITE_H
#define CLI_SQL_SQLITE_H

#include <stdbool.h>

struct sqlite_export;
struct database;

/* Before samples are added: whether the query can run later, otherwise reports why not; and whether
 * it reads the table frame_values. */
bool sqlite_export_check(struct sqlite_export *export, const char *query, bool *reads_values_ret);
/* All captures are added: from now on the database is read-only. */
bool sqlite_export_finish(struct sqlite_export *export);
/* Of a finished export. */
struct database *sqlite_export_database(struct sqlite_export *export);

#endif
