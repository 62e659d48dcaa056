/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to synthesis.c, returns.c and entries.c. */
#ifndef REPLAY_CODE_SYNTHESIS_PARTS_H
#define REPLAY_CODE_SYNTHESIS_PARTS_H

#include <pthread.h>

#include "base/id_table.h"
#include "replay/code/code.h"
#include "replay/code/pool.h"

/* A row that was compiled, and the bytes of its expressions. */
struct reel_made_row {
	struct reel_row *row; /* NULL: it was not asked for yet, or cannot be told by rules */
	uint8_t *expressions;
	bool made;
};

struct reel_made_rows {
	struct reel_made_row *rows; /* by the number of what they are made of */
	size_t n, capacity;
};

/* A call that was looked at: reading and decoding it takes far longer than all else. */
struct reel_known_call {
	uint64_t address; /* behind it */
	uint64_t target;
	uint8_t size; /* 0: free */
	bool has_target;
};

#define REEL_KNOWN_CALLS_BITS 12

struct reel_synthesis {
	pthread_mutex_t lock;	       /* of all that follows */
	struct reel_known_call *calls; /* NULL until there is one */
	struct reel_code_reader reader;
	uint64_t kept_by_calls; /* slots */
	int32_t sp_at_entry;	/* from the CFA */

	/* returns.c */
	struct reel_pool facts; /* struct reel_facts, reel_facts_size of it */
	struct reel_made_rows fact_rows;
	struct reel_id_table returns; /* by address */
	size_t n_returns;
	unsigned depth; /* of functions that are being run */

	/* entries.c */
	struct reel_pool states;
	struct reel_made_rows state_rows, leaving_rows;
	struct reel_id_table entries; /* by entry */
	size_t n_entry_addresses;

	/* beginnings.c */
	struct reel_id_table beginnings; /* by address */
	size_t n_beginnings;
};

/* The row `number` of `rows`, compiled by `cfi_row`, NULL if there is none; keeps it. */
const struct reel_row *reel_make_row(struct reel_made_rows *rows, const struct reel_arch *arch,
				     uint32_t number, const struct reel_cfi_row *cfi_row,
				     uint8_t *expressions);
/* False if it was not made yet. */
bool reel_find_made_row(const struct reel_made_rows *rows, uint32_t number,
			const struct reel_row **ret);
void reel_made_rows_free(struct reel_made_rows *rows);

void reel_returns_free(struct reel_synthesis *synthesis);
void reel_entries_free(struct reel_synthesis *synthesis);
void reel_beginnings_free(struct reel_synthesis *synthesis);

#endif
