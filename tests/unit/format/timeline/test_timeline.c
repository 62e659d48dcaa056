/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline compared with a model that applies all records up to a time, one after the other. */
#include <time.h>

#include "tests/support/test.h"
#include "tests/support/timeline_records.h"

#define PAGES	40
#define SPACES	6
#define THREADS 5
#define TIMES	25
#define RECORDS 120
#define BASE	0x10000u
#define PAGE	16u

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

/* ---- the model -------------------------------------------------------------- */

struct page {
	uint64_t module, offset;
};

struct model_space {
	bool defined, touched;
	uint64_t pid, word_bits;
	struct page pages[PAGES];
};

struct model_thread {
	bool defined, placed, named;
	uint64_t space;
	char comm[16];
};

struct model {
	struct model_space spaces[SPACES + 1];
	struct model_thread threads[THREADS + 1];
};

static void model_space(struct model *model, const struct reel_record_space *record)
{
	struct model_space *space = &model->spaces[record->id];

	space->word_bits = record->word_bits;
	if (space->defined)
		return;
	space->defined = true;
	space->pid = record->pid;
	if (record->origin == REEL_ORIGIN_FORK && !space->touched &&
	    model->spaces[record->parent].touched) {
		memcpy(space->pages, model->spaces[record->parent].pages, sizeof(space->pages));
		space->touched = true;
	}
}

static void model_range(struct model_space *space, uint64_t address, uint64_t size, uint64_t module,
			uint64_t offset)
{
	uint64_t first = (address - BASE) / PAGE;

	for (uint64_t i = 0; i < size / PAGE; i++)
		space->pages[first + i] = (struct page){ module, module ? offset + i * PAGE : 0 };
}

static void model_apply(struct model *model, const struct reel_record *record)
{
	struct model_thread *thread;

	switch (record->id) {
	case REEL_RECORD_SPACE:
		model_space(model, &record->space);
		break;
	case REEL_RECORD_MAP:
		model->spaces[record->map.space].touched = true;
		model_range(&model->spaces[record->map.space], record->map.address,
			    record->map.size, record->map.module, record->map.offset);
		break;
	case REEL_RECORD_UNMAP:
		model_range(&model->spaces[record->unmap.space], record->unmap.address,
			    record->unmap.size, 0, 0);
		break;
	case REEL_RECORD_THREAD:
		thread = &model->threads[record->thread.id];
		if (thread->defined)
			break;
		thread->defined = true;
		if (!thread->placed)
			thread->space = record->thread.space;
		if (!thread->named)
			snprintf(thread->comm, sizeof(thread->comm), "%.*s",
				 (int)record->thread.comm.size, record->thread.comm.data);
		thread->placed = thread->named = true;
		break;
	case REEL_RECORD_THREAD_COMM:
		thread = &model->threads[record->thread_comm.thread];
		snprintf(thread->comm, sizeof(thread->comm), "%.*s",
			 (int)record->thread_comm.comm.size, record->thread_comm.comm.data);
		thread->named = true;
		break;
	case REEL_RECORD_THREAD_EXEC:
		thread = &model->threads[record->thread_exec.thread];
		thread->space = record->thread_exec.space;
		thread->placed = true;
		break;
	default:
		break;
	}
}

static uint64_t time_of(const struct reel_record *record)
{
	/* In all records made here, time is the first field. */
	return record->map.time;
}

/* All records up to `time`, in order of time, and in the given order for equal times. */
static void model_at(struct model *model, const struct reel_record *records, size_t count,
		     uint64_t time)
{
	memset(model, 0, sizeof(*model));
	for (uint64_t t = 0; t <= time; t++) {
		for (size_t i = 0; i < count; i++) {
			if (time_of(&records[i]) == t)
				model_apply(model, &records[i]);
		}
	}
}

static struct reel_record random_record(uint64_t time)
{
	static const char *const names[] = { "a", "bb", "ccc", "dddddd", "" };
	const char *name = names[random_below(5)];
	uint64_t first = random_below(PAGES);
	uint64_t size = (1 + random_below((uint32_t)(PAGES - first))) * PAGE;
	uint64_t address = BASE + first * PAGE;
	uint64_t space = 1 + random_below(SPACES), thread = 1 + random_below(THREADS);

	switch (random_below(10)) {
	case 0:
		return space_record(time, space,
				    random_below(2) ? REEL_ORIGIN_FORK : random_below(4),
				    random_below(SPACES + 1));
	case 1:
		return thread_record(time, thread, space, name[0] ? name : "x");
	case 2:
		return comm_record(time, thread, name);
	case 3:
		return exec_record(time, thread, space);
	case 4:
	case 5:
		return unmap_record(time, space, address, size);
	default:
		return map_record(time, space, address, size, random_below(4) * 0x1000u,
				  1 + random_below(9));
	}
}

static void check_space(const struct reel_timeline *timeline, const struct model *model,
			uint64_t id, uint64_t time)
{
	const struct model_space *space = &model->spaces[id];
	struct reel_space_view view = reel_timeline_view(timeline, id, time);
	struct reel_mapping mapping, other;
	bool empty = true;

	for (uint64_t i = 0; i < PAGES; i++) {
		uint64_t address = BASE + i * PAGE + random_below(PAGE);
		bool found = reel_timeline_find(timeline, id, time, address, &mapping);

		assert_int_equal(found, space->pages[i].module != 0);
		assert_int_equal(reel_space_view_find(&view, address, &other), found);
		if (!found)
			continue;
		empty = false;
		assert_int_equal(mapping.module, space->pages[i].module);
		assert_int_equal(address / PAGE * PAGE - mapping.address + mapping.offset,
				 space->pages[i].offset);
		assert_int_equal(mapping.protection, 5);
		assert_memory_equal(&mapping, &other, sizeof(mapping));
		if (reel_space_view_below(&view, address, &other))
			assert_true(other.address + other.size <= mapping.address);
		if (reel_space_view_above(&view, address, &other))
			assert_true(other.address >= mapping.address + mapping.size);
	}
	assert_int_equal(view.generation == 0, empty);
}

static void check_at(const struct reel_timeline *timeline, const struct model *model, uint64_t time)
{
	for (uint64_t id = 1; id <= SPACES; id++)
		check_space(timeline, model, id, time);
	for (uint64_t id = 1; id <= THREADS; id++) {
		const struct model_thread *thread = &model->threads[id];

		assert_int_equal(reel_timeline_thread_space(timeline, id, time), thread->space);
		assert_string_equal(reel_timeline_thread_comm(timeline, id, time), thread->comm);
	}
}

static void check_present(const struct reel_timeline *timeline, const struct model *model)
{
	for (uint64_t id = 1; id <= SPACES; id++) {
		const struct reel_space_state *state = reel_timeline_space(timeline, id);

		assert_int_equal(state != NULL, model->spaces[id].defined);
		if (!state)
			continue;
		assert_int_equal(state->pid, model->spaces[id].pid);
		assert_int_equal(state->word_bits, model->spaces[id].word_bits);
	}
	for (uint64_t id = 1; id <= THREADS; id++)
		assert_int_equal(reel_timeline_thread(timeline, id) != NULL,
				 model->threads[id].defined);
}

TEST(any_order_agrees_with_model)
{
	struct reel_record records[RECORDS];
	struct model *model = calloc(1, sizeof(*model));

	for (unsigned int round = 0; round < 100; round++) {
		struct reel_timeline *timeline = create(true);

		for (size_t i = 0; i < RECORDS; i++) {
			records[i] = random_record(random_below(TIMES));
			add(timeline, records[i]);
		}
		assert_null(reel_timeline_seal(timeline));
		for (uint64_t time = 0; time < TIMES + 2; time++) {
			model_at(model, records, RECORDS, time);
			check_at(timeline, model, time);
		}
		check_at(timeline, model, REEL_TIME_NOW);
		check_present(timeline, model);
		reel_timeline_destroy(timeline);
	}
	free(model);
}

/*
 * Without a past, each record takes effect at once; an exec drops the space that the thread leaves.
 */
TEST(present_agrees_with_model)
{
	struct model *model = calloc(1, sizeof(*model));

	for (unsigned int round = 0; round < 100; round++) {
		struct reel_timeline *timeline = create(false);

		memset(model, 0, sizeof(*model));
		for (size_t i = 0; i < RECORDS; i++) {
			struct reel_record record = random_record(i / 2);

			if (record.id == REEL_RECORD_THREAD_EXEC) {
				uint64_t old = model->threads[record.thread_exec.thread].space;

				if (old && old != record.thread_exec.space)
					memset(&model->spaces[old], 0, sizeof(model->spaces[old]));
			}
			model_apply(model, &record);
			add(timeline, record);
			check_at(timeline, model, random_below(2) ? REEL_TIME_NOW : i / 2);
		}
		check_present(timeline, model);
		reel_timeline_destroy(timeline);
	}
	free(model);
}

/* ---- cases -------------------------------------------------------------------- */

static uint64_t module_at(const struct reel_timeline *timeline, uint64_t space, uint64_t time,
			  uint64_t address)
{
	struct reel_mapping mapping;

	return reel_timeline_find(timeline, space, time, address, &mapping) ? mapping.module : 0;
}

TEST(fork_shares_then_parts)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, space_record(10, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, map_record(10, 1, 0x1000, 0x1000, 0, 7));
	add(timeline, map_record(12, 1, 0x2000, 0x1000, 0, 8));
	add(timeline, space_record(20, 2, REEL_ORIGIN_FORK, 1));
	add(timeline, map_record(21, 1, 0x3000, 0x1000, 0, 9));
	add(timeline, unmap_record(22, 2, 0x1000, 0x1000));
	assert_null(reel_timeline_seal(timeline));

	assert_int_equal(module_at(timeline, 2, 19, 0x1000), 0);
	assert_int_equal(module_at(timeline, 2, 20, 0x1000), 7);
	assert_int_equal(module_at(timeline, 2, 20, 0x2fff), 8);
	assert_int_equal(module_at(timeline, 2, 30, 0x3000), 0);
	assert_int_equal(module_at(timeline, 2, 21, 0x1000), 7);
	assert_int_equal(module_at(timeline, 2, 22, 0x1000), 0);
	assert_int_equal(module_at(timeline, 1, 30, 0x1000), 7);
	assert_int_equal(module_at(timeline, 1, 11, 0x2000), 0);
	reel_timeline_destroy(timeline);
}

TEST(generations_tell_states_apart)
{
	struct reel_timeline *timeline = create(true);
	struct reel_space_view a, b, c, child;

	add(timeline, map_record(10, 1, 0x1000, 0x1000, 0, 7));
	add(timeline, space_record(15, 2, REEL_ORIGIN_FORK, 1));
	add(timeline, map_record(20, 1, 0x1000, 0x1000, 0, 7)); /* the same again */
	add(timeline, unmap_record(25, 1, 0x8000, 0x1000));	/* of no mapping */
	add(timeline, map_record(30, 1, 0x1000, 0x1000, 0, 8));
	assert_null(reel_timeline_seal(timeline));
	a = reel_timeline_view(timeline, 1, 10);
	b = reel_timeline_view(timeline, 1, 29);
	c = reel_timeline_view(timeline, 1, 30);
	child = reel_timeline_view(timeline, 2, 30);
	assert_int_equal(a.generation, b.generation);
	assert_int_not_equal(a.generation, c.generation);
	assert_int_not_equal(a.generation, child.generation);
	assert_ptr_equal(a.root, child.root);
	assert_int_equal(reel_timeline_view(timeline, 1, 9).generation, 0);
	assert_int_equal(reel_timeline_view(timeline, 99, 9).generation, 0);
	reel_timeline_destroy(timeline);
}

static struct reel_record data_record(uint64_t time, uint64_t address, uint64_t size,
				      uint64_t module)
{
	struct reel_record record = map_record(time, 1, address, size, 0, module);

	record.map.protection = 3;
	return record;
}

TEST(generations_are_of_code)
{
	enum { ANONYMOUS = 7, FILE_MODULE = 8 };
	/* The time of each record, and whether the code differs afterwards. */
	static const bool changes[] = {
		true,  /* at 0: code of a file */
		false, /* memory */
		true,  /* the file's data: huge pages between may be its text */
		false, /* the heap grows */
		false, /* and is unmapped */
		true,  /* memory replaces the file's data */
		true,  /* JIT code */
		true,  /* that is no longer executable */
		true,  /* the code is gone */
	};
	struct reel_timeline *timeline = create(true);
	struct reel_record anonymous = module_record(ANONYMOUS, "//anon");
	uint64_t last = 0;

	anonymous.module.kind = REEL_MODULE_ANONYMOUS;
	add(timeline, anonymous);
	add(timeline, module_record(FILE_MODULE, "/bin/sh"));
	add(timeline, map_record(0, 1, 0x1000, 0x1000, 0, FILE_MODULE));
	add(timeline, data_record(1, 0x4000, 0x1000, ANONYMOUS));
	add(timeline, data_record(2, 0x2000, 0x1000, FILE_MODULE));
	add(timeline, data_record(3, 0x5000, 0x1000, ANONYMOUS));
	add(timeline, unmap_record(4, 1, 0x4000, 0x2000));
	add(timeline, data_record(5, 0x2000, 0x1000, ANONYMOUS));
	add(timeline, map_record(6, 1, 0x8000, 0x1000, 0, ANONYMOUS));
	add(timeline, data_record(7, 0x8800, 0x800, ANONYMOUS));
	add(timeline, unmap_record(8, 1, 0x1fff, 1));
	assert_null(reel_timeline_seal(timeline));
	for (uint64_t time = 0; time < sizeof(changes) / sizeof(changes[0]); time++) {
		struct reel_space_view view = reel_timeline_view(timeline, 1, time);

		assert_int_equal(view.generation != last, changes[time]);
		last = view.generation;
	}
	reel_timeline_destroy(timeline);
}

TEST(exec_leaves_the_mappings_behind)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, space_record(1, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, thread_record(1, 5, 1, "sh"));
	add(timeline, map_record(1, 1, 0x1000, 0x1000, 0, 7));
	add(timeline, space_record(10, 2, REEL_ORIGIN_EXEC, 1));
	add(timeline, exec_record(10, 5, 2));
	add(timeline, comm_record(10, 5, "ls"));
	add(timeline, thread_exit_record(20, 5));
	add(timeline, space_exit_record(21, 2));
	assert_null(reel_timeline_seal(timeline));
	assert_int_equal(reel_timeline_thread_space(timeline, 5, 0), 0);
	assert_int_equal(reel_timeline_thread_space(timeline, 5, 9), 1);
	assert_int_equal(reel_timeline_thread_space(timeline, 5, 10), 2);
	assert_string_equal(reel_timeline_thread_comm(timeline, 5, 9), "sh");
	assert_string_equal(reel_timeline_thread_comm(timeline, 5, 10), "ls");
	assert_int_equal(module_at(timeline, 2, 15, 0x1000), 0);
	assert_int_equal(reel_timeline_space(timeline, 1)->end, 10);
	assert_int_equal(reel_timeline_space(timeline, 2)->end, 21);
	assert_int_equal(reel_timeline_thread(timeline, 5)->end, 20);
	assert_int_equal(reel_timeline_thread(timeline, 5)->tid, 2005);
	reel_timeline_destroy(timeline);
}

TEST(a_part_keeps_its_file_offset)
{
	struct reel_timeline *timeline = create(true);
	struct reel_mapping mapping;

	add(timeline, map_record(1, 1, 0x10000, 0x10000, 0x5000, 7));
	add(timeline, map_record(2, 1, 0x14000, 0x1000, 0, 8));
	assert_null(reel_timeline_seal(timeline));
	assert_true(reel_timeline_find(timeline, 1, 2, 0x13fff, &mapping));
	assert_int_equal(mapping.size, 0x4000);
	assert_int_equal(mapping.offset, 0x5000);
	assert_true(reel_timeline_find(timeline, 1, 2, 0x15000, &mapping));
	assert_int_equal(mapping.address, 0x15000);
	assert_int_equal(mapping.size, 0xb000);
	assert_int_equal(mapping.offset, 0xa000);
	reel_timeline_destroy(timeline);
}

TEST(first_definitions_win)
{
	struct reel_timeline *timeline = create(true);
	struct reel_record again = space_record(5, 1, REEL_ORIGIN_FORK, 9);
	struct reel_record second = thread_record(5, 1, 2, "b");
	const struct reel_record_module *module;

	again.space.pid = 77;
	again.space.vdso = 0x7000;
	second.thread.tid = 1;
	add(timeline, module_record(3, "/first"));
	add(timeline, module_record(3, "/second"));
	add(timeline, space_record(1, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, map_record(2, 1, 0x1000, 0x1000, 0, 3));
	add(timeline, again);
	add(timeline, thread_record(1, 1, 1, "a"));
	add(timeline, second);
	assert_null(reel_timeline_seal(timeline));
	assert_int_equal(reel_timeline_space(timeline, 1)->pid, 1001);
	assert_int_equal(reel_timeline_space(timeline, 1)->parent, 0);
	assert_int_equal(reel_timeline_space(timeline, 1)->start, 1);
	assert_int_equal(reel_timeline_space(timeline, 1)->vdso, 0x7000);
	assert_int_equal(module_at(timeline, 1, 9, 0x1000), 3);
	assert_int_equal(reel_timeline_thread(timeline, 1)->tid, 2001);
	assert_int_equal(reel_timeline_thread_space(timeline, 1, 9), 1);
	module = reel_timeline_module(timeline, 3);
	assert_int_equal(module->path.size, 6);
	assert_memory_equal(module->path.data, "/first", 6);
	assert_memory_equal(module->build_id.data, "\x12\x34", 2);
	reel_timeline_destroy(timeline);
}

static struct reel_record space_cgroup_record(uint64_t time, uint64_t space, uint64_t cgroup)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE_CGROUP };

	record.space_cgroup = (struct reel_record_space_cgroup){ time, space, cgroup };
	return record;
}

static struct reel_record cgroup_record(uint64_t id, const char *path)
{
	struct reel_record record = { .id = REEL_RECORD_CGROUP };

	record.cgroup = (struct reel_record_cgroup){ id, reel_bytes_of_string(path) };
	return record;
}

static const char *cgroup_at(const struct reel_timeline *timeline, uint64_t space, uint64_t time)
{
	const struct reel_cgroup *cgroup = reel_timeline_cgroup(timeline, space, time);

	return cgroup ? cgroup->path : "unknown";
}

TEST(cgroups_hold_until_the_next)
{
	static const char *const expected[] = { "unknown",  "unknown", "/a",	  "/a", "/b.scope",
						"/b.scope", "unknown", "unknown", "/a" };
	struct reel_timeline *timeline = create(true);

	/* In any order, before the space too; of two with a time the last. */
	add(timeline, space_cgroup_record(8, 1, 1));
	add(timeline, space_cgroup_record(4, 1, 1));
	add(timeline, space_cgroup_record(4, 1, 2));
	add(timeline, space_cgroup_record(6, 1, 0));
	add(timeline, space_cgroup_record(7, 1, 99));
	add(timeline, space_cgroup_record(2, 1, 1));
	add(timeline, space_cgroup_record(2, 0, 1));
	add(timeline, space_record(1, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, space_record(5, 2, REEL_ORIGIN_FORK, 1));
	add(timeline, cgroup_record(1, "/a"));
	add(timeline, cgroup_record(2, "/b.scope"));
	add(timeline, cgroup_record(2, "/other"));
	assert_null(reel_timeline_seal(timeline));
	for (uint64_t time = 0; time < sizeof(expected) / sizeof(*expected); time++)
		assert_string_equal(cgroup_at(timeline, 1, time), expected[time]);
	assert_string_equal(reel_timeline_cgroup(timeline, 1, 4)->unit, "b.scope");
	assert_string_equal(reel_timeline_cgroup(timeline, 1, 4)->container, "");
	assert_string_equal(cgroup_at(timeline, 2, 5), "unknown");
	assert_string_equal(cgroup_at(timeline, 0, 5), "unknown");
	assert_string_equal(cgroup_at(timeline, 3, 5), "unknown");
	reel_timeline_destroy(timeline);
}

TEST(the_first_names_count)
{
	struct reel_timeline *timeline = create(true);
	struct reel_record record = cgroup_record(1, "/lxc.payload.web");
	const struct reel_cgroup *cgroup;

	add(timeline, space_record(1, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, space_record(1, 2, REEL_ORIGIN_FOUND, 0));
	add(timeline, space_cgroup_record(1, 1, 1));
	add(timeline, space_cgroup_record(1, 2, 2));
	add(timeline, record);
	add(timeline, cgroup_record(2, "/lxc.payload.web"));
	record.cgroup.namespace = reel_bytes_of_string("alone");
	add(timeline, record);
	record.cgroup.path = reel_bytes_of_string("/other");
	record.cgroup.container_name = reel_bytes_of_string("nginx");
	record.cgroup.pod_name = reel_bytes_of_string("shop-0");
	record.cgroup.namespace = reel_bytes_of_string("default");
	add(timeline, record);
	record.cgroup.container_name = reel_bytes_of_string("renamed");
	add(timeline, record);
	assert_null(reel_timeline_seal(timeline));
	cgroup = reel_timeline_cgroup(timeline, 1, 1);
	assert_string_equal(cgroup->path, "/lxc.payload.web");
	assert_string_equal(cgroup->container, "web");
	assert_string_equal(cgroup->container_name, "nginx");
	assert_string_equal(cgroup->pod, "");
	assert_string_equal(cgroup->pod_name, "shop-0");
	assert_string_equal(cgroup->namespace, "default");
	cgroup = reel_timeline_cgroup(timeline, 2, 1);
	assert_string_equal(cgroup->container_name, "web");
	assert_string_equal(cgroup->pod_name, "");
	reel_timeline_destroy(timeline);
}

TEST(modules_ascend)
{
	for (int keep_past = 0; keep_past < 2; keep_past++) {
		struct reel_timeline *timeline = create(keep_past);
		const struct reel_record_module *const *modules;
		size_t count;

		for (uint64_t i = 0; i < 100; i++)
			add(timeline, module_record(1 + i * 37 % 101, ""));
		assert_null(reel_timeline_seal(timeline));
		modules = reel_timeline_modules(timeline, &count);
		assert_int_equal(count, 100);
		for (size_t i = 1; i < count; i++)
			assert_true(modules[i - 1]->id < modules[i]->id);
		assert_null(reel_timeline_module(timeline, 1000));
		reel_timeline_destroy(timeline);
	}
}

static void assert_refused(struct reel_timeline *timeline, struct reel_record record)
{
	assert_error(reel_timeline_add(timeline, &record), REEL_ERROR_INVALID);
}

TEST(values_out_of_range_are_refused)
{
	struct reel_timeline *timeline = create(true);

	assert_refused(timeline, map_record(1, 1, 0x1000, 0, 0, 1));
	assert_refused(timeline, map_record(1, 1, UINT64_MAX, 2, 0, 1));
	assert_refused(timeline, unmap_record(1, 1, 0x1000, 0));
	assert_refused(timeline, space_record(1, 0, REEL_ORIGIN_FOUND, 0));
	assert_refused(timeline, thread_record(1, 0, 1, ""));
	assert_refused(timeline, module_record(0, ""));
	add(timeline, map_record(1, 1, UINT64_MAX, 1, 0, 1));
	/* Space 0 is empty, whatever a file contains. */
	add(timeline, map_record(1, 0, 0x1000, 1, 0, 1));
	assert_null(reel_timeline_seal(timeline));
	assert_int_equal(module_at(timeline, 1, 1, UINT64_MAX), 1);
	assert_int_equal(module_at(timeline, 0, 1, 0x1000), 0);
	assert_refused(timeline, map_record(2, 1, 0x1000, 1, 0, 1)); /* sealed */
	reel_timeline_destroy(timeline);
}

TEST(unknown_ids_are_tolerated)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, map_record(1, 4, 0x1000, 0x1000, 0, 1));
	add(timeline, space_exit_record(1, 5));
	add(timeline, thread_exit_record(1, 5));
	add(timeline, unmap_record(1, 6, 0x1000, 1));
	add(timeline, exec_record(2, 7, 4));
	add(timeline, comm_record(2, 8, "lost"));
	add(timeline, space_record(3, 9, REEL_ORIGIN_FORK, 1234));
	assert_null(reel_timeline_seal(timeline));
	assert_null(reel_timeline_space(timeline, 4));
	assert_int_equal(module_at(timeline, 4, 1, 0x1000), 1);
	assert_null(reel_timeline_thread(timeline, 7));
	assert_int_equal(reel_timeline_thread_space(timeline, 7, 2), 4);
	assert_string_equal(reel_timeline_thread_comm(timeline, 8, 2), "lost");
	assert_string_equal(reel_timeline_thread_comm(timeline, 99, 2), "");
	reel_timeline_destroy(timeline);
}

/* ---- code -------------------------------------------------------------------- */

/* "" without code; the view may end there. */
static void assert_code(const struct reel_timeline *timeline, uint64_t space, uint64_t time,
			uint64_t address, const char *bytes)
{
	struct reel_space_view view = reel_timeline_view(timeline, space, time);
	const uint8_t *found = NULL;
	size_t size = reel_space_view_code(&view, address, &found);

	assert_int_equal(size, strlen(bytes));
	if (size)
		assert_memory_equal(found, bytes, size);
}

static struct reel_record unmap_how(uint64_t time, uint64_t space, uint64_t address, uint64_t size,
				    enum reel_unmap_how how)
{
	struct reel_record record = unmap_record(time, space, address, size);

	record.unmap.how = how;
	return record;
}

TEST(code_holds_until_other_comes)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, space_record(0, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, map_record(1, 1, 0x1000, 0x2000, 0, 7));
	add(timeline, code_record(5, 1, 0x1100, "abcdefgh"));
	add(timeline, code_record(9, 1, 0x1102, "XY"));
	/* Without a space; in an unknown space; where nothing is mapped. */
	add(timeline, code_record(9, 0, 0x1100, "file"));
	add(timeline, code_record(9, 2, 0x1100, "lost"));
	add(timeline, code_record(9, 1, 0x5000, "hole"));
	assert_null(reel_timeline_seal(timeline));
	assert_code(timeline, 1, 4, 0x1100, "");
	assert_code(timeline, 1, 5, 0x1100, "abcdefgh");
	assert_code(timeline, 1, 8, 0x1103, "defgh");
	assert_code(timeline, 1, 9, 0x1100, "ab");
	assert_code(timeline, 1, 9, 0x1103, "Y");
	assert_code(timeline, 1, 9, 0x1104, "efgh");
	assert_code(timeline, 1, 9, 0x1108, "");
	assert_code(timeline, 1, 9, 0x10ff, "");
	assert_code(timeline, 1, 9, 0x5000, "");
	assert_code(timeline, 2, 9, 0x1100, "");
	reel_timeline_destroy(timeline);
}

/* The bytes that may already be there at that time. */
static void assert_next_code(const struct reel_timeline *timeline, uint64_t time, uint64_t address,
			     const char *bytes)
{
	struct reel_space_view view = reel_timeline_view(timeline, 1, time);
	const uint8_t *found = NULL;

	view.code = view.next_code;
	assert_int_equal(reel_space_view_code(&view, address, &found), strlen(bytes));
	if (*bytes)
		assert_memory_equal(found, bytes, strlen(bytes));
}

static bool is_sure(const struct reel_timeline *timeline, uint64_t time)
{
	struct reel_space_view view = reel_timeline_view(timeline, 1, time);

	return view.code == view.next_code;
}

TEST(code_is_unsure_between_readings)
{
	struct reel_timeline *timeline = create(true);
	struct reel_record end = { .id = REEL_RECORD_CODE_END, .code_end = { 40, 1, 0x1001, 2 } };
	struct reel_record old = code_record(10, 1, 0x1000, "abcd"),
			   new = code_record(30, 1, 0x1002, "XY"),
			   last = code_record(60, 1, 0x1000, "last");

	old.code.since = 5;
	new.code.since = 20;
	last.code.since = 50;
	add(timeline, space_record(0, 1, REEL_ORIGIN_FOUND, 0));
	/* The memory may be younger than the reading. */
	add(timeline, map_record(8, 1, 0x1000, 0x1000, 0, 7));
	add(timeline, last);
	add(timeline, new);
	add(timeline, old);
	add(timeline, end);
	assert_null(reel_timeline_seal(timeline));
	assert_code(timeline, 1, 9, 0x1000, "");
	assert_next_code(timeline, 7, 0x1000, "");
	assert_next_code(timeline, 9, 0x1000, "abcd");
	assert_false(is_sure(timeline, 9));
	assert_true(is_sure(timeline, 19));
	assert_code(timeline, 1, 20, 0x1000, "abcd");
	assert_next_code(timeline, 20, 0x1000, "ab");
	assert_next_code(timeline, 20, 0x1002, "XY");
	assert_false(is_sure(timeline, 29));
	assert_true(is_sure(timeline, 30));
	assert_code(timeline, 1, 30, 0x1002, "XY");
	assert_code(timeline, 1, 40, 0x1000, "a");
	assert_code(timeline, 1, 40, 0x1001, "");
	assert_code(timeline, 1, 40, 0x1003, "Y");
	assert_true(is_sure(timeline, 49));
	assert_code(timeline, 1, 50, 0x1001, "");
	assert_next_code(timeline, 50, 0x1000, "last");
	assert_code(timeline, 1, 60, 0x1000, "last");
	assert_true(is_sure(timeline, 60));
	reel_timeline_destroy(timeline);
}

/* A JIT extends its memory, or protects it again: the tracker sees a mapping that replaces the old
 * one. */
TEST(code_stays_with_its_memory)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, space_record(0, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, map_record(1, 1, 0x1000, 0x1000, 0, 7));
	add(timeline, code_record(2, 1, 0x1000, "code"));
	add(timeline, unmap_how(3, 1, 0x1000, 0x1000, REEL_UNMAP_INFERRED_OVERLAP));
	add(timeline, map_record(3, 1, 0x1000, 0x3000, 0, 7));
	/* A library is mapped there for a while; its munmap was not reported. */
	add(timeline, unmap_how(4, 1, 0x1000, 0x1000, REEL_UNMAP_INFERRED_OVERLAP));
	add(timeline, map_record(4, 1, 0x1000, 0x1000, 0, 8));
	/* The memory is back; then the place is empty, and memory again. */
	add(timeline, map_record(5, 1, 0x1000, 0x1000, 0, 7));
	add(timeline, unmap_how(6, 1, 0x1000, 2, REEL_UNMAP_INFERRED_ABSENT));
	add(timeline, map_record(7, 1, 0x1000, 0x1000, 0, 7));
	assert_null(reel_timeline_seal(timeline));
	assert_code(timeline, 1, 2, 0x1000, "code");
	assert_code(timeline, 1, 3, 0x1000, "code");
	assert_code(timeline, 1, 4, 0x1000, "");
	assert_code(timeline, 1, 5, 0x1000, "code");
	assert_code(timeline, 1, 6, 0x1000, "");
	assert_code(timeline, 1, 7, 0x1000, "");
	assert_code(timeline, 1, 7, 0x1002, "de");
	reel_timeline_destroy(timeline);
}

TEST(code_goes_with_forks_not_with_execs)
{
	struct reel_timeline *timeline = create(true);

	add(timeline, space_record(0, 1, REEL_ORIGIN_FOUND, 0));
	add(timeline, thread_record(0, 1, 1, "main"));
	add(timeline, map_record(1, 1, 0x1000, 0x1000, 0, 7));
	add(timeline, code_record(2, 1, 0x1000, "old"));
	add(timeline, space_record(3, 2, REEL_ORIGIN_FORK, 1));
	add(timeline, code_record(4, 1, 0x1000, "new"));
	add(timeline, code_record(5, 2, 0x1001, "WN"));
	add(timeline, space_record(6, 3, REEL_ORIGIN_EXEC, 1));
	add(timeline, exec_record(6, 1, 3));
	add(timeline, map_record(6, 3, 0x1000, 0x1000, 0, 7));
	assert_null(reel_timeline_seal(timeline));
	assert_code(timeline, 2, 3, 0x1000, "old");
	assert_code(timeline, 2, 5, 0x1000, "o");
	assert_code(timeline, 2, 5, 0x1001, "WN");
	assert_code(timeline, 1, 5, 0x1000, "new");
	assert_code(timeline, 3, 6, 0x1000, "");
	reel_timeline_destroy(timeline);
}

/* ---- many -------------------------------------------------------------------- */

/* Time of this process only: the machine may be busy. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A shell script's life: one process after the other, each with 50 mappings, with hostile ids. */
TEST(many_spaces_are_fast)
{
	for (int keep_past = 0; keep_past < 2; keep_past++) {
		struct reel_timeline *timeline = create(keep_past);
		double begin = now();
		const uint64_t step = 1ull << 44;

		add(timeline, space_record(0, 1, REEL_ORIGIN_FOUND, 0));
		for (uint64_t i = 0; i < 50; i++)
			add(timeline, map_record(0, 1, i * 0x10000, 0x1000, 0, i + 1));
		for (uint64_t i = 1; i <= 100000; i++) {
			uint64_t id = i * step + 1;

			add(timeline, space_record(i, id, REEL_ORIGIN_FORK, 1));
			add(timeline, thread_record(i, id, id, "child"));
			add(timeline, map_record(i, id, (i % 50) * 0x10000, 0x1000, 0, 99));
			add(timeline, thread_exit_record(i + 1, id));
			add(timeline, space_exit_record(i + 1, id));
		}
		assert_null(reel_timeline_seal(timeline));
		for (uint64_t i = 1; keep_past && i <= 100000; i++)
			assert_int_equal(module_at(timeline, i * step + 1, i, (i % 50) * 0x10000),
					 99);
		print_message("# 100,000 spaces, keep_past %d: %.0f ms\n", keep_past,
			      (now() - begin) * 1e3);
		assert_true(now() - begin < 20);
		reel_timeline_destroy(timeline);
	}
}

RUN_TESTS()
