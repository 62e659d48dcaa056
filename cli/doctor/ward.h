/* SPDX-License-Identifier: Apache-2.0 */
/* What samples tell of modules: how many lead through each, and how many of them lack something. */
#ifndef CLI_DOCTOR_WARD_H
#define CLI_DOCTOR_WARD_H

#include "cli/session/session.h"

/* Samples with a frame of a module, and those of them that lack something there. */
struct patient {
	uint64_t id;
	uint64_t samples, ended, nameless, lineless;
	bool is_file;
	bool is_jit;
	size_t runtime; /* RUNTIMES: it is none's */
	bool has_lines; /* of some frame */
	/* The last trace that each was counted for, + 1. */
	uint64_t seen, seen_nameless, seen_lineless;
};

/* A process's samples that lead through a JIT's code which has no name. */
struct jit_process {
	uint32_t pid;
	unsigned runtimes; /* that its frames are of: bits */
	uint64_t nameless;
};

struct ward {
	struct patient *patients; /* ascending by id */
	size_t n;
	uint64_t lineless;	       /* frames */
	struct jit_process *processes; /* ascending by pid */
	size_t n_processes, capacity;
};

/* Of all modules of the capture; says on stderr what is wrong and gives false. */
bool ward_open(const struct session *session, struct ward *ret);
void ward_free(struct ward *ward);
/* For session_visit; the context is the ward. */
bool ward_count(void *context, const struct reel_trace *trace, const struct reel_event_info *event);

#endif
