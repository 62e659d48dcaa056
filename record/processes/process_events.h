/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process events from the kernel: one dummy perf event per CPU reports every mapping, fork, exec,
 * name and exit on the host.  Events of all CPUs are merged by time.
 */
#ifndef RECORD_PROCESSES_PROCESS_EVENTS_H
#define RECORD_PROCESSES_PROCESS_EVENTS_H

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

/*
 * Opens and starts the events of all CPUs.  `build_ids`: with the build-ids of mapped files;
 * `kernel_symbols`: with KERNEL_SYMBOL events. `note` gets missing features of this kernel (may be
 * NULL).  `most`: bytes of all buffers, if that allows the smallest; 0: as usual.  PERMISSION if it is
 * not allowed.
 */
struct reel_error *reel_process_events_open(bool build_ids, bool kernel_symbols, uint64_t most,
					    void (*note)(void *context, const char *line),
					    void *context,
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
struct reel_error *reel_process_events_apply(
	struct reel_process_events *events, uint64_t until,
	struct reel_error *(*handle)(void *context, const struct reel_process_event *event),
	void *context) REEL_MUST_CHECK;

#endif
