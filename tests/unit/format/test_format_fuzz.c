/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile captures with right checksums: reading them never crashes and takes bounded time and
 * memory.  Numbers repeat in every run; FUZZ_SECONDS continues for longer, FUZZ_SEED starts
 * elsewhere.
 */
#include <sys/resource.h>

#include "tests/support/example.h"
#include "tests/support/mutate.h"
#include "tests/support/read_all.h"
#include "tests/support/test.h"

static void read_and_forget(const struct reel_buffer *bytes)
{
	struct outcome outcome;

	read_all(bytes->bytes, bytes->size, &outcome);
	/* Every error has one of these codes. */
	assert_int_equal(outcome.codes & ~(CODE(CORRUPT) | CODE(TRUNCATED) | CODE(UNSUPPORTED) |
					   CODE(NOT_A_CAPTURE)),
			 0);
	reel_buffer_free(&outcome.text);
}

/* ---- mutations ------------------------------------------------------------------------ */

TEST(test_mutations)
{
	uint64_t random = number_of("FUZZ_SEED", 42);
	double end = seconds() + (double)number_of("FUZZ_SECONDS", 6);
	uint64_t limit = number_of("FUZZ_SECONDS", 0) ? UINT64_MAX : 20000;
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct parts parts;
	uint64_t i = 0;

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
TEST(test_file_mutations)
{
	uint64_t random = number_of("FUZZ_SEED", 43);
	double end = seconds() + 2;
	_cleanup_buffer_ struct reel_buffer original = { 0 };

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

/*
 * Samples of one COLUMNS record, whose regions have no word that differs from the thread's previous
 * ones.
 */
struct samples {
	struct reel_buffer streams[REEL_STREAMS];
	uint64_t n;
};

static void begin_sample(struct samples *samples, uint64_t thread, uint8_t parts, size_t regions)
{
	struct reel_buffer *head = &samples->streams[REEL_STREAM_HEAD];

	reel_buffer_u8(head, 2);
	reel_buffer_uleb(head, thread);
	reel_buffer_append(head, "\0\1\1\1\0", 5);
	reel_buffer_u8(head, parts);
	reel_buffer_uleb(head, regions);
	reel_buffer_u8(&samples->streams[REEL_STREAM_TIME], 2);
	samples->n++;
}

/* `address` and `end` are differences; they are `size` apart. */
static void append_region(struct samples *samples, int64_t address, int64_t end, uint64_t size)
{
	struct reel_buffer *stream = &samples->streams[REEL_STREAM_REGIONS];

	reel_buffer_append(stream, "\0\x08", 2);
	reel_buffer_zigzag(stream, address);
	reel_buffer_zigzag(stream, end);
	reel_buffer_u8(stream, 0);
	if (size >= 8)
		reel_buffer_uleb(&samples->streams[REEL_STREAM_GAPS], size / 8);
	for (uint64_t i = 0; i < size % 8; i++)
		reel_buffer_u8(&samples->streams[REEL_STREAM_RAW], 0);
}

static void append_samples(struct reel_buffer *raw, struct samples *samples)
{
	_cleanup_buffer_ struct reel_buffer payload = { 0 };

	reel_buffer_uleb(&payload, samples->n);
	for (size_t i = 0; i < REEL_STREAMS; i++) {
		reel_buffer_uleb(&payload, samples->streams[i].size);
		reel_buffer_append(&payload, samples->streams[i].bytes, samples->streams[i].size);
		reel_buffer_free(&samples->streams[i]);
	}
	append_record(raw, REEL_RECORD_COLUMNS, &payload);
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

/* Decodes all blocks without reading the bytes; returns the number of samples. */
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
			samples += item.kind == REEL_ITEM_SAMPLE;
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

/* `n` blocks with that many records and samples. */
static void run_bomb(const char *name, const struct reel_buffer *raw, uint32_t records,
		     uint64_t expected, size_t n)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	uint64_t samples;
	clock_t start;
	double took;

	bomb(raw, records, n, &bytes);
	/* CPU time: other processes may be busy. */
	start = clock();
	samples = count_samples(&bytes);
	took = (double)(clock() - start) / CLOCKS_PER_SEC;
	print_message("%s: %zu bytes, %.2f s of CPU, peak %ld MiB\n", name, bytes.size, took,
		      peak_memory() >> 10);
	assert_int_equal(samples, expected * n);
	assert_true(took < 20);
}

/* 16 regions of 16 MiB that nobody wrote to, in a few bytes: hundreds of blocks cost nothing. */
TEST(test_bomb_of_regions)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 };
	struct samples samples = { 0 };

	begin_sample(&samples, 1, 0, REEL_REGIONS_MAX);
	for (int64_t i = 0; i < REEL_REGIONS_MAX; i++)
		append_region(&samples, i << 28, (i << 28) + REEL_REGION_SIZE_MAX,
			      REEL_REGION_SIZE_MAX);
	append_samples(&raw, &samples);
	run_bomb("untouched regions", &raw, 1, 1, 500);
}

/* A region that shrinks to a byte and grows to 16 MiB again, without a byte written. */
TEST(test_bomb_of_moves)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 };
	struct samples samples = { 0 };

	for (int i = 0; i < 30; i++) {
		int64_t move = ((int64_t)REEL_REGION_SIZE_MAX - 1) * (i % 2 ? 1 : -1);

		begin_sample(&samples, 1, 0, 1);
		append_region(&samples, i ? move : 0, i ? 0 : REEL_REGION_SIZE_MAX,
			      i % 2 ? 1 : REEL_REGION_SIZE_MAX);
	}
	append_samples(&raw, &samples);
	run_bomb("moving regions", &raw, 1, 30, 500);
}

/* As many threads as a block may have, with as many registers and regions. */
TEST(test_bomb_of_threads)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 }, layout = { 0 };
	const uint8_t known[REEL_REGISTERS_MAX / 8] = { 1 };
	struct samples samples = { 0 };
	struct reel_buffer *registers = &samples.streams[REEL_STREAM_REGISTERS];

	reel_buffer_append(&layout, "\0\x80\x02", 3);
	for (int i = 0; i < REEL_REGISTERS_MAX; i++)
		reel_buffer_append(&layout, "\1\x08", 2);
	append_record(&raw, REEL_RECORD_SAMPLE_LAYOUT, &layout);
	for (uint64_t thread = 0; thread < REEL_THREADS_MAX; thread++) {
		begin_sample(&samples, thread, 1, REEL_REGIONS_MAX);
		reel_buffer_u8(registers, 0);
		reel_buffer_append(registers, known, sizeof(known));
		reel_buffer_append(registers, known, sizeof(known));
		reel_buffer_u8(registers, 0);
		reel_buffer_u8(&samples.streams[REEL_STREAM_TOKENS], 7);
		reel_buffer_u64(&samples.streams[REEL_STREAM_RAW], thread);
		for (int i = 0; i < REEL_REGIONS_MAX; i++)
			append_region(&samples, 0, 1, 1);
	}
	append_samples(&raw, &samples);
	run_bomb("threads", &raw, 2, REEL_THREADS_MAX, 1);
}

/* 64 MiB of the smallest samples: this few stored bytes cannot hold that number. */
TEST(test_bomb_of_samples)
{
	_cleanup_buffer_ struct reel_buffer raw = { 0 }, bytes = { 0 };
	struct samples samples = { 0 };
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	struct reel_block_item item;
	struct reel_reader *reader;
	struct reel_error *error;
	uint64_t read = 0;
	size_t n;

	while (samples.streams[REEL_STREAM_HEAD].size + samples.n < REEL_BLOCK_RAW_MAX - 128)
		begin_sample(&samples, samples.n & 0xffff, 0, 0);
	append_samples(&raw, &samples);
	bomb(&raw, 1, 1, &bytes);
	must(open_bytes(bytes.bytes, bytes.size, &reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	assert_int_equal(n, 1);
	error = reel_block_reader_load(block_reader, blocks);
	for (; !error; read++) {
		error = reel_block_reader_next(block_reader, &item);
		assert_true(error || item.kind == REEL_ITEM_SAMPLE);
	}
	assert_int_equal(reel_error_code(error), REEL_ERROR_CORRUPT);
	assert_non_null(strstr(reel_error_message(error), "for its stored size"));
	assert_in_range(read, 0, reel_block_samples_max(blocks->header.stored_size) + 1);
	reel_error_destroy(error);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
}

RUN_TESTS()
