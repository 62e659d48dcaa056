// SPDX-License-Identifier: GPL-2.0-only
/* The programs for looks on kernels before 5.18 (bpf/copies.h). */
#define REEL_LOOK_COPIES
#include "bpf/sampler.bpf.c"
