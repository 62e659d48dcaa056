/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has a process scan waiting threads (bpf/waits/scan.h).  A process, since a scan may have to wait
 * for another one's memory for as long as that one likes, and cannot be interrupted then: the
 * recorder goes on without it.
 */
#ifndef RECORD_SAMPLING_SCANNER_H
#define RECORD_SAMPLING_SCANNER_H

#include "bpf/sample.h"
#include "bpf/settings.h"
#include "base/error.h"

/* Scans take at most this share of one CPU: with many threads there are fewer. */
#define REEL_SCANNER_SHARE 0.02

struct reel_scanner;

/*
 * Starts the process; it scans only from reel_scanner_begin on.  `link` is the descriptor of the
 * iterator's BPF link, `listed` of the program that scans listed threads, or -1; `control` is
 * shared with the BPF programs, and so is `copies`, NULL if they read memory themselves; all
 * outlive the scanner.
 */
struct reel_error *reel_scanner_start(int link, int listed,
				      volatile struct reel_bpf_control *control,
				      struct reel_bpf_copies *copies, uint64_t frequency,
				      bool sandboxed, struct reel_scanner **ret) REEL_MUST_CHECK;
/* Ends the process, but does not wait for one that is stuck. */
void reel_scanner_stop(struct reel_scanner *scanner);

void reel_scanner_begin(struct reel_scanner *scanner);
/* ns of CPU time of the process; 0 once it has ended. */
uint64_t reel_scanner_work(const struct reel_scanner *scanner);
/* Its bytes (reel_process_memory). */
uint64_t reel_scanner_memory(const struct reel_scanner *scanner);
/* One more scan, which reports all waits; false if it takes too long or the process has ended. */
bool reel_scanner_scan(struct reel_scanner *scanner);

#endif
