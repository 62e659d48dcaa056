// SPDX-License-Identifier: GPL-2.0-only
/* The programs for kernels from 6.16 on (bpf/copy/dynptr.h). */
#define REEL_TASK_TYPED
#define REEL_SCAN_LIST
#include "bpf/sampler.bpf.c"
