/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real capture with hostile content and right checksums, replayed to the end: spaces, modules,
 * unwinding, names and views of every record.  Numbers repeat in every run; FUZZ_SECONDS continues
 * for longer, FUZZ_SEED starts elsewhere.
 */
#include <fcntl.h>

#include "include/commands.h"
#include "tests/support/mutate.h"
#include "tests/support/test.h"

#define ORDERS "testdata/aarch64/orders"

static const char *const symfs[] = { ORDERS, NULL };

static void read_file(const char *path, struct reel_buffer *ret)
{
	int fd = open(path, O_RDONLY);

	must_be(fd >= 0, "testdata opened; run this from the project's root");
	file_content(fd, ret);
	close(fd);
}

static bool count_record(void *context, const struct reel_record_view *record)
{
	*(uint64_t *)context += record->n_fields;
	return true;
}

struct outcome {
	uint64_t traces, whole, without_stack, frames, fields;
};

/* Queries everything that the API offers for these bytes; false if they do not open. */
static bool replay(const struct reel_buffer *bytes, struct outcome *ret)
{
	REEL_SIZED(reel_capture_options, options, .symfs = symfs, .no_host_files = true,
		   .max_frames = 512);
	int fd = memory_file(bytes->bytes, bytes->size);
	struct reel_module_info *modules;
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	struct reel_error *error;
	char path[64];
	size_t n;

	*ret = (struct outcome){ 0 };
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	error = reel_capture_open(path, &options, &capture);
	close(fd);
	if (error) {
		assert_int_not_equal(reel_error_code(error), REEL_ERROR_NO_MEMORY);
		reel_error_destroy(error);
		return false;
	}
	must(reel_traces_create(capture, NULL, &traces));
	for (;;) {
		must(reel_traces_next(traces, &trace));
		if (!trace)
			break;
		ret->traces++;
		ret->whole += trace->stop == REEL_STOP_ROOT;
		ret->without_stack += trace->stop == REEL_STOP_NO_USER_STATE;
		ret->frames += trace->n_frames;
		for (size_t i = 0; i < trace->n_frames; i++)
			assert_non_null(trace->frames[i]->function);
	}
	reel_traces_destroy(traces);
	must(reel_capture_visit_records(capture, count_record, &ret->fields));
	must(reel_capture_modules(capture, &modules, &n));
	for (size_t i = 0; i < n; i++)
		assert_true(modules[i].path && modules[i].problem);
	free(modules);
	reel_capture_close(capture);
	return true;
}

TEST(test_unharmed)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;

	read_file(ORDERS "/orders.reel", &bytes);
	assert_true(replay(&bytes, &outcome));
	assert_true(outcome.traces > 200);
	assert_true(outcome.without_stack < 10);
	assert_int_equal(outcome.whole, outcome.traces - outcome.without_stack);
}

TEST(test_prefixes)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	uint64_t most = 0;

	read_file(ORDERS "/orders.reel", &bytes);
	/* Prime, so that cuts fall everywhere. */
	for (size_t size = bytes.size, step = 499; size > step; size -= step) {
		struct reel_buffer prefix = { .bytes = bytes.bytes, .size = size };
		struct outcome outcome;

		if (replay(&prefix, &outcome) && outcome.traces > most)
			most = outcome.traces;
	}
	assert_true(most > 200);
}

TEST(test_mutations)
{
	uint64_t random = number_of("FUZZ_SEED", 44);
	double end = seconds() + (double)number_of("FUZZ_SECONDS", 8);
	uint64_t limit = number_of("FUZZ_SECONDS", 0) ? UINT64_MAX : 600, opened = 0, whole = 0;
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct parts parts;

	read_file(ORDERS "/orders.reel", &bytes);
	parts_split(&bytes, &parts);
	for (uint64_t i = 0; i < limit && seconds() < end; i++) {
		struct outcome outcome;

		mutated(&random, &parts, &bytes);
		opened += replay(&bytes, &outcome);
		whole += outcome.whole;
	}
	print_message("%llu captures opened, %llu whole traces\n", (unsigned long long)opened,
		      (unsigned long long)whole);
	assert_true(opened > 0 && whole > 0);
	parts_free(&parts);
}

RUN_TESTS()
