/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to synthesis.c, returns.c and entries.c. */
#ifndef REPLAY_SYNTHESIS_SYNTHESIS_INTERNAL_H
#define REPLAY_SYNTHESIS_SYNTHESIS_INTERNAL_H

#include <pthread.h>

#include "base/id_table.h"
#include "base/memory.h"
#include "replay/synthesis/code.h"
#include "replay/synthesis/pool.h"

/* A compiled row, and the bytes of its expressions. */
struct reel_made_row {
	struct reel_row *row; /* NULL: not made yet, or not expressible by rules */
	uint8_t *expressions;
	bool made;
};

struct reel_made_rows {
	struct reel_made_row *rows; /* by the number of their source */
	size_t n, capacity;
};

/* A cached call: reading and decoding take far longer than everything else. */
struct reel_known_call {
	uint64_t address; /* after it */
	uint64_t target;
	uint64_t state; /* the reader's; 0: free */
	uint8_t size;
	bool has_target;
};

#define REEL_KNOWN_CALLS_BITS 12

/* If the code changes, no more than results for this many instructions are kept. */
#define REEL_SYNTHESIS_KEPT_MAX (1u << 18)

struct reel_synthesis {
	pthread_mutex_t lock;	       /* protects the rest */
	struct reel_known_call *calls; /* NULL until needed */
	struct reel_code_reader reader;
	uint64_t kept_by_calls; /* slots */
	int32_t sp_at_entry;	/* from the CFA */

	/* returns.c */
	struct reel_pool facts; /* struct reel_facts, reel_facts_size of it */
	/* By their number: registers whose change may change them. */
	uint64_t *fact_slots;
	size_t n_fact_slots, fact_slots_capacity;
	struct reel_made_rows fact_rows;
	struct reel_id_table returns; /* by address */
	struct reel_arena_chunk *returns_memory;
	/* By address: a bit for a few bytes of code, set if there is a result, so that most look-ups
	 * end here; NULL until there is one. */
	uint64_t *returns_bits;
	size_t n_returns;		     /* them, or all instructions that returns_seen has */
	struct reel_code_seen *returns_seen; /* by them */
	unsigned depth;			     /* of nested functions being analyzed */

	/* entries.c */
	struct reel_pool states;
	struct reel_made_rows state_rows, leaving_rows;
	struct reel_id_table entries; /* by entry */
	size_t n_entry_addresses;

	/* beginnings.c */
	struct reel_id_table beginnings; /* by address */
	size_t n_beginnings;
};

/* Compiles row `number` of `rows` from `cfi_row` (NULL: no row), and stores and returns it. */
const struct reel_row *reel_make_row(struct reel_made_rows *rows, const struct reel_arch *arch,
				     uint32_t number, const struct reel_cfi_row *cfi_row,
				     uint8_t *expressions);
/* False if the row was not made yet. */
bool reel_find_made_row(const struct reel_made_rows *rows, uint32_t number,
			const struct reel_row **ret);
void reel_made_rows_free(struct reel_made_rows *rows);

void reel_returns_free(struct reel_synthesis *synthesis);
void reel_entries_free(struct reel_synthesis *synthesis);
void reel_beginnings_free(struct reel_synthesis *synthesis);

#endif
