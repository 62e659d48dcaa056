/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder writes of JIT code that samples check, as the BPF program reports it. */
#include "base/quantity.h"
#include "include/commands.h"
#include "record/jit/jit_code.h"
#include "tests/support/test.h"

#define PAGE	4096
#define N_PAGES 64
#define CODE	0x10000
#define SPACE	7
#define PID	42
/* From the first sample to the first reading. */
#define FIRST (100 * REEL_NS_PER_MS)

static struct reel_timeline *timeline;
static struct reel_module_table *modules;
static struct reel_jit_code *jit;
static uint8_t memory[PAGE];
static uint64_t start; /* the first sample */
/* The last record, and the number of all. */
static struct reel_record last, last_end;
static uint8_t last_bytes[PAGE];
static size_t n_put;
static uint32_t watched_pid;
static struct reel_bpf_watched watched[REEL_WATCH_PAGES];

enum reel_answer reel_inspector_code(
	struct reel_inspector *inspector, uint32_t pid, const uint64_t *pages, size_t count,
	void (*visit)(void *context, const struct reel_code_page *page), void *context)
{
	struct reel_code_page page = { .address = pages[0] };

	assert_int_equal(pid, PID);
	memcpy(page.bytes + REEL_CODE_BEFORE, memory, PAGE);
	for (size_t i = 0; i < count; i++) {
		page.address = pages[i];
		visit(context, &page);
	}
	return REEL_ANSWER_WHOLE;
}

bool reel_inspector_file(struct reel_inspector *inspector, uint32_t pid,
			 const struct reel_proc_map *map, struct reel_proc_file *ret, int *fd_ret)
{
	return false;
}

static struct reel_error *put(void *context, const struct reel_record *record)
{
	n_put++;
	last = *record;
	if (record->id == REEL_RECORD_CODE_END)
		last_end = *record;
	if (record->id == REEL_RECORD_CODE)
		memcpy(last_bytes, record->code.bytes.data, record->code.bytes.size);
	return NULL;
}

static void watch(void *context, uint32_t pid, const uint32_t *number)
{
	watched_pid = number ? pid : 0;
}

static void watch_page(void *context, uint32_t number, uint32_t place,
		       const struct reel_bpf_watched *page)
{
	watched[place] = *page;
}

static void tell(const struct reel_record *record)
{
	assert_null(reel_timeline_add(timeline, record));
}

static void sample_at(uint64_t pc, uint64_t time, bool is_checked)
{
	const struct reel_record_sample_layout layout = { 0 };
	const struct reel_sample here = { .time = time, .pc = pc, .layout = &layout };
	const struct reel_space_view view = reel_timeline_view(timeline, SPACE, REEL_TIME_NOW);

	assert_null(reel_jit_code_scan(jit, &view, &here, is_checked));
}

/* A sample whose pc is in the code, not near a page's end. */
static void sample(uint64_t time, bool is_checked)
{
	sample_at(CODE + 1000, time, is_checked);
}

static void read_pages(void)
{
	while (reel_jit_code_read(jit, false))
		assert_null(reel_jit_code_write(jit));
}

/* A sample found a page that begins with `byte`. */
static void see(uint64_t time, uint64_t found, uint8_t byte, uint32_t size)
{
	struct reel_bpf_code code = {
		.size = size, .time = time, .found = found, .space = SPACE, .address = CODE
	};

	code.bytes[0] = byte;
	assert_null(reel_jit_code_seen(jit, &code));
}

static int setup(void **state)
{
	struct reel_jit_code_options options = {
		.sink = { .put = put },
		.native = { .machine = 62, .word_bits = 64, .byte_order = 1 },
		.limit = 1 << 20,
		.watch = watch,
		.watch_page = watch_page,
	};
	const struct reel_record_module module = { .kind = REEL_MODULE_ANONYMOUS };
	uint64_t id;

	memset(memory, 0, sizeof(memory));
	memset(watched, 0, sizeof(watched));
	watched_pid = 0;
	n_put = 0;
	start = reel_now() - FIRST;
	last_end = (struct reel_record){ 0 };
	if (reel_timeline_create(false, &timeline) || reel_module_table_create(NULL, &modules) ||
	    reel_module_table_add(modules, &module, &id))
		return -1;
	options.modules = modules;
	if (reel_jit_code_create(&options, &jit))
		return -1;
	tell(&(struct reel_record){ .id = REEL_RECORD_SPACE,
				    .space = { .time = 1,
					       .id = SPACE,
					       .pid = PID,
					       .namespace_pid = PID,
					       .machine = 62,
					       .word_bits = 64,
					       .byte_order = 1 } });
	tell(&(struct reel_record){ .id = REEL_RECORD_MAP,
				    .map = { .time = 1,
					     .space = SPACE,
					     .address = CODE,
					     .size = N_PAGES * PAGE,
					     .protection = 7,
					     .module = id } });
	/* The first sample leads to the page, which is read, and watched from then on. */
	sample(start, false);
	read_pages();
	return 0;
}

static int teardown(void **state)
{
	reel_jit_code_destroy(jit);
	reel_module_table_destroy(modules);
	reel_timeline_destroy(timeline);
	return watched_pid != 0;
}

static void assert_code(uint64_t time, uint64_t since, uint8_t byte)
{
	assert_int_equal(last.id, REEL_RECORD_CODE);
	assert_int_equal(last.code.time, time);
	assert_int_equal(last.code.since, since);
	assert_int_equal(last_bytes[0], byte);
}

TEST_WITH(test_watched, setup, teardown)
{
	assert_int_equal(n_put, 1);
	assert_int_equal(last.code.since, start);
	assert_int_equal(watched_pid, PID);
	assert_int_equal(watched[0].address, CODE);
	assert_int_equal(watched[0].space, SPACE);
	assert_int_equal(watched[1].address, 0);
}

TEST_WITH(test_exact, setup, teardown)
{
	uint64_t now = reel_now() + REEL_NS_PER_SECOND;

	see(now, 0, 0, PAGE);
	assert_int_equal(n_put, 1);
	/* No other bytes are between the samples, however far these are apart. */
	see(now + REEL_NS_PER_SECOND, now + 5, 1, PAGE);
	assert_int_equal(n_put, 2);
	assert_code(now + REEL_NS_PER_SECOND, now + 6, 1);
	assert_int_equal(last.code.bytes.size, 256);
	for (uint8_t i = 2; i < 30; i++) {
		see(now + i * REEL_NS_PER_SECOND, now + i * REEL_NS_PER_SECOND - 7, i, PAGE);
		assert_int_equal(n_put, i + 1);
		assert_code(now + i * REEL_NS_PER_SECOND, now + i * REEL_NS_PER_SECOND - 6, i);
	}
}

/* Samples report changes before the recorder reads a page again. */
TEST_WITH(test_readings, setup, teardown)
{
	see(reel_now(), 0, 0, PAGE);
	memory[0] = 1;
	sample(reel_now() + REEL_NS_PER_SECOND, true);
	usleep(20000);
	read_pages();
	assert_int_equal(n_put, 1);
	/* Nothing checked this one. */
	sample(reel_now() + 2 * REEL_NS_PER_SECOND, false);
	usleep(20000);
	read_pages();
	assert_true(n_put > 1);
}

/* What a sample saw arrives after watching has ended: later samples check nothing, so the page is
 * read. */
TEST_WITH(test_after_end, setup, teardown)
{
	uint64_t seen = reel_now();

	reel_jit_code_watch(jit, seen + 2 * REEL_NS_PER_SECOND);
	assert_int_equal(watched_pid, 0);
	see(seen, 0, 0, PAGE);
	memory[0] = 1;
	sample(reel_now() + REEL_NS_PER_SECOND, true);
	usleep(20000);
	read_pages();
	assert_true(n_put > 1);
}

/* The file ends before a page is read again that a sample led to. */
TEST_WITH(test_unread, setup, teardown)
{
	sample(reel_now(), false);
	assert_null(reel_jit_code_end(jit));
	assert_int_equal(n_put, 1);
	usleep(30000);
	assert_null(reel_jit_code_end(jit));
	assert_int_equal(last.id, REEL_RECORD_CODE_END);
	assert_int_equal(last.code_end.size, PAGE);
	reel_jit_code_restart(jit);
}

/* Samples prove the page that they lead to, whose code goes on in the next one: that is proved by none,
 * and may have changed with it. */
TEST_WITH(test_unread_neighbour, setup, teardown)
{
	uint64_t now;

	usleep(20000);
	sample_at(CODE + PAGE - 8, reel_now(), false);
	read_pages();
	now = reel_now();
	see(now, 0, 0, PAGE);
	see(now + 200, now + 100, 1, PAGE);
	last_end = (struct reel_record){ 0 };
	sample_at(CODE + PAGE - 8, now + 300, true);
	assert_null(reel_jit_code_end(jit));
	assert_int_equal(last_end.code_end.address, CODE + PAGE);
	assert_int_equal(last_end.code_end.size, PAGE);
	assert_true(last_end.code_end.time < now);
	reel_jit_code_restart(jit);
}

/* A sample of another CPU is reported before an earlier one. */
TEST_WITH(test_late, setup, teardown)
{
	uint64_t now = reel_now() + REEL_NS_PER_SECOND;

	see(now, 0, 0, PAGE);
	see(now + 200, now + 150, 2, PAGE);
	see(now + 100, now + 50, 1, PAGE);
	assert_code(now + 100, now + 51, 1);
	assert_int_equal(last.code.bytes.size, PAGE);
	see(now + 300, now + 200, 2, PAGE);
	assert_int_equal(n_put, 3);
}

/* One CPU's sample found the new bytes, and another one's the old ones later. */
TEST_WITH(test_at_once, setup, teardown)
{
	uint64_t now = reel_now() + REEL_NS_PER_SECOND;

	see(now, 0, 0, PAGE);
	see(now + 100, now + 120, 1, PAGE);
	assert_code(now + 121, now + 100, 1);
}

TEST_WITH(test_unreadable, setup, teardown)
{
	uint64_t now = reel_now() + REEL_NS_PER_SECOND;

	see(now, 0, 0, PAGE);
	see(now + 100, now + 50, 0, 0);
	assert_int_equal(last.id, REEL_RECORD_CODE_END);
	assert_int_equal(last.code_end.time, now + 51);
	assert_int_equal(last.code_end.size, PAGE);
}

/* The first sample may have run other bytes than those that were read much later. */
TEST_WITH(test_first, setup, teardown)
{
	uint64_t now = reel_now();

	see(now, 0, 0, PAGE);
	assert_int_equal(last_end.id, 0);
	see(now + 2 * FIRST, now + FIRST, 1, PAGE);
	assert_int_equal(last_end.code_end.time, start);
	assert_int_equal(last_end.code_end.address, CODE);
	assert_int_equal(last_end.code_end.size, 256);
	assert_code(now + 2 * FIRST, now + FIRST + 1, 1);
}

/* A JIT that makes code has many new pages hit, soon after each other. */
TEST_WITH(test_news, setup, teardown)
{
	uint64_t now = start, page = 1, last_new;

	for (; page < 20; page += 2) {
		now += 2 * REEL_NS_PER_SECOND;
		/* One sample that leads to two pages. */
		sample_at(CODE + page * PAGE + 1000, now, false);
		sample_at(CODE + (page + 1) * PAGE + 1000, now, false);
	}
	assert_int_equal(reel_jit_code_news(jit), 0);
	now += 20 * REEL_NS_PER_SECOND;
	for (; page < 40; page++) {
		now += REEL_NS_PER_SECOND / 2;
		sample_at(CODE + page * PAGE + 1000, now, false);
	}
	last_new = now;
	assert_int_equal(reel_jit_code_news(jit), last_new);
	/* Known ones. */
	sample_at(CODE + 1000, now + REEL_NS_PER_SECOND / 2, false);
	assert_int_equal(reel_jit_code_news(jit), last_new);
}

RUN_TESTS()
