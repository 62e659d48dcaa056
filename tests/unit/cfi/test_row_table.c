/* SPDX-License-Identifier: Apache-2.0 */
/* The table of addresses finds its entries, whatever they are and while it grows. */
#include <pthread.h>

#include "cfi/row_table.h"
#include "tests/support/test.h"

#define N	1000000u
#define NUMBERS ((1u << ROW_NUMBER_BITS) - 1)

/*
 * The table multiplies addresses by 2^64 divided by the golden ratio.  A Fibonacci number times
 * that is close to a multiple of 2^64 (this one: within 2^33), so the multiples of it have hashes
 * with the same leading bits: about 20 for those below the limit.
 */
#define FIBONACCI_45 1134903170u
#define HOSTILE	     ((uint32_t)(ROW_ADDRESS_LIMIT / FIBONACCI_45))

static uint64_t address_at(uint64_t i)
{
	return 0x400000 + i * 12 + i % 3;
}

TEST(test_many)
{
	struct row_table table;

	assert_true(reel_row_table_init(&table));
	assert_int_equal(reel_row_table_find(&table, 0), 0);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(reel_row_table_find(&table, address_at(i)), 0);
		reel_row_table_add(&table, address_at(i), i % NUMBERS + 1);
		/* Entries stay when a bucket is split, and later. */
		assert_int_equal(reel_row_table_find(&table, address_at(i / 2)),
				 i / 2 % NUMBERS + 1);
		assert_true(table.bytes <= 20 * (uint64_t)table.n + 40000);
	}
	assert_int_equal(table.n, N);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(reel_row_table_find(&table, address_at(i)), i % NUMBERS + 1);
	reel_row_table_free(&table);
}

/* Address 0 and the largest address, with the smallest and the largest number. */
TEST(test_edges)
{
	struct row_table table;

	assert_true(reel_row_table_init(&table));
	reel_row_table_add(&table, 0, 1);
	reel_row_table_add(&table, ROW_ADDRESS_LIMIT - 1, NUMBERS);
	assert_int_equal(reel_row_table_find(&table, 0), 1);
	assert_int_equal(reel_row_table_find(&table, ROW_ADDRESS_LIMIT - 1), NUMBERS);
	assert_int_equal(reel_row_table_find(&table, 1), 0);
	reel_row_table_free(&table);
}

/* Memory stays proportional, each found entry is right, and other addresses are still found. */
TEST(test_hostile)
{
	struct row_table table;
	uint32_t found = 0;

	assert_true(reel_row_table_init(&table));
	for (uint32_t i = 0; i < HOSTILE; i++) {
		uint64_t address = (uint64_t)i * FIBONACCI_45;

		reel_row_table_add(&table, address, i + 1);
		assert_int_equal(reel_row_table_find(&table, address), i + 1);
		assert_true(table.bytes <= 40000 + 150 * (uint64_t)table.n);
	}
	for (uint32_t i = 0; i < HOSTILE; i++) {
		uint32_t number = reel_row_table_find(&table, (uint64_t)i * FIBONACCI_45);

		assert_true(!number || number == i + 1);
		found += number != 0;
	}
	assert_int_equal(found, table.n);
	/* Their hashes really collide. */
	assert_true(found < HOSTILE / 2);
	for (uint32_t i = 0; i < 100000; i++)
		reel_row_table_add(&table, address_at(i), i + 1);
	found = 0;
	for (uint32_t i = 0; i < 100000; i++)
		found += reel_row_table_find(&table, address_at(i)) == i + 1;
	assert_true(found > 99900);
	reel_row_table_free(&table);
}

struct readers {
	struct row_table table;
	atomic_uint written;
};

/*
 * A written entry is found, or is missing while it is moved; a lookup never gives another number.
 */
static void *read_all(void *argument)
{
	struct readers *readers = argument;
	uint32_t n;

	do {
		n = atomic_load(&readers->written);
		for (uint32_t i = 0; i < n; i += 1 + n / 1000) {
			uint32_t number = reel_row_table_find(&readers->table, address_at(i));

			if (number && number != i + 1)
				return readers;
		}
	} while (n < N / 10);
	return NULL;
}

TEST(test_readers)
{
	static struct readers readers;
	pthread_t threads[2];
	void *wrong;

	assert_true(reel_row_table_init(&readers.table));
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers), 0);
	for (uint32_t i = 0; i < N / 10; i++) {
		reel_row_table_add(&readers.table, address_at(i), i + 1);
		atomic_store(&readers.written, i + 1);
	}
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	reel_row_table_free(&readers.table);
}

RUN_TESTS()
