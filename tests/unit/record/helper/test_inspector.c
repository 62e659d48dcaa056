/* SPDX-License-Identifier: Apache-2.0 */
/* record/helper/inspector.c, spawner.c: helpers that hang, die, or give impossible answers. */
#include <signal.h>
#include <sys/socket.h>

#include "record/helper/inspection.h"
#include "record/helper/inspector.h"
#include "base/quantity.h"
#include "tests/support/test.h"

/* ---- a helper that acts as the number in its request selects -------------------------------- */

enum {
	HANG = 1,
	DIE,
	EMPTY,	       /* an empty packet */
	SHORT,	       /* less than an item */
	TOO_LONG,      /* an item that claims to be longer than the packet */
	UNKNOWN,       /* an item of unknown kind */
	OTHER,	       /* an answer to another question */
	NOT_ENDED,     /* a path without a NUL */
	TWO_ENDS,      /* a path with two NULs */
	BACKWARDS,     /* mappings out of order */
	OVERFLOW,      /* a mapping past the end of the address space */
	BEHIND_END,    /* something after the end */
	HUGE_PACKET,   /* more than the maximum */
	LONG_BUILD_ID, /* longer than its bytes */
	LATER,	       /* a thread with a time in the future */
	FAR_FRAME,     /* a field outside of what is read of a frame */
	LONG_NAME,     /* a function's name that is longer than the item */
	CUT_NAME,      /* one with a NUL */
	HALF,	       /* two mappings, then nothing */
	STOP,	       /* stops who asks while it waits, and answers */
	MANY,	       /* PACKETS mappings in as many packets, over some time */
	GOOD = 1000,   /* and all greater numbers */
};

#define PACKETS 300

static pid_t asker;
static uint64_t packet[32768];
static size_t packet_size;

static void put(uint32_t kind, const void *bytes, size_t size, const char *more, size_t more_size)
{
	struct inspection_item item = { kind, (uint32_t)(size + more_size) };
	uint8_t *at = (uint8_t *)packet + packet_size;

	memcpy(at, &item, sizeof(item));
	if (size)
		memcpy(at + sizeof(item), bytes, size);
	if (more_size)
		memcpy(at + sizeof(item) + size, more, more_size);
	packet_size += sizeof(item) + ((size + more_size + 7) & ~(size_t)7);
}

static void put_map(uint64_t address, uint64_t size, const char *path, size_t path_size)
{
	struct reel_proc_map map = { .address = address, .size = size };

	put(ITEM_MAP, &map, sizeof(map), path, path_size);
}

static void put_end(void)
{
	uint32_t whole = 1;

	put(ITEM_END, &whole, sizeof(whole), NULL, 0);
}

static void make_packet(uint32_t number)
{
	struct reel_proc_process process = { 7, 64 };
	struct reel_proc_file file = { .build_id = { .size = 255 } };
	struct reel_proc_thread thread = { .time = reel_now() + 3600 * REEL_NS_PER_SECOND,
					   .tid = number,
					   .pid = number };
	struct inspection_interpreter interpreter = {
		REEL_RUNTIME_FOUND,
		{ .kind = REEL_BPF_INTERPRETER_PYTHON,
		  .frame_size = REEL_BPF_FRAME_SIZE,
		  .python = { .position_size = 8, .frame_code = REEL_BPF_FRAME_SIZE - 4 } },
	};
	struct inspection_function function = { .name_size = 2 };
	struct inspection_item lie = { ITEM_MAP, 1u << 31 };

	packet_size = 0;
	switch (number) {
	case EMPTY:
		return;
	case SHORT:
		packet_size = 5;
		return;
	case TOO_LONG:
		memcpy(packet, &lie, sizeof(lie));
		packet_size = sizeof(lie);
		return;
	case UNKNOWN:
		put(77, &process, sizeof(process), NULL, 0);
		break;
	case OTHER:
		put(ITEM_NUMBER, &number, sizeof(number), NULL, 0);
		break;
	case NOT_ENDED:
		put_map(4096, 4096, "abcdefgh", 8);
		break;
	case TWO_ENDS:
		put_map(4096, 4096, "a\0b", 4);
		break;
	case BACKWARDS:
		put_map(8192, 4096, "/b", 3);
		put_map(4096, 4096, "/a", 3);
		break;
	case OVERFLOW:
		put_map(UINT64_MAX - 4095, 8192, "/a", 3);
		break;
	case BEHIND_END:
		put_end();
		put_map(4096, 4096, "/a", 3);
		return;
	case HUGE_PACKET:
		put(ITEM_PROCESS, &process, sizeof(process), NULL, 0);
		packet_size = sizeof(packet) / 2;
		return;
	case LONG_BUILD_ID:
		put(ITEM_FILE, &file, sizeof(file), NULL, 0);
		break;
	case MANY:
		break;
	case LATER:
		put(ITEM_THREAD, &thread, sizeof(thread), NULL, 0);
		break;
	case FAR_FRAME:
		put(ITEM_INTERPRETER, &interpreter, sizeof(interpreter), NULL, 0);
		break;
	case LONG_NAME:
		put(ITEM_FUNCTION, &function, sizeof(function), "f", 1);
		break;
	case CUT_NAME:
		put(ITEM_FUNCTION, &function, sizeof(function), "f\0", 2);
		break;
	default:
		put(ITEM_PROCESS, &process, sizeof(process), NULL, 0);
		put_map(4096, 4096, "/a", 3);
		put_map(16384, 4096, "//anon", 7);
		if (number == HALF)
			return;
	}
	put_end();
}

void reel_inspections_answer_confined(int socket)
{
}

void reel_inspections_answer(int socket)
{
	struct inspection_request request;

	while (recv(socket, &request, sizeof(request), 0) == sizeof(request)) {
		if (request.number == HANG)
			for (;;)
				pause();
		if (request.number == DIE)
			raise(SIGKILL);
		for (uint64_t i = 1; request.number == MANY && i <= PACKETS; i++) {
			packet_size = 0;
			put_map(4096 * i, 4096, "/a", 3);
			send(socket, packet, packet_size, MSG_NOSIGNAL);
			usleep(100);
		}
		make_packet(request.number);
		if (request.number == STOP) {
			kill(asker, SIGSTOP);
			usleep(2200000);
		}
		assert_int_equal(send(socket, packet, packet_size, MSG_NOSIGNAL), packet_size);
		if (request.number == STOP)
			kill(asker, SIGCONT);
	}
}

/* ---- the inspector --------------------------------------------------------------------------- */

static unsigned n_notes;
static struct reel_budget *budget;

static void note(void *context, const char *line)
{
	assert_non_null(strstr(line, "in time"));
	n_notes++;
}

static struct reel_inspector *create(void)
{
	struct reel_inspector *inspector;

	n_notes = 0;
	asker = getpid();
	assert_null(reel_budget_create(1 << 20, &budget));
	assert_null(reel_inspector_create(budget, false, note, NULL, &inspector));
	return inspector;
}

static void destroy(struct reel_inspector *inspector)
{
	reel_inspector_destroy(inspector);
	reel_budget_destroy(budget);
}

struct seen {
	unsigned count;
	uint64_t address;
	char path[16];
};

static void see(void *context, const struct reel_proc_map *map)
{
	struct seen *seen = context;

	seen->count++;
	seen->address = map->address;
	assert_true(strlen(map->path) < sizeof(seen->path));
	strcpy(seen->path, map->path);
}

static const struct reel_maps_limits limits = { SIZE_MAX, SIZE_MAX, UINT64_MAX };

static enum reel_answer ask(struct reel_inspector *inspector, uint32_t number, struct seen *seen)
{
	struct reel_proc_process process;

	*seen = (struct seen){ 0 };
	return reel_inspector_process(inspector, number, &limits, &process, see, seen);
}

/* A helper answers, whatever the previous one did: on a busy machine that may take several
 * questions.
 */
static void is_well(struct reel_inspector *inspector)
{
	static uint32_t number = GOOD;
	struct reel_proc_process process = { 0 };
	struct seen seen = { 0 };

	for (unsigned i = 0; i < 1000; i++) {
		seen = (struct seen){ 0 };
		if (reel_inspector_process(inspector, number++, &limits, &process, see, &seen) ==
		    REEL_ANSWER_WHOLE) {
			assert_int_equal(process.namespace_pid, 7);
			assert_int_equal(process.word_bits, 64);
			assert_int_equal(seen.count, 2);
			assert_string_equal(seen.path, "//anon");
			return;
		}
		usleep(10000);
	}
	fail_msg("no answer from a helper that works");
}

TEST(test_lies)
{
	struct reel_inspector *inspector = create();
	struct seen seen;

	for (uint32_t lie = EMPTY; lie <= HUGE_PACKET; lie++) {
		uint64_t before;

		is_well(inspector);
		before = reel_inspector_left_out(inspector);
		if (ask(inspector, lie, &seen) != REEL_ANSWER_NONE)
			fail_msg("lie %u was believed", lie);
		assert_int_equal(reel_inspector_left_out(inspector), before + 1);
		/* Only the mapping before the one that is out of order. */
		assert_int_equal(seen.count, lie == BACKWARDS);
	}
	is_well(inspector);
	destroy(inspector);
}

static void never(void *context, const struct reel_runtime_function *function)
{
	fail_msg("a function was believed");
}

TEST(test_lies_about_others)
{
	struct reel_inspector *inspector = create();
	struct reel_runtime_place place = { .kind = REEL_BPF_INTERPRETER_PYTHON };
	struct reel_runtime_code code = { .address = 4096 };
	struct reel_bpf_interpreter interpreter;
	struct reel_proc_map map = { .address = 4096, .size = 4096, .inode = 1, .path = "/a" };
	struct reel_proc_thread thread;
	struct reel_proc_file file;

	is_well(inspector);
	assert_false(reel_inspector_file(inspector, LONG_BUILD_ID, &map, &file, NULL));
	assert_true(file.build_id.size <= sizeof(file.build_id.bytes));
	is_well(inspector);
	assert_false(reel_inspector_thread(inspector, LATER, LATER, &thread));
	is_well(inspector);
	assert_int_equal(reel_inspector_interpreter(inspector, FAR_FRAME, &place, &interpreter),
			 REEL_RUNTIME_LATER);
	assert_int_equal(interpreter.kind, REEL_BPF_INTERPRETER_NONE);
	for (uint32_t lie = LONG_NAME; lie <= CUT_NAME; lie++) {
		is_well(inspector);
		assert_int_equal(reel_inspector_functions(inspector, lie, &place, &code, 1,
							  UINT64_MAX, never, NULL),
				 REEL_ANSWER_NONE);
	}
	destroy(inspector);
}

TEST(test_dies)
{
	struct reel_inspector *inspector = create();
	struct seen seen;

	is_well(inspector);
	assert_int_equal(ask(inspector, DIE, &seen), REEL_ANSWER_NONE);
	is_well(inspector);
	destroy(inspector);
}

TEST(test_half)
{
	struct reel_inspector *inspector = create();
	struct seen seen;

	is_well(inspector);
	assert_int_equal(ask(inspector, HALF, &seen), REEL_ANSWER_PART);
	assert_int_equal(seen.count, 2);
	is_well(inspector);
	destroy(inspector);
}

/* A process whose helper hangs is not asked about again, others are; and it is reported once. */
TEST(test_hangs)
{
	struct reel_inspector *inspector = create();
	struct seen seen;
	uint64_t start;

	reel_inspector_hurry(inspector);
	is_well(inspector);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ask(inspector, HANG, &seen), REEL_ANSWER_NONE);
	is_well(inspector);
	start = reel_inspector_left_out(inspector);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(ask(inspector, HANG, &seen), REEL_ANSWER_NONE);
	assert_int_equal(reel_inspector_left_out(inspector), start + 1000);
	assert_int_equal(n_notes, 1);
	is_well(inspector);
	destroy(inspector);
}

/* Processes do not pay for the time that the recorder is stopped. */
TEST(test_stopped)
{
	struct reel_inspector *inspector = create();
	struct seen seen;

	reel_inspector_hurry(inspector);
	is_well(inspector);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ask(inspector, STOP, &seen), REEL_ANSWER_WHOLE);
	assert_true(reel_budget_allows(budget, REEL_BUDGET_PLACES, GOOD));
	destroy(inspector);
}

/* Nor for much more than it took if an answer has many parts. */
TEST(test_many_packets)
{
	struct reel_inspector *inspector = create();
	struct seen seen;

	reel_inspector_hurry(inspector);
	is_well(inspector);
	assert_int_equal(ask(inspector, MANY, &seen), REEL_ANSWER_WHOLE);
	assert_int_equal(seen.count, PACKETS);
	assert_true(reel_budget_allows(budget, REEL_BUDGET_PLACES, GOOD));
	destroy(inspector);
}

RUN_TESTS()
