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

#define BACKOFF_MIN (1 * REEL_NS_PER_SECOND)
#define BACKOFF_MAX (4096 * REEL_NS_PER_SECOND)

void reel_wait_budget_set(struct reel_wait_budget *budget, bool hurries, uint64_t now)
{
	budget->left = FULL;
	budget->debts = hurries ? DEBTS : SETUP_DEBTS;
	budget->refilled = now;
}

uint64_t reel_wait_budget_limit(struct reel_wait_budget *budget, uint64_t now)
{
	uint64_t gained = (now - budget->refilled) / REFILL_SHARE;
	uint64_t limit;

	if (gained) {
		budget->refilled = now;
		budget->left = gained > FULL || budget->left + (int64_t)gained > (int64_t)FULL
				       ? (int64_t)FULL
				       : budget->left + (int64_t)gained;
	}
	if (budget->left <= -budget->debts)
		return 0;
	limit = budget->left > 0 ? (uint64_t)budget->left / LIMIT_SHARE : 0;
	return limit > LIMIT_MAX ? LIMIT_MAX : limit < LIMIT_MIN ? LIMIT_MIN : limit;
}

void reel_wait_budget_spend(struct reel_wait_budget *budget, uint64_t waited)
{
	if (reel_wait_budget_is_long(waited))
		budget->left -= (int64_t)waited;
}

bool reel_wait_budget_is_long(uint64_t waited)
{
	return waited >= FREE_NS;
}

/* ---- backoffs ------------------------------------------------------------------------------- */

/* A replaced backoff counts as forgotten: the total wait is bounded anyway. */
static struct reel_backoff *place_of(const struct reel_wait_budget *budget, uint64_t who)
{
	uint64_t hash = who * UINT64_C(0x9e3779b97f4a7c15);

	return (struct reel_backoff *)&budget->backoffs[hash >> 32 & (REEL_BACKOFFS - 1)];
}

void reel_wait_budget_back_off(struct reel_wait_budget *budget, uint64_t who, uint64_t now)
{
	struct reel_backoff *backoff = place_of(budget, who);
	uint64_t delay = 0;

	/* Forgive the first time: on a busy host an answer may also be late. */
	if (backoff->who == who)
		delay = backoff->delay ? 2 * backoff->delay : BACKOFF_MIN;
	if (delay > BACKOFF_MAX)
		delay = BACKOFF_MAX;
	*backoff = (struct reel_backoff){ who, now + delay, delay };
}

void reel_wait_budget_reset_backoff(struct reel_wait_budget *budget, uint64_t who)
{
	struct reel_backoff *backoff = place_of(budget, who);

	if (backoff->who == who)
		*backoff = (struct reel_backoff){ 0 };
}

bool reel_wait_budget_is_backing_off(const struct reel_wait_budget *budget, uint64_t who,
				     uint64_t now)
{
	const struct reel_backoff *backoff = place_of(budget, who);

	return backoff->who == who && now < backoff->until;
}
