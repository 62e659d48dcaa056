/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory that scans ask for on older kernels (bpf/copies.h), in the scanning process. */
#ifndef RECORD_SAMPLING_SCAN_COPIES_H
#define RECORD_SAMPLING_SCAN_COPIES_H

#include <stdint.h>

#include "bpf/sample.h"
#include "bpf/piece.h"

/* Reads what the last pass has asked for, of `n` threads. */
void reel_scan_copies_read(struct reel_bpf_copies *copies, uint32_t n);
/* Frees the bytes. */
void reel_scan_copies_clear(struct reel_bpf_copies *copies, uint32_t n);

#endif
