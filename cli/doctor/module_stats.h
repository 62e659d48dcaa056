/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of modules from samples: the samples through each, and those with missing data. */
#ifndef CLI_DOCTOR_MODULE_STATS_H
#define CLI_DOCTOR_MODULE_STATS_H

#include "cli/session/session.h"

/* Samples with a frame in a module, and those with missing data there. */
struct module_counts {
	uint64_t id;
	uint64_t samples, ended, nameless, lineless;
	uint64_t interpreting; /* without a function of the interpreted program */
	bool is_file;
	bool is_jit;
	size_t runtime; /* RUNTIMES: none */
	bool has_lines; /* of some frame */
	/* The last trace for which each was counted, + 1. */
	uint64_t seen, seen_nameless, seen_lineless;
};

/* A process's samples through unnamed JIT code. */
struct jit_process {
	uint32_t pid;
	unsigned runtimes; /* runtimes of its frames: bits */
	uint64_t nameless;
};

struct module_stats {
	struct module_counts *modules; /* ascending by id */
	size_t n;
	uint64_t lineless;	       /* frames */
	bool has_native_only;	       /* functions of interpreters are not wanted */
	struct jit_process *processes; /* ascending by pid */
	size_t n_processes, capacity;
};

/* For all modules of the capture; returns false after an error, which is reported on stderr. */
bool module_stats_open(const struct session *session, struct module_stats *ret);
void module_stats_free(struct module_stats *stats);
/* For session_visit; the context is the stats. */
bool module_stats_count(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event);

#endif
