/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that bind a writer but that a reader does not check: ids are defined before samples name
 * them, and only once (SPEC.md, sections 3.2 and 5).
 */
#ifndef FORMAT_REFERENCES_H
#define FORMAT_REFERENCES_H

#include "format/reader.h"

enum reel_reference {
	REEL_REFERENCE_SAMPLE_THREAD,
	REEL_REFERENCE_SAMPLE_EVENT,
	REEL_REFERENCE_SAMPLE_STEPS,
	REEL_REFERENCE_SAMPLE_ORDER, /* a sample's id does not exceed the previous one's */
	REEL_REFERENCE_SPACE,	     /* named by a side record */
	REEL_REFERENCE_THREAD,
	REEL_REFERENCE_MODULE,
	REEL_REFERENCE_CGROUP,
	REEL_REFERENCE_TWICE, /* an id with two definitions */
	REEL_REFERENCE_BLOCK_TIMES,
	REEL_REFERENCE_COUNT,
};

/* "samples name a thread that no THREAD record before them defines", and so on. */
const char *reel_reference_name(enum reel_reference reference);

struct reel_references;

struct reel_error *reel_references_create(struct reel_references **ret) REEL_MUST_CHECK;
void reel_references_destroy(struct reel_references *references);

/* Takes a record or a sample of `block`, in the file's order; ignores other items. */
struct reel_error *reel_references_add(struct reel_references *references,
				       const struct reel_block *block,
				       const struct reel_block_item *item) REEL_MUST_CHECK;
/* Ends the block; if complete, its header has its records' times. */
void reel_references_end_block(struct reel_references *references, const struct reel_block *block,
			       bool is_whole);

/* After the last block: the number of violations of one kind, and the first one's id and block. */
struct reel_reference_count {
	uint64_t n, id;
	struct reel_block first;
};

struct reel_reference_count reel_references_count(struct reel_references *references,
						  enum reel_reference reference);

#endif
