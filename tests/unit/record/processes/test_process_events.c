/* SPDX-License-Identifier: Apache-2.0 */
/* Records that the kernel put into the recorder's ring buffer, as perf_event.h lays them out. */
#include "record/processes/process_events.c"
#include "tests/support/test.h"

#define RING_BYTES 4096

static struct perf_event_mmap_page page;
static uint8_t ring[RING_BYTES];
static struct reel_process_event told[8];
static size_t n_told;

/* Writes a record; the fields of REEL_PROCESS_SAMPLE_TYPE follow its own. */
static void write_record(uint32_t type, uint16_t misc, const void *body, size_t size)
{
	const struct trailer trailer = { .pid = 12, .tid = 13, .time = 5 };
	struct perf_event_header header = { .type = type, .misc = misc };

	header.size = (uint16_t)(sizeof(header) + (size + 7) / 8 * 8 + sizeof(trailer));
	assert_true(page.data_head + header.size <= RING_BYTES);
	memcpy(ring + page.data_head, &header, sizeof(header));
	memcpy(ring + page.data_head + sizeof(header), body, size);
	page.data_head += header.size;
	memcpy(ring + page.data_head - sizeof(trailer), &trailer, sizeof(trailer));
}

static struct reel_error *note(void *context, const struct reel_process_event *event)
{
	assert_true(n_told < sizeof(told) / sizeof(*told));
	told[n_told++] = *event;
	return NULL;
}

/* The paths of reported events live as long as these. */
static struct reel_process_events *read_ring(bool build_ids)
{
	struct reel_process_events *events = calloc(1, sizeof(*events));
	size_t index;

	n_told = 0;
	page.data_tail = 0;
	assert_null(find_slot(events, 0, &index));
	events->abilities.build_id = build_ids;
	events->cpus[index].fd = 0;
	events->buffers[index] = (struct buffer){ &page, ring, RING_BYTES, 0, 0 };
	assert_null(reel_process_events_read(events));
	assert_null(reel_process_events_apply(events, UINT64_MAX, note, NULL));
	events->cpus[index].fd = -1;
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
	reel_process_events_close(events);

	clear_ring();
	memset(mmap.build_id, 7, sizeof(mmap.build_id));
	mmap.build_id[0] = 20;
	write_record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &mmap, sizeof(mmap));
	events = read_ring(true);
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0].build_id.size, 20);
	assert_memory_equal(told[0].build_id.bytes, mmap.build_id + 4, 20);
	assert_int_equal(told[0].map.inode, 0);
	reel_process_events_close(events);
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
	reel_process_events_close(events);
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
	reel_process_events_close(events);
}

RUN_TESTS()
