/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that threads wait for, and what their holders do meanwhile: a sample of a thread that waits
 * for a lock (event off-cpu) covers a time, and so do the samples of the lock's holder.
 */
#ifndef CLI_REPORT_LOCKS_H
#define CLI_REPORT_LOCKS_H

#include "base/hash_index.h"
#include "cli/profile/profile.h"

struct lock {
	/* Of a process. */
	uint64_t address;
	uint32_t host_id, pid;
	/* A thread that waits for it, and when. */
	uint64_t thread, time;
	struct symbol *process;
	struct symbol *symbol;	/* numbered by the lock's index */
	uint32_t waiting, held; /* the lock's nodes of the trees */
	size_t n_threads;	/* that wait */
	bool has_holder;	/* of some sample */
};

struct locks {
	struct lock *items;
	size_t count, capacity;
	size_t n_waiting_threads;
	/* Below each lock the functions that wait for it; the weight is the time waited. */
	struct call_tree waiting;
	/* Below each lock its holders, by the time that others waited meanwhile, and below these their
	 * stacks then. */
	struct call_tree held;

	struct symbol_table symbols;
	struct groups threads, processes;
	/* The stacks of all samples, below their ends. */
	struct call_tree stacks;
	struct lock_sample *samples; /* by thread and time once all are known */
	size_t n_samples, samples_capacity;
	struct lock_thread *by_tid;
	size_t n_tids, tids_capacity;
	struct lock_pair *pairs; /* of locks and holders */
	size_t n_pairs, pairs_capacity;
	struct lock_waiter *waiters;
	size_t n_waiters, waiters_capacity;
	struct reel_hash_index lock_index, tid_index, pair_index, waiter_index;
};

void locks_init(struct locks *locks);
void locks_free(struct locks *locks);
/* For session_visit; `context` is the locks. */
bool locks_add(void *context, const struct reel_trace *trace, const struct reel_event_info *event);
/* Attributes waits to the holders' samples, and names the locks; false after an error, which is
 * reported. */
bool locks_finish(struct locks *locks, struct reel_capture *capture);

/*
 * Prints a table of locks with the code that waits for them, and a tree with each lock's holders and
 * their stacks meanwhile: `stackreel report --locks`. Lines below `limit` percent of all waits for locks
 * are skipped. Returns the exit status.
 */
int report_locks(struct session *session, uint64_t limit);

#endif
