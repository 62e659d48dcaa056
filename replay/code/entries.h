/* SPDX-License-Identifier: Apache-2.0 */
/* What a function has done to the stack since its entry. Internal to replay/code/. */
#ifndef REPLAY_CODE_ENTRIES_H
#define REPLAY_CODE_ENTRIES_H

#include "arch/arch.h"

/* All that does not count is 0, so that equal states have equal bytes. */
struct reel_entry_state {
	uint64_t placed; /* slots that hold CFA + place */
	uint64_t intact; /* slots that hold what they held at the entry */
	uint64_t saved;	 /* slots whose value at the entry lies at CFA + saved_at */
	int32_t place[REEL_ARCH_SLOTS_MAX];
	int32_t saved_at[REEL_ARCH_SLOTS_MAX];
};

struct reel_synthesis;

enum reel_entry_reach {
	REEL_ENTRY_APART = 0, /* it does not come to the address */
	REEL_ENTRY_RUNS_ON,   /* by nothing but what stands before it */
	REEL_ENTRY_JUMPS,     /* it jumps there, too */
};
/* How code that begins at `entry` comes to an address; with the synthesis locked, as the one below.
 */
enum reel_entry_reach reel_entry_reaches(struct reel_synthesis *synthesis, uint64_t entry,
					 uint64_t address);
/* What it has done to the stack there; NULL: it does not come there, or not in one state. */
const struct reel_row *reel_entry_row(struct reel_synthesis *synthesis, uint64_t entry,
				      uint64_t address);

/* What was found at an address, once reel_synthesis_leads was asked of the entry; NULL: nothing, or
 * not one thing.  Until the next call of any. */
const struct reel_entry_state *reel_synthesis_state(struct reel_synthesis *synthesis,
						    uint64_t entry, uint64_t address);
/* Makes *address the first one from it on that the entry comes to; false if there is none. */
bool reel_synthesis_next_reached(struct reel_synthesis *synthesis, uint64_t entry,
				 uint64_t *address);

#endif
