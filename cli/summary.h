/* SPDX-License-Identifier: Apache-2.0 */
/* What report and info both say of a capture. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "cli/session.h"

/* "stackreel.reel: host, Linux 6.1 x86_64, 2026-01-31 12:00:00 UTC". */
void summary_print_origin(const struct session *session, FILE *file);
/* "cpu-clock (999 Hz), page-faults (every 1)". */
void summary_print_events(const struct session *session, FILE *file);
/* "ring full 12, stack cut 3", or "none". */
void summary_print_losses(const struct session *session, FILE *file);

#endif
