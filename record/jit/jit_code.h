/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of code that is in no file, for CODE records: what a JIT made, or a program that was
 * deleted while it runs.  Which code is wanted, the samples tell: the page of each pc, and of each
 * word behind a call.  They are read by the inspector's helper some time after the sample, so a
 * page is read again, once a second at most, while samples lead there.
 */
#ifndef RECORD_JIT_JIT_CODE_H
#define RECORD_JIT_JIT_CODE_H

#include "record/watching/inspector.h"
#include "record/watching/module_table.h"
#include "target/space.h"

struct reel_jit_code;

struct reel_jit_code_options {
	struct reel_inspector *inspector;
	const struct reel_module_table *modules; /* of the mappings */
	struct reel_record_sink sink;
	/* What processes are of which it is not known yet. */
	struct reel_elf_kind native;
	uint64_t limit; /* bytes that a file gets at most; 0: only `hit` is wanted */
	/* NULL, or is told each address in such code that a sample leads to: its pc, and the end of
	 * what may be a call. */
	void (*hit)(void *context, const struct reel_timeline *timeline, uint64_t space,
		    uint64_t time, uint64_t address);
	void *hit_context;
};

struct reel_error *reel_jit_code_create(const struct reel_jit_code_options *options,
					struct reel_jit_code **ret) REEL_MUST_CHECK;
void reel_jit_code_destroy(struct reel_jit_code *jit);

/* Notes what code a sample leads to. `view` is of its space at its time; of one timeline, always.
 */
struct reel_error *reel_jit_code_note(struct reel_jit_code *jit, const struct reel_space_view *view,
				      const struct reel_sample *sample) REEL_MUST_CHECK;

/*
 * Reads some of what was noted; false if there is nothing to read now.  What was read is put once
 * the timeline knows what happened meanwhile: it may be another program's.
 */
bool reel_jit_code_read(struct reel_jit_code *jit);
struct reel_error *reel_jit_code_put(struct reel_jit_code *jit) REEL_MUST_CHECK;

/* Forgets processes that have ended. */
void reel_jit_code_forget_ended(struct reel_jit_code *jit);
/* A new file begins: it has nothing yet. */
void reel_jit_code_restart(struct reel_jit_code *jit);

/* Pages that the file lacks. */
uint64_t reel_jit_code_left_out(const struct reel_jit_code *jit);

#endif
