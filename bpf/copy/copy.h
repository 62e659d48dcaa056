/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* reel_sample_emit, which writes a sample to the ring in the way that the kernel allows. */
#ifndef BPF_COPY_COPY_H
#define BPF_COPY_COPY_H

#ifdef REEL_TASK_TYPED
#include "bpf/copy/dynptr.h"
#else
#include "bpf/copy/scratch.h"
#endif

#endif
