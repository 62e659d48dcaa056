/* SPDX-License-Identifier: Apache-2.0 */
#include "record/helper/wait_budget.h"
#include "base/quantity.h"

/* The normal cost of a process or event; an answer that takes longer counts as waiting. */
#define FREE_NS (1 * REEL_NS_PER_MS)
/* Limit of the first waits; it shrinks with the balance. */
#define LIMIT_MAX   (50 * REEL_NS_PER_MS)
#define LIMIT_MIN   (4 * REEL_NS_PER_MS)
#define LIMIT_SHARE 10
/* Maximum balance, refilled with a 50th of the time: at most 2 % of the time is waited. */
#define FULL	     (500 * REEL_NS_PER_MS)
#define REFILL_SHARE 50
#define DEBTS	     (100 * REEL_NS_PER_MS)
/* Before the first sample, waiting costs only the user's time. */
#define SETUP_DEBTS (4 * REEL_NS_PER_SECOND)

#define GRUDGE_MIN (1 * REEL_NS_PER_SECOND)
#define GRUDGE_MAX (4096 * REEL_NS_PER_SECOND)

void reel_patience_set(struct reel_patience *patience, bool hurries, uint64_t now)
{
	patience->left = FULL;
	patience->debts = hurries ? DEBTS : SETUP_DEBTS;
	patience->refilled = now;
}

uint64_t reel_patience_limit(struct reel_patience *patience, uint64_t now)
{
	uint64_t gained = (now - patience->refilled) / REFILL_SHARE;
	uint64_t limit;

	if (gained) {
		patience->refilled = now;
		patience->left = gained > FULL || patience->left + (int64_t)gained > (int64_t)FULL
					 ? (int64_t)FULL
					 : patience->left + (int64_t)gained;
	}
	if (patience->left <= -patience->debts)
		return 0;
	limit = patience->left > 0 ? (uint64_t)patience->left / LIMIT_SHARE : 0;
	return limit > LIMIT_MAX ? LIMIT_MAX : limit < LIMIT_MIN ? LIMIT_MIN : limit;
}

void reel_patience_spend(struct reel_patience *patience, uint64_t waited)
{
	if (reel_patience_is_long(waited))
		patience->left -= (int64_t)waited;
}

bool reel_patience_is_long(uint64_t waited)
{
	return waited >= FREE_NS;
}

/* ---- grudges ------------------------------------------------------------------------------- */

/* A replaced grudge counts as forgotten: the total wait is bounded anyway. */
static struct reel_grudge *place_of(const struct reel_patience *patience, uint64_t who)
{
	uint64_t hash = who * UINT64_C(0x9e3779b97f4a7c15);

	return (struct reel_grudge *)&patience->grudges[hash >> 32 & (REEL_GRUDGES - 1)];
}

void reel_patience_bear_grudge(struct reel_patience *patience, uint64_t who, uint64_t now)
{
	struct reel_grudge *grudge = place_of(patience, who);
	uint64_t delay = 0;

	/* Forgive the first time: on a busy host an answer may also be late. */
	if (grudge->who == who)
		delay = grudge->delay ? 2 * grudge->delay : GRUDGE_MIN;
	if (delay > GRUDGE_MAX)
		delay = GRUDGE_MAX;
	*grudge = (struct reel_grudge){ who, now + delay, delay };
}

void reel_patience_forget_grudge(struct reel_patience *patience, uint64_t who)
{
	struct reel_grudge *grudge = place_of(patience, who);

	if (grudge->who == who)
		*grudge = (struct reel_grudge){ 0 };
}

bool reel_patience_has_grudge(const struct reel_patience *patience, uint64_t who, uint64_t now)
{
	const struct reel_grudge *grudge = place_of(patience, who);

	return grudge->who == who && now < grudge->until;
}
