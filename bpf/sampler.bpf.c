// SPDX-License-Identifier: GPL-2.0-only
/* The programs for kernels before 6.16 (bpf/copy/scratch.h). */
#include "bpf/process.h"
#include "bpf/events/take.h"
#include "bpf/waits/scan.h"
#include "bpf/waits/switch.h"
#include "bpf/waits/waker.h"

char LICENSE[] SEC("license") = "GPL";
