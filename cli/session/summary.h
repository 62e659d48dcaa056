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
 * this after session_visit.  The counts are by enum reel_loss; losses_count adds a capture's. */
void losses_print(const uint64_t *counts, const struct quality *quality, FILE *file);
/* Of a cause: a number, or a time. */
struct short_text loss_amount(int cause, uint64_t count);
/* Samples are missing; other causes leave a sample with less data. */
bool loss_is_of_samples(enum reel_loss cause);
/* Of the whole capture. */
void losses_print_all(const struct session *session, const struct quality *quality, FILE *file);
void losses_count(const struct reel_capture *capture, uint64_t *counts);
/* "Python functions in 75.0 % of the samples; 1.2 % of their Python frames have no name", without a
 * newline. */
void summary_print_runtimes(const struct quality *quality, FILE *file);
/* Lines with `#': how many traces are complete, and how many are guessed. */
void summary_print_quality(const struct quality *quality, FILE *file);
/* Prints lines with `#'. Call this after session_visit. */
void summary_print_head(const struct session *session, FILE *file);

#endif
