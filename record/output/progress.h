/* SPDX-License-Identifier: Apache-2.0 */
/* Output for the user: a live line on a terminal, and the line at the end. */
#ifndef RECORD_OUTPUT_PROGRESS_H
#define RECORD_OUTPUT_PROGRESS_H

#include "record/output/losses.h"
#include "record/output/output.h"

/* "12,345" */
#define REEL_COUNT_TEXT_SIZE 32
const char *reel_count_text(uint64_t count, char text[REEL_COUNT_TEXT_SIZE]);
/* "251 B", "3.1 MB" (powers of 1000, as disks and df -H) */
const char *reel_bytes_text(uint64_t bytes, char text[REEL_COUNT_TEXT_SIZE]);

struct reel_progress {
	bool is_live;
	bool line_is_open; /* the live line is displayed */
	uint64_t start, last;
};

/* No live line if `quiet`, or without a terminal. */
void reel_progress_start(struct reel_progress *progress, bool quiet);
/* Rewrites the live line twice a second. */
void reel_progress_update(struct reel_progress *progress, const struct reel_output_counts *counts,
			  const struct reel_losses *losses);
/* Shows in the live line how many threads of a process were read. */
void reel_progress_threads(struct reel_progress *progress, uint32_t pid, size_t n_threads);
/* Clears the live line before anything else is printed. */
void reel_progress_clear(struct reel_progress *progress);

/* Samples lost or cut because writing is slower than recording, and skipped process and file data
 * that took too long to read (inspector.h). */
struct reel_progress_shortage {
	uint64_t above_rate; /* hits dropped because of --max-rate */
	uint64_t dropped, cut, left_out;
	bool side_limit; /* has been reached */
	uint64_t paused; /* ns, because of --cpu-limit */
};

/* "12,345 samples, 3.1 MB (251 B/sample), 0 lost, 17 stacks cut -> a.reel" */
void reel_progress_summary(const struct reel_output_counts *counts,
			   const struct reel_losses *losses,
			   const struct reel_progress_shortage *shortage, const char *where);

#endif
