/* SPDX-License-Identifier: Apache-2.0 */
/* Side records of processes that ended long ago do not stay in a stream without end. */
#include <fcntl.h>
#include "base/quantity.h"
#include "tests/support/example.h"
#include "tests/support/test.h"

#define CODE	    0x400000u
#define N_ENDED	    40000
#define FIRST_ID    1000
#define RECENT	    REEL_NS_PER_MS
#define SAMPLE_TIME (EXAMPLE_START + 3600000 * REEL_NS_PER_MS)

static void put(struct reel_writer *writer, struct reel_record record)
{
	must(reel_writer_record(writer, &record));
}

static void map(struct reel_writer *writer, uint64_t time, uint64_t space, uint64_t address)
{
	put(writer, (struct reel_record){ .id = REEL_RECORD_MAP,
					  .map = { time, space, address, 0x1000, 0, 5, 2, 1 } });
}

/* A process forked from space 1, with a thread of the same id. */
static void start(struct reel_writer *writer, uint64_t time, uint64_t id)
{
	struct reel_record space = example_space_record(), thread = example_thread_record(id);

	space.space.time = thread.thread.time = time;
	space.space.id = thread.thread.space = id;
	space.space.parent = 1;
	space.space.origin = thread.thread.origin = REEL_ORIGIN_FORK;
	put(writer, space);
	put(writer, thread);
}

static void end(struct reel_writer *writer, uint64_t time, uint64_t id)
{
	put(writer,
	    (struct reel_record){ .id = REEL_RECORD_THREAD_EXIT, .thread_exit = { time, id } });
	put(writer,
	    (struct reel_record){ .id = REEL_RECORD_SPACE_EXIT, .space_exit = { time, id } });
}

static void sample(struct reel_writer *writer, uint64_t id, uint64_t thread, uint64_t address)
{
	must(reel_writer_sample(writer, &(struct reel_sample){ .id = id,
							       .time = SAMPLE_TIME + id,
							       .thread = thread,
							       .where = REEL_WHERE_USER,
							       .frame_chain = &address,
							       .n_frame_chain = 1 }));
}

/*
 * Process 1 forks 2, which has its mappings, and ends.  Many others come and go, one of them just
 * before the samples, and 3 becomes another program then.  The samples are of 2, 3 and that one.
 */
static void write_stream(struct reel_writer *writer)
{
	const uint64_t recent = SAMPLE_TIME - RECENT;

	put(writer, example_capture_record());
	put(writer, example_space_record());
	put(writer, example_thread_record(1));
	put(writer, (struct reel_record){ .id = REEL_RECORD_MODULE,
					  .module = { .id = 1,
						      .kind = REEL_MODULE_FILE,
						      .path = reel_bytes_of_string("/bin/sh") } });
	map(writer, EXAMPLE_START, 1, CODE);
	start(writer, EXAMPLE_START + 1, 2);
	start(writer, EXAMPLE_START + 1, 3);
	end(writer, EXAMPLE_START + 2, 1);
	for (uint64_t i = 0; i < N_ENDED; i++) {
		uint64_t time = EXAMPLE_START + 10 + i, id = FIRST_ID + i;

		start(writer, time, id);
		/* Incompressible, as real addresses nearly are. */
		for (uint64_t j = 1; j <= 3; j++)
			map(writer, time, id, (id * j * 0x9e3779b97f4a7c15 >> 20) & ~0xfffull);
		if (id + 1 < FIRST_ID + N_ENDED)
			end(writer, time, id);
	}
	map(writer, recent - 1, FIRST_ID + N_ENDED - 1, CODE);
	put(writer, (struct reel_record){ .id = REEL_RECORD_SPACE,
					  .space = { .time = recent,
						     .id = 4,
						     .parent = 3,
						     .origin = REEL_ORIGIN_EXEC,
						     .machine = 62,
						     .word_bits = 64,
						     .byte_order = REEL_BYTE_ORDER_LITTLE } });
	put(writer,
	    (struct reel_record){ .id = REEL_RECORD_THREAD_EXEC, .thread_exec = { recent, 3, 4 } });
	map(writer, recent, 4, 2 * CODE);
	end(writer, SAMPLE_TIME + 10, FIRST_ID + N_ENDED - 1);
	sample(writer, 1, 2, CODE);
	sample(writer, 2, 3, 2 * CODE);
	sample(writer, 3, FIRST_ID + N_ENDED - 1, CODE);
	must(reel_writer_flush(writer));
}

static void read_all(struct reel_live *live)
{
	for (bool ended = false; !ended;)
		must(reel_live_read(live, &ended));
}

/* `fd` is the stream's file, which the writer goes on to write. */
static struct reel_live *read_stream(int fd, struct reel_writer **writer_ret, int *read_ret)
{
	struct reel_live *live;
	char path[64];

	must(reel_writer_create(fd, "stream", NULL, example_id, writer_ret));
	write_stream(*writer_ret);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*read_ret = open(path, O_RDONLY | O_CLOEXEC);
	must(reel_live_create(*read_ret, &live));
	read_all(live);
	return live;
}

static struct reel_capture *open_part(struct reel_live *live)
{
	static const char *const nowhere[] = { NULL };
	const REEL_SIZED(reel_capture_options, options, .debug_dirs = nowhere,
			 .no_host_files = true);
	struct reel_capture *capture;
	struct reel_live_part part;
	char path[64];

	must(reel_live_capture(live, UINT64_MAX, 0, UINT64_MAX, &part));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", part.fd);
	must(reel_capture_open(path, &options, &capture));
	close(part.fd);
	return capture;
}

static void assert_samples_are_placed(struct reel_capture *capture, size_t wanted)
{
	const struct reel_trace *trace;
	struct reel_traces *traces;
	size_t n = 0;

	must(reel_traces_create(capture, NULL, &traces));
	for (must(reel_traces_next(traces, &trace)); trace;
	     must(reel_traces_next(traces, &trace))) {
		assert_int_equal(trace->n_frames, 1);
		assert_string_equal(trace->frames[0]->module_path, "/bin/sh");
		assert_string_equal(trace->comm, "example");
		n++;
	}
	assert_int_equal(n, wanted);
	reel_traces_destroy(traces);
}

TEST(ended_processes_are_dropped)
{
	struct reel_capture *capture;
	struct reel_writer *writer;
	struct reel_live *live;
	struct stat status;
	int fd = memory_file("", 0), from;

	live = read_stream(fd, &writer, &from);
	assert_int_equal(fstat(fd, &status), 0);
	assert_true(status.st_size > 1 << 20);
	capture = open_part(live);
	assert_in_range(reel_capture_info(capture)->file_size, 100, 4000);
	assert_memory_equal(reel_capture_info(capture)->file_id, example_id, sizeof(example_id));
	assert_samples_are_placed(capture, 3);
	reel_capture_close(capture);
	/* The stream goes on: what it adds follows what was kept. */
	start(writer, SAMPLE_TIME + 11, 5);
	map(writer, SAMPLE_TIME + 12, 5, 3 * CODE);
	sample(writer, 20, 5, 3 * CODE);
	must(reel_writer_flush(writer));
	read_all(live);
	capture = open_part(live);
	assert_in_range(reel_capture_info(capture)->file_size, 100, 5000);
	assert_samples_are_placed(capture, 4);
	reel_capture_close(capture);
	reel_live_destroy(live);
	reel_writer_destroy(writer);
	close(from);
	close(fd);
}

/* A damaged block may have what a process needs: everything stays. */
TEST(damaged_streams_stay_whole)
{
	struct reel_capture *capture;
	struct reel_writer *writer;
	struct reel_live *live;
	struct stat status;
	uint8_t byte;
	int fd = memory_file("", 0), from;

	reel_live_destroy(read_stream(fd, &writer, &from));
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(pread(fd, &byte, 1, status.st_size / 2), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, status.st_size / 2), 1);
	assert_int_equal(lseek(from, 0, SEEK_SET), 0);
	must(reel_live_create(from, &live));
	read_all(live);
	capture = open_part(live);
	assert_true(reel_capture_info(capture)->file_size >= (uint64_t)status.st_size);
	reel_capture_close(capture);
	reel_live_destroy(live);
	reel_writer_destroy(writer);
	close(from);
	close(fd);
}

RUN_TESTS()
