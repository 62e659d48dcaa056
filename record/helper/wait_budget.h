/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the recorder waits for answers that may never arrive: little each time, little in all,
 * and less and less for processes and devices that made it wait in vain.
 */
#ifndef RECORD_HELPER_WAIT_BUDGET_H
#define RECORD_HELPER_WAIT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Processes and devices that made us wait. A power of two. */
#define REEL_GRUDGES 256

struct reel_grudge {
	uint64_t who; /* 0: empty */
	uint64_t until, delay;
};

struct reel_patience {
	int64_t left;  /* ns that may still be waited; negative: debts */
	int64_t debts; /* how far it may go below 0 */
	uint64_t refilled;
	struct reel_grudge grudges[REEL_GRUDGES];
};

/* `hurries`: sampling has begun. Grudges stay. */
void reel_patience_set(struct reel_patience *patience, bool hurries, uint64_t now);

/* How long an answer may take, in ns; 0: do not ask now. */
uint64_t reel_patience_limit(struct reel_patience *patience, uint64_t now);
/* Charges the time waited, with or without an answer; short waits are free. */
void reel_patience_spend(struct reel_patience *patience, uint64_t waited);
bool reel_patience_is_long(uint64_t waited);

/* Starts with the second time; each time doubles the delay, until the grudge is forgotten. */
void reel_patience_bear_grudge(struct reel_patience *patience, uint64_t who, uint64_t now);
void reel_patience_forget_grudge(struct reel_patience *patience, uint64_t who);
bool reel_patience_has_grudge(const struct reel_patience *patience, uint64_t who, uint64_t now);

#endif
