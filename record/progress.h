/* SPDX-License-Identifier: Apache-2.0 */
/* What the user sees: a live line on a terminal, and the line at the end. */
#ifndef RECORD_PROGRESS_H
#define RECORD_PROGRESS_H

#include "record/losses.h"
#include "record/output.h"

/* "12,345" */
#define REEL_COUNT_TEXT_SIZE 32
const char *reel_count_text(uint64_t count, char text[REEL_COUNT_TEXT_SIZE]);
/* "251 B", "3.1 MB" (powers of 1000, as disks and df -H) */
const char *reel_bytes_text(uint64_t bytes, char text[REEL_COUNT_TEXT_SIZE]);

struct reel_progress {
	bool is_live;
	bool line_is_open; /* the live line stands there */
	uint64_t start, last;
};

/* `quiet` or no terminal: no live line. */
void reel_progress_start(struct reel_progress *progress, bool quiet);
/* Rewrites the live line twice a second. */
void reel_progress_update(struct reel_progress *progress, const struct reel_output_counts *counts,
			  const struct reel_losses *losses);
/* Has the live line say how many threads of a process were read. */
void reel_progress_threads(struct reel_progress *progress, uint32_t pid, size_t n_threads);
/* Takes the live line away, before anything else is printed. */
void reel_progress_clear(struct reel_progress *progress);

/* Samples that are lost or cut because the file takes less than is recorded; and what was not read
 * of processes and their files, because that took too long (inspector.h). */
struct reel_progress_shortage {
	uint64_t dropped, cut, left_out;
};

/* "12,345 samples, 3.1 MB (251 B/sample), 0 lost, 17 stacks cut -> a.reel" */
void reel_progress_summary(const struct reel_output_counts *counts,
			   const struct reel_losses *losses,
			   const struct reel_progress_shortage *shortage, const char *where);

#endif
