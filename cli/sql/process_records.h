/* SPDX-License-Identifier: Apache-2.0 */
/* A capture's starts and ends of processes and threads: rows of process_events. */
#ifndef CLI_SQL_PROCESS_RECORDS_H
#define CLI_SQL_PROCESS_RECORDS_H

#include "cli/sql/database.h"
#include "include/stackreel.h"

/* For the capture whose row was added last; false after an error, which was reported. */
bool process_records_load(struct database *database, struct reel_capture *capture);

#endif
