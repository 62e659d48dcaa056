/* SPDX-License-Identifier: Apache-2.0 */
/* A function's changes to the stack since its entry.  Internal to replay/synthesis/. */
#ifndef REPLAY_SYNTHESIS_ENTRIES_H
#define REPLAY_SYNTHESIS_ENTRIES_H

#include "arch/arch.h"

/* Unused parts are 0, so that equal states have equal bytes. */
struct reel_entry_state {
	uint64_t placed; /* slots that hold CFA + place */
	uint64_t intact; /* slots with the same value as at the entry */
	uint64_t saved;	 /* slots whose value at the entry is at CFA + saved_at */
	int32_t place[REEL_ARCH_SLOTS_MAX];
	int32_t saved_at[REEL_ARCH_SLOTS_MAX];
};

struct reel_synthesis;

enum reel_entry_reach {
	REEL_ENTRY_APART = 0, /* it does not reach the address */
	REEL_ENTRY_RUNS_ON,   /* only by running on from the preceding code */
	REEL_ENTRY_JUMPS,     /* it also jumps there */
};
/* How code that begins at `entry` reaches an address; lock the synthesis for this and the next. */
enum reel_entry_reach reel_entry_reaches(struct reel_synthesis *synthesis, uint64_t entry,
					 uint64_t address);
/* The row from its changes to the stack there; NULL: not reached, or in different states. */
const struct reel_row *reel_entry_row(struct reel_synthesis *synthesis, uint64_t entry,
				      uint64_t address);

/* The code at `entry` begins with a frame record: its first instructions store the frame pointer right
 * below where a call has left the return address. */
bool reel_entry_makes_record(struct reel_synthesis *synthesis, uint64_t entry);

/* The state at an address, after reel_synthesis_leads for the entry; NULL: none, or different ones.
 * Valid until the next call of any function. */
const struct reel_entry_state *reel_synthesis_state(struct reel_synthesis *synthesis,
						    uint64_t entry, uint64_t address);
/* Advances *address to the first one that the entry reaches, if not itself; false if none. */
bool reel_synthesis_next_reached(struct reel_synthesis *synthesis, uint64_t entry,
				 uint64_t *address);

#endif
