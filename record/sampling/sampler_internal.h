/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement sampler.h. */
#ifndef RECORD_SAMPLING_SAMPLER_INTERNAL_H
#define RECORD_SAMPLING_SAMPLER_INTERNAL_H

#include "record/host/cpus.h"
#include "record/sampling/scanner.h"
#include "record/sampling/programs.h"
#include "record/sampling/rings.h"
#include "record/sampling/sampler.h"

struct reel_sampler {
	struct reel_programs programs;
	const struct reel_sampler_event *events;
	size_t n_events;
	bool has_chains; /* kernel chains, or chains by frame pointers */
	bool system_wide;
	int cgroup;	/* -1: none */
	int statistics; /* the kernel measures the programs while it is open; -1: it does not */
	void (*log)(void *context, const char *line);
	void *log_context;
	bool all_cpus;
	struct reel_cpus cpus; /* the requested CPUs, or those online at the start */
	uint32_t n_cpus;       /* room in the BPF programs */
	/* Perf events, for all events and CPUs. */
	struct cpu_event {
		int fd;
		uint32_t cpu, event;
		int output; /* of reel_sampler_redirect, or -1 */
		/* Its program runs on all CPUs: keep it when this CPU goes. */
		bool of_all;
		/* It reports in another event's buffer when the kernel stops it. */
		bool reports;
		bool enables_itself;
	} * cpu_events;
	size_t n_cpu_events, cpu_events_capacity;
	bool is_enabled;
	double slowness; /* frequencies are divided by it; 0: they are the requested ones */
	struct reel_rings *rings;
	struct reel_bpf_counts *counts;
	size_t n_counts;
	const struct reel_sampler_handler *handler; /* during reel_sampler_drain */
	volatile struct reel_bpf_control *control;  /* shared with the programs, mapped */
	uint32_t max_stack;
	uint64_t missed_before;		/* `missed` when it was enabled */
	struct reel_scanner *scanner;	/* NULL: no off-cpu */
	struct reel_bpf_copies *copies; /* bpf/user_memory.h; NULL: not needed */
};

/* ---- sampler_settings.c ---- */

/* The BPF programs' settings, after checking the options.  `cpus`: the requested ones, or those online. */
struct reel_error *reel_sampler_settings(const struct reel_sampler_options *options,
					 const struct reel_cpus *cpus,
					 struct reel_bpf_settings *ret) REEL_MUST_CHECK;

/* ---- sampler_events.c ---- */

/* Opens the events of all CPUs, with their programs; enables nothing yet. */
struct reel_error *reel_sampler_open_events(
	struct reel_sampler *sampler, const struct reel_sampler_options *options) REEL_MUST_CHECK;

enum thread_events {
	THREAD_ALONE,
	THREAD_AND_STARTED, /* and threads that it starts */
	THREAD_OF_COMMAND,  /* from its next exec on */
};

/* Opens events that count the thread only, if there are any. */
struct reel_error *reel_sampler_open_thread(struct reel_sampler *sampler, uint32_t tid,
					    enum thread_events kind) REEL_MUST_CHECK;

#endif
