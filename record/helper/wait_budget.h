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
#define REEL_BACKOFFS 256

struct reel_backoff {
	uint64_t who; /* 0: empty */
	uint64_t until, delay;
};

struct reel_wait_budget {
	int64_t left;  /* ns that may still be waited; negative: debts */
	int64_t debts; /* how far it may go below 0 */
	uint64_t refilled;
	struct reel_backoff backoffs[REEL_BACKOFFS];
};

/* `hurries`: sampling has begun. Backoffs stay. */
void reel_wait_budget_set(struct reel_wait_budget *budget, bool hurries, uint64_t now);

/* How long an answer may take, in ns; 0: do not ask now. */
uint64_t reel_wait_budget_limit(struct reel_wait_budget *budget, uint64_t now);
/* Charges the time waited, with or without an answer; short waits are free. */
void reel_wait_budget_spend(struct reel_wait_budget *budget, uint64_t waited);
bool reel_wait_budget_is_long(uint64_t waited);

/* Starts with the second time; each further one doubles the delay, until the backoff is reset. */
void reel_wait_budget_back_off(struct reel_wait_budget *budget, uint64_t who, uint64_t now);
void reel_wait_budget_reset_backoff(struct reel_wait_budget *budget, uint64_t who);
bool reel_wait_budget_is_backing_off(const struct reel_wait_budget *budget, uint64_t who,
				     uint64_t now);

#endif
