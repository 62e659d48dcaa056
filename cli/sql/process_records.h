/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture has of processes and threads as they came and went: rows of process_events. */
#ifndef CLI_SQL_PROCESS_RECORDS_H
#define CLI_SQL_PROCESS_RECORDS_H

#include "cli/sql/database.h"
#include "include/stackreel.h"

/* Of the capture whose row was the last; false after an error, which was said. */
bool process_records_load(struct database *database, struct reel_capture *capture);

#endif
