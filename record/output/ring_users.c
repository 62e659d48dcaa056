/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/output/ring_users.h"

/* Named ones; smaller ones say little. */
#define NAMED_MAX   3
#define PERCENT_MIN 5

static struct reel_ring_user *user_get(struct reel_ring_tally *tally, uint32_t pid)
{
	struct reel_ring_user *least = tally->items;

	for (size_t i = 0; i < tally->n; i++) {
		if (tally->items[i].pid == pid)
			return &tally->items[i];
		if (tally->items[i].bytes < least->bytes)
			least = &tally->items[i];
	}
	if (tally->n < REEL_RING_USERS)
		least = &tally->items[tally->n++];
	least->pid = pid;
	*least->name = '\0';
	return least;
}

static struct reel_ring_user *tally_add(struct reel_ring_tally *tally, uint32_t pid, uint64_t bytes)
{
	struct reel_ring_user *user = user_get(tally, pid);

	user->bytes += bytes;
	tally->bytes += bytes;
	return user;
}

/* Whatever the process named itself goes to a terminal. */
static void set_name(struct reel_ring_user *user, const char *name)
{
	if (!*name || !strcmp(name, user->name))
		return;
	snprintf(user->name, sizeof(user->name), "%s", name);
	for (char *at = user->name; *at; at++)
		*at = *at >= ' ' && *at <= '~' ? *at : '?';
}

void reel_ring_users_add(struct reel_ring_users *users, uint32_t pid, uint64_t bytes)
{
	/* At the end of the interval, it may have ended. */
	set_name(tally_add(&users->now, pid, bytes), users->name(users->context, pid));
}

void reel_ring_users_end(struct reel_ring_users *users, uint64_t lost)
{
	bool is_full = lost > users->lost;

	for (size_t i = 0; (is_full || users->was_full) && i < users->now.n; i++) {
		const struct reel_ring_user *from = &users->now.items[i];

		set_name(tally_add(&users->full, from->pid, from->bytes), from->name);
	}
	users->now = (struct reel_ring_tally){ 0 };
	users->was_full = is_full;
	users->lost = lost;
}

static int by_bytes(const void *a, const void *b)
{
	const struct reel_ring_user *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

bool reel_ring_users_text(const struct reel_ring_users *users, char text[REEL_RING_USERS_TEXT_SIZE])
{
	struct reel_ring_tally full = users->full;
	const char *before = "ring full: ",
		   *after = " of the bytes read meanwhile were samples of ";
	uint64_t rest = 100;
	int size = 0;

	if (!full.bytes)
		return false;
	qsort(full.items, full.n, sizeof(*full.items), by_bytes);
	for (size_t i = 0; i < full.n && i < NAMED_MAX; i++) {
		uint64_t percent = 100 * full.items[i].bytes / full.bytes;

		if (i && percent < PERCENT_MIN)
			break;
		size += snprintf(text + size, REEL_RING_USERS_TEXT_SIZE - (size_t)size,
				 "%s%" PRIu64 " %%%s%s (%" PRIu32 ")", before, percent, after,
				 *full.items[i].name ? full.items[i].name : "process",
				 full.items[i].pid);
		rest -= percent;
		before = ", ";
		after = " of ";
	}
	if (full.n > 1 && rest)
		snprintf(text + size, REEL_RING_USERS_TEXT_SIZE - (size_t)size,
			 ", %" PRIu64 " %% of others", rest);
	return true;
}
