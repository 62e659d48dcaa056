/* SPDX-License-Identifier: Apache-2.0 */
/* Records that the kernel put into the recorder's ring buffer, as perf_event.h lays them out. */
#include "record/processes/process_events.c"
#include "tests/support/test.h"

#define RING_BYTES 4096
#define N_TOLD	   16

static struct perf_event_mmap_page page;
static uint8_t ring[RING_BYTES];
static struct reel_process_event told[N_TOLD]; /* the first ones */
static size_t n_told, n_details;
static uint64_t record_time = 5;

/* Writes a record; the fields of REEL_PROCESS_SAMPLE_TYPE follow its own. */
static void write_record(uint32_t type, uint16_t misc, const void *body, size_t size)
{
	const struct trailer trailer = { .pid = 12, .tid = 13, .time = record_time };
	struct perf_event_header header = { .type = type, .misc = misc };

	header.size = (uint16_t)(sizeof(header) + (size + 7) / 8 * 8 + sizeof(trailer));
	assert_true(page.data_head + header.size <= RING_BYTES);
	memcpy(ring + page.data_head, &header, sizeof(header));
	memcpy(ring + page.data_head + sizeof(header), body, size);
	page.data_head += header.size;
	memcpy(ring + page.data_head - sizeof(trailer), &trailer, sizeof(trailer));
}

static struct reel_error *tell(void *context, const struct reel_process_event *event)
{
	if (n_told < N_TOLD)
		told[n_told] = *event;
	n_told++;
	return NULL;
}

static struct reel_error *tell_details(void *context, const struct reel_bpf_process *details)
{
	n_details++;
	return NULL;
}

static struct reel_process_events *open_ring(void)
{
	struct reel_process_events *events = calloc(1, sizeof(*events));
	size_t index;

	n_told = 0;
	n_details = 0;
	page.data_tail = 0;
	events->options.handle = tell;
	events->options.handle_details = tell_details;
	assert_null(find_slot(events, 0, &index));
	events->cpus[index].fd = 0;
	events->buffers[index] = (struct buffer){ &page, ring, RING_BYTES, 0, 0 };
	return events;
}

static void close_ring(struct reel_process_events *events)
{
	events->cpus[0].fd = -1;
	reel_process_events_close(events);
}

/* The paths of reported events live as long as these. */
static struct reel_process_events *read_ring(bool build_ids)
{
	struct reel_process_events *events = open_ring();

	events->abilities.build_id = build_ids;
	assert_null(reel_process_events_read(events));
	assert_null(reel_process_events_apply(events, UINT64_MAX));
	return events;
}

static void clear_ring(void)
{
	memset(ring, 0, sizeof(ring));
	page = (struct perf_event_mmap_page){ 0 };
}

struct mmap2 {
	uint32_t pid, tid;
	uint64_t address, size, offset;
	union {
		struct {
			uint32_t device_major, device_minor;
			uint64_t inode, inode_generation;
		};
		uint8_t build_id[24]; /* size, three reserved, bytes */
	};
	uint32_t protection, flags;
	char path[8];
};

TEST(mappings)
{
	struct mmap2 mmap = { .pid = 12,
			      .tid = 13,
			      .address = 0x7f00,
			      .size = 0x1000,
			      .offset = 0x2000,
			      .device_major = 8,
			      .device_minor = 1,
			      .inode = 99,
			      .inode_generation = 3,
			      .protection = 5,
			      .flags = 2,
			      .path = "/lib/a" };
	struct reel_process_events *events;

	clear_ring();
	write_record(PERF_RECORD_MMAP2, 0, &mmap, sizeof(mmap));
	/* Another recorder requests build-ids, and Linux sets the bit here as well. */
	write_record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &mmap, sizeof(mmap));
	events = read_ring(false);
	assert_int_equal(n_told, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(told[i].kind, REEL_PROCESS_MAP);
		assert_int_equal(told[i].time, 5);
		assert_int_equal(told[i].pid, 12);
		assert_int_equal(told[i].tid, 13);
		assert_int_equal(told[i].map.address, 0x7f00);
		assert_int_equal(told[i].map.size, 0x1000);
		assert_int_equal(told[i].map.offset, 0x2000);
		assert_int_equal(told[i].map.device_major, 8);
		assert_int_equal(told[i].map.device_minor, 1);
		assert_int_equal(told[i].map.inode, 99);
		assert_int_equal(told[i].inode_generation, 3);
		assert_int_equal(told[i].map.protection, 5);
		assert_int_equal(told[i].map.flags, 2);
		assert_string_equal(told[i].map.path, "/lib/a");
		assert_int_equal(told[i].build_id.size, 0);
	}
	close_ring(events);

	clear_ring();
	memset(mmap.build_id, 7, sizeof(mmap.build_id));
	mmap.build_id[0] = 20;
	write_record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &mmap, sizeof(mmap));
	events = read_ring(true);
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0].build_id.size, 20);
	assert_memory_equal(told[0].build_id.bytes, mmap.build_id + 4, 20);
	assert_int_equal(told[0].map.inode, 0);
	close_ring(events);
}

TEST(tasks)
{
	const struct {
		uint32_t pid, parent_pid, tid, parent_tid;
		uint64_t time;
	} task = { 20, 12, 21, 13, 5 };
	struct {
		uint32_t pid, tid;
		char name[16];
	} comm = { 12, 13, "a name of 15 ch" };
	struct reel_process_events *events;

	clear_ring();
	write_record(PERF_RECORD_FORK, 0, &task, sizeof(task));
	write_record(PERF_RECORD_EXIT, 0, &task, sizeof(task));
	write_record(PERF_RECORD_COMM, 0, &comm, sizeof(comm));
	write_record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &comm, sizeof(comm));
	comm.pid = 0; /* outside of our PID namespace */
	write_record(PERF_RECORD_COMM, 0, &comm, sizeof(comm));
	/* Shorter than its fields. */
	write_record(PERF_RECORD_FORK, 0, &task, 8);
	events = read_ring(true);
	assert_int_equal(n_told, 4);
	assert_int_equal(told[0].kind, REEL_PROCESS_FORK);
	assert_int_equal(told[0].pid, 20);
	assert_int_equal(told[0].tid, 21);
	assert_int_equal(told[0].parent_pid, 12);
	assert_int_equal(told[0].parent_tid, 13);
	assert_int_equal(told[1].kind, REEL_PROCESS_EXIT);
	assert_int_equal(told[2].kind, REEL_PROCESS_COMM);
	assert_string_equal(told[2].comm, "a name of 15 ch");
	assert_int_equal(told[3].kind, REEL_PROCESS_EXEC);
	close_ring(events);
}

TEST(kernel_symbols)
{
	struct {
		uint64_t address;
		uint32_t size;
		uint16_t type, flags;
		char name[16];
	} symbol = { 0xffffffffc0000000, 64, PERF_RECORD_KSYMBOL_TYPE_BPF, 0, "bpf_prog" };
	struct reel_process_events *events;

	clear_ring();
	write_record(PERF_RECORD_KSYMBOL, 0, &symbol, sizeof(symbol));
	symbol.flags = PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	symbol.type = PERF_RECORD_KSYMBOL_TYPE_OOL;
	write_record(PERF_RECORD_KSYMBOL, 0, &symbol, sizeof(symbol));
	memset(symbol.name, 'x', sizeof(symbol.name)); /* without a terminator */
	write_record(PERF_RECORD_KSYMBOL, 0, &symbol, sizeof(symbol));
	events = read_ring(true);
	assert_int_equal(n_told, 2);
	assert_true(told[0].map.address == 0xffffffffc0000000);
	assert_int_equal(told[0].map.size, 64);
	assert_string_equal(told[0].map.path, "bpf_prog");
	assert_string_equal(told[0].module, "[bpf]");
	assert_false(told[0].is_gone);
	assert_string_equal(told[1].module, "[__builtin__ftrace]");
	assert_true(told[1].is_gone);
	close_ring(events);
}

/* ---- programs that nothing samples --------------------------------------------------- */

struct task {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

static void write_fork(uint64_t time, uint32_t parent, uint32_t pid, uint32_t tid)
{
	record_time = time;
	write_record(PERF_RECORD_FORK, 0, &(struct task){ pid, parent, tid, parent, time },
		     sizeof(struct task));
}

static void write_exit(uint64_t time, uint32_t pid, uint32_t tid)
{
	record_time = time;
	write_record(PERF_RECORD_EXIT, 0, &(struct task){ pid, 1, tid, 1, time },
		     sizeof(struct task));
}

static void write_exec(uint64_t time, uint32_t pid)
{
	const struct {
		uint32_t pid, tid;
		char name[8];
	} comm = { pid, pid, "sh" };

	record_time = time;
	write_record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &comm, sizeof(comm));
}

static void write_map(uint64_t time, uint32_t pid)
{
	const struct mmap2 mmap = { .pid = pid, .tid = pid, .size = 4096, .path = "/lib/a" };

	record_time = time;
	write_record(PERF_RECORD_MMAP2, 0, &mmap, sizeof(mmap));
}

/* From `first` to `last`, a program of three threads begins and ends. */
static void write_program(uint64_t first, uint64_t last, uint32_t parent, uint32_t pid)
{
	write_fork(first, parent, pid, pid);
	write_exec(first + 1, pid);
	write_map(first + 2, pid);
	write_fork(last - 1, pid, pid, pid + 1);
	write_exit(last, pid, pid + 1);
	write_exit(last, pid, pid);
}

static struct reel_process_events *advance(uint64_t until)
{
	struct reel_process_events *events = open_ring();

	events->options.skips_unsampled = true;
	assert_null(reel_process_events_read(events));
	assert_null(reel_process_events_advance(events, until));
	return events;
}

static void assert_told(size_t i, enum reel_process_event_kind kind, uint64_t time, uint32_t pid)
{
	assert_true(i < n_told && i < N_TOLD);
	assert_int_equal(told[i].kind, kind);
	assert_int_equal(told[i].time, time);
	assert_int_equal(told[i].pid, pid);
}

TEST(unsampled_programs)
{
	struct reel_process_events *events;

	clear_ring();
	write_program(10, 20, 7, 100);
	write_map(21, 7);
	write_program(30, 40, 7, 200);
	write_fork(41, 7, 300, 300);
	events = advance(UINT64_MAX);
	/* Its parent's mapping has the first one handed over: there may be a sample yet. */
	assert_int_equal(n_told, 7);
	assert_told(0, REEL_PROCESS_FORK, 10, 100);
	assert_told(5, REEL_PROCESS_EXIT, 20, 100);
	assert_told(6, REEL_PROCESS_MAP, 21, 7);
	/* Of the others, one has ended. */
	assert_null(reel_process_events_settle(events, 40));
	assert_int_equal(n_told, 8);
	assert_told(7, REEL_PROCESS_FORK, 41, 300);
	close_ring(events);

	/* Samples before its end may still come. */
	clear_ring();
	write_program(30, 40, 7, 200);
	events = advance(UINT64_MAX);
	assert_int_equal(n_told, 0);
	assert_null(reel_process_events_settle(events, 39));
	assert_int_equal(n_told, 6);
	assert_told(0, REEL_PROCESS_FORK, 30, 200);
	close_ring(events);

	/* One of its threads goes on. */
	clear_ring();
	write_fork(30, 7, 200, 200);
	write_fork(31, 200, 200, 201);
	write_exit(32, 200, 200);
	events = advance(UINT64_MAX);
	assert_null(reel_process_events_settle(events, 50));
	assert_int_equal(n_told, 3);
	close_ring(events);

	/* Lost events may have been of such a thread. */
	clear_ring();
	write_program(30, 40, 7, 200);
	events = advance(UINT64_MAX);
	set_lost(events, 0, 1);
	assert_null(reel_process_events_settle(events, 50));
	assert_int_equal(n_told, 6);
	close_ring(events);
}

TEST(sampled_programs)
{
	struct reel_process_events *events;

	/* A shell runs two programs; one of them is sampled. */
	clear_ring();
	write_fork(10, 7, 100, 100);
	write_exec(11, 100);
	write_map(12, 100);
	write_program(13, 20, 100, 200);
	write_fork(21, 100, 300, 300);
	write_exec(22, 300);
	write_exit(23, 300, 300);
	write_exit(24, 100, 100);
	events = advance(21);
	assert_int_equal(n_told, 0);
	assert_null(reel_process_events_sampled(events, 999));
	assert_int_equal(n_told, 0);
	assert_null(reel_process_events_sampled(events, 200));
	assert_int_equal(n_told, 10);
	for (size_t i = 1; i < n_told; i++)
		assert_true(told[i].time >= told[i - 1].time);
	assert_told(0, REEL_PROCESS_FORK, 10, 100);
	assert_told(9, REEL_PROCESS_FORK, 21, 300);
	/* What follows is handed over at once, and nothing twice. */
	assert_null(reel_process_events_advance(events, UINT64_MAX));
	assert_int_equal(n_told, 13);
	assert_null(reel_process_events_settle(events, 50));
	assert_int_equal(n_told, 13);
	close_ring(events);

	/* Until it executes a program, what it maps may be mapped in its parent, and it ends with its
	 * parent's memory. */
	clear_ring();
	write_fork(10, 7, 100, 100);
	write_map(11, 100);
	write_fork(12, 7, 200, 200);
	write_exec(13, 7);
	write_fork(14, 7, 300, 300);
	write_exit(15, 7, 7);
	write_fork(16, 1, 400, 400);
	write_fork(17, 1, 400, 400); /* the same pid: its exit was lost */
	events = advance(UINT64_MAX);
	assert_int_equal(n_told, 7);
	for (size_t i = 0; i < n_told; i++)
		assert_int_equal(told[i].time, 10 + i);
	close_ring(events);
}

TEST(kept_programs)
{
	const struct reel_bpf_process details = { .pid = 200 }, others = { .pid = 7 };
	struct reel_process_events *events;

	clear_ring();
	write_map(10, 7);
	write_program(11, 20, 7, 200);
	events = advance(15);
	assert_null(reel_process_events_details(events, &details));
	assert_null(reel_process_events_details(events, &details));
	assert_int_equal(n_details, 0);
	assert_null(reel_process_events_details(events, &others));
	assert_int_equal(n_details, 1);
	/* Further reads keep it. */
	write_fork(25, 7, 300, 300);
	assert_null(reel_process_events_read(events));
	assert_null(reel_process_events_advance(events, UINT64_MAX));
	assert_null(reel_process_events_read(events));
	assert_int_equal(n_told, 1);
	assert_null(reel_process_events_sampled(events, 200));
	assert_int_equal(n_told, 7);
	assert_int_equal(n_details, 3);
	assert_told(1, REEL_PROCESS_FORK, 11, 200);
	assert_told(6, REEL_PROCESS_EXIT, 20, 200);
	assert_null(reel_process_events_apply(events, UINT64_MAX));
	assert_int_equal(n_told, 8);
	assert_told(7, REEL_PROCESS_FORK, 25, 300);
	assert_int_equal(n_details, 3);
	close_ring(events);

	/* Details are skipped with their program. */
	clear_ring();
	write_program(11, 20, 7, 200);
	events = advance(UINT64_MAX);
	assert_null(reel_process_events_details(events, &details));
	assert_null(reel_process_events_settle(events, 20));
	assert_int_equal(n_told, 0);
	assert_int_equal(n_details, 0);
	close_ring(events);

	/* Nor do they wait for ever. */
	clear_ring();
	write_fork(10, 7, 100, 100);
	events = advance(UINT64_MAX);
	for (uint64_t time = 11; !n_told; time++) {
		assert_true(events->records.size <= KEPT_MAX + RING_BYTES);
		clear_ring();
		for (int i = 0; i < 40; i++)
			write_exec(time, 100);
		assert_null(reel_process_events_read(events));
		assert_null(reel_process_events_advance(events, UINT64_MAX));
	}
	assert_told(0, REEL_PROCESS_FORK, 10, 100);
	assert_told(1, REEL_PROCESS_EXEC, 11, 100);
	close_ring(events);

	/* More programs than are kept at a time. */
	clear_ring();
	write_fork(10, 7, 100, 100);
	events = advance(UINT64_MAX);
	for (uint32_t i = 1; i <= FAMILY_MEMBERS_MAX; i++) {
		assert_int_equal(n_told, 0);
		clear_ring();
		write_fork(10 + i, 100, 100 + i, 100 + i);
		assert_null(reel_process_events_read(events));
		assert_null(reel_process_events_advance(events, UINT64_MAX));
	}
	assert_int_equal(n_told, FAMILY_MEMBERS_MAX + 1);
	assert_null(reel_process_events_settle(events, UINT64_MAX));
	assert_int_equal(n_told, FAMILY_MEMBERS_MAX + 1);
	close_ring(events);
}

RUN_TESTS()
