/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a writer keeps to and a reader does not ask for: that ids are defined before samples name
 * them, and once (SPEC.md, sections 3.2 and 5).
 */
#ifndef FORMAT_REFERENCES_H
#define FORMAT_REFERENCES_H

#include "format/reader.h"

enum reel_reference {
	REEL_REFERENCE_SAMPLE_THREAD,
	REEL_REFERENCE_SAMPLE_EVENT,
	REEL_REFERENCE_SAMPLE_STEPS,
	REEL_REFERENCE_SAMPLE_ORDER, /* a sample's id does not exceed the one before */
	REEL_REFERENCE_SPACE,	     /* named by a side record */
	REEL_REFERENCE_THREAD,
	REEL_REFERENCE_MODULE,
	REEL_REFERENCE_TWICE, /* an id that is defined twice */
	REEL_REFERENCE_BLOCK_TIMES,
	REEL_REFERENCE_COUNT,
};

/* "samples name a thread that no THREAD record before them defines", and so on. */
const char *reel_reference_name(enum reel_reference reference);

struct reel_references;

struct reel_error *reel_references_create(struct reel_references **ret) REEL_MUST_CHECK;
void reel_references_destroy(struct reel_references *references);

/* In the file's order: a record or a sample of `block`; other items are passed over. */
struct reel_error *reel_references_add(struct reel_references *references,
				       const struct reel_block *block,
				       const struct reel_block_item *item) REEL_MUST_CHECK;
/* The block is at its end; a whole one's header has its records' times. */
void reel_references_end_block(struct reel_references *references, const struct reel_block *block,
			       bool is_whole);

/* Behind the last block: how many there are of one kind, and the first one's id and block. */
struct reel_reference_count {
	uint64_t n, id;
	struct reel_block first;
};

struct reel_reference_count reel_references_count(struct reel_references *references,
						  enum reel_reference reference);

#endif
