/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code bytes that are in no file, for CODE records: from a JIT, or from a program deleted while it
 * runs.  Samples decide which code is wanted: the page of each pc, and of each word after a call,
 * the neighbouring page if that is near, and the first page of the mapping.  The inspector's helper
 * reads pages some time after the sample, so a page is read again, the sooner the newer its bytes
 * are, until no sample has led there since.  Pages that samples hit and that are new are watched:
 * each sample of the process checks a few of them (bpf/sample.h), and so proves its own code.  The
 * file has each form of a page with the readings between which it came, or, if there may have been
 * others in between, the time from which the bytes are unknown.
 */
#ifndef RECORD_JIT_JIT_CODE_H
#define RECORD_JIT_JIT_CODE_H

#include "bpf/sample.h"
#include "record/helper/inspector.h"
#include "record/processes/module_table.h"
#include "format/timeline/space.h"

struct reel_jit_code;

struct reel_jit_code_options {
	struct reel_inspector *inspector;
	struct reel_budget *budget;
	const struct reel_module_table *modules; /* of the mappings */
	struct reel_record_sink sink;
	/* The ELF kind of processes whose kind is not known yet. */
	struct reel_elf_kind native;
	uint64_t limit; /* bytes of code in a file at most; 0: only `hit` is wanted */
	/* NULL, or called for each address in such code that a sample leads to: its pc, and the end
	 * of each possible call. */
	void (*hit)(void *context, const struct reel_timeline *timeline, uint64_t space,
		    uint64_t time, uint64_t address);
	void *hit_context;
	/* Has samples of a process check the pages of this number, below REEL_WATCHES_MAX; NULL: no
	 * longer. */
	void (*watch)(void *context, uint32_t pid, const uint32_t *number);
	void (*watch_page)(void *context, uint32_t number, uint32_t place,
			   const struct reel_bpf_watched *page);
	void *watch_context;
};

struct reel_error *reel_jit_code_create(const struct reel_jit_code_options *options,
					struct reel_jit_code **ret) REEL_MUST_CHECK;
void reel_jit_code_destroy(struct reel_jit_code *jit);

/* Notes the code that a sample leads to. `view` is the sample's space and time, always of the same
 * timeline; `is_checked`: the sample found the watched code as reported by then. */
struct reel_error *reel_jit_code_scan(struct reel_jit_code *jit, const struct reel_space_view *view,
				      const struct reel_sample *sample,
				      bool is_checked) REEL_MUST_CHECK;

/* Ends watches that are no longer needed.  Samples up to `arrived` have been noted. */
void reel_jit_code_watch(struct reel_jit_code *jit, uint64_t arrived);
/* Watched code that a sample found changed.  The timeline knows the events up to then. */
struct reel_error *reel_jit_code_seen(struct reel_jit_code *jit,
				      const struct reel_bpf_code *seen) REEL_MUST_CHECK;

/*
 * Reads some of the noted pages; false if there is nothing to read now.  Put them once the timeline
 * knows the events up to now: the memory may already be another program's.  `is_last`: the file
 * ends.
 */
bool reel_jit_code_read(struct reel_jit_code *jit, bool is_last);
struct reel_error *reel_jit_code_write(struct reel_jit_code *jit) REEL_MUST_CHECK;
/* The file ends, and no time is left for the pages that are still to be read. */
struct reel_error *reel_jit_code_end(struct reel_jit_code *jit) REEL_MUST_CHECK;

/* When a page is due; UINT64_MAX: none is noted. */
uint64_t reel_jit_code_due(const struct reel_jit_code *jit);

/* When a JIT last seemed to make code: several samples soon after each other hit pages that were not
 * known. */
uint64_t reel_jit_code_news(const struct reel_jit_code *jit);

/* Forgets processes that have ended. */
void reel_jit_code_forget_ended(struct reel_jit_code *jit);
/* A new file begins, without any code. */
void reel_jit_code_restart(struct reel_jit_code *jit);

/* Pages missing from the file. */
uint64_t reel_jit_code_left_out(const struct reel_jit_code *jit);

#endif
