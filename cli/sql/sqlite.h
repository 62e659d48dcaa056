/* SPDX-License-Identifier: Apache-2.0 */
/* What the format `sqlite' gives besides (cli/export/export.h): queries. */
#ifndef CLI_SQL_SQLITE_H
#define CLI_SQL_SQLITE_H

#include <stdbool.h>

struct sqlite_export;
struct database;

/* Before samples are added: whether the query can be run later; says why not. */
bool sqlite_export_check(struct sqlite_export *export, const char *query);
/* All captures are in: from here on it can only be read. */
bool sqlite_export_finish(struct sqlite_export *export);
/* Of one that is finished. */
struct database *sqlite_export_database(struct sqlite_export *export);

#endif
