/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, unwind tables and lines from JITs, for JIT_SYMBOL, JIT_UNWIND and JIT_LINE records.  The
 * inspector's helper (proc/jit_files.h) reads JITs' files about once a second while samples
 * lead to such code, and at the process's end.  Everything read is kept in memory, as far as there
 * is room; functions that hold a sampled address are put.
 */
#ifndef RECORD_JIT_JIT_NAMES_H
#define RECORD_JIT_JIT_NAMES_H

#include "record/helper/inspector.h"
#include "record/processes/module_table.h"
#include "format/timeline/space.h"

struct reel_jit_names;

struct reel_jit_names_options {
	struct reel_inspector *inspector;
	struct reel_budget *budget;
	const struct reel_module_table *modules; /* of the mappings */
	struct reel_record_sink sink;
	uint64_t memory; /* bytes for the entries of all processes; 0: the usual limit */
};

struct reel_error *reel_jit_names_create(const struct reel_jit_names_options *options,
					 struct reel_jit_names **ret) REEL_MUST_CHECK;
void reel_jit_names_destroy(struct reel_jit_names *names);

/* A sample leads to this address of code in no file: reel_jit_code_options.hit. */
void reel_jit_names_hit(void *names, const struct reel_timeline *timeline, uint64_t space,
			uint64_t time, uint64_t address);

/*
 * Reads some of the due files; false if no file is due.  Take the result once the timeline knows
 * the events up to now: it may be another process's.  `all`: read everything, since a file ends.
 */
bool reel_jit_names_read(struct reel_jit_names *names, bool all);
void reel_jit_names_apply(struct reel_jit_names *names);
/* Puts functions that samples lead to and that the file does not have yet. */
struct reel_error *reel_jit_names_write(struct reel_jit_names *names) REEL_MUST_CHECK;
/* A new file begins, without any names. */
void reel_jit_names_restart(struct reel_jit_names *names);

/* Visits living processes with sampled code. */
void reel_jit_names_visit(struct reel_jit_names *names, void (*visit)(void *context, uint32_t pid),
			  void *context);

/* Names missing from the file. */
uint64_t reel_jit_names_left_out(const struct reel_jit_names *names);

#endif
