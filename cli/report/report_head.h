/* SPDX-License-Identifier: Apache-2.0 */
/* A report's subject and reliability. */
#ifndef CLI_REPORT_REPORT_HEAD_H
#define CLI_REPORT_REPORT_HEAD_H

#include "cli/session/session.h"

/* Prints lines with `#'. Call this after session_visit. */
void report_head_print(const struct session *session, FILE *file);

#endif
