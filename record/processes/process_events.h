/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process events from the kernel: one dummy perf event per CPU reports every mapping, fork, exec,
 * name and exit on the host.  Events of all CPUs are merged by time.
 */
#ifndef RECORD_PROCESSES_PROCESS_EVENTS_H
#define RECORD_PROCESSES_PROCESS_EVENTS_H

#include "bpf/sample.h"
#include "record/proc/proc.h"

enum reel_process_event_kind {
	REEL_PROCESS_MAP,
	REEL_PROCESS_COMM,
	REEL_PROCESS_EXEC, /* with the new name */
	REEL_PROCESS_FORK,
	REEL_PROCESS_EXIT,
	/* A BPF program or a trampoline, of no process: `map` has its address, with its name as
	 * path. */
	REEL_PROCESS_KERNEL_SYMBOL,
};

/* Numbers are from the recorder's PID namespace; processes outside are left out. */
struct reel_process_event {
	enum reel_process_event_kind kind;
	uint64_t time; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	/* FORK: the parent's. */
	uint32_t parent_pid, parent_tid;
	char comm[REEL_COMM_SIZE];
	/* MAP: either build_id or the file's numbers are filled in. */
	struct reel_proc_map map;
	uint64_t inode_generation;
	struct reel_build_id build_id;
	/* KERNEL_SYMBOL: its module in /proc/kallsyms, and whether it was removed. */
	const char *module;
	bool is_gone;
};

/* Sample fields at the end of each record; other events that write into these buffers use them. */
#define REEL_PROCESS_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct reel_process_events;

struct reel_process_events_options {
	bool build_ids;	     /* of mapped files */
	bool kernel_symbols; /* KERNEL_SYMBOL events */
	/* Programs that begin and end between two calls of _settle, and are not sampled, are left out:
	 * of a host that builds or runs scripts, these are most events. */
	bool skips_unsampled;
	uint64_t memory; /* bytes of all buffers, if that allows the smallest; 0: as usual */
	/* Gets missing features of this kernel. */
	void (*note)(void *context, const char *line);
	struct reel_error *(*handle)(void *context, const struct reel_process_event *event);
	/* Of a fork or an exec (_details). */
	struct reel_error *(*handle_details)(void *context, const struct reel_bpf_process *details);
	void *context;
};

/* Opens and starts the events of all CPUs.  PERMISSION if it is not allowed. */
struct reel_error *reel_process_events_open(const struct reel_process_events_options *options,
					    struct reel_process_events **ret) REEL_MUST_CHECK;
void reel_process_events_close(struct reel_process_events *events);

/* A CPU that is or was watched. */
struct reel_process_cpu {
	uint32_t cpu;
	/* For poll(2): readable when a quarter of its buffer is filled.  -1: it went offline. */
	int fd;
	unsigned int openings; /* counts new descriptors in `fd` */
	/* Events that the kernel dropped since the start, and how often it stopped an event that
	 * writes here. */
	uint64_t lost, throttled;
};

/* In the order in which CPUs were added; valid until the next is added. */
const struct reel_process_cpu *reel_process_events_cpus(const struct reel_process_events *events,
							size_t *count_ret);
/* Bytes of all buffers. */
uint64_t reel_process_events_memory(const struct reel_process_events *events);
/* Watches a CPU that came online; also NULL if it went away meanwhile. */
struct reel_error *reel_process_events_add_cpu(struct reel_process_events *events,
					       uint32_t cpu) REEL_MUST_CHECK;
/* Takes the last events of a CPU that went offline. If it returns, its event stays dead. */
struct reel_error *reel_process_events_drop_cpu(struct reel_process_events *events,
						uint32_t cpu) REEL_MUST_CHECK;

/* Takes the kernel's new records; does not hand them on yet. */
struct reel_error *reel_process_events_read(struct reel_process_events *events) REEL_MUST_CHECK;

/* Hands over taken records with times up to `until`, in order of time; later ones stay. */
struct reel_error *reel_process_events_apply(struct reel_process_events *events,
					     uint64_t until) REEL_MUST_CHECK;
/* The same, but keeps the records of programs that begin within them. */
struct reel_error *reel_process_events_advance(struct reel_process_events *events,
					       uint64_t until) REEL_MUST_CHECK;
/* Hands over the kept records of a program. */
struct reel_error *reel_process_events_sampled(struct reel_process_events *events,
					       uint32_t pid) REEL_MUST_CHECK;
/* What BPF reported of a fork or an exec is handed over, or kept as well. */
struct reel_error *reel_process_events_details(
	struct reel_process_events *events, const struct reel_bpf_process *details) REEL_MUST_CHECK;
/* All samples up to `horizon` were given: forgets kept programs that ended by then, hands over the
 * others. */
struct reel_error *reel_process_events_settle(struct reel_process_events *events,
					      uint64_t horizon) REEL_MUST_CHECK;

#endif
