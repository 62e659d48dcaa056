/* SPDX-License-Identifier: Apache-2.0 */
/* Missing data of a module or a capture: what samples it costs, and remedies. */
#ifndef CLI_DOCTOR_DIAGNOSIS_H
#define CLI_DOCTOR_DIAGNOSIS_H

#include "cli/session/session.h"

/* Samples with a frame in a module, and those with missing data there. */
struct module_counts {
	uint64_t id;
	uint64_t samples, ended, nameless, lineless;
	uint64_t interpreting; /* without a function of the interpreted program */
	bool is_file;
	bool is_jit;
	size_t runtime; /* the number of an interpreter or the like */
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

enum diagnosis_kind {
	MISSING_FILE,
	MISSING_ROWS,
	MISSING_SYMBOLS,
	MISSING_LINES, /* the embedded file has none */
	MISSING_MORE,  /* a file with debug information exists, but is incomplete */
	MISSING_KALLSYMS,
	JIT_CODE,
	INTERPRETED,
	/* Not of a module: */
	MISSING_STACK,
	MISSING_IMAGES,
	MISSING_JIT_NAMES,
	DIAGNOSES, /* number of diagnoses */
};

extern const struct diagnosis {
	const char *name, *remedy;
	bool is_served;	     /* by debuginfod, for a module with a known build-id */
	enum reel_loss loss; /* 0, or the loss that the recorder counted */
} diagnoses[DIAGNOSES];

/* Bits by enum diagnosis_kind. */
unsigned diagnoses_of(const struct module_counts *counts, const struct reel_module_info *module);
/* The subset that a debuginfod server may provide. */
unsigned diagnoses_served(const struct module_counts *counts,
			  const struct reel_module_info *module);

/*
 * Prints remedies for the diagnoses in `told` (bits), and the recorder's counts. Those in `served` may
 * be on a debuginfod server that was not asked yet.
 */
void diagnoses_print_remedies(const struct session *session, const struct module_stats *stats,
			      unsigned told, unsigned served, FILE *file);

#endif
