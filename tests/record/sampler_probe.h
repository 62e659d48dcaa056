/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by sampler_probe.c, which records, and sampler_cases.c, which has the expected results. */
#ifndef TESTS_RECORD_SAMPLER_PROBE_H
#define TESTS_RECORD_SAMPLER_PROBE_H

#include <sys/types.h>

#include "record/sampling/sampler.h"

/* Reports from children. */
struct shared {
	uint64_t sp;
	uint64_t low, high;	 /* the pattern's range on a stack */
	uint64_t hole, hole_end; /* pages of it that were never touched */
	uint64_t tid, pid, vdso;
	uint64_t stack_low, stack_high;
};

extern volatile struct shared *shared;

struct probe {
	const char *name;
	void (*worker)(void);
	/* False, with `message`, if the sample is wrong. Counts fully checked samples in `good`. */
	bool (*check)(const struct reel_sampler_parts *parts);
	bool (*check_counts)(const struct reel_bpf_counts *counts);
	uint32_t max_stack;
	uint64_t ring_size;
	unsigned samples; /* to wait for */
	unsigned good_percent;
	bool kernel_chain, frame_chain, thread, system_wide, no_drain;
	bool about_processes;
	const char *event;
};

/* Of the running case. */
struct probe_state {
	const struct probe *probe;
	pid_t child;
	unsigned samples, good;
	unsigned counted; /* samples of which `good` is a share */
	bool wrong;
};
extern struct probe_state state;
/* A check adds 1 for a sample that it could check in full. */
extern unsigned good;
/* Why a check returned false. */
extern char message[256];
#define PROCESSES_MAX 64
extern struct reel_bpf_process processes[PROCESSES_MAX];
extern unsigned n_processes;

/* Starts a child that calls `worker` once a byte is written to *go_ret. */
pid_t child_start(void (*worker)(void), int *go_ret);

extern const struct probe probe_cases[];
extern const size_t probe_n_cases;
extern const struct probe probe_compat, probe_tracepoint;
extern const struct probe probe_bench[3];
/* Whether this kernel runs 32-bit code. */
bool compat_possible(void);
/* The new program of the exec case. */
void vdso_main(void);

#endif
