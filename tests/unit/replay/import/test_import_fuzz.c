/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile perf.data: an import always ends in bounded time and memory, with a whole capture or with
 * an error and no output file.  Numbers repeat in every run; FUZZ_SECONDS continues for longer,
 * FUZZ_SEED starts elsewhere.
 */
#include <dirent.h>
#include <sys/resource.h>

#include "tests/support/import.h"
#include "tests/support/mutate.h"
#include "tests/support/perf_example.h"
#include "tests/support/test.h"

#define FLAGS (BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL))

/* Imports a file, and reads the resulting capture as a program would. */
static unsigned int import_and_forget(const void *bytes, size_t size)
{
	static const struct reel_import_options options = { .arch = "x86_64" };
	struct imported imported;
	unsigned int code;

	import_bytes(bytes, size, &options, &imported);
	code = imported.code;
	if (code && code != REEL_ERROR_NOT_A_CAPTURE && code != REEL_ERROR_UNSUPPORTED &&
	    code != REEL_ERROR_CORRUPT && code != REEL_ERROR_TRUNCATED &&
	    code != REEL_ERROR_INVALID)
		fail_msg("%u: %s", code, (const char *)imported.text.bytes);
	imported_free(&imported);
	return code;
}

static void example(bool big_endian, bool is_pipe, size_t piece, struct reel_buffer *ret)
{
	struct perf_builder b = { .big_endian = big_endian, .is_pipe = is_pipe };

	perf_example(&b);
	if (piece)
		compress_from(&b, 0, piece, BUILD_COMPRESSED);
	build(&b, ret);
	builder_free(&b);
}

#define EXAMPLES 8

static void examples(struct reel_buffer *ret)
{
	for (size_t i = 0; i < EXAMPLES; i++)
		example(i & 1, i & 2, i & 4 ? 100 : 0, &ret[i]);
}

static void examples_free(struct reel_buffer *all)
{
	for (size_t i = 0; i < EXAMPLES; i++)
		reel_buffer_free(&all[i]);
}

/* For tests/fuzz/fuzz_import.c, if a folder is given. */
static void keep_for_fuzzing(const struct reel_buffer *bytes, size_t i)
{
	const char *folder = getenv("FUZZ_CORPUS");
	char path[256];
	int fd;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/example-%zu.data", folder, i);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must_be(write(fd, bytes->bytes, bytes->size) == (ssize_t)bytes->size, "written");
	close(fd);
}

TEST(test_examples)
{
	struct reel_buffer all[EXAMPLES] = { 0 };

	examples(all);
	for (size_t i = 0; i < EXAMPLES; i++) {
		_cleanup_imported_ struct imported imported;

		keep_for_fuzzing(&all[i], i);
		import_bytes(all[i].bytes, all[i].size, NULL, &imported);
		assert_lines(2, &imported, "SAMPLE ", "[16 8 0x8]");
		assert_int_equal(imported.problem_codes & ~(1u << REEL_ERROR_NOT_FOUND), 0);
	}
	examples_free(all);
}

/* A file cut anywhere is reported, unless the missing part is not needed. */
TEST(test_prefixes)
{
	struct reel_buffer all[EXAMPLES] = { 0 };

	examples(all);
	for (size_t i = 0; i < EXAMPLES; i++) {
		for (size_t size = 0; size < all[i].size; size++) {
			static const struct reel_import_options options = { .arch = "x86_64" };
			_cleanup_imported_ struct imported imported;

			import_bytes(all[i].bytes, size, &options, &imported);
			assert_true(!imported.code || imported.code == REEL_ERROR_NOT_A_CAPTURE ||
				    imported.code == REEL_ERROR_TRUNCATED ||
				    imported.code == REEL_ERROR_CORRUPT);
			/* The features follow a file's data; a pipe may end after any record. */
			if (!imported.code && !(i & 2))
				assert_true(imported.problem_codes & 1u << REEL_ERROR_TRUNCATED);
		}
	}
	examples_free(all);
}

/* ---- mutations -------------------------------------------------------------------------- */

TEST(test_single_bytes)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct reel_buffer all[EXAMPLES] = { 0 };

	examples(all);
	for (size_t i = 0; i < EXAMPLES; i++) {
		for (size_t at = i % 5; at < all[i].size; at += 5) {
			uint8_t before = all[i].bytes[at];

			all[i].bytes[at] = values[at / 5 % 5];
			import_and_forget(all[i].bytes, all[i].size);
			all[i].bytes[at] = before;
		}
	}
	examples_free(all);
}

/* Edge values of 2, 4 and 8 bytes, in either byte order. */
static void insert_fixed(uint64_t *random, struct reel_buffer *bytes)
{
	static const uint64_t edges[] = { 0,	      1,
					  7,	      8,
					  9,	      0xffff,
					  0x10000,    0x7fffffff,
					  0x80000000, 0xffffffff,
					  1ull << 32, 1ull << 48,
					  1ull << 63, UINT64_MAX - 7,
					  UINT64_MAX };
	uint64_t value = edges[next_random(random) % (sizeof(edges) / sizeof(edges[0]))];
	size_t size = 2u << next_random(random) % 3;
	size_t at = next_random(random) % bytes->size & ~(size_t)(next_random(random) % 2 ? 7 : 3);

	if (next_random(random) % 2)
		value = __builtin_bswap64(value << (64 - 8 * size));
	if (bytes->size - at >= size)
		memcpy(bytes->bytes + at, &value, size);
}

TEST(test_mutations)
{
	uint64_t random = number_of("FUZZ_SEED", 42);
	double until = seconds() + (double)number_of("FUZZ_SECONDS", 10);
	uint64_t limit = number_of("FUZZ_SECONDS", 0) ? UINT64_MAX : 2000, worked = 0, i = 0;
	struct reel_buffer all[EXAMPLES] = { 0 };

	examples(all);
	for (; i < limit && seconds() < until; i++) {
		const struct reel_buffer *from = &all[next_random(&random) % EXAMPLES];
		_cleanup_buffer_ struct reel_buffer bytes = { 0 };

		reel_buffer_append(&bytes, from->bytes, from->size);
		for (uint64_t n = 1 + next_random(&random) % 5; n && bytes.size; n--) {
			if (next_random(&random) % 2)
				insert_fixed(&random, &bytes);
			else
				mutate(&random, &bytes);
		}
		worked += !import_and_forget(bytes.bytes, bytes.size);
	}
	print_message("%llu files, %llu imported\n", (unsigned long long)i,
		      (unsigned long long)worked);
	/* Most damage leaves something. */
	assert_true(worked > i / 4);
	examples_free(all);
}

/* ---- bombs ------------------------------------------------------------------------------ */

/* CPU time: other processes may be busy. */
static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static long memory_used(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* `size` bytes of records of `record` bytes each, all identical. */
static void bomb(uint32_t type, uint16_t record, uint64_t size, struct reel_buffer *ret)
{
	struct perf_builder b = { 0 };
	size_t chunk = (size_t)record * 4096 / (record > 4096 ? 64 : 1);
	uint8_t *raw = calloc(1, chunk);
	size_t room = ZSTD_compressBound(chunk);
	uint8_t *packed = malloc(room);

	must_be(raw && packed, "memory");
	add_event(&b, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, FLAGS, 0);
	feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
	for (size_t at = 0; at < chunk; at += record) {
		raw[at] = (uint8_t)type;
		set16(&b, raw + at + 6, record);
	}
	b.zstd = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(b.zstd, ZSTD_c_windowLog, 24);
	for (uint64_t at = 0; at < size; at += chunk) {
		ZSTD_inBuffer in = { raw, chunk, 0 };
		ZSTD_outBuffer out = { packed, room, 0 };

		must_be(!ZSTD_compressStream2(b.zstd, &out, &in, ZSTD_e_flush), "flushed");
		begin(&b, BUILD_COMPRESSED, 0);
		bbytes(&b, packed, out.pos);
		end(&b);
	}
	build(&b, ret);
	builder_free(&b);
	free(raw);
	free(packed);
}

/* Ten thousand times the file's size: large records, and small ones that each cost an entry. */
TEST(test_bombs)
{
	static const struct {
		uint32_t type;
		uint16_t record;
		uint64_t size;
	} cases[] = {
		{ 1000, 65528, 300u << 20 },
		{ PERF_RECORD_SAMPLE, 65528, 300u << 20 },
		{ PERF_RECORD_SAMPLE, 8, 64u << 20 },
		{ PERF_RECORD_COMM, 32, 96u << 20 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_buffer_ struct reel_buffer bytes = { 0 };
		long before = memory_used();
		double start = seconds();

		bomb(cases[i].type, cases[i].record, cases[i].size, &bytes);
		import_and_forget(bytes.bytes, bytes.size);
		print_message("%zu bytes for %llu MiB: %.1f s, %ld MiB more\n", bytes.size,
			      (unsigned long long)cases[i].size >> 20, seconds() - start,
			      (memory_used() - before) >> 10);
		assert_true(memory_used() - before < 512 << 10);
	}
}

/* ---- huge counts, sections anywhere -------------------------------------------------------- */

static void set64(struct reel_buffer *bytes, size_t at, uint64_t value)
{
	memcpy(bytes->bytes + at, &value, sizeof(value));
}

/* Every number in the header, and every value of every word: what a count can be. */
TEST(test_counts)
{
	static const uint64_t values[] = { 0,	       1,	   104,
					   1ull << 31, UINT32_MAX, 1ull << 40,
					   1ull << 61, 1ull << 63, UINT64_MAX - 103,
					   UINT64_MAX };
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	long before = memory_used();

	example(false, false, 0, &bytes);
	for (size_t at = 0; at + 8 <= bytes.size; at += 8) {
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			uint64_t old;

			memcpy(&old, bytes.bytes + at, sizeof(old));
			set64(&bytes, at, values[i]);
			import_and_forget(bytes.bytes, bytes.size);
			/* The upper half: counts of 32 bits. */
			set64(&bytes, at, (old & UINT32_MAX) | values[i] << 32);
			import_and_forget(bytes.bytes, bytes.size);
			set64(&bytes, at, (old & ~(uint64_t)UINT32_MAX) | (uint32_t)values[i]);
			import_and_forget(bytes.bytes, bytes.size);
			set64(&bytes, at, old);
		}
	}
	assert_true(memory_used() - before < 512 << 10);
}

/* All events claim the same ids, which fill the file: quadratic in its size. */
TEST(test_overlapping_ids)
{
	enum { EVENTS = 20000, EACH = 96 + 16 };
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	size_t size = 104 + EVENTS * EACH;
	long before = memory_used();
	double start = cpu_seconds();

	must_be(reel_buffer_reserve(&bytes, size) != NULL, "memory");
	memset(bytes.bytes, 0, size);
	bytes.size = size;
	memcpy(bytes.bytes, "PERFILE2", 8);
	set64(&bytes, 8, 104);
	set64(&bytes, 16, EACH);
	set64(&bytes, 24, 104);
	set64(&bytes, 32, EVENTS * EACH);
	for (size_t i = 0; i < EVENTS; i++) {
		set64(&bytes, 104 + i * EACH + 24, PERF_SAMPLE_IDENTIFIER);
		set64(&bytes, 104 + i * EACH + 96, 0);
		set64(&bytes, 104 + i * EACH + 104, size);
	}
	assert_int_equal(import_and_forget(bytes.bytes, bytes.size), REEL_ERROR_CORRUPT);
	assert_true(cpu_seconds() - start < 10);
	assert_true(memory_used() - before < 512 << 10);
}

/* A pipe may describe more events at any time; that must not process all of them each time. */
TEST(test_late_events)
{
	struct perf_builder b = { .is_pipe = true };
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	double start = cpu_seconds();

	add_event(&b, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME, FLAGS, 1);
	feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
	for (uint64_t i = 0; i < 15000; i++) {
		begin(&b, BUILD_HEADER_ATTR, 0);
		put_attr(&b, &b.data, &b.events[0]);
		for (uint64_t j = 0; j < 20; j++)
			b64(&b, 2 + i * 20 + j);
		end(&b);
		begin(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		b64(&b, 2 + i * 20);
		b64(&b, i);
		end(&b);
	}
	build(&b, &bytes);
	assert_int_equal(import_and_forget(bytes.bytes, bytes.size), 0);
	assert_true(cpu_seconds() - start < 20);
	builder_free(&b);
}

/* ---- remaining files ------------------------------------------------------------------------ */

static size_t files_in(const char *path)
{
	DIR *directory = opendir(path);
	size_t n = 0;

	while (readdir(directory))
		n++;
	closedir(directory);
	return n - 2;
}

TEST(test_nothing_left)
{
	char directory[] = "/tmp/test-import-XXXXXX", output[64];
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	char input[64];
	struct stat status;
	int fd;

	assert_non_null(mkdtemp(directory));
	example(false, false, 0, &bytes);
	bytes.size = 110; /* within the attributes */
	fd = memory_file(bytes.bytes, bytes.size);
	snprintf(input, sizeof(input), "/proc/self/fd/%d", fd);
	snprintf(output, sizeof(output), "%s/out.reel", directory);
	for (int exists = 0; exists < 2; exists++) {
		assert_error(reel_import_perf(input, output, NULL, NULL), REEL_ERROR_TRUNCATED);
		assert_int_equal(files_in(directory), exists);
		close(open(output, O_CREAT | O_WRONLY, 0644));
	}
	close(fd);
	example(false, false, 0, &bytes);
	fd = memory_file(bytes.bytes, bytes.size);
	snprintf(input, sizeof(input), "/proc/self/fd/%d", fd);
	/* It replaces the existing file; only its owner may read the stacks. */
	must(reel_import_perf(input, output, NULL, NULL));
	assert_int_equal(files_in(directory), 1);
	assert_int_equal(stat(output, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_true(status.st_size > 100);
	close(fd);
	unlink(output);
	rmdir(directory);
}

int main(void)
{
	setenv("HOME", "/nonexistent", 1);
	return unit_tests_run(NULL, NULL);
}
