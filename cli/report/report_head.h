/* SPDX-License-Identifier: Apache-2.0 */
/* What a report is of, and how far it can be believed. */
#ifndef CLI_REPORT_REPORT_HEAD_H
#define CLI_REPORT_REPORT_HEAD_H

#include "cli/session/session.h"

/* Lines with `#', to be printed behind session_visit. */
void report_head_print(const struct session *session, FILE *file);

#endif
