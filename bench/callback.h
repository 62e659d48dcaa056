/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Shared by bench/callback.bpf.c and its loader. */
#ifndef BENCH_CALLBACK_H
#define BENCH_CALLBACK_H

/* Include <linux/types.h> first for __u64. */

#define CALLBACK_STEP  16 /* ns */
#define CALLBACK_STEPS 8192

struct callback_target {
	__u64 name[2]; /* of a thread, as comm has it */
	__u64 period;  /* of the event, in ns */
};

/* One per CPU. */
struct callback_state {
	__u64 callback_start, irq_work_start;
	__u64 callbacks, callback_ns;
	__u64 irq_works, irq_work_ns;
};

#endif
