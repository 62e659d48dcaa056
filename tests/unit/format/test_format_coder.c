/* SPDX-License-Identifier: Apache-2.0 */
/* format/codec/dense_bits.c, dense_numbers.h, dense_header.c: decisions, numbers and headers of
 * DENSE.
 */
#include "format/codec/dense_header.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

/* ---- decisions ------------------------------------------------------------------------ */

/* Probabilities rise, and odds map back to them. */
TEST(test_bit_tables)
{
	struct reel_bit_tables tables;

	reel_bit_tables_fill(&tables);
	assert_int_equal(tables.probabilities[2048], 32768);
	for (unsigned i = 1; i < 4096; i++) {
		assert_true(tables.probabilities[i] >= tables.probabilities[i - 1]);
		assert_true(tables.odds[i] >= tables.odds[i - 1]);
	}
	for (unsigned i = 8; i < 4088; i++) {
		int probability = tables.probabilities[tables.odds[i] + 2048];

		assert_in_range(probability, 16 * i + 8, 16 * i + 8 + 160);
	}
}

/* Any probabilities, including quite wrong ones. */
TEST(test_bit_coder)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_bit_coder encoder, decoder;
	struct reel_cursor cursor;
	uint64_t random = 9;

	reel_bit_coder_encode_to(&encoder, &bytes);
	for (int i = 0; i < 100000; i++) {
		uint32_t probability = REEL_BIT_LEAST +
				       next_random(&random) % (REEL_BIT_SCALE - 2 * REEL_BIT_LEAST);

		reel_bit_code(&encoder, false, next_random(&random) & 1, probability);
	}
	reel_bit_coder_finish(&encoder);
	cursor = reel_cursor(bytes.bytes, bytes.size);
	reel_bit_coder_decode_from(&decoder, &cursor);
	random = 9;
	for (int i = 0; i < 100000; i++) {
		uint32_t probability = REEL_BIT_LEAST +
				       next_random(&random) % (REEL_BIT_SCALE - 2 * REEL_BIT_LEAST);

		assert_int_equal(reel_bit_code(&decoder, true, false, probability),
				 next_random(&random) & 1);
	}
	assert_false(cursor.failed || reel_cursor_left(&cursor));
}

/* Values that a context has often seen take few bits, and a useless context hardly costs any. */
TEST(test_bit_context)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_bit_context one = { 0 }, knows = { 0 }, other = { 0 }, random[2] = { 0 };
	struct reel_bit_context *const inputs[] = { &knows, &random[0], &random[1], &other };
	struct reel_bit_mix mix = { 0 };
	struct reel_bit_tables tables;
	struct reel_bit_coder coder;
	uint64_t seed = 3;

	reel_bit_tables_fill(&tables);
	reel_bit_mix_start(&mix, 4);
	reel_bit_coder_encode_to(&coder, &bytes);
	for (int i = 0; i < 8000; i++)
		reel_bit_code_one(&coder, &tables, false, i % 20 == 0, &one);
	/* 0.29 bits each. */
	assert_in_range(bytes.size, 280, 360);
	bytes.size = 0;
	for (int i = 0; i < 8000; i++) {
		for (int j = 0; j < 2; j++)
			reel_bit_update(&tables, &random[j], next_random(&seed) & 1);
		reel_bit_code_mixed(&coder, &tables, false, true, inputs, 4, &mix);
	}
	assert_true(bytes.size < 20);
	assert_true(mix.weights[0] > mix.weights[1]);
}

/* A context that was right gets more weight than one that was wrong. */
TEST(test_bit_weights)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_bit_context right[2] = { 0 }, wrong = { 0 };
	struct reel_bit_mix mix = { 0 };
	struct reel_bit_tables tables;
	struct reel_bit_coder coder;

	reel_bit_tables_fill(&tables);
	reel_bit_mix_start(&mix, 3);
	assert_int_equal(mix.weights[0], 26666);
	assert_int_equal(mix.weights[2], 26666);
	reel_bit_coder_encode_to(&coder, &bytes);
	for (int i = 0; i < 4000; i++) {
		bool bit = i % 3 == 0;
		struct reel_bit_context *const inputs[] = { &right[bit], &right[bit], &wrong };

		wrong = (struct reel_bit_context){ 0 };
		for (int j = 0; j < 9; j++)
			reel_bit_update(&tables, &wrong, !bit);
		reel_bit_code_mixed(&coder, &tables, false, bit, inputs, 3, &mix);
	}
	assert_true(mix.weights[0] > 26666 && mix.weights[2] < 26666 / 2);
	assert_true(bytes.size < 40);
}

/* ---- numbers --------------------------------------------------------------------------- */

/* A coder in one direction, used as the coder of words uses it. */
struct numbers {
	struct reel_number_coder coder;
	struct reel_buffer bytes;
	struct reel_cursor cursor;
};

static void numbers_create(struct numbers *ret)
{
	*ret = (struct numbers){ .coder.model = calloc(1, sizeof(*ret->coder.model)) };
	assert_non_null(ret->coder.model);
	reel_number_model_start(ret->coder.model);
	reel_bit_tables_fill(&ret->coder.tables);
	reel_bit_coder_encode_to(&ret->coder.bits, &ret->bytes);
}

/* From here on it decodes what it encoded, with all its state reset. */
static void numbers_turn(struct numbers *numbers)
{
	reel_bit_coder_finish(&numbers->coder.bits);
	memset(numbers->coder.model, 0, sizeof(*numbers->coder.model));
	reel_number_model_start(numbers->coder.model);
	numbers->cursor = reel_cursor(numbers->bytes.bytes, numbers->bytes.size);
	reel_bit_coder_decode_from(&numbers->coder.bits, &numbers->cursor);
}

/* All is read, and nothing beyond. */
static void numbers_end(struct numbers *numbers)
{
	assert_false(numbers->cursor.failed || reel_cursor_left(&numbers->cursor));
	reel_buffer_free(&numbers->bytes);
	free(numbers->coder.model);
}

/* Numbers of all sizes, including those at the ends: the `i`th of 64 times 5. */
#define NUMBERS (64 * 5 + 2)

static uint64_t number_at(size_t i)
{
	uint64_t power = (uint64_t)1 << i / 5 % 64;
	uint64_t random = i;

	switch (i < 64 * 5 ? i % 5 : 5 + i % 2) {
	case 0:
		return power - 1;
	case 1:
		return power;
	case 2:
		return power - 2;
	case 3:
		return power | (next_random(&random) & (power - 1));
	case 4:
		return -power;
	case 5:
		return UINT64_MAX;
	default:
		return UINT64_MAX - 1;
	}
}

static void check_numbers(unsigned foreseen)
{
	const struct reel_number_context context = { REEL_NUMBER_KNOWN, { 1, 2, 3 } };
	const struct reel_number_context other = { REEL_NUMBER_FIELD, { 1, UINT64_MAX, 0 } };
	struct numbers numbers;

	numbers_create(&numbers);
	for (size_t i = 0; i < NUMBERS; i++) {
		reel_number(&numbers.coder, false, number_at(i), foreseen, &context);
		reel_number_difference(&numbers.coder, false, number_at(i), foreseen, &other);
	}
	numbers_turn(&numbers);
	for (size_t i = 0; i < NUMBERS; i++) {
		assert_true(reel_number(&numbers.coder, true, 0, foreseen, &context) ==
			    number_at(i));
		assert_true(reel_number_difference(&numbers.coder, true, 0, foreseen, &other) ==
			    number_at(i));
	}
	numbers_end(&numbers);
}

TEST(test_numbers)
{
	check_numbers(0);
	check_numbers(5);
	check_numbers(12);
	check_numbers(20);
	check_numbers(64);
}

/* As many bits as there are in any part of a number. */
TEST(test_number_bits)
{
	static const unsigned sizes[] = { 1, 3, 4, 5, 7, 8, 12, 24, 40 };
	const struct reel_number_context context = { REEL_NUMBER_HIGH, { 80, 81, 82 } };
	struct numbers numbers;
	uint64_t random = 5;

	numbers_create(&numbers);
	for (unsigned i = 0; i < 2000; i++)
		reel_number_bits(&numbers.coder, false, next_random(&random), sizes[i % 9],
				 &context, i % 2);
	numbers_turn(&numbers);
	random = 5;
	for (unsigned i = 0; i < 2000; i++)
		assert_true(
			reel_number_bits(&numbers.coder, true, 0, sizes[i % 9], &context, i % 2) ==
			(next_random(&random) & (((uint64_t)1 << sizes[i % 9]) - 1)));
	numbers_end(&numbers);
}

/* A number that its contexts predict takes next to nothing; one that only one of them predicts,
 * little.
 */
TEST(test_number_size)
{
	struct numbers numbers;
	uint64_t random = 7;
	size_t size;

	numbers_create(&numbers);
	for (uint64_t i = 0; i < 4000; i++)
		reel_number(&numbers.coder, false, i % 7 * 100, 12,
			    &(struct reel_number_context){ REEL_NUMBER_LEFT,
							   { i % 7, i % 7 + 9, i % 7 + 90 } });
	size = numbers.bytes.size;
	assert_true(size < 400);
	for (uint64_t i = 0; i < 4000; i++)
		reel_number(&numbers.coder, false, i % 7 * 100, 12,
			    &(struct reel_number_context){
				    REEL_NUMBER_MORE,
				    { next_random(&random), i % 7 + 9000, next_random(&random) } });
	assert_true(numbers.bytes.size - size < 1600);
	numbers_turn(&numbers);
	reel_buffer_free(&numbers.bytes);
	free(numbers.coder.model);
}

/* ---- heads ------------------------------------------------------------------------------ */

#define HEADS 2000

/* They are restored; returns the number of bytes used. */
static size_t check_heads(const struct reel_sample_head *heads, size_t n, uint64_t period)
{
	struct reel_dense_headers *coder = calloc(1, sizeof(*coder));
	struct numbers numbers;
	size_t size;

	assert_non_null(coder);
	coder->period = period;
	numbers_create(&numbers);
	for (size_t i = 0; i < n; i++)
		reel_dense_header_encode(coder, &numbers.coder, &heads[i]);
	numbers_turn(&numbers);
	size = numbers.bytes.size;
	*coder = (struct reel_dense_headers){ .period = period };
	for (size_t i = 0; i < n; i++) {
		struct reel_sample_head head;

		reel_dense_header_decode(coder, &numbers.coder, &head);
		assert_memory_equal(&head, &heads[i], sizeof(head));
	}
	numbers_end(&numbers);
	free(coder);
	return size;
}

static const uint64_t periods[] = { 0, 1, 15, 16, 1001001, (uint64_t)1 << 63, UINT64_MAX };

#define PERIODS (sizeof(periods) / sizeof(*periods))

/* Timers of 6 CPUs and of one more than can be told apart, which are late and skip some ticks. */
static void make_heads(struct reel_sample_head *heads, uint64_t period)
{
	uint64_t random = 11, times[7] = { 0 };

	for (size_t i = 0; i < HEADS; i++) {
		uint64_t cpu = next_random(&random) % 7;

		times[cpu] += period * (1 + (next_random(&random) % 10 == 0) * 50);
		heads[i] = (struct reel_sample_head){
			.cpu = cpu == 6 ? 257 : cpu,
			.thread = next_random(&random) % 20 ? cpu + 100 : next_random(&random),
			.time = 1000000000 + 12345 * cpu + times[cpu] + next_random(&random) % 3000,
			.id = i + i / 100 * 5,
			.event = 1,
			.weight = next_random(&random) % 20 ? period : next_random(&random),
			.where = 1 + next_random(&random) % 2,
			.parts = 1,
			.n_regions = 1,
		};
	}
}

TEST(test_heads)
{
	static struct reel_sample_head heads[HEADS];
	size_t with, without;

	for (size_t i = 0; i < PERIODS; i++) {
		make_heads(heads, periods[i]);
		check_heads(heads, HEADS, 0);
		check_heads(heads, HEADS, periods[i]);
		/* A wrong one. */
		check_heads(heads, HEADS, periods[i] / 3 + 1);
	}
	make_heads(heads, 1001001);
	without = check_heads(heads, HEADS, 0);
	with = check_heads(heads, HEADS, 1001001);
	/* Two bits of each. */
	assert_true(with + HEADS / 4 < without);
}

/* Arbitrary values in fields, whatever they held before. */
TEST(test_extreme_heads)
{
	static const uint64_t values[] = {
		0,
		1,
		255,
		256,
		(uint64_t)1 << 32,
		INT64_MAX,
		(uint64_t)1 << 63,
		UINT64_MAX,
		UINT64_MAX - 1,
	};
	static struct reel_sample_head heads[HEADS];
	uint64_t random = 13;

	for (size_t i = 0; i < HEADS; i++) {
		uint64_t *fields = (uint64_t *)&heads[i];

		for (size_t j = 0; j < sizeof(heads[i]) / sizeof(*fields); j++)
			fields[j] = values[next_random(&random) % 9];
		if (!(heads[i].parts & REEL_PART_STEPS))
			heads[i].steps = 0;
		/* Like the previous one except for its id, which follows the last of all. */
		if (i && i % 4 == 0) {
			heads[i] = heads[i - 1];
			heads[i].id++;
		}
	}
	for (size_t i = 0; i < PERIODS; i++)
		check_heads(heads, HEADS, periods[i]);
}

/* Times of one CPU jump back and forth by 2^63, where a difference equals its negative. */
TEST(test_far_times)
{
	static const uint64_t times[] = { (uint64_t)1 << 63,
					  0,
					  UINT64_MAX,
					  0,
					  INT64_MAX,
					  UINT64_MAX,
					  1001001,
					  1001000,
					  ((uint64_t)1 << 63) + 1001000,
					  1001000 };
	struct reel_sample_head heads[10] = { 0 };

	for (size_t i = 0; i < 10; i++) {
		heads[i].time = times[i];
		heads[i].id = -times[i];
	}
	for (size_t i = 0; i < PERIODS; i++)
		check_heads(heads, 10, periods[i]);
}

/* A small delay shifts the prediction, a fraction of the period does not. */
TEST(test_late_times)
{
	struct reel_sample_head heads[100] = { 0 };

	for (uint64_t period = 1; period < 200; period += 3) {
		for (size_t i = 0; i < 100; i++)
			heads[i].time = 1000 + i * period + i % 40 - 20;
		check_heads(heads, 100, period);
	}
}

/* ---- where regions lie --------------------------------------------------------------------- */

TEST(test_places)
{
	static const uint64_t addresses[] = {
		0,	    1, 7, 8, 0x7ffc00001000, 0x7ffc00000ff9, INT64_MAX, (uint64_t)1 << 63,
		UINT64_MAX,
	};
	static const uint64_t sizes[] = { 0, 1, 4096, REEL_REGION_SIZE_MAX, UINT64_MAX };
	struct numbers numbers;

	numbers_create(&numbers);
	for (int decoding = 0; decoding < 2; decoding++) {
		for (size_t i = 0; i < 9 * 9 * 5; i++) {
			const struct reel_region_base base = { .address = addresses[i / 9 % 9],
							       .size = sizes[(i + 2) % 5] };
			const struct reel_coder_region region = { i % 16, i, i / 2 };
			uint64_t address = addresses[i % 9], size = sizes[i / 81];

			if (!decoding) {
				reel_dense_place_encode(&numbers.coder, &region, &base, address,
							size);
				continue;
			}
			reel_dense_place_decode(&numbers.coder, &region, &base, &address, &size);
			assert_true(address == addresses[i % 9] && size == sizes[i / 81]);
		}
		if (!decoding)
			numbers_turn(&numbers);
	}
	numbers_end(&numbers);
}

RUN_TESTS()
