/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the recorder waits for what others may never let happen: little each time, little in
 * all, and less and less for those who made it wait in vain.
 */
#ifndef RECORD_WATCHING_PATIENCE_H
#define RECORD_WATCHING_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Who made us wait: processes and devices. A power of two. */
#define REEL_GRUDGES 256

struct reel_grudge {
	uint64_t who; /* 0: nobody */
	uint64_t until, delay;
};

struct reel_patience {
	int64_t left;  /* ns that may be waited; less than none are debts */
	int64_t debts; /* how far it may go below 0 */
	uint64_t refilled;
	struct reel_grudge grudges[REEL_GRUDGES];
};

/* `hurries`: samples are taken meanwhile. Grudges stay. */
void reel_patience_set(struct reel_patience *patience, bool hurries, uint64_t now);

/* How long an answer may take, in ns; 0: nobody is to be asked now. */
uint64_t reel_patience_limit(struct reel_patience *patience, uint64_t now);
/* So long was waited for an answer, or for none; what is not long costs nothing. */
void reel_patience_spend(struct reel_patience *patience, uint64_t waited);
bool reel_patience_is_long(uint64_t waited);

/* From the second time on, and each time for twice as long, until the grudge is forgotten. */
void reel_patience_bear_grudge(struct reel_patience *patience, uint64_t who, uint64_t now);
void reel_patience_forget_grudge(struct reel_patience *patience, uint64_t who);
bool reel_patience_has_grudge(const struct reel_patience *patience, uint64_t who, uint64_t now);

#endif
