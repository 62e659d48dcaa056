/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "tests/support/test.h"

TEST(test_fit)
{
	size_t capacity = 0;
	uint32_t *items = NULL;

	for (size_t n = 0; n < 100; n++) {
		assert_true(reel_array_fit(&items, n, &capacity, sizeof(*items)));
		assert_true(capacity >= n && capacity <= 2 * n + 2);
		for (size_t i = 0; i + 1 < n; i++)
			assert_int_equal(items[i], i);
		if (n)
			items[n - 1] = (uint32_t)n - 1;
	}
	assert_true(reel_array_fit(&items, 5000, &capacity, sizeof(*items)));
	assert_int_equal(capacity, 8192);
	assert_int_equal(items[98], 98);
	free(items);
}

RUN_TESTS()
