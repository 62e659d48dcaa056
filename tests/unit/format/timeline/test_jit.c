/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit.c: the names of an address over time, as given by JITs, and which of them forks
 * inherit.
 */
#include <time.h>

#include "tests/support/test.h"
#include "tests/support/timeline_records.h"

static struct reel_record symbol_record(uint64_t time, uint64_t space, uint64_t address,
					uint64_t size, const char *name)
{
	struct reel_record record = { .id = REEL_RECORD_JIT_SYMBOL };

	record.jit_symbol = (struct reel_record_jit_symbol){
		.time = time,
		.space = space,
		.address = address,
		.size = size,
		.source = REEL_JIT_PERF_MAP,
		.name = reel_bytes_of_string(name),
	};
	return record;
}

static struct reel_record unwind_record(uint64_t time, uint64_t space, uint64_t address,
					uint64_t size, const char *bytes)
{
	struct reel_record record = { .id = REEL_RECORD_JIT_UNWIND };

	record.jit_unwind = (struct reel_record_jit_unwind){
		.time = time,
		.space = space,
		.address = address,
		.size = size,
		.eh_frame = reel_bytes_of_string(bytes),
	};
	return record;
}

static struct reel_record line_record(uint64_t time, uint64_t space, uint64_t function,
				      uint64_t address, uint64_t line, const char *file)
{
	struct reel_record record = { .id = REEL_RECORD_JIT_LINE };

	record.jit_line = (struct reel_record_jit_line){
		time, space, function, address, line, reel_bytes_of_string(file),
	};
	return record;
}

static struct reel_record unmap_how(uint64_t time, uint64_t space, uint64_t address, uint64_t size,
				    enum reel_unmap_how how)
{
	struct reel_record record = unmap_record(time, space, address, size);

	record.unmap.how = how;
	return record;
}

static const char *name_at(const struct reel_timeline *timeline, uint64_t space, uint64_t time,
			   uint64_t address)
{
	struct reel_space_view view = reel_timeline_view(timeline, space, time);
	const struct reel_jit_symbol *symbol = reel_space_view_jit_symbol(&view, address);

	return symbol ? symbol->name : "";
}

#define assert_name(timeline, space, time, address, name)                                          \
	assert_string_equal(name_at(timeline, space, time, address), name)

TEST(test_the_latest_counts)
{
	struct reel_timeline *timeline = create(true);
	struct reel_space_view view;

	add(timeline, space_record(3, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, symbol_record(9, 1, 0x1010, 4, "late"));
	add(timeline, symbol_record(0, 1, 0x1000, 0x20, "first"));
	add(timeline, symbol_record(5, 1, 0x1000, 0x10, "a"));
	add(timeline, symbol_record(5, 1, 0x1008, 0x10, "b"));
	add(timeline, symbol_record(5, 1, UINT64_MAX, 1, "end"));
	add(timeline, unwind_record(7, 1, 0x1004, 2, "rows"));
	assert_null(reel_timeline_seal(timeline));
	assert_name(timeline, 1, 4, 0x1000, "first");
	assert_name(timeline, 1, 4, 0x101f, "first");
	assert_name(timeline, 1, 4, 0xfff, "");
	assert_name(timeline, 1, 9, 0x1020, "");
	assert_name(timeline, 1, 5, 0x1007, "a");
	assert_name(timeline, 1, 5, 0x1008, "b");
	assert_name(timeline, 1, 5, 0x1018, "first");
	assert_name(timeline, 1, 8, 0x1010, "b");
	assert_name(timeline, 1, 9, 0x1013, "late");
	assert_name(timeline, 1, 9, 0x1014, "b");
	assert_name(timeline, 1, 9, UINT64_MAX, "end");
	assert_name(timeline, 2, 9, 0x1010, "");
	view = reel_timeline_view(timeline, 1, 7);
	assert_memory_equal(reel_space_view_jit_unwind(&view, 0x1005)->eh_frame.data, "rows", 4);
	assert_null(reel_space_view_jit_unwind(&view, 0x1006));
	view = reel_timeline_view(timeline, 1, 6);
	assert_null(reel_space_view_jit_unwind(&view, 0x1005));
	reel_timeline_destroy(timeline);
}

TEST(test_names_go_with_forks_and_unmaps)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, space_record(0, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, symbol_record(1, 1, 0x1000, 0x10, "old"));
	add(timeline, space_record(3, 2, REEL_ORIGIN_FORK, 1));
	add(timeline, symbol_record(4, 1, 0x1000, 0x10, "new"));
	add(timeline, space_record(4, 3, REEL_ORIGIN_FORK, 2));
	add(timeline, symbol_record(5, 2, 0x1008, 4, "own"));
	/* Its time is unknown. */
	add(timeline, symbol_record(0, 3, 0x1004, 4, "its own"));
	add(timeline, unmap_how(6, 1, 0x1000, 8, REEL_UNMAP_INFERRED_OVERLAP));
	add(timeline, unmap_how(7, 1, 0x1000, 8, REEL_UNMAP_INFERRED_ABSENT));
	add(timeline, space_record(8, 4, REEL_ORIGIN_EXEC, 1));
	add(timeline, symbol_record(9, 1, 0x1004, 8, "newest"));
	assert_null(reel_timeline_seal(timeline));
	assert_name(timeline, 2, 3, 0x1008, "old");
	assert_name(timeline, 2, 9, 0x1008, "own");
	assert_name(timeline, 2, 9, 0x100c, "old");
	assert_name(timeline, 3, 4, 0x1000, "old");
	assert_name(timeline, 3, 4, 0x1004, "its own");
	assert_name(timeline, 3, 9, 0x1008, "old");
	assert_name(timeline, 1, 3, 0x1000, "old");
	assert_name(timeline, 1, 6, 0x1000, "new");
	assert_name(timeline, 1, 7, 0x1000, "");
	assert_name(timeline, 1, 7, 0x1008, "new");
	assert_name(timeline, 1, 9, 0x1007, "newest");
	assert_name(timeline, 4, 9, 0x1007, "");
	reel_timeline_destroy(timeline);
}

static void assert_line(const struct reel_timeline *timeline, uint64_t time, uint64_t address,
			uint32_t line, const char *file)
{
	struct reel_space_view view = reel_timeline_view(timeline, 2, time);
	struct reel_jit_line found;
	bool is_known = reel_jit_symbol_line(timeline, reel_space_view_jit_symbol(&view, address),
					     address, &found);

	assert_int_equal(is_known, file != NULL);
	if (!file)
		return;
	assert_int_equal(found.line, line);
	assert_string_equal(found.file, file);
}

TEST(test_lines_are_of_their_function)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, line_record(2, 1, 0x1000, 0x1008, 7, "b.js"));
	add(timeline, line_record(2, 1, 0x1000, 0x1004, 3, "a.js"));
	add(timeline, line_record(2, 1, 0x1000, 0x1008, 9, "c.js"));
	add(timeline, line_record(2, 1, 0x1000, 0x100c, 1ull << 32, "c.js"));
	add(timeline, line_record(2, 2, 0x1000, 0x1004, 99, "of another space"));
	add(timeline, line_record(4, 1, 0x1000, 0x1004, 4, "new.js"));
	add(timeline, space_record(0, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, symbol_record(2, 1, 0x1000, 0x10, "f"));
	add(timeline, space_record(3, 2, REEL_ORIGIN_FORK, 1));
	add(timeline, symbol_record(4, 2, 0x1008, 8, "g"));
	assert_null(reel_timeline_seal(timeline));
	assert_line(timeline, 3, 0x1003, 0, NULL);
	assert_line(timeline, 3, 0x1004, 3, "a.js");
	assert_line(timeline, 3, 0x1007, 3, "a.js");
	assert_line(timeline, 3, 0x1008, 9, "c.js");
	assert_line(timeline, 3, 0x100c, 0, "c.js");
	assert_line(timeline, 4, 0x1004, 3, "a.js");
	assert_line(timeline, 4, 0x1008, 0, NULL);
	reel_timeline_destroy(timeline);
}

/* ---- against a model ------------------------------------------------------------ */

#define PAGES	12
#define SPACES	6
#define TIMES	12
#define RECORDS 60
#define BASE	0x1000u

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

struct model_space {
	bool defined, has_jit, has_children;
	int names[PAGES]; /* 0: no name; -1: it is gone */
};

static void model_fork(struct model_space *parent, struct model_space *child)
{
	if (parent == child || !parent->has_jit || child->has_children)
		return;
	parent->has_children = child->has_jit = true;
	for (unsigned i = 0; i < PAGES; i++)
		child->names[i] = child->names[i] ? child->names[i] : parent->names[i];
}

static void model_apply(struct model_space *spaces, const struct reel_record *record, int number)
{
	const struct reel_record_jit_symbol *symbol = &record->jit_symbol;
	const struct reel_record_unmap *unmap = &record->unmap;
	struct model_space *space;

	switch (record->id) {
	case REEL_RECORD_SPACE:
		space = &spaces[record->space.id];
		if (!space->defined && record->space.origin == REEL_ORIGIN_FORK)
			model_fork(&spaces[record->space.parent], space);
		space->defined = true;
		break;
	case REEL_RECORD_JIT_SYMBOL:
		space = &spaces[symbol->space];
		space->has_jit = true;
		for (uint64_t i = 0; i < symbol->size; i++)
			space->names[symbol->address - BASE + i] = number;
		break;
	case REEL_RECORD_UNMAP:
		space = &spaces[unmap->space];
		for (uint64_t i = 0; space->has_jit && unmap->how != 1 && i < unmap->size; i++)
			space->names[unmap->address - BASE + i] = -1;
		break;
	default:
		break;
	}
}

static struct reel_record random_record(const char *name)
{
	uint64_t time = random_below(TIMES), space = 1 + random_below(SPACES);
	uint64_t first = random_below(PAGES), size = 1 + random_below((uint32_t)(PAGES - first));

	switch (random_below(8)) {
	case 0:
	case 1:
		return space_record(time, space, REEL_ORIGIN_FORK, 1 + random_below(SPACES));
	case 2:
		return unmap_how(time, space, BASE + first, size, random_below(3));
	default:
		return symbol_record(time, space, BASE + first, size, name);
	}
}

static void check_all(const struct reel_timeline *timeline, const struct reel_record *records)
{
	for (uint64_t time = 0; time < TIMES; time++) {
		struct model_space spaces[SPACES + 1] = { 0 };

		for (uint64_t t = 0; t <= time; t++) {
			/* In all records made here, time is the first field. */
			for (int i = 0; i < RECORDS; i++)
				if (records[i].map.time == t)
					model_apply(spaces, &records[i], i + 1);
		}
		for (uint64_t space = 1; space <= SPACES; space++) {
			for (uint64_t i = 0; i < PAGES && spaces[space].defined; i++) {
				int name = spaces[space].names[i];
				char expected[16] = "";

				if (name > 0)
					snprintf(expected, sizeof(expected), "%d", name);
				assert_name(timeline, space, time, BASE + i, expected);
			}
		}
	}
}

TEST(test_against_model)
{
	for (unsigned round = 0; round < 2000; round++) {
		struct reel_timeline *timeline = create(true);
		struct reel_record records[RECORDS];

		for (int i = 0; i < RECORDS; i++) {
			char name[16];

			snprintf(name, sizeof(name), "%d", i + 1);
			records[i] = random_record(name);
			add(timeline, records[i]);
		}
		assert_null(reel_timeline_seal(timeline));
		check_all(timeline, records);
		reel_timeline_destroy(timeline);
	}
}

/* ---- many ----------------------------------------------------------------------- */

/* Time of this process only: the machine may be busy. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#define MANY 100000

/* Nested ranges, each with its own time; and many forks of forks. */
TEST(test_many_are_fast)
{
	struct reel_timeline *timeline = create(true);
	double begin = now();

	for (uint64_t i = 0; i < MANY; i++) {
		add(timeline, symbol_record(i, 1, MANY - i, 2 * i + 1, i % 2 ? "odd" : "even"));
		add(timeline, space_record(i, i + 1, i ? REEL_ORIGIN_FORK : REEL_ORIGIN_FOUND, i));
		add(timeline, symbol_record(i, i + 1, i, 3, "own"));
	}
	assert_null(reel_timeline_seal(timeline));
	for (uint64_t i = 1; i < MANY; i++) {
		assert_name(timeline, 1, i, MANY - i, i % 2 ? "odd" : "even");
		assert_name(timeline, MANY, MANY, i, "own");
	}
	assert_true(now() - begin < 60);
	reel_timeline_destroy(timeline);
}

RUN_TESTS()
