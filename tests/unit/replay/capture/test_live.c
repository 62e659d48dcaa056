/* SPDX-License-Identifier: Apache-2.0 */
/* The newest samples of a stream, limited by size. */
#include <fcntl.h>
#include <sys/sendfile.h>

#include "include/commands.h"
#include "tests/support/test.h"

#define STREAM	"testdata/i386/orders/orders.reel"
#define PROGRAM "testdata/i386/orders/usr/bin/orders"

struct seen {
	uint64_t samples;
	uint64_t first, last; /* their times */
	struct reel_live_part part;
};

static void must(struct reel_error *error)
{
	if (error)
		fail_msg("%s", reel_error_message(error));
}

static bool see(void *context, const struct reel_record_view *record)
{
	struct seen *seen = context;

	if (strcmp(record->name, "SAMPLE") != 0)
		return true;
	for (size_t i = 0; i < record->n_fields; i++) {
		if (!strcmp(record->fields[i].name, "time"))
			seen->last = record->fields[i].value;
	}
	if (!seen->samples++)
		seen->first = seen->last;
	return true;
}

static struct seen newest(struct reel_live *live, uint64_t from, uint64_t max_size)
{
	struct reel_capture *capture;
	struct seen seen = { 0 };
	char path[64];
	struct reel_live_part part;

	must(reel_live_capture(live, UINT64_MAX, from, max_size, &part));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", part.fd);
	must(reel_capture_open(path, NULL, &capture));
	must(reel_capture_visit_records(capture, see, &seen));
	reel_capture_close(capture);
	close(part.fd);
	seen.part = part;
	return seen;
}

TEST(the_newest_blocks_fit_the_size)
{
	int fd = open(STREAM, O_RDONLY | O_CLOEXEC);
	struct reel_live *live;
	struct seen all, one, again;
	bool ended = false;

	must(reel_live_create(fd, &live));
	while (!ended)
		must(reel_live_read(live, &ended));
	all = newest(live, 0, UINT64_MAX);
	assert_int_equal(all.samples, 1687);
	assert_int_equal(all.part.skipped_size, 0);
	/* A block is shown even if it is larger. */
	one = newest(live, 0, 1);
	assert_true(one.part.size > 1);
	assert_int_equal(one.part.size + one.part.skipped_size, all.part.size);
	assert_in_range(one.samples, 1, all.samples - 1);
	assert_int_equal(one.last, all.last);
	assert_true(one.first > all.first);
	/* None of the others was dropped. */
	again = newest(live, 0, UINT64_MAX);
	assert_int_equal(again.samples, all.samples);
	reel_live_destroy(live);
	close(fd);
}

TEST(parts_have_each_sample_once)
{
	int fd = open(STREAM, O_RDONLY | O_CLOEXEC);
	uint64_t samples = 0, next = 0, size = 0;
	struct reel_live *live;
	bool ended = false;
	struct seen all;
	int pipes[2];

	/* The stream arrives in pieces. */
	assert_int_equal(pipe(pipes), 0);
	must(reel_live_create(pipes[0], &live));
	for (size_t n_parts = 0; !ended; n_parts++) {
		struct seen part;

		if (sendfile(pipes[1], fd, NULL, 20000) == 0) {
			close(pipes[1]);
			assert_true(n_parts > 3);
		}
		must(reel_live_read(live, &ended));
		if (!n_parts)
			continue;
		part = newest(live, next, UINT64_MAX);
		assert_true(part.part.next_block >= next);
		next = part.part.next_block;
		samples += part.samples;
		size += part.part.size;
	}
	assert_int_equal(reel_live_next_block(live), next);
	all = newest(live, 0, UINT64_MAX);
	assert_int_equal(all.samples, 1687);
	assert_int_equal(samples, all.samples);
	assert_int_equal(size, all.part.size);
	assert_int_equal(newest(live, next, UINT64_MAX).samples, 0);
	reel_live_destroy(live);
	close(pipes[0]);
	close(fd);
}

/* Opens all of the stream, and counts frames named "main". */
static struct reel_capture *open_all(struct reel_live *live, const char *program,
				     const struct reel_capture *previous, size_t *mains_ret)
{
	const char *const files[] = { program, NULL };
	const struct reel_open_options options = {
		.common = { .size = sizeof(options.common),
			    .no_host_files = true,
			    .module_files = files },
		.previous = previous,
	};
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	char path[64];
	struct reel_live_part part;

	must(reel_live_capture(live, UINT64_MAX, 0, UINT64_MAX, &part));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", part.fd);
	must(reel_capture_open_with(path, &options, &capture));
	close(part.fd);
	must(reel_traces_create(capture, NULL, &traces));
	*mains_ret = 0;
	for (must(reel_traces_next(traces, &trace)); trace; must(reel_traces_next(traces, &trace)))
		for (size_t i = 0; i < trace->n_frames; i++)
			*mains_ret += !strcmp(trace->frames[i]->function, "main");
	reel_traces_destroy(traces);
	return capture;
}

static void copy_program(const char *to)
{
	int from = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(from >= 0 && fd >= 0);
	while (sendfile(fd, from, NULL, 1 << 20) > 0)
		;
	close(from);
	close(fd);
}

TEST(open_files_outlive_the_capture)
{
	char folder[] = "/tmp/test-live-XXXXXX", program[64];
	int fd = open(STREAM, O_RDONLY | O_CLOEXEC);
	struct reel_capture *first, *second, *third;
	struct reel_live *live;
	size_t n, again;
	bool ended = false;

	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/orders", folder);
	copy_program(program);
	must(reel_live_create(fd, &live));
	while (!ended)
		must(reel_live_read(live, &ended));
	first = open_all(live, program, NULL, &n);
	assert_true(n > 1000);
	/* Now only the open file has names. */
	assert_int_equal(unlink(program), 0);
	assert_int_equal(rmdir(folder), 0);
	second = open_all(live, NULL, first, &again);
	reel_capture_close(first);
	assert_int_equal(again, n);
	third = open_all(live, NULL, second, &again);
	assert_int_equal(again, n);
	reel_capture_close(third);
	reel_capture_close(second);
	second = open_all(live, NULL, NULL, &again);
	assert_int_equal(again, 0);
	reel_capture_close(second);
	reel_live_destroy(live);
	close(fd);
}

RUN_TESTS()
