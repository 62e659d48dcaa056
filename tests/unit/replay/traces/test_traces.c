/* SPDX-License-Identifier: Apache-2.0 */
/* Iterators over traces: with any number of threads, several at a time, and abandoned midway. */
#include <pthread.h>
#include "tests/support/example.h"
#include "tests/support/test.h"

#define ORDERS "testdata/aarch64/orders"

#define BLOCKS	12
#define SAMPLES 700

static char path[64];

static int create_capture(void **state)
{
	struct reel_buffer bytes = { 0 };
	int fd;

	example_capture(&bytes, BLOCKS, SAMPLES, true);
	/* One block is damaged: its problem is always the same, and the others are readable. */
	bytes.bytes[bytes.size / 2] ^= 1;
	fd = memory_file(bytes.bytes, bytes.size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reel_buffer_free(&bytes);
	return 0;
}

static struct reel_capture *open_capture(uint32_t threads)
{
	static const char *const nowhere[] = { NULL };
	const REEL_SIZED(reel_capture_options, options, .debug_dirs = nowhere,
			 .no_host_files = true, .threads = threads);
	struct reel_capture *capture;

	must(reel_capture_open(path, &options, &capture));
	return capture;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	while (*text)
		hash = mix(hash, (uint8_t)*text++);
	return mix(hash, 0);
}

static uint64_t mix_trace(uint64_t hash, const struct reel_trace *trace)
{
	hash = mix(hash, trace->id);
	hash = mix(hash, trace->time + trace->tid);
	hash = mix_text(hash, trace->comm);
	hash = mix(hash, (uint64_t)trace->stop << 32 | trace->n_kernel_frames);
	for (size_t i = 0; i < trace->n_frames; i++) {
		hash = mix(hash, trace->addresses[i]);
		hash = mix(hash, trace->steps[i]);
		hash = mix(hash, trace->frames[i]->module_address);
		hash = mix_text(hash, trace->frames[i]->module_path);
	}
	for (size_t i = 0; i < trace->n_frame_chain; i++)
		hash = mix(hash, trace->frame_chain[i]);
	return hash;
}

/* From the next `n` traces, or all remaining ones. */
static uint64_t walk(struct reel_traces *traces, uint64_t hash, size_t n, size_t *count_ret)
{
	const struct reel_trace *trace;

	while (n--) {
		must(reel_traces_next(traces, &trace));
		if (!trace)
			break;
		hash = mix_trace(hash, trace);
		++*count_ret;
	}
	return hash;
}

/* Everything that can be queried of the capture. */
static uint64_t digest(struct reel_capture *capture)
{
	const struct reel_capture_problem *problems;
	struct reel_module_info *modules;
	struct reel_traces *traces;
	size_t n = 0, n_modules, n_problems;
	uint64_t hash;

	must(reel_traces_create(capture, NULL, &traces));
	hash = walk(traces, 0, SIZE_MAX, &n);
	hash = walk(traces, hash, 3, &n);
	reel_traces_destroy(traces);
	must_be(n >= (BLOCKS - 1) * SAMPLES && n < BLOCKS * SAMPLES, "but for one block");
	must(reel_capture_modules(capture, &modules, &n_modules));
	for (size_t i = 0; i < n_modules; i++)
		hash = mix(mix(hash, modules[i].frames), modules[i].state);
	free(modules);
	problems = reel_capture_problems(capture, &n_problems);
	must_be(n_problems > 0, "without a problem");
	for (size_t i = 0; i < n_problems; i++)
		hash = mix_text(mix(hash, problems[i].code), problems[i].message);
	return hash;
}

static uint64_t digest_with(uint32_t threads)
{
	struct reel_capture *capture = open_capture(threads);
	uint64_t hash = digest(capture);

	reel_capture_close(capture);
	return hash;
}

TEST(test_any_number)
{
	uint64_t expected = digest_with(1);

	for (uint32_t threads = 0; threads < 9; threads++)
		assert_true(digest_with(threads) == expected);
	assert_true(digest_with(UINT32_MAX) == expected);
}

/* Two iterators of one capture, in turn. */
TEST(test_two_iterators)
{
	struct reel_traces *a, *b;
	uint64_t expected, hash_a = 0, hash_b = 0;
	size_t n_a = 0, n_b = 0, before;

	for (uint32_t threads = 1; threads < 4; threads++) {
		struct reel_capture *capture = open_capture(threads);

		must(reel_traces_create(capture, NULL, &a));
		n_a = 0;
		expected = walk(a, 0, SIZE_MAX, &n_a);
		reel_traces_destroy(a);
		must(reel_traces_create(capture, NULL, &a));
		must(reel_traces_create(capture, NULL, &b));
		hash_a = hash_b = n_a = n_b = 0;
		do {
			before = n_a + n_b;
			hash_a = walk(a, hash_a, 5, &n_a);
			hash_b = walk(b, hash_b, 1000, &n_b);
		} while (n_a + n_b > before);
		assert_true(hash_a == expected && hash_b == expected);
		reel_traces_destroy(a);
		reel_traces_destroy(b);
		reel_capture_close(capture);
	}
}

TEST(test_left_in_the_middle)
{
	struct reel_capture *capture = open_capture(3);
	struct reel_traces *traces;

	for (size_t n = 0; n < BLOCKS * SAMPLES; n = 2 * n + 1) {
		size_t count = 0;

		must(reel_traces_create(capture, NULL, &traces));
		walk(traces, 0, n, &count);
		reel_traces_destroy(traces);
	}
	reel_capture_close(capture);
}

static void *digest_in_thread(void *context)
{
	*(uint64_t *)context = digest_with(2);
	return NULL;
}

/* Two captures in two threads of the program. */
TEST(test_two_captures)
{
	uint64_t hashes[2] = { 0 };
	pthread_t threads[2];

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, digest_in_thread, &hashes[i]),
				 0);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_true(hashes[0] == digest_with(1) && hashes[1] == hashes[0]);
}

struct walker {
	struct reel_capture *capture;
	pthread_t thread;
	uint64_t hash;
	size_t n;
};

/* Frames in modules so far. */
static uint64_t count_frames(struct reel_capture *capture)
{
	struct reel_module_info *modules;
	uint64_t frames = 0;
	size_t n;

	must(reel_capture_modules(capture, &modules, &n));
	for (size_t i = 0; i < n; i++) {
		must_be(modules[i].path && modules[i].problem, "a module's texts");
		frames += modules[i].frames;
	}
	free(modules);
	return frames;
}

/* All traces of a capture, and now and then other queries in between. */
static void *walk_in_thread(void *context)
{
	struct walker *walker = context;
	size_t n = 0, n_problems, n_before = 0;
	const struct reel_capture_problem *problems,
		*first = reel_capture_problems(walker->capture, &n_problems);
	struct reel_traces *traces;

	must(reel_traces_create(walker->capture, NULL, &traces));
	do {
		n = walker->n;
		walker->hash = walk(traces, walker->hash, 100, &walker->n);
		problems = reel_capture_problems(walker->capture, &n_problems);
		must_be(problems == first && n_problems >= n_before, "problems that stay");
		for (size_t i = 0; i < n_problems; i++)
			must_be(problems[i].code && problems[i].message[0], "a problem's text");
		n_before = n_problems;
		count_frames(walker->capture);
	} while (walker->n > n);
	reel_traces_destroy(traces);
	return NULL;
}

/* One capture in two threads of the program, and modules queried in these and in a third one: TSan
 * finds no concurrent changes (tests/project/test-tsan.sh). */
static void walk_twice(struct reel_capture *capture)
{
	struct walker walkers[] = { { .capture = capture }, { .capture = capture } };
	size_t n_problems, before;
	uint64_t frames, half;

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&walkers[i].thread, NULL, walk_in_thread, &walkers[i]), 0);
	for (size_t i = 0; i < 20; i++)
		count_frames(capture);
	for (size_t i = 0; i < 2; i++)
		pthread_join(walkers[i].thread, NULL);
	assert_true(walkers[0].n > 200);
	assert_int_equal(walkers[0].n, walkers[1].n);
	assert_true(walkers[0].hash == walkers[1].hash);
	/* No frame counted by either walk is lost: the other walk counts half as many. */
	frames = count_frames(capture);
	reel_capture_problems(capture, &before);
	walk_in_thread(&walkers[0]);
	half = count_frames(capture) - frames;
	assert_true(half > 0);
	assert_int_equal(frames, 2 * half);
	/* A damaged block that is read again reports no other problems. */
	reel_capture_problems(capture, &n_problems);
	assert_int_equal(n_problems, before);
}

TEST(test_two_threads)
{
	static const char *const symfs[] = { ORDERS, NULL };
	const REEL_SIZED(reel_capture_options, options, .symfs = symfs, .no_host_files = true,
			 .threads = 1);
	struct reel_capture *capture;

	for (uint32_t threads = 1; threads < 3; threads++) {
		capture = open_capture(threads);
		walk_twice(capture);
		reel_capture_close(capture);
	}
	/* With modules that are found. */
	must(reel_capture_open(ORDERS "/orders.reel", &options, &capture));
	walk_twice(capture);
	reel_capture_close(capture);
}

/* Stack pointers do not decrease from the leaf on, are shared by inlined functions, and end within the stack.  Returns
 * a hash of all. */
static uint64_t walk_stacks(uint32_t threads, bool wanted)
{
	static const char *const symfs[] = { ORDERS, NULL };
	const REEL_SIZED(reel_capture_options, options, .symfs = symfs, .no_host_files = true,
			 .threads = threads);
	const REEL_SIZED(reel_filter, filter, .stacks = wanted);
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	uint64_t hash = 0;
	size_t n = 0;

	must(reel_capture_open(ORDERS "/orders.reel", &options, &capture));
	must(reel_traces_create(capture, &filter, &traces));
	for (must(reel_traces_next(traces, &trace)); trace;
	     must(reel_traces_next(traces, &trace))) {
		const uint64_t *sps = trace->stack_pointers;

		assert_int_equal(wanted && trace->stop != REEL_STOP_NO_USER_STATE, sps != NULL);
		for (size_t i = trace->n_kernel_frames; sps && i < trace->n_frames; i++) {
			assert_true(sps[i]);
			hash = mix(hash, sps[i]);
			if (i + 1 == trace->n_frames)
				break;
			assert_true(sps[i] <= sps[i + 1]);
			if (trace->frames[i]->inlined)
				assert_int_equal(sps[i], sps[i + 1]);
			n += sps[i] < sps[i + 1];
		}
		assert_int_equal(!trace->stack_size, trace->stop == REEL_STOP_NO_USER_STATE);
		if (!sps)
			continue;
		hash = mix(hash, trace->stack_size);
		assert_false(trace->stack_size_is_minimum);
		assert_true(trace->stack_size >=
			    sps[trace->n_frames - 1] - sps[trace->n_kernel_frames]);
	}
	assert_true(!wanted || n > 1000);
	reel_traces_destroy(traces);
	reel_capture_close(capture);
	return hash;
}

TEST(test_stacks)
{
	const struct reel_walk_options both = {
		.filter = { .size = sizeof(both.filter), .stacks = true },
		.wakers = true,
	};
	struct reel_capture *capture = open_capture(1);
	struct reel_traces *traces;
	uint64_t expected = walk_stacks(1, true);

	assert_true(expected && walk_stacks(3, true) == expected);
	assert_int_equal(walk_stacks(1, false), 0);
	assert_error(reel_traces_create_with(capture, &both, &traces), REEL_ERROR_INVALID);
	reel_capture_close(capture);
}

RUN_TESTS_WITH(create_capture, NULL)
