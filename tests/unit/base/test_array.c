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

static int by_key(const void *a, const void *b)
{
	const struct reel_sort_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

TEST(test_sort_keys)
{
	struct reel_sort_key keys[1000], expected[1000];
	uint64_t random = 1;

	for (unsigned bits = 0; bits <= 64; bits++) {
		for (size_t n = 0; n < 1000; n = 3 * n + 1) {
			for (size_t i = 0; i < n; i++) {
				random = random * 6364136223846793005 + 1;
				keys[i].key = bits ? 0x5500 ^ random >> (64 - bits) : 0x5500;
				keys[i].item = i;
			}
			memcpy(expected, keys, sizeof(keys));
			qsort(expected, n, sizeof(*expected), by_key);
			assert_true(reel_sort_keys(keys, n));
			for (size_t i = 0; i < n; i++)
				assert_true(!by_key(&keys[i], &expected[i]));
		}
	}
}

RUN_TESTS()
