/* SPDX-License-Identifier: Apache-2.0 */
#include "record/budget/budget.h"

#include <stdlib.h>

#include "base/id_table.h"
#include "base/quantity.h"

/*
 * What may be spent at once, and the time after which an expense counts half: 0.69 * `all` / `half`
 * in the long run.  Users may spend `share` times as much as they leave for others.  Those of bytes
 * depend on the limit.
 */
static const struct {
	uint64_t all, half;
	int64_t share;
} limits[REEL_BUDGET_KINDS] = {
	[REEL_BUDGET_PLACES] = { 4 * REEL_NS_PER_SECOND, 4 * REEL_NS_PER_SECOND, 4 },
	[REEL_BUDGET_NAMES] = { 300 * REEL_NS_PER_MS, REEL_NS_PER_SECOND, 1 },
	[REEL_BUDGET_PLACE_BYTES] = { 0, 60 * REEL_NS_PER_SECOND, 1 },
	[REEL_BUDGET_NAME_BYTES] = { 0, 60 * REEL_NS_PER_SECOND, 1 },
};

/* While no samples wait, time costs only the user's. */
#define SETUP_TIMES 15

/* Waiting in vain costs as much as this many times the work. */
#define WAIT_TIMES 10
/* Limit of the first waits; it shrinks with the rest. */
#define WAIT_MAX   (50 * REEL_NS_PER_MS)
#define WAIT_MIN   (4 * REEL_NS_PER_MS)
#define WAIT_SHARE 10

/* Processes and devices that made the recorder wait. A power of two. */
#define BACKOFFS    256
#define BACKOFF_MIN (1 * REEL_NS_PER_SECOND)
#define BACKOFF_MAX (4096 * REEL_NS_PER_SECOND)

/* Accounts at which settled ones are searched for. */
#define ACCOUNTS_MIN 1024

/* Expenses, as they count at the `tick`, the number of eighths of the kind's half-life. */
struct expenses {
	uint64_t spent, tick;
};

#define TICKS 8

/* Of a process, or of a user. */
struct account {
	struct reel_id_entry entry;
	struct expenses expenses[REEL_BUDGET_KINDS];
};

#define USER(user) (UINT64_C(1) << 32 | (user))

struct backoff {
	uint64_t who; /* 0: empty */
	uint64_t until, delay;
};

struct reel_budget {
	uint64_t side_limit;
	bool hurries, stopped, has_refused;
	uint64_t (*clock)(void);
	uint32_t (*user_of)(const void *context, uint32_t pid);
	const void *context;
	struct expenses all[REEL_BUDGET_KINDS];
	struct reel_id_table accounts;
	size_t accounts_max;
	struct backoff backoffs[BACKOFFS];
};

struct reel_error *reel_budget_create(uint64_t side_limit, struct reel_budget **ret)
{
	struct reel_budget *budget = calloc(1, sizeof(*budget));

	if (!budget)
		return reel_error_no_memory();
	budget->side_limit = side_limit;
	budget->clock = reel_now;
	budget->accounts_max = ACCOUNTS_MIN;
	*ret = budget;
	return NULL;
}

void reel_budget_destroy(struct reel_budget *budget)
{
	if (!budget)
		return;
	reel_id_table_free_all(&budget->accounts);
	free(budget);
}

void reel_budget_set_users(struct reel_budget *budget,
			   uint32_t (*user_of)(const void *context, uint32_t pid),
			   const void *context)
{
	budget->user_of = user_of;
	budget->context = context;
}

void reel_budget_set_clock(struct reel_budget *budget, uint64_t (*clock)(void))
{
	budget->clock = clock;
}

void reel_budget_stop(struct reel_budget *budget, bool stops)
{
	budget->stopped = stops;
}

static bool is_time(enum reel_budget_kind kind)
{
	return kind == REEL_BUDGET_PLACES || kind == REEL_BUDGET_NAMES;
}

static void forget_time(void *context, struct reel_id_entry *entry)
{
	struct account *account = (struct account *)entry;

	(void)context;
	account->expenses[REEL_BUDGET_PLACES].spent = 0;
	account->expenses[REEL_BUDGET_NAMES].spent = 0;
}

void reel_budget_hurry(struct reel_budget *budget, bool hurries)
{
	if (!budget)
		return;
	budget->hurries = hurries;
	budget->all[REEL_BUDGET_PLACES].spent = budget->all[REEL_BUDGET_NAMES].spent = 0;
	reel_id_table_visit(&budget->accounts, forget_time, NULL);
}

/* ---- expenses ------------------------------------------------------------------------------- */

static uint64_t capacity(const struct reel_budget *budget, enum reel_budget_kind kind)
{
	if (!is_time(kind))
		return budget->side_limit / 2;
	return budget->hurries ? limits[kind].all : SETUP_TIMES * limits[kind].all;
}

/* What the expenses count now. */
static uint64_t spent(const struct reel_budget *budget, struct expenses *expenses,
		      enum reel_budget_kind kind)
{
	/* 65536 * 2^(-i/8) */
	static const uint32_t factors[TICKS] = { 65536, 60097, 55109, 50535,
						 46341, 42495, 38968, 35734 };
	uint64_t tick = budget->clock() / (limits[kind].half / TICKS);
	uint64_t passed = tick - expenses->tick;

	expenses->tick = tick;
	if (passed >= 64 * TICKS)
		expenses->spent = 0;
	else if (passed)
		expenses->spent =
			(expenses->spent * factors[passed % TICKS] >> 16) >> passed / TICKS;
	return expenses->spent;
}

static void drop_settled(struct reel_budget *budget)
{
	struct reel_id_entry **entries = reel_id_table_sorted(&budget->accounts);

	for (size_t i = 0, n = budget->accounts.count; entries && i < n; i++) {
		struct account *account = (struct account *)entries[i];
		uint64_t sum = 0;

		for (int kind = 0; kind < REEL_BUDGET_KINDS; kind++)
			sum += spent(budget, &account->expenses[kind], kind);
		if (!sum)
			free(reel_id_table_remove(&budget->accounts, account->entry.id));
	}
	free(entries);
	budget->accounts_max = 2 * budget->accounts.count + ACCOUNTS_MIN;
}

/* NULL without memory. */
static struct account *account_of(struct reel_budget *budget, uint64_t id)
{
	struct account *account = (struct account *)reel_id_table_find(&budget->accounts, id);

	if (account)
		return account;
	if (budget->accounts.count >= budget->accounts_max)
		drop_settled(budget);
	return reel_id_table_add(&budget->accounts, id, sizeof(*account));
}

static uint64_t user_account(const struct reel_budget *budget, uint32_t pid)
{
	return USER(budget->user_of ? budget->user_of(budget->context, pid) : 0);
}

static uint64_t spent_by(struct reel_budget *budget, enum reel_budget_kind kind, uint64_t id)
{
	struct account *account = (struct account *)reel_id_table_find(&budget->accounts, id);

	return account ? spent(budget, &account->expenses[kind], kind) : 0;
}

/* What the process may spend still; 0 or less: nothing. */
static int64_t left_for(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid)
{
	int64_t left =
		(int64_t)capacity(budget, kind) - (int64_t)spent(budget, &budget->all[kind], kind);

	if (budget->stopped && kind != REEL_BUDGET_PLACE_BYTES)
		return 0;
	if (!pid)
		return left;
	return limits[kind].share * left -
	       (int64_t)spent_by(budget, kind, user_account(budget, pid)) -
	       (int64_t)spent_by(budget, kind, pid);
}

bool reel_budget_allows(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid)
{
	return !budget || left_for(budget, kind, pid) > 0;
}

void reel_budget_charge(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid,
			uint64_t amount)
{
	const uint64_t ids[] = { pid, pid && budget ? user_account(budget, pid) : 0 };

	if (!budget)
		return;
	if (amount > UINT32_MAX)
		amount = UINT32_MAX;
	spent(budget, &budget->all[kind], kind);
	budget->all[kind].spent += amount;
	for (size_t i = 0; i < 2 && pid; i++) {
		struct account *account = account_of(budget, ids[i]);

		if (!account)
			continue;
		spent(budget, &account->expenses[kind], kind);
		account->expenses[kind].spent += amount;
	}
}

bool reel_budget_charge_bytes(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid,
			      uint64_t bytes)
{
	if (!reel_budget_allows(budget, kind, pid)) {
		budget->has_refused = true;
		return false;
	}
	reel_budget_charge(budget, kind, pid, bytes);
	return true;
}

void reel_budget_forget(struct reel_budget *budget, uint32_t pid)
{
	if (budget)
		free(reel_id_table_remove(&budget->accounts, pid));
}

bool reel_budget_has_refused(const struct reel_budget *budget)
{
	return budget && budget->has_refused;
}

/* ---- waiting -------------------------------------------------------------------------------- */

uint64_t reel_budget_wait_limit(struct reel_budget *budget, enum reel_budget_kind kind,
				uint32_t pid)
{
	int64_t left = budget ? left_for(budget, kind, pid) : INT64_MAX;
	uint64_t limit = left > 0 ? (uint64_t)left / WAIT_SHARE : 0;

	if (left <= 0)
		return 0;
	return limit > WAIT_MAX ? WAIT_MAX : limit < WAIT_MIN ? WAIT_MIN : limit;
}

void reel_budget_charge_answer(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid,
			       uint64_t took, uint64_t work, uint64_t busy)
{
	uint64_t waited = took > busy ? took - busy : 0;

	reel_budget_charge(budget, kind, pid, (work < took ? work : took) + WAIT_TIMES * waited);
}

/* A replaced backoff counts as forgotten: the total wait is bounded anyway. */
static struct backoff *backoff_of(const struct reel_budget *budget, uint64_t who)
{
	uint64_t hash = who * UINT64_C(0x9e3779b97f4a7c15);

	return (struct backoff *)&budget->backoffs[hash >> 32 & (BACKOFFS - 1)];
}

void reel_budget_back_off(struct reel_budget *budget, uint64_t who, uint64_t now)
{
	struct backoff *backoff = budget ? backoff_of(budget, who) : NULL;
	uint64_t delay = 0;

	if (!backoff)
		return;
	/* Forgive the first time: on a busy host an answer may also be late. */
	if (backoff->who == who)
		delay = backoff->delay ? 2 * backoff->delay : BACKOFF_MIN;
	if (delay > BACKOFF_MAX)
		delay = BACKOFF_MAX;
	*backoff = (struct backoff){ who, now + delay, delay };
}

void reel_budget_reset_backoff(struct reel_budget *budget, uint64_t who)
{
	struct backoff *backoff = budget ? backoff_of(budget, who) : NULL;

	if (backoff && backoff->who == who)
		*backoff = (struct backoff){ 0 };
}

bool reel_budget_is_backing_off(const struct reel_budget *budget, uint64_t who, uint64_t now)
{
	const struct backoff *backoff = budget ? backoff_of(budget, who) : NULL;

	return backoff && backoff->who == who && now < backoff->until;
}
