/* SPDX-License-Identifier: Apache-2.0 */
/* The newest samples of a stream, limited by size. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "include/stackreel.h"

#define STREAM "testdata/i386/orders/orders.reel"

struct seen {
	uint64_t samples;
	uint64_t first, last; /* their times */
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

static struct seen newest(struct reel_live *live, uint64_t max_size)
{
	struct reel_capture_options options = { 0 };
	struct reel_capture *capture;
	struct seen seen = { 0 };
	char path[64];
	int fd;

	must(reel_live_capture(live, UINT64_MAX, max_size, &fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(reel_capture_open(path, &options, &capture));
	must(reel_capture_visit_records(capture, see, &seen));
	reel_capture_close(capture);
	close(fd);
	return seen;
}

static void the_newest_blocks_fit_the_size(void **state)
{
	int fd = open(STREAM, O_RDONLY | O_CLOEXEC);
	struct reel_live *live;
	struct seen all, one, again;
	bool ended = false;

	must(reel_live_create(fd, &live));
	while (!ended)
		must(reel_live_read(live, &ended));
	all = newest(live, UINT64_MAX);
	assert_int_equal(all.samples, 1687);
	/* A block is shown even if it is larger. */
	one = newest(live, 1);
	assert_in_range(one.samples, 1, all.samples - 1);
	assert_int_equal(one.last, all.last);
	assert_true(one.first > all.first);
	/* None of the others was dropped. */
	again = newest(live, UINT64_MAX);
	assert_int_equal(again.samples, all.samples);
	reel_live_destroy(live);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_blocks_fit_the_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
