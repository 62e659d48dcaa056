// SPDX-License-Identifier: GPL-2.0-only
/* The programs for scans on kernels before 5.18 (bpf/user_memory.h). */
#define REEL_SCAN_COPIES
#include "bpf/sampler.bpf.c"
