// SPDX-License-Identifier: GPL-2.0-only
/* The programs for kernels from 6.16 on (bpf/copy_dynptr.h). */
#define REEL_TASK_TYPED
#include "bpf/kernel.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/mapping.h"
#include "bpf/user_memory.h"
#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/wait.h"
#include "bpf/process.h"
#include "bpf/floating_point.h"
#include "bpf/goroutine.h"
#include "bpf/stack_top.h"
#include "bpf/alternate_stack.h"
#include "bpf/regions.h"
#include "bpf/copy_dynptr.h"
#include "bpf/trampoline.h"
#include "bpf/cgroup.h"
#include "bpf/user_probes.h"
#include "bpf/values.h"
#include "bpf/filter.h"
#include "bpf/take.h"
#include "bpf/lock.h"
#include "bpf/look.h"
#include "bpf/waker.h"

char LICENSE[] SEC("license") = "GPL";
