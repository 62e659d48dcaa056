/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose samples filled the ring buffers while these were full, process by process.  What was in a
 * full ring is read after the loss, so the bytes of the interval in which a loss is counted and of
 * the next one are added up.
 */
#ifndef RECORD_RING_USERS_H
#define RECORD_RING_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of more processes, the one with the fewest bytes makes room, and its bytes are taken over: a few
 * percent at most are the wrong process's. */
#define REEL_RING_USERS 64

#define REEL_RING_USERS_TEXT_SIZE 192

struct reel_ring_tally {
	struct reel_ring_user {
		uint32_t pid;
		uint64_t bytes;
		char name[16]; /* printable */
	} items[REEL_RING_USERS];
	size_t n;
	uint64_t bytes; /* of all */
};

/* All zero, but for the last two, is empty. */
struct reel_ring_users {
	struct reel_ring_tally now, full;
	uint64_t lost; /* samples, up to the last interval */
	bool was_full;
	/* Gives a process's name; "": it does not know it (any more). */
	const char *(*name)(const void *context, uint32_t pid);
	const void *context;
};

/* A sample that was read. */
void reel_ring_users_add(struct reel_ring_users *users, uint32_t pid, uint64_t bytes);

/* Ends an interval: `lost` is the number of samples lost up to now because a ring was full. */
void reel_ring_users_end(struct reel_ring_users *users, uint64_t lost);

/* "ring full: 61 % of the bytes read meanwhile were samples of postgres (1234), 20 % of java (77),
 * 19 % of others"; false if no ring was full. */
bool reel_ring_users_text(const struct reel_ring_users *users,
			  char text[REEL_RING_USERS_TEXT_SIZE]);

#endif
