/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile captures with right checksums: whatever they hold, they are read
 * without a crash, in bounded time and memory.  The same numbers every time;
 * FUZZ_SECONDS and FUZZ_SEED make it go on and elsewhere.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>

#include "tests/support/example.h"
#include "tests/support/mutate.h"
#include "tests/support/read_all.h"

static void read_and_forget(const struct reel_buffer *bytes)
{
	struct outcome outcome;

	read_all(bytes->bytes, bytes->size, &outcome);
	/* Whatever is wrong is one of these. */
	assert_int_equal(outcome.codes & ~(CODE(CORRUPT) | CODE(TRUNCATED) | CODE(UNSUPPORTED) |
					   CODE(NOT_A_CAPTURE)),
			 0);
	reel_buffer_free(&outcome.text);
}

/* ---- mutations ------------------------------------------------------------------------ */

static void test_mutations(void **state)
{
	uint64_t random = number_of("FUZZ_SEED", 42);
	double end = seconds() + (double)number_of("FUZZ_SECONDS", 6);
	uint64_t limit = number_of("FUZZ_SECONDS", 0) ? UINT64_MAX : 20000;
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct parts parts;
	uint64_t i = 0;

	(void)state;
	example_capture(&bytes, 2, 8, true);
	parts_split(&bytes, &parts);
	for (; i < limit && seconds() < end; i++) {
		mutated(&random, &parts, &bytes);
		read_and_forget(&bytes);
	}
	print_message("%llu captures\n", (unsigned long long)i);
	parts_free(&parts);
}

/* The file as a whole: frames cut, moved, doubled, with headers that stay right. */
static void test_file_mutations(void **state)
{
	uint64_t random = number_of("FUZZ_SEED", 43);
	double end = seconds() + 2;
	_cleanup_buffer_ struct reel_buffer original = { 0 };

	(void)state;
	example_capture(&original, 4, 3, true);
	for (int i = 0; i < 5000 && seconds() < end; i++) {
		_cleanup_buffer_ struct reel_buffer bytes = { 0 };
		size_t rounds = 1 + next_random(&random) % 4;

		reel_buffer_append(&bytes, original.bytes, original.size);
		for (size_t round = 0; round < rounds; round++)
			mutate(&random, &bytes);
		read_and_forget(&bytes);
	}
}

/* ---- bombs ---------------------------------------------------------------------------- */

static void append_record(struct reel_buffer *raw, uint64_t id, const struct reel_buffer *payload)
{
	reel_buffer_uleb(raw, id << 1 | 1);
	reel_buffer_uleb(raw, payload->size);
	reel_buffer_append(raw, payload->bytes, payload->size);
}

/* A sample of `thread`, up to its regions. */
static void begin_sample(struct reel_buffer *payload, uint64_t thread)
{
	payload->size = 0;
	reel_buffer_append(payload, "\2\2", 2);
	reel_buffer_uleb(payload, thread);
	reel_buffer_append(payload, "\0\1\1\1\0\0\0", 7);
}

static void append_region(struct reel_buffer *payload, int64_t address, uint64_t size)
{
	reel_buffer_u8(payload, 0);
	reel_buffer_zigzag(payload, address);
	reel_buffer_uleb(payload, size);
	reel_buffer_append(payload, "\0\0", 2);
}

/* A capture of `n` blocks with the same raw bytes. */
static void bomb(const struct reel_buffer *raw, uint32_t records, size_t n, struct reel_buffer *ret)
{
	size_t bound = ZSTD_compressBound(raw->size);
	_cleanup_buffer_ struct reel_buffer payload = { 0 };
	uint8_t header[REEL_BLOCK_HEADER_SIZE];
	struct reel_file_header file_header = { REEL_FORMAT_MAJOR, REEL_FORMAT_MINOR, 0, { 0 } };
	uint8_t *room = reel_buffer_reserve(ret, REEL_FILE_HEADER_SIZE);

	memcpy(file_header.id, example_id, sizeof(example_id));
	reel_file_header_store(&file_header, room);
	ret->size = REEL_FILE_HEADER_SIZE;
	payload.size = ZSTD_compress(reel_buffer_reserve(&payload, bound), bound, raw->bytes,
				     raw->size, 19);
	for (uint32_t i = 0; i < n; i++) {
		struct reel_block_header block = {
			.type = REEL_BLOCK_SAMPLES,
			.codec = REEL_CODEC_ZSTD,
			.sequence = i,
			.stored_size = (uint32_t)payload.size,
			.raw_size = (uint32_t)raw->size,
			.expanded_size = REEL_BLOCK_EXPANDED_MAX,
			.records = records,
			.payload_crc = (uint32_t)crc32(0, payload.bytes, (uInt)payload.size),
		};

		reel_block_header_store(&block, example_id, header);
		reel_buffer_append(ret, header, sizeof(header));
		reel_buffer_append(ret, payload.bytes, payload.size);
	}
}

/* Decodes all blocks, without a look at the bytes; the samples there were. */
static uint64_t count_samples(const struct reel_buffer *bytes)
{
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_block_item item;
	struct reel_reader *reader;
	uint64_t samples = 0;
	size_t n;

	must(open_bytes(bytes->bytes, bytes->size, &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 0; i < n; i++) {
		must(reel_block_reader_load(block_reader, &blocks[i]));
		for (;;) {
			must(reel_block_reader_next(block_reader, &item));
			if (item.kind == REEL_ITEM_END)
				break;
			samples++;
		}
	}
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	return samples;
}

static long peak_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss; /* KiB */
}

static void run_bomb(const char *name, const struct reel_buffer *raw, uint32_t records, size_t n)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	double start, took;
	uint64_t samples;

	bomb(raw, records, n, &bytes);
	start = seconds();
	samples = count_samples(&bytes);
	took = seconds() - start;
	print_message("%s: %zu bytes, %.2f s, peak %ld MiB\n", name, bytes.size, took,
		      peak_memory() >> 10);
	assert_int_equal(samples, (uint64_t)records * n);
	assert_true(took < 20);
}

/* 16 regions of 16 MiB that nobody wrote to, in a few bytes: hundreds of blocks cost nothing. */
static void test_bomb_of_regions(void **state)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 }, payload = { 0 };

	(void)state;
	begin_sample(&payload, 1);
	reel_buffer_uleb(&payload, REEL_REGIONS_MAX);
	for (int i = 0; i < REEL_REGIONS_MAX; i++)
		append_region(&payload, (int64_t)i << 28, REEL_REGION_SIZE_MAX);
	append_record(&raw, REEL_RECORD_SAMPLE, &payload);
	run_bomb("untouched regions", &raw, 1, 500);
}

/* A region that shrinks to a byte and grows to 16 MiB again, without a byte written. */
static void test_bomb_of_moves(void **state)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 }, payload = { 0 };

	(void)state;
	for (int i = 0; i < 30; i++) {
		begin_sample(&payload, 1);
		reel_buffer_uleb(&payload, 1);
		if (i % 2)
			append_region(&payload, REEL_REGION_SIZE_MAX - 1, 1);
		else
			append_region(&payload, i ? -(int64_t)(REEL_REGION_SIZE_MAX - 1) : 0,
				      REEL_REGION_SIZE_MAX);
		append_record(&raw, REEL_RECORD_SAMPLE, &payload);
	}
	run_bomb("moving regions", &raw, 30, 500);
}

/* As many threads as a block may have, with as many registers and regions. */
static void test_bomb_of_threads(void **state)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 }, payload = { 0 };
	uint8_t known[REEL_REGISTERS_MAX / 8] = { 1 };

	(void)state;
	reel_buffer_append(&payload, "\0\x80\x02", 3);
	for (int i = 0; i < REEL_REGISTERS_MAX; i++)
		reel_buffer_append(&payload, "\1\x08", 2);
	append_record(&raw, REEL_RECORD_SAMPLE_LAYOUT, &payload);
	for (uint64_t thread = 0; thread < REEL_THREADS_MAX; thread++) {
		begin_sample(&payload, thread);
		payload.bytes[payload.size - 2] = 1; /* parts */
		reel_buffer_u8(&payload, 0);
		reel_buffer_append(&payload, known, sizeof(known));
		reel_buffer_append(&payload, known, sizeof(known));
		reel_buffer_u64(&payload, thread);
		reel_buffer_uleb(&payload, REEL_REGIONS_MAX);
		for (int i = 0; i < REEL_REGIONS_MAX; i++)
			append_region(&payload, 0, 1);
		append_record(&raw, REEL_RECORD_SAMPLE, &payload);
	}
	run_bomb("threads", &raw, REEL_THREADS_MAX + 1, 1);
}

/* 64 MiB of the smallest samples. */
static void test_bomb_of_samples(void **state)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 }, payload = { 0 };
	uint32_t records = 0;

	(void)state;
	for (; raw.size < REEL_BLOCK_RAW_MAX - 32; records++) {
		begin_sample(&payload, records & 0xffff);
		reel_buffer_uleb(&payload, 0);
		append_record(&raw, REEL_RECORD_SAMPLE, &payload);
	}
	run_bomb("samples", &raw, records, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutations),	cmocka_unit_test(test_file_mutations),
		cmocka_unit_test(test_bomb_of_regions), cmocka_unit_test(test_bomb_of_moves),
		cmocka_unit_test(test_bomb_of_threads), cmocka_unit_test(test_bomb_of_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
