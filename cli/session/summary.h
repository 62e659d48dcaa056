/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries of one or several captures. */
#ifndef CLI_SESSION_SUMMARY_H
#define CLI_SESSION_SUMMARY_H

#include "cli/print/text.h"
#include "cli/session/session.h"

/* "stackreel.reel: host, Linux 6.1 x86_64, 2026-01-31 12:00:00 UTC". */
void summary_print_origin(const struct session *session, FILE *file);
/* "cpu-clock (999 Hz), page-faults (every 1)". */
void summary_print_events(const struct session *session, FILE *file);
/* "ring full 12, stack cut 3", or "none". Bytes that no trace needed do not count as lost, so call
 * this after session_visit. */
void summary_print_losses(const struct session *session, FILE *file);
/* The same for counts by enum reel_loss; losses_count adds a capture's. */
void losses_print(const uint64_t *counts, const struct quality *quality, FILE *file);
/* Of a cause: a number, or a time. */
struct short_text loss_amount(int cause, uint64_t count);
/* Of the whole capture. */
void losses_print_all(const struct session *session, const struct quality *quality, FILE *file);
void losses_count(const struct reel_capture *capture, uint64_t *counts);
/* Lines with `#': how many traces are complete, and how many are guessed. */
/* "Python functions in 75.0 % of the samples; 1.2 % of their Python frames have no name", without a
 * newline. */
void summary_print_runtimes(const struct quality *quality, FILE *file);
void summary_print_quality(const struct quality *quality, FILE *file);
/*
 * "no file: /usr/bin/prog (60.00 % of the traces end there)", a line for each file that is missing
 * or differs from the recorded file, and a line with a remedy.  `start` begins each line. Prints
 * nothing if no file is missing; false after an error, which was reported.
 */
void summary_print_missing(const struct session *session, const char *start, FILE *file);

/* "# 12.3 % of the frames have no name …", a separate line, if above 1 %. */
void summary_print_nameless(const struct session *session, FILE *file);

/* "# names or lines may be missing: …", a line for each module whose debug information or symbols
 * are partly unreadable. */
void summary_print_unread(const struct session *session, FILE *file);

/* "# 2 modules could not be checked …", a separate line, if there are any. */
void summary_print_unchecked(const struct session *session, FILE *file);

#endif
