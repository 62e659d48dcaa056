/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's memory with processes that cause as many events as they can: the data that the
 * tracker keeps and writes has limits, and what it drops is counted and names nothing.
 */
#include <malloc.h>
#include <sys/mman.h>

#include "include/commands.h"
#include "record/proc/maps_reader.h"
#include "base/quantity.h"
#include "record/processes/tracker_internal.h"
#include "tests/support/test.h"

#define PID  4194001u /* above the pids of all but the largest hosts */
#define BASE UINT64_C(0x7f0000000000)
#define PAGE UINT64_C(4096)

static struct reel_target target = { .elf = { 62, 64, REEL_BYTE_ORDER_LITTLE } };
#define SIDE_LIMIT (128u << 20)

static struct reel_budget *budget;
static struct reel_module_table *modules;
static struct reel_tracker *tracker;
static uint64_t n_records[64];
static uint64_t now;
/* Counts the MODULE records of the current file. */
static uint64_t n_written;

static struct reel_error *put(void *context, const struct reel_record *record)
{
	n_records[record->id]++;
	n_written += record->id == REEL_RECORD_MODULE;
	return NULL;
}

static void event(struct reel_process_event event)
{
	event.time = now;
	assert_null(reel_tracker_event(tracker, &event));
}

static void start(uint32_t pid)
{
	event((struct reel_process_event){ .kind = REEL_PROCESS_FORK,
					   .pid = pid,
					   .tid = pid,
					   .parent_pid = 1,
					   .parent_tid = 1 });
}

static void map(uint32_t pid, uint64_t address, const char *path, uint8_t build_id)
{
	event((struct reel_process_event){
		.kind = REEL_PROCESS_MAP,
		.pid = pid,
		.tid = pid,
		.map = { .address = address,
			 .size = PAGE,
			 .protection = 5,
			 .flags = 2,
			 .path = path },
		.build_id = { 1, { build_id } },
	});
}

static uint64_t sample_at(uint32_t pid, uint64_t time)
{
	const struct reel_bpf_sample sample = { .pid = pid, .tid = pid, .time = time };
	struct reel_tracker_place place;

	assert_null(reel_tracker_place(tracker, &sample, &place));
	return place.thread;
}

static uint64_t sample(uint32_t pid)
{
	return sample_at(pid, now);
}

static void fork_of(uint32_t parent, uint32_t pid)
{
	event((struct reel_process_event){ .kind = REEL_PROCESS_FORK,
					   .pid = pid,
					   .tid = pid,
					   .parent_pid = parent,
					   .parent_tid = parent });
}

static void leave(uint32_t pid)
{
	event((struct reel_process_event){ .kind = REEL_PROCESS_EXIT, .pid = pid, .tid = pid });
}

/* The work of each cycle of a recording, in as much time as a cycle has. */
static void cycle(void)
{
	now += 100 * REEL_NS_PER_MS;
	reel_tracker_forget(tracker, now - 1);
}

static int setup(void **state)
{
	struct reel_tracker_options options = { .target = &target, .sink = { .put = put } };

	if (reel_budget_create(SIDE_LIMIT, &budget))
		return -1;
	options.budget = budget;
	now = reel_now();
	memset(n_records, 0, sizeof(n_records));
	n_written = 0;
	if (reel_module_table_create(NULL, &modules))
		return -1;
	options.modules = modules;
	options.everything = true;
	if (reel_tracker_create(&options, &tracker))
		return -1;
	tracker->proc_is_ours = false; /* these processes do not exist */
	start(PID);
	start(PID + 1);
	/* Older processes were looked up in /proc. */
	now += REEL_NS_PER_SECOND;
	sample(PID);
	sample(PID + 1);
	memset(n_records, 0, sizeof(n_records));
	return 0;
}

static int teardown(void **state)
{
	reel_tracker_destroy(tracker);
	reel_module_table_destroy(modules);
	reel_budget_destroy(budget);
	return 0;
}

static uint64_t module_at(uint32_t pid, uint64_t address)
{
	struct reel_mapping mapping;

	return reel_timeline_find(tracker->timeline, tracker_process_find(tracker, pid)->space.id,
				  REEL_TIME_NOW, address, &mapping)
		       ? mapping.module
		       : 0;
}

/* ---- modules ------------------------------------------------------------------------------ */

/* 250,000 files mapped, one after the other, at one address. */
TEST_WITH(test_memfd_storm, setup, teardown)
{
	size_t highest = 0;
	uint64_t victim;
	char path[64];

	map(PID + 1, BASE, "/usr/bin/victim", 1);
	victim = module_at(PID + 1, BASE);
	assert_true(victim != 0);
	for (unsigned i = 0; i < 250000; i++) {
		snprintf(path, sizeof(path), "/memfd:%u (deleted)", i);
		map(PID, BASE, path, 2);
		if (i % 1000 == 999)
			cycle();
		if (reel_module_table_bytes(modules) > highest)
			highest = reel_module_table_bytes(modules);
	}
	assert_in_range(highest, 1, 5u << 20);
	/* All of them were recorded, since they arrived slowly enough. */
	assert_int_equal(reel_tracker_left_out(tracker), 0);
	assert_int_equal(n_records[REEL_RECORD_MODULE], 250001);
	/* Mapped modules are unchanged. */
	map(PID + 1, BASE + PAGE, "/usr/bin/victim", 1);
	assert_int_equal(module_at(PID + 1, BASE + PAGE), victim);
	assert_int_equal(n_records[REEL_RECORD_MODULE], 250001);
	/* The next part contains all current mappings, each once. */
	n_written = 0;
	reel_tracker_restart(tracker, now);
	sample(PID);
	sample(PID + 1);
	assert_int_equal(n_written, 2);
}

/* As fast as a CPU can: dropped events are counted, and their places keep no older names. */
TEST_WITH(test_storm_at_once, setup, teardown)
{
	char path[64];

	map(PID, BASE, "/usr/bin/before", 1);
	for (unsigned i = 0; i < 200000; i++) {
		snprintf(path, sizeof(path), "/memfd:%u (deleted)", i);
		map(PID, BASE, path, 2);
	}
	assert_in_range(n_records[REEL_RECORD_MAP], 60000, 66000);
	assert_int_equal(n_records[REEL_RECORD_MAP] + reel_tracker_left_out(tracker), 200001);
	assert_int_equal(module_at(PID, BASE), 0);
	/* Other processes are unaffected, and this one recovers when it is calm. */
	map(PID + 1, BASE, "/usr/bin/victim", 1);
	assert_true(module_at(PID + 1, BASE) != 0);
	assert_true(reel_tracker_work_time(tracker) != UINT64_MAX);
	now += 10 * REEL_NS_PER_SECOND;
	map(PID, BASE, "/usr/bin/after", 3);
	assert_true(module_at(PID, BASE) != 0);
}

/*
 * munmap is not reported: without a limit each address would count for ever. Long paths take most.
 */
static void check_memory(const char *path, unsigned int count, size_t limit)
{
	size_t path_size = strlen(path);
	char *whole = malloc(path_size + 32);
	size_t highest = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t bytes;

		sprintf(whole, "%s%u", path, i);
		map(PID, BASE + i * PAGE, whole, (uint8_t)i);
		/* Slowly enough not to count as noise. */
		now += 2 * REEL_NS_PER_MS;
		if (i % 500 == 499)
			cycle();
		bytes = reel_module_table_bytes(modules) +
			64 * reel_timeline_mappings(tracker->timeline);
		highest = bytes > highest ? bytes : highest;
	}
	free(whole);
	assert_in_range(highest, 1, limit);
	assert_true(reel_tracker_left_out(tracker) > 0);
	/* Others have room. */
	for (unsigned i = 0; i < 300; i++)
		map(PID + 1, BASE + i * PAGE, "/usr/lib/libvictim.so", 1);
	assert_int_equal(tracker_process_find(tracker, PID + 1)->n_mappings, 300);
}

TEST_WITH(test_ever_new_addresses, setup, teardown)
{
	check_memory("/tmp/f", 200000, 40u << 20);
}

TEST_WITH(test_ever_new_paths, setup, teardown)
{
	char path[4001];

	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	check_memory(path, 20000, 40u << 20);
}

/* Mappings of one process that many inherit are in each file once, and absent without samples. */
TEST_WITH(test_files_of_forks, setup, teardown)
{
	for (unsigned i = 0; i < 20000; i++)
		map(PID, BASE + 2 * i * PAGE, "/usr/lib/libmany.so", 1);
	for (unsigned i = 2; i < 202; i++)
		fork_of(PID, PID + i);
	map(PID + 1, BASE, "/usr/bin/victim", 1);
	for (unsigned part = 0; part < 2; part++) {
		memset(n_records, 0, sizeof(n_records));
		reel_tracker_restart(tracker, now);
		for (unsigned i = 101; i < 201; i++)
			sample(PID + i);
		assert_int_equal(n_records[REEL_RECORD_MAP], 20000);
		/* Including the process they were forked from. */
		assert_int_equal(n_records[REEL_RECORD_SPACE], 101);
		assert_int_equal(n_records[REEL_RECORD_THREAD], 100);
		sample(PID + 1);
		assert_int_equal(n_records[REEL_RECORD_MAP], 20001);
		now += REEL_NS_PER_SECOND;
	}
	assert_int_equal(reel_tracker_left_out(tracker), 0);
}

static uint64_t stopped_clock(void)
{
	return 1;
}

/* Each child has one mapping of its own, so all would have to be written for each. */
TEST_WITH(test_forks_that_differ, setup, teardown)
{
	/* The budget is refilled by time, which the sanitizers take. */
	reel_budget_set_clock(budget, stopped_clock);
	for (unsigned i = 0; i < 20000; i++)
		map(PID, BASE + 2 * i * PAGE, "/usr/lib/libmany.so", 1);
	n_records[REEL_RECORD_MAP] = 0;
	for (unsigned i = 2; i < 1002; i++) {
		fork_of(PID, PID + i);
		map(PID + i, BASE + PAGE, "/usr/bin/another", 2);
		sample(PID + i);
		leave(PID + i);
	}
	/* A quarter of the budget for all of the user's; and for each, some hundred in any case. */
	assert_in_range(n_records[REEL_RECORD_MAP], SIDE_LIMIT / 8 / REEL_BUDGET_RECORD,
			SIDE_LIMIT / 3 / REEL_BUDGET_RECORD + 1000 * 512);
	assert_true(reel_tracker_left_out(tracker) > 0);
}

/* As vfork and clone(CLONE_VM) make them; BPF's details arrive before or after the event. */
static void share(uint32_t parent, uint32_t pid, bool is_early)
{
	const struct reel_bpf_process details = {
		.time = now, .pid = pid, .tid = pid, .flags = REEL_BPF_SHARES_MEMORY
	};

	if (is_early)
		assert_null(reel_tracker_process(tracker, &details));
	fork_of(parent, pid);
	if (!is_early)
		assert_null(reel_tracker_process(tracker, &details));
}

/* A mapping of one process is one of all that share its memory, until they end or execute. */
TEST_WITH(test_shared_memory, setup, teardown)
{
	share(PID, PID + 2, true);
	share(PID + 2, PID + 3, false);
	fork_of(PID, PID + 4);
	map(PID + 3, BASE, "/usr/lib/liba.so", 1);
	for (uint32_t pid = PID; pid < PID + 4; pid++)
		assert_int_equal(module_at(pid, BASE) != 0, pid != PID + 1);
	assert_false(module_at(PID + 4, BASE));
	event((struct reel_process_event){
		.kind = REEL_PROCESS_EXEC, .pid = PID + 2, .tid = PID + 2, .comm = "other" });
	map(PID, BASE + PAGE, "/usr/lib/libb.so", 2);
	assert_true(module_at(PID + 3, BASE + PAGE));
	assert_false(module_at(PID + 2, BASE + PAGE));
	leave(PID + 3);
	map(PID, BASE + 2 * PAGE, "/usr/lib/libb.so", 2);
	assert_null(tracker_process_find(tracker, PID)->sharer);
	/* A storm does a bounded amount of work for each mapping. */
	for (uint32_t pid = PID + 1000; pid < PID + 2000; pid++)
		share(PID, pid, true);
	map(PID, BASE + 3 * PAGE, "/usr/lib/liba.so", 1);
	assert_true(module_at(PID + 1000, BASE + 3 * PAGE));
	assert_false(module_at(PID + 1999, BASE + 3 * PAGE));
}

/* The counter of mappings equals their number, however mappings cover, cut and split others. */
static void count(void *context, const struct reel_mapping *mapping)
{
	++*(uint32_t *)context;
}

TEST_WITH(test_count_of_mappings, setup, teardown)
{
	const struct process *process = tracker_process_find(tracker, PID);

	srand(1);
	for (unsigned i = 0; i < 20000; i++) {
		struct reel_process_event some = {
			.kind = REEL_PROCESS_MAP,
			.pid = PID,
			.tid = PID,
			.map = { .address = BASE + (uint64_t)(rand() % 64) * PAGE,
				 .size = (uint64_t)(1 + rand() % 16) * PAGE,
				 .protection = 5,
				 .path = rand() % 2 ? "/usr/lib/liba.so" : "/usr/lib/libb.so" },
		};
		uint32_t n = 0;

		now += REEL_NS_PER_MS;
		event(some);
		reel_timeline_visit(tracker->timeline, process->space.id, REEL_TIME_NOW, 0,
				    UINT64_MAX, count, &n);
		assert_int_equal(n, process->n_mappings);
	}
}

/* ---- names, threads, forks ------------------------------------------------------------------ */

TEST_WITH(test_name_storm, setup, teardown)
{
	for (unsigned i = 0; i < 250000; i++) {
		struct reel_process_event name = { .kind = REEL_PROCESS_COMM,
						   .pid = PID,
						   .tid = PID };

		now += 500; /* two million a second */
		snprintf(name.comm, sizeof(name.comm), "noise %u", i);
		event(name);
	}
	assert_in_range(n_records[REEL_RECORD_THREAD_COMM], 60000, 75000);
	assert_int_equal(n_records[REEL_RECORD_THREAD_COMM] + reel_tracker_left_out(tracker),
			 250000);
}

/* Its name was read from /proc after it called exec, and the exec event arrives later. */
TEST_WITH(test_name_read_before_exec_is_told, setup, teardown)
{
	struct process *process = tracker_process_find(tracker, PID);
	struct thread_start found = { .time = now, .known = now + 20, .tid = PID, .comm = "late" };
	struct thread *thread;

	assert_null(tracker_thread_end(tracker, tracker_thread_find(tracker, PID), now, true));
	assert_null(tracker_thread_create(tracker, process, &found, &thread));
	now += 10;
	event((struct reel_process_event){
		.kind = REEL_PROCESS_EXEC, .pid = PID, .tid = PID, .comm = "exe" });
	assert_string_equal(thread->comm, "late");
	now += 20;
	event((struct reel_process_event){
		.kind = REEL_PROCESS_COMM, .pid = PID, .tid = PID, .comm = "later" });
	assert_string_equal(thread->comm, "later");
}

/* After a loss, sampled processes are inspected first, even one whose turn would come last. */
TEST_WITH(test_sampled_first, setup, teardown)
{
	enum { COUNT = 100000 };
	struct reel_bpf_sample sample = { .pid = PID + COUNT, .tid = PID + COUNT };
	struct reel_tracker_place place;
	unsigned left = 0;

	for (uint32_t i = 2; i <= COUNT; i++)
		start(PID + i);
	reel_tracker_resync(tracker);
	sample.time = now;
	assert_null(reel_tracker_place(tracker, &sample, &place));
	assert_null(reel_tracker_work(tracker));
	/* These processes do not exist. */
	assert_null(tracker_process_find(tracker, PID + COUNT));
	/* There was time for a few others, in any order. */
	for (uint32_t i = 2; i < COUNT; i++)
		left += tracker_process_find(tracker, PID + i) != NULL;
	assert_in_range(left, COUNT / 2, COUNT);
}

/* Its first sample may be older than what replaces its code, in a ring that is read later. */
TEST_WITH(test_written_before_code_is_replaced, setup, teardown)
{
	start(PID + 2);
	map(PID + 2, BASE, "/usr/lib/left.so", 1);
	map(PID + 2, BASE + 2 * PAGE, "/usr/lib/other.so", 2);
	assert_int_equal(n_records[REEL_RECORD_MAP], 0);
	map(PID + 2, BASE, "/usr/lib/right.so", 3);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 1);
	assert_int_equal(n_records[REEL_RECORD_MAP], 3);
	assert_int_equal(n_records[REEL_RECORD_UNMAP], 1);
	sample(PID + 2);
	assert_int_equal(n_records[REEL_RECORD_MAP], 3);
}

/* A process costs nothing in the file until it has a sample, and then only the records it needs. */
TEST_WITH(test_written_with_the_first_sample, setup, teardown)
{
	uint64_t thread;

	map(PID, BASE, "/usr/bin/parent", 1);
	memset(n_records, 0, sizeof(n_records));
	for (unsigned i = 2; i < 10002; i++) {
		now += 1000;
		fork_of(PID, PID + i);
		leave(PID + i);
	}
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(n_records[i], 0);
	/* A late event, of a process that has exited. */
	thread = sample(PID + 10001);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 1);
	assert_int_equal(n_records[REEL_RECORD_THREAD], 1);
	assert_int_equal(n_records[REEL_RECORD_THREAD_EXIT], 1);
	assert_int_equal(n_records[REEL_RECORD_SPACE_EXIT], 1);
	assert_int_equal(n_records[REEL_RECORD_MAP], 0); /* its parent's */
	assert_int_equal(sample(PID + 10001), thread);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 1);
	/* Its parent has other mappings by now. */
	fork_of(PID, PID + 2);
	map(PID, BASE + PAGE, "/usr/lib/libnew.so", 2);
	n_records[REEL_RECORD_MAP] = 0;
	sample(PID + 2);
	assert_int_equal(n_records[REEL_RECORD_MAP], 1);
}

static struct reel_process_event exec_of(uint32_t pid)
{
	return (struct reel_process_event){
		.kind = REEL_PROCESS_EXEC, .pid = pid, .tid = pid, .comm = "after"
	};
}

/* Rings are read one after the other: a sample that precedes an exec may arrive after it. */
TEST_WITH(test_samples_around_an_exec, setup, teardown)
{
	uint64_t forked, before, after;

	map(PID, BASE, "/usr/bin/parent", 1);
	now += REEL_NS_PER_MS;
	forked = now;
	fork_of(PID, PID + 2);
	now += REEL_NS_PER_MS;
	event(exec_of(PID + 2));
	map(PID + 2, BASE + PAGE, "/usr/bin/child", 2);
	memset(n_records, 0, sizeof(n_records));
	after = sample(PID + 2);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 1);
	assert_int_equal(n_records[REEL_RECORD_MAP], 1);
	assert_int_equal(n_records[REEL_RECORD_THREAD_EXEC], 0);
	before = sample_at(PID + 2, forked + 1);
	assert_int_not_equal(before, after);
	assert_int_equal(sample_at(PID + 2, forked + 2), before);
	assert_int_equal(sample(PID + 2), after);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 2);
	assert_int_equal(n_records[REEL_RECORD_MAP], 1);
	assert_int_equal(n_records[REEL_RECORD_THREAD], 2);
	assert_int_equal(n_records[REEL_RECORD_THREAD_EXIT], 1);
	/* A thread already in the file keeps its id. */
	now += REEL_NS_PER_MS;
	event(exec_of(PID + 2));
	assert_int_equal(n_records[REEL_RECORD_THREAD_EXEC], 1);
	assert_int_equal(sample_at(PID + 2, now - 1), after);
	assert_int_equal(sample(PID + 2), after);
	assert_int_equal(n_records[REEL_RECORD_THREAD], 2);
}

/* A process that the file has only as the parent of a space: no thread of it has a sample. */
TEST_WITH(test_parent_without_samples, setup, teardown)
{
	const struct reel_bpf_sample of_thread = { .pid = PID + 2, .tid = PID + 4, .time = now };
	struct reel_tracker_place place;

	start(PID + 2);
	map(PID + 2, BASE, "/bin/x", 1);
	fork_of(PID + 2, PID + 3);
	sample(PID + 3);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 2);
	assert_int_equal(n_records[REEL_RECORD_THREAD], 1);
	/* Its first thread names it. */
	event((struct reel_process_event){ .kind = REEL_PROCESS_FORK,
					   .pid = PID + 2,
					   .tid = PID + 4,
					   .parent_pid = PID + 2,
					   .parent_tid = PID + 2 });
	assert_null(reel_tracker_place(tracker, &of_thread, &place));
	assert_int_equal(n_records[REEL_RECORD_SPACE], 2);
	assert_int_equal(n_records[REEL_RECORD_THREAD], 3);
}

TEST_WITH(test_exec_without_samples, setup, teardown)
{
	start(PID + 2);
	map(PID + 2, BASE, "/bin/x", 1);
	fork_of(PID + 2, PID + 3);
	sample(PID + 3);
	event(exec_of(PID + 2));
	map(PID + 2, BASE, "/bin/y", 2);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 2);
	assert_int_equal(n_records[REEL_RECORD_SPACE_EXIT], 1);
	assert_int_equal(n_records[REEL_RECORD_MAP], 1);
	sample(PID + 2);
	assert_int_equal(n_records[REEL_RECORD_SPACE], 3);
	assert_int_equal(n_records[REEL_RECORD_MAP], 2);
	assert_int_equal(n_records[REEL_RECORD_THREAD_EXEC], 0);
}

/* Its events were lost, and its mappings are gone: this counts. */
TEST_WITH(test_sample_of_gone_process, setup, teardown)
{
	struct reel_bpf_sample gone = { .pid = PID + 2, .tid = PID + 2, .time = now };
	struct reel_tracker_place place;

	assert_null(reel_tracker_place(tracker, &gone, &place));
	assert_int_equal(reel_tracker_left_out(tracker), 0);
	gone.pid = gone.tid = PID + 3;
	gone.flags = REEL_BPF_REGISTERS;
	assert_null(reel_tracker_place(tracker, &gone, &place));
	assert_null(reel_tracker_place(tracker, &gone, &place));
	assert_int_equal(reel_tracker_left_out(tracker), 1);
}

TEST_WITH(test_fork_storm, setup, teardown)
{
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t pid = PID + 2 + i % 100000;
		struct reel_bpf_process details = { .pid = pid, .tid = pid, .time = now };

		/* An event reported by BPF, and a lost one. */
		assert_null(reel_tracker_process(tracker, &details));
		details.pid = details.tid = PID + 200000 + i;
		assert_null(reel_tracker_process(tracker, &details));
		start(pid);
		event((struct reel_process_event){
			.kind = REEL_PROCESS_EXIT, .pid = pid, .tid = pid });
	}
	assert_true(tracker->n_forks <= FORKS_MAX);
	assert_true(tracker->n_dead >= 200000);
	/* However long a cycle takes: memory only holds the most recent. */
	reel_tracker_forget(tracker, 0);
	assert_int_equal(tracker->n_dead, DEAD_MAX);
	cycle();
	cycle();
	assert_int_equal(tracker->n_dead, 0);
	assert_int_equal(tracker->n_forks, 0);
	assert_int_equal(tracker->tids.count, 2);
	assert_int_equal(tracker->processes.count, 2);
}

/* 100 starts per second for five minutes, each of a process with mappings that are written: what the
 * heap has in use does not grow with their number. */
TEST_WITH(test_age, setup, teardown)
{
	size_t young = 0;

	for (unsigned i = 0; i < 30000; i++) {
		uint32_t pid = PID + 2 + i;

		fork_of(PID, pid);
		map(pid, BASE, "/usr/bin/short", 3);
		sample(pid);
		leave(pid);
		if (i % 10 == 0)
			cycle();
		if (i == 3000)
			young = mallinfo2().uordblks;
	}
	assert_true(mallinfo2().uordblks < young + 100000);
}

/* A process with many mappings takes memory while it lives. */
TEST_WITH(test_after_many_mappings, setup, teardown)
{
	size_t before = mallinfo2().uordblks, most;

	start(PID + 2);
	for (unsigned i = 0; i < 50000; i++)
		map(PID + 2, BASE + 2 * i * PAGE, "/usr/lib/libmany.so", 1);
	most = mallinfo2().uordblks;
	leave(PID + 2);
	cycle();
	cycle();
	reel_tracker_trim(tracker);
	assert_true(mallinfo2().uordblks < before + (most - before) / 10 || !most);
}

/* ---- /proc/PID/maps ------------------------------------------------------------------------- */

struct read_maps {
	size_t n;
	uint64_t last;
	char path[5000];
};

static void keep_map(void *context, const struct reel_proc_map *one)
{
	struct read_maps *read = context;

	assert_true(one->address > read->last);
	read->last = one->address;
	read->n++;
	snprintf(read->path, sizeof(read->path), "%s", one->path);
}

static enum reel_answer read_text(const char *text, size_t size,
				  const struct reel_maps_limits *limits, struct read_maps *ret)
{
	_cleanup_fd_ int fd = memfd_create("maps", MFD_CLOEXEC);

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(write(fd, text, size), (ssize_t)size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return reel_maps_read(fd, limits, keep_map, ret);
}

TEST(test_maps_text)
{
	static const char text[] =
		"1000-2000 r-xp 00000000 fe:01 12                         /usr/lib/a b.so\n"
		"2000-3000 rw-p 00001000 fe:01 12                         /usr/lib/a b.so\n"
		"3000-4000 r-xs 00002000 00:01 13                         /memfd:x\\012y "
		"(deleted)\n"
		"nonsense\n"
		"5000-4000 r-xp 00000000 00:00 0 \n"
		"6000-7000 --xp 00000000 00:00 0 \n";
	struct reel_maps_limits limits = { 100, 1000, UINT64_MAX };
	struct reel_maps_reader *reader = calloc(1, sizeof(*reader));
	struct read_maps read;

	assert_int_equal(read_text(text, sizeof(text) - 1, &limits, &read), REEL_ANSWER_WHOLE);
	assert_int_equal(read.n, 4);
	assert_string_equal(read.path, "//anon");
	/* One byte at a time; a partial line is not a mapping. */
	memset(&read, 0, sizeof(read));
	for (size_t i = 0; i + 60 < sizeof(text); i++)
		reel_maps_reader_parse(reader, text + i, 1, keep_map, &read);
	assert_int_equal(read.n, 3);
	assert_string_equal(read.path, "/memfd:x\ny (deleted)");
	free(reader);
	assert_int_equal(read_text("", 0, &limits, &read), REEL_ANSWER_NONE);
	limits.mappings = 2;
	assert_int_equal(read_text(text, sizeof(text) - 1, &limits, &read), REEL_ANSWER_PART);
	assert_int_equal(read.n, 2);
	limits.mappings = 100;
	limits.path_bytes = 20;
	assert_int_equal(read_text(text, sizeof(text) - 1, &limits, &read), REEL_ANSWER_PART);
	assert_int_equal(read.n, 1);
}

/* A file's data is of interest where it is next to executable memory without a file. */
TEST(test_maps_beside_copies)
{
	static const char text[] = "1000-2000 r--p 00000000 fe:01 12 /a\n"
				   "3000-4000 r--p 00002000 fe:01 12 /a\n"
				   "4000-5000 r-xp 00000000 00:00 0 \n"
				   "5000-6000 r--p 00004000 fe:01 12 /a\n"
				   "6000-7000 r--p 00005000 fe:01 12 /a\n"
				   "7000-8000 r-xp 00006000 fe:01 12 /a\n"
				   "8000-9000 r--p 00007000 fe:01 12 /a\n"
				   "a000-b000 r-xp 00000000 00:01 13 /memfd:x (deleted)\n"
				   "b000-c000 rw-p 00000000 00:00 0 \n"
				   "c000-d000 rwxp 00000000 00:00 0 [heap]\n"
				   "d000-e000 r--p 00000000 fe:01 14 /b\n";
	struct reel_maps_limits limits = { 100, 1000, UINT64_MAX };
	struct read_maps read;

	assert_int_equal(read_text(text, sizeof(text) - 1, &limits, &read), REEL_ANSWER_WHOLE);
	assert_int_equal(read.n, 7);
	assert_string_equal(read.path, "/b");
	assert_int_equal(read.last, 0xd000);
}

/* A path of any length, as mkdir and chdir make it: the mapping counts, its name does not. */
TEST(test_maps_long_path)
{
	static const size_t sizes[] = { 4095, 4096, 16000, 32700, 32768, 40000, 70000, 1000000 };
	struct reel_maps_limits limits = { 100, 100000, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		_cleanup_buffer_ struct reel_buffer text = { 0 };
		static const char front[] = "1000-2000 r-xp 00000000 fe:01 12 ";
		static const char behind[] = "\n2000-3000 r-xp 00000000 fe:01 13 /b\n";
		struct read_maps read;

		reel_buffer_append(&text, front, strlen(front));
		for (size_t j = 0; j < sizes[i]; j++)
			reel_buffer_append(&text, "/", 1);
		reel_buffer_append(&text, behind, 1);
		assert_int_equal(read_text((char *)text.bytes, text.size, &limits, &read),
				 REEL_ANSWER_WHOLE);
		assert_int_equal(read.n, 1);
		if (sizes[i] < 4096)
			assert_int_equal(strlen(read.path), sizes[i]);
		else
			assert_string_equal(read.path, "//toolong");
		reel_buffer_append(&text, behind + 1, strlen(behind) - 1);
		assert_int_equal(read_text((char *)text.bytes, text.size, &limits, &read),
				 REEL_ANSWER_WHOLE);
		assert_int_equal(read.n, 2);
		assert_string_equal(read.path, "/b");
	}
}

RUN_TESTS()
