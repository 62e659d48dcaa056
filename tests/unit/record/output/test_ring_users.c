/* SPDX-License-Identifier: Apache-2.0 */
/* Whose samples filled a ring buffer. */
#include "record/output/ring_users.h"
#include "tests/support/test.h"

static const char *name_of(const void *context, uint32_t pid)
{
	static char name[16];

	(void)context;
	snprintf(name, sizeof(name), "p%u\x1b", pid);
	return pid == 9 ? "" : name;
}

TEST(the_intervals_around_a_loss_count)
{
	struct reel_ring_users users = { .name = name_of };
	char text[REEL_RING_USERS_TEXT_SIZE];

	reel_ring_users_add(&users, 1, 1000000);
	reel_ring_users_end(&users, 0);
	assert_false(reel_ring_users_text(&users, text));
	reel_ring_users_add(&users, 2, 100);
	reel_ring_users_add(&users, 3, 300);
	reel_ring_users_add(&users, 2, 100);
	reel_ring_users_end(&users, 7);
	reel_ring_users_add(&users, 9, 460);
	reel_ring_users_add(&users, 4, 40);
	reel_ring_users_end(&users, 7);
	reel_ring_users_add(&users, 1, 1000000);
	reel_ring_users_end(&users, 7);
	assert_true(reel_ring_users_text(&users, text));
	assert_string_equal(
		text, "ring full: 46 % of the bytes read meanwhile were samples of process (9), "
		      "30 % of p3? (3), 20 % of p2? (2), 4 % of others");
}

/* More processes than the table has: a large one that comes last is found. */
TEST(a_large_one_is_found_among_many)
{
	struct reel_ring_users users = { .name = name_of };
	char text[REEL_RING_USERS_TEXT_SIZE];

	for (uint32_t i = 0; i < 10000; i++)
		reel_ring_users_add(&users, 100 + i % 1000, 1);
	for (uint32_t i = 0; i < 10000; i++)
		reel_ring_users_add(&users, 7, 1);
	reel_ring_users_end(&users, 1);
	assert_true(reel_ring_users_text(&users, text));
	assert_string_equal(text,
			    "ring full: 50 % of the bytes read meanwhile were samples of p7? (7), "
			    "50 % of others");
	reel_ring_users_add(&users, UINT32_MAX, UINT64_MAX / 1000);
	reel_ring_users_end(&users, 2);
	assert_true(reel_ring_users_text(&users, text));
}

RUN_TESTS()
