/* SPDX-License-Identifier: Apache-2.0 */
/* A report's groups: threads, processes, thread names, hosts, or states. */
#ifndef CLI_PROFILE_GROUPS_H
#define CLI_PROFILE_GROUPS_H

#include "cli/profile/pointer_map.h"
#include "cli/profile/symbols.h"

enum grouping {
	GROUP_NONE,
	GROUP_THREAD,
	GROUP_PROCESS,
	GROUP_COMM,
	GROUP_HOST,
	GROUP_STATE,
};

struct group {
	uint64_t id;	 /* thread's or process's */
	uint32_t number; /* tid or pid, as shown */
	/* The last name of the thread, or of the process's main thread if seen. */
	const char *comm;
	bool of_main_thread;
	struct symbol *symbol;
};

struct groups {
	enum grouping grouping;
	/* A hash table by id. */
	struct group *slots;
	size_t n_slots, count;
	/* By comm; the library's strings stay as long as the capture. */
	struct pointer_map comms;
};

void groups_init(struct groups *groups, enum grouping grouping);
void groups_free(struct groups *groups);
/* The group of a trace, as a symbol of `table`. */
struct symbol *groups_find(struct groups *groups, struct symbol_table *table,
			   const struct reel_trace *trace);
/* Gives the symbols of threads and processes their latest names. */
void groups_name(struct groups *groups);

#endif
