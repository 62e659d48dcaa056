/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks a recording's processes and threads over time: converts events that the kernel reported to
 * another recorder into side records.  Events must be in order of time; processes and threads
 * without an event are made up when first seen.
 */
#ifndef REPLAY_IMPORT_PROCESSES_H
#define REPLAY_IMPORT_PROCESSES_H

#include "format/writer.h"
#include "format/timeline/space.h"
#include "format/timeline/space_start.h"

struct reel_processes;

struct reel_processes_options {
	struct reel_writer *writer;	/* the records go there */
	struct reel_timeline *timeline; /* and there, or NULL */
	struct reel_programs programs;
};

struct reel_error *reel_processes_create(const struct reel_processes_options *options,
					 struct reel_processes **ret) REEL_MUST_CHECK;
void reel_processes_destroy(struct reel_processes *processes);

/* Writes a record that belongs to these: a mapping. */
struct reel_error *reel_processes_write(struct reel_processes *processes,
					const struct reel_record *record) REEL_MUST_CHECK;

struct reel_task {
	uint64_t time;
	uint32_t pid, tid;
};

/* `was_there`: it has none of its parent's mappings; they are reported one by one. */
struct reel_error *reel_processes_fork(struct reel_processes *processes,
				       const struct reel_task *task, uint32_t parent_pid,
				       uint32_t parent_tid, bool was_there) REEL_MUST_CHECK;
struct reel_error *reel_processes_exec(struct reel_processes *processes,
				       const struct reel_task *task,
				       struct reel_bytes comm) REEL_MUST_CHECK;
struct reel_error *reel_processes_comm(struct reel_processes *processes,
				       const struct reel_task *task,
				       struct reel_bytes comm) REEL_MUST_CHECK;
struct reel_error *reel_processes_exit(struct reel_processes *processes,
				       const struct reel_task *task) REEL_MUST_CHECK;

/* The SPACE id of the process; and setting the vDSO's address, once known. */
struct reel_error *reel_processes_space(struct reel_processes *processes,
					const struct reel_task *task,
					uint64_t *space_ret) REEL_MUST_CHECK;
struct reel_error *reel_processes_set_vdso(struct reel_processes *processes,
					   const struct reel_task *task,
					   uint64_t address) REEL_MUST_CHECK;
/* The THREAD id of a sample; `compat` if it has registers of 32 bits on a 64-bit kernel. */
struct reel_error *reel_processes_place(struct reel_processes *processes,
					const struct reel_task *task, bool has_registers,
					bool compat, uint64_t *thread_ret) REEL_MUST_CHECK;

#endif
