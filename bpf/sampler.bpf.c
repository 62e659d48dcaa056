// SPDX-License-Identifier: GPL-2.0-only
/* The programs for kernels before 6.16 (bpf/copy_scratch.h). */
#include "bpf/process.h"
#include "bpf/floating_point.h"
#include "bpf/take.h"
#include "bpf/scan.h"
#include "bpf/switch.h"
#include "bpf/waker.h"

char LICENSE[] SEC("license") = "GPL";
