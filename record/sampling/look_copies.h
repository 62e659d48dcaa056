/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory that looks ask for on older kernels (bpf/copies.h), in the looking process. */
#ifndef RECORD_SAMPLING_LOOK_COPIES_H
#define RECORD_SAMPLING_LOOK_COPIES_H

#include <stdint.h>

#include "bpf/sample.h"
#include "bpf/piece.h"

/* Reads what the last pass has asked for, of `n` threads. */
void reel_look_copies_read(struct reel_bpf_copies *copies, uint32_t n);
/* Frees what was read. */
void reel_look_copies_clear(struct reel_bpf_copies *copies, uint32_t n);

#endif
