/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* __u8 … __u64 and bool, for headers that BPF programs share with the recorder. */
#ifndef BPF_TYPES_H
#define BPF_TYPES_H

#ifdef __bpf__
#include "bpf/kernel.h"
#else
#include <linux/types.h>
#include <stdbool.h>
#endif

#endif
