/* SPDX-License-Identifier: Apache-2.0 */
/* Losses by cause and CPU: sums, and LOSS records for increases. */
#ifndef RECORD_OUTPUT_LOSSES_H
#define RECORD_OUTPUT_LOSSES_H

#include "include/commands.h"
#include "record/processes/module_table.h"

struct reel_losses;

struct reel_error *reel_losses_create(struct reel_losses **ret) REEL_MUST_CHECK;
void reel_losses_destroy(struct reel_losses *losses);

/*
 * Sets the count of this cause and CPU since the start of the recording.  `source` is any pointer
 * that distinguishes counters; several sources add up.
 */
struct reel_error *reel_losses_set(struct reel_losses *losses, const void *source, uint32_t cpu,
				   enum reel_loss cause, uint64_t count) REEL_MUST_CHECK;
struct reel_error *reel_losses_add(struct reel_losses *losses, uint32_t cpu, enum reel_loss cause,
				   uint64_t count) REEL_MUST_CHECK;

/* Puts a LOSS record for each count that grew since the last one. */
struct reel_error *reel_losses_write(struct reel_losses *losses, uint64_t time,
				     const struct reel_record_sink *sink) REEL_MUST_CHECK;

uint64_t reel_losses_sum(const struct reel_losses *losses, enum reel_loss cause);
/* Samples missing from the file. */
uint64_t reel_losses_samples(const struct reel_losses *losses);

#endif
