/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's state and objects, made in this process's own memory, whole and hostile. */
#include <sys/mman.h>

#include "record/runtime/python.h"
#include "record/runtime/runtime.h"
#include "tests/support/own_memory.h"
#include "tests/support/test.h"

#define ARENA_SIZE  (1u << 20)
#define OBJECT_SIZE 1024
#define DEBUG_SIZE  1024
#define SIGNIFICANT 0x030b00
#define NO_TIME	    0
#define ENOUGH_TIME UINT64_MAX

/* A process: memory that ends at a page that cannot be read, and the layout of what is in it. */
static struct {
	uint8_t *arena;
	size_t used;
	uint32_t version;
	uint16_t fields[PYTHON_FIELDS];
	uint64_t runtime, interpreter, thread, frame, code;
	uint64_t type_code, type_str, type_bytes;
	unsigned int state_shift;
} process;

static uint64_t allocate(size_t size)
{
	uint64_t at = (uint64_t)(uintptr_t)process.arena + process.used;

	process.used += (size + 15) & ~(size_t)15;
	assert_true(process.used <= ARENA_SIZE);
	return at;
}

static void put_bytes(uint64_t at, const void *bytes, size_t size)
{
	memcpy((void *)(uintptr_t)at, bytes, size);
}

static void put(uint64_t object, enum python_field field, uint64_t value)
{
	put_bytes(object + process.fields[field], &value, sizeof(value));
}

static uint64_t make_type(const char *name)
{
	uint64_t type = allocate(OBJECT_SIZE), text = allocate(strlen(name) + 1);

	put_bytes(text, name, strlen(name) + 1);
	put(type, PYTHON_TYPE_NAME, text);
	return type;
}

static uint64_t make_object(uint64_t type)
{
	uint64_t object = allocate(OBJECT_SIZE);

	put_bytes(object, &(uint64_t){ 1 }, sizeof(uint64_t)); /* ob_refcnt */
	put(object, PYTHON_OBJECT_TYPE, type);
	return object;
}

/* `characters` has `length` of `kind` bytes each; the object ends the arena if they do not fit. */
static uint64_t make_text(const void *characters, uint64_t length, unsigned int kind, bool is_ascii)
{
	uint16_t header = is_ascii ? process.fields[PYTHON_TEXT_ASCII_SIZE]
				   : (uint16_t)(process.fields[PYTHON_TEXT_SIZE] - 8);
	uint64_t text = allocate(header + length * kind);

	put(text, PYTHON_OBJECT_TYPE, process.type_str);
	put(text, PYTHON_TEXT_LENGTH, length);
	put_bytes(text + process.fields[PYTHON_TEXT_STATE],
		  &(uint32_t){ (kind | 1u << 3 | (uint32_t)is_ascii << 4) << process.state_shift },
		  sizeof(uint32_t));
	put_bytes(text + header, characters, length * kind);
	return text;
}

static uint64_t make_ascii(const char *text)
{
	return make_text(text, strlen(text), 1, true);
}

static uint64_t make_bytes(const void *bytes, size_t size)
{
	uint64_t object = allocate(process.fields[PYTHON_BYTES_DATA] + size);

	put(object, PYTHON_OBJECT_TYPE, process.type_bytes);
	put(object, PYTHON_BYTES_LENGTH, size);
	put_bytes(object + process.fields[PYTHON_BYTES_DATA], bytes, size);
	return object;
}

/* Two instructions of one line, and three of the next one. */
static const uint8_t locations[] = { 0x80 | 10 << 3 | 1, 0, 1, 0x80 | 11 << 3 | 2, 0, 1 };

static void fill(void)
{
	enum python_field name = process.fields[PYTHON_CODE_QUALIFIED] == PYTHON_NO_FIELD
					 ? PYTHON_CODE_NAME
					 : PYTHON_CODE_QUALIFIED;

	process.type_code = make_type("code");
	process.type_str = make_type("str");
	process.type_bytes = make_type("bytes");
	process.interpreter = allocate(32768);
	process.thread = allocate(OBJECT_SIZE);
	process.frame = allocate(OBJECT_SIZE);
	process.code = make_object(process.type_code);
	put(process.runtime, PYTHON_RUNTIME_HEAD, process.interpreter);
	put(process.interpreter, PYTHON_INTERPRETER_THREADS, process.thread);
	put(process.thread, PYTHON_THREAD_INTERPRETER, process.interpreter);
	put(process.thread, PYTHON_THREAD_ID, process.thread);
	if (process.fields[PYTHON_THREAD_CFRAME] != PYTHON_NO_FIELD) {
		uint64_t cframe = allocate(OBJECT_SIZE);

		put(process.thread, PYTHON_THREAD_CFRAME, cframe);
		put(cframe, PYTHON_CFRAME_FRAME, process.frame);
	} else {
		put(process.thread, PYTHON_THREAD_FRAME, process.frame);
	}
	put(process.frame, PYTHON_FRAME_CODE, process.code);
	put_bytes(process.code + process.fields[PYTHON_CODE_FIRST_LINE], &(int32_t){ 7 },
		  sizeof(int32_t));
	put(process.code, name, make_ascii("Server.handle"));
	put(process.code, PYTHON_CODE_FILE, make_ascii("/srv/app.py"));
	put(process.code, PYTHON_CODE_LINES, make_bytes(locations, sizeof(locations)));
}

static const uint16_t *fields_of(uint32_t version)
{
	const struct python_version *known = python_versions;

	while (known->version != version)
		known++;
	return known->fields;
}

static void begin(uint32_t version)
{
	memset(process.arena, 0, ARENA_SIZE);
	process.used = 0;
	process.version = version;
	process.state_shift = 2;
	memcpy(process.fields, fields_of(version), sizeof(process.fields));
	process.runtime = allocate(OBJECT_SIZE);
}

static void begin_direct(uint32_t version)
{
	needs_own_memory();
	begin(version);
	fill();
}

/* Objects as those of threads without the GIL: their header is larger. */
static void begin_indirect(uint32_t version)
{
	uint64_t places[PYTHON_FIELDS];

	needs_own_memory();
	begin(version);
	for (size_t i = 0; i < PYTHON_FIELDS; i++) {
		places[i] = process.fields[i];
		if (places[i] != PYTHON_NO_FIELD)
			process.fields[i] = (uint16_t)(40 + 8 * i);
	}
	process.fields[PYTHON_FRAME_PREVIOUS] = 8;
	process.fields[PYTHON_FRAME_CODE] = 0;
	process.fields[PYTHON_FRAME_POSITION] = 56;
	process.fields[PYTHON_FRAME_OWNER] = 78;
	process.fields[PYTHON_RUNTIME_HEAD] = DEBUG_SIZE;
	process.fields[PYTHON_TEXT_LENGTH] = 32;
	process.fields[PYTHON_TEXT_STATE] = 48;
	process.fields[PYTHON_TEXT_ASCII_SIZE] = 56;
	process.fields[PYTHON_TEXT_SIZE] = 80;
	process.fields[PYTHON_OBJECT_TYPE] = 24;
	process.state_shift = version >= 0x030e00 ? 8 : 2;
	allocate(OBJECT_SIZE);
	put_bytes(process.runtime, "xdebugpy", 8);
	put_bytes(process.runtime + 8, &(uint64_t){ (uint64_t)version << 8 | 0xf0 }, 8);
	put_bytes(process.runtime + 16, &(uint64_t){ 1 }, 8);
	for (size_t i = 0; i < PYTHON_FIELDS; i++) {
		if (places[i] != PYTHON_NO_FIELD)
			put_bytes(process.runtime + places[i], &(uint64_t){ process.fields[i] }, 8);
	}
	fill();
}

static struct reel_runtime_place place(void)
{
	return (struct reel_runtime_place){
		.kind = REEL_BPF_INTERPRETER_PYTHON,
		.version = process.version,
		.at = process.runtime,
	};
}

/* ---- where the frames are ----------------------------------------------------------------- */

static enum reel_runtime_answer locate(struct reel_bpf_interpreter *ret)
{
	struct reel_runtime_place at = place();

	return reel_runtime_locate((uint32_t)getpid(), &at, ret);
}

static void expect(enum reel_runtime_answer wanted)
{
	struct reel_bpf_interpreter interpreter;

	assert_int_equal(locate(&interpreter), wanted);
	assert_int_equal(interpreter.kind, wanted == REEL_RUNTIME_FOUND
						   ? REEL_BPF_INTERPRETER_PYTHON
						   : REEL_BPF_INTERPRETER_NONE);
}

TEST(test_located)
{
	struct reel_bpf_interpreter interpreter;

	begin_direct(0x030900);
	assert_int_equal(locate(&interpreter), REEL_RUNTIME_FOUND);
	assert_true(interpreter.head == process.runtime + 32);
	assert_int_equal(interpreter.python.position_size, 4);
	assert_int_equal(interpreter.python.thread_native_id, REEL_BPF_NO_OFFSET);
	/* The word after co_lnotab changes. */
	assert_int_equal(interpreter.python.code_identity + 24, process.fields[PYTHON_CODE_LINES]);
	begin_direct(0x030b00);
	assert_int_equal(locate(&interpreter), REEL_RUNTIME_FOUND);
	assert_int_equal(interpreter.python.position_size, 8);
	assert_int_equal(interpreter.python.frame_is_entry, 68);
	assert_int_equal(interpreter.python.frame_owner, REEL_BPF_NO_OFFSET);
	assert_int_equal(interpreter.python.code_identity, process.fields[PYTHON_CODE_FILE]);
	begin_indirect(0x030d00);
	assert_int_equal(locate(&interpreter), REEL_RUNTIME_FOUND);
	assert_true(interpreter.head == process.runtime + DEBUG_SIZE);
	assert_int_equal(interpreter.python.frame_owner, 78);
	assert_int_equal(interpreter.python.owner_native, 3);
	assert_int_equal(interpreter.python.code_tags, 0);
	begin_indirect(0x030e00);
	put(process.frame, PYTHON_FRAME_CODE, process.code | 1);
	assert_int_equal(locate(&interpreter), REEL_RUNTIME_FOUND);
	assert_int_equal(interpreter.python.code_tags, 7);
}

TEST(test_not_yet)
{
	begin_direct(0x030b00);
	put(process.runtime, PYTHON_RUNTIME_HEAD, 0);
	expect(REEL_RUNTIME_LATER);
	begin_direct(0x030b00);
	put(process.interpreter, PYTHON_INTERPRETER_THREADS, 0);
	expect(REEL_RUNTIME_LATER);
	begin_indirect(0x030d00);
	process.runtime = (uint64_t)(uintptr_t)process.arena + ARENA_SIZE;
	expect(REEL_RUNTIME_LATER);
	/* No frame at all, as in a server's thread that waits. */
	begin_direct(0x030900);
	put(process.thread, PYTHON_THREAD_FRAME, 0);
	expect(REEL_RUNTIME_FOUND);
	/* Only the one that each thread has since 3.15, whose code is None. */
	begin_indirect(0x030f00);
	put(process.frame, PYTHON_FRAME_CODE, make_object(make_type("NoneType")));
	expect(REEL_RUNTIME_UNKNOWN);
	put_bytes(process.frame + process.fields[PYTHON_FRAME_OWNER], &(uint8_t){ 3 }, 1);
	expect(REEL_RUNTIME_FOUND);
}

TEST(test_other_memory)
{
	uint64_t other, unmapped;

	begin_direct(0x030900);
	unmapped = (uint64_t)(uintptr_t)process.arena + ARENA_SIZE;
	other = make_object(make_type("codec"));
	put(process.frame, PYTHON_FRAME_CODE, other);
	expect(REEL_RUNTIME_UNKNOWN);
	/* A circle of frames, then the one after them is a function's. */
	put(process.frame, PYTHON_FRAME_PREVIOUS, process.frame);
	expect(REEL_RUNTIME_UNKNOWN);
	put(process.frame, PYTHON_FRAME_PREVIOUS, allocate(OBJECT_SIZE));
	put(process.frame + OBJECT_SIZE, PYTHON_FRAME_CODE, process.code);
	expect(REEL_RUNTIME_UNKNOWN);
	begin_direct(0x030900);
	put(process.thread, PYTHON_THREAD_ID, unmapped);
	expect(REEL_RUNTIME_UNKNOWN);
	begin_direct(0x030900);
	put(process.thread, PYTHON_THREAD_INTERPRETER, process.thread);
	expect(REEL_RUNTIME_UNKNOWN);
	begin_direct(0x030b00);
	put(process.thread, PYTHON_THREAD_NATIVE_ID, 1u << 30);
	expect(REEL_RUNTIME_UNKNOWN);
	/* A circle of threads without frames. */
	begin_direct(0x030900);
	put(process.thread, PYTHON_THREAD_FRAME, 0);
	put(process.thread, PYTHON_THREAD_NEXT, process.thread);
	expect(REEL_RUNTIME_FOUND);
	put(process.thread, PYTHON_THREAD_FRAME, unmapped);
	expect(REEL_RUNTIME_UNKNOWN);
	begin_direct(0x030900);
	process.version = 0x030700;
	expect(REEL_RUNTIME_UNKNOWN);
}

TEST(test_offsets_of_the_process)
{
	uint16_t at = fields_of(0x030d00)[PYTHON_FRAME_POSITION];

	begin_indirect(0x030d00);
	put_bytes(process.runtime, "x", 2);
	expect(REEL_RUNTIME_UNKNOWN);
	begin_indirect(0x030d00);
	put_bytes(process.runtime + 8, &(uint64_t){ 0x030e00f0 }, 8);
	expect(REEL_RUNTIME_UNKNOWN);
	/* Frames of which only a part is read, and offsets that no struct has. */
	begin_indirect(0x030d00);
	put_bytes(process.runtime + at, &(uint64_t){ REEL_BPF_FRAME_SIZE - 4 }, 8);
	expect(REEL_RUNTIME_UNKNOWN);
	put_bytes(process.runtime + at, &(uint64_t){ REEL_BPF_FRAME_SIZE - 8 }, 8);
	expect(REEL_RUNTIME_FOUND);
	put_bytes(process.runtime + at, &(uint64_t){ UINT64_MAX }, 8);
	expect(REEL_RUNTIME_UNKNOWN);
}

/* ---- which functions they are of ------------------------------------------------------------ */

static struct {
	size_t n;
	uint64_t line;
	char name[REEL_RUNTIME_TEXT_MAX + 1], file[REEL_RUNTIME_TEXT_MAX + 1];
	size_t n_lines;
} seen;

static void see(void *context, const struct reel_runtime_function *function)
{
	(void)context;
	seen.n++;
	seen.line = function->line;
	snprintf(seen.name, sizeof(seen.name), "%.*s", (int)function->name.size,
		 (const char *)function->name.data);
	snprintf(seen.file, sizeof(seen.file), "%.*s", (int)function->file.size,
		 function->file.size ? (const char *)function->file.data : "");
	seen.n_lines = function->lines.size;
}

static uint32_t identity(void)
{
	struct reel_bpf_interpreter interpreter;
	__u64 words[REEL_BPF_IDENTITY_SIZE / 8];

	assert_int_equal(locate(&interpreter), REEL_RUNTIME_FOUND);
	memcpy(words, (void *)(uintptr_t)(process.code + interpreter.python.code_identity),
	       sizeof(words));
	return reel_bpf_identity(words);
}

static bool look_for(uint32_t number, uint64_t deadline)
{
	struct reel_runtime_code code = { process.code, number, 0 };
	struct reel_runtime_place at = place();

	seen.n = 0;
	return reel_runtime_functions((uint32_t)getpid(), &at, &code, 1, deadline, see, NULL);
}

static bool is_named(void)
{
	assert_true(look_for(identity(), ENOUGH_TIME));
	return seen.n == 1;
}

TEST(test_functions)
{
	static const uint32_t versions[] = { 0x030800, 0x030b00, 0x030d00, 0x030e00 };

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		if (versions[i] < 0x030d00)
			begin_direct(versions[i]);
		else
			begin_indirect(versions[i]);
		assert_true(is_named());
		assert_int_equal(seen.line, 7);
		assert_string_equal(seen.name, "Server.handle");
		assert_string_equal(seen.file, "/srv/app.py");
		assert_true(seen.n_lines > 0);
		/* Another code object is at the address by now. */
		assert_true(look_for(identity() ^ 2, ENOUGH_TIME));
		assert_int_equal(seen.n, 0);
		assert_false(look_for(identity(), NO_TIME));
		assert_int_equal(seen.n, 0);
	}
}

/* What is freed looks the same but for its count of references. */
TEST(test_freed)
{
	static const uint64_t counts[] = { 0, 0x7f1234567890, 0x7f00ffff0000 };

	begin_direct(SIGNIFICANT);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		put_bytes(process.code, &counts[i], sizeof(counts[i]));
		assert_false(is_named());
	}
	/* Objects that are never freed (3.12), with flags (3.14). */
	put_bytes(process.code, &(uint64_t){ 0xffffffff }, sizeof(uint64_t));
	assert_true(is_named());
	put_bytes(process.code, &(uint64_t){ 0x0004000040000000 }, sizeof(uint64_t));
	assert_true(is_named());
}

static void check_text(const void *characters, uint64_t length, unsigned int kind,
		       const char *wanted)
{
	begin_direct(SIGNIFICANT);
	put(process.code, PYTHON_CODE_FILE, make_text(characters, length, kind, false));
	assert_true(is_named());
	assert_string_equal(seen.file, wanted);
}

TEST(test_texts)
{
	static char text[REEL_RUNTIME_TEXT_MAX + 2];

	check_text("\xe9t\xe9", 3, 1, "\u00e9t\u00e9");
	check_text((const uint16_t[]){ 'a', 0x20ac, 0xdcff, 0xd800 }, 4, 2, "a\u20ac\xff\ufffd");
	check_text((const uint32_t[]){ 0x1f40d, 0x110000, '\n' }, 3, 4, "\U0001f40d\ufffd\n");
	check_text("a\0b", 3, 1, "a\ufffdb");
	check_text("", 0, 1, "");
	memset(text, 'x', sizeof(text) - 1);
	begin_direct(SIGNIFICANT);
	put(process.code, PYTHON_CODE_FILE, make_ascii(text));
	assert_false(is_named());
	text[REEL_RUNTIME_TEXT_MAX] = 0;
	put(process.code, PYTHON_CODE_FILE, make_ascii(text));
	assert_true(is_named());
	/* It is longer in UTF-8. */
	text[0] = '\xe9';
	put(process.code, PYTHON_CODE_FILE, make_text(text, REEL_RUNTIME_TEXT_MAX, 1, false));
	assert_false(is_named());
}

static void put_state(uint64_t text, unsigned int kind, unsigned int is_compact,
		      unsigned int is_ascii)
{
	put_bytes(text + process.fields[PYTHON_TEXT_STATE],
		  &(uint32_t){ (kind | is_compact << 3 | is_ascii << 4) << process.state_shift },
		  sizeof(uint32_t));
}

TEST(test_hostile_texts)
{
	uint64_t text, end;

	begin_direct(SIGNIFICANT);
	end = (uint64_t)(uintptr_t)process.arena + ARENA_SIZE;
	text = make_ascii("abcd");
	put(process.code, PYTHON_CODE_QUALIFIED, text);
	assert_true(is_named());
	put_state(text, 1, 0, 1); /* its characters are elsewhere */
	assert_false(is_named());
	put_state(text, 3, 1, 0);
	assert_false(is_named());
	put_state(text, 2, 1, 1);
	assert_false(is_named());
	put_state(text, 1, 1, 1);
	assert_true(is_named());
	put(text, PYTHON_TEXT_LENGTH, UINT64_MAX);
	assert_false(is_named());
	put(text, PYTHON_TEXT_LENGTH, UINT64_MAX / 2 + 1);
	assert_false(is_named());
	put(text, PYTHON_TEXT_LENGTH, 4);
	put(text, PYTHON_OBJECT_TYPE, process.type_bytes);
	assert_false(is_named());
	put(text, PYTHON_OBJECT_TYPE, 0);
	assert_false(is_named());
	put(text, PYTHON_OBJECT_TYPE, end);
	assert_false(is_named());
	/* No name is no name. */
	put(process.code, PYTHON_CODE_QUALIFIED, make_ascii(""));
	assert_false(is_named());
	/* At the end of what can be read, and beyond it. */
	end -= process.fields[PYTHON_TEXT_ASCII_SIZE] + 4u;
	put_bytes(end, (void *)(uintptr_t)make_ascii("abcd"),
		  process.fields[PYTHON_TEXT_ASCII_SIZE] + 4u);
	put(process.code, PYTHON_CODE_QUALIFIED, end);
	assert_true(is_named());
	put(end, PYTHON_TEXT_LENGTH, 5);
	assert_false(is_named());
	put(process.code, PYTHON_CODE_QUALIFIED, end + 8);
	assert_false(is_named());
	put(process.code, PYTHON_CODE_QUALIFIED, process.code);
	assert_false(is_named());
}

TEST(test_hostile_lines)
{
	static uint8_t many[300 << 10];
	uint64_t table;

	begin_direct(SIGNIFICANT);
	put(process.code, PYTHON_CODE_LINES, make_ascii("abcd"));
	assert_false(is_named());
	table = make_bytes(locations, sizeof(locations));
	put(process.code, PYTHON_CODE_LINES, table);
	assert_true(is_named());
	put(table, PYTHON_BYTES_LENGTH, UINT64_MAX);
	assert_false(is_named());
	/* It says that it is longer than what can be read. */
	put(table, PYTHON_BYTES_LENGTH, INT64_MAX);
	assert_true(is_named());
	assert_int_equal(seen.n_lines, 0);
	/* Lines that are too long, and a table that is, but whose lines are not. */
	memset(many, 0x80 | 11 << 3, sizeof(many));
	put(process.code, PYTHON_CODE_LINES, make_bytes(many, 40 << 10));
	assert_true(is_named());
	assert_int_equal(seen.n_lines, 0);
	memset(many, 0x80 | 10 << 3, sizeof(many));
	put(process.code, PYTHON_CODE_LINES, make_bytes(many, 200 << 10));
	assert_true(is_named());
	assert_in_range(seen.n_lines, 1, 100);
	put(process.code, PYTHON_CODE_LINES, make_bytes(many, sizeof(many)));
	assert_true(is_named());
	assert_int_equal(seen.n_lines, 0);
}

/* ---- tables of lines ------------------------------------------------------------------------ */

#define NONE UINT64_MAX

/* `wanted`: positions and lines, ended by NONE. */
static void check_lines(uint32_t version, const void *table, size_t size, const uint64_t *wanted)
{
	_cleanup_buffer_ struct reel_buffer lines = { 0 };
	struct reel_cursor cursor;
	uint64_t position = 0, line = 10;

	python_lines_write(version, (struct reel_bytes){ table, size }, line, 100, &lines);
	cursor = reel_cursor(lines.bytes, lines.size);
	for (; *wanted != NONE; wanted += 2) {
		position += reel_cursor_uleb(&cursor);
		line += (uint64_t)reel_cursor_zigzag(&cursor);
		assert_true(position == wanted[0] && line == wanted[1]);
	}
	assert_false(cursor.failed);
	assert_int_equal(reel_cursor_left(&cursor), 0);
}

TEST(test_lines)
{
	/* A distance and a difference that take two pairs each; back again. */
	static const uint8_t lnotab[] = { 6, 1, 255, 0, 5, 127, 0, 3, 4, (uint8_t)-100, 9 };
	static const uint8_t ranges[] = { 4, 0, 0, 127, 6, 3, 2, (uint8_t)-128, 8, (uint8_t)-2, 1 };
	/* In turn: short, one line, long (+ 70, in two bytes), no columns (- 1), none. */
	static const uint8_t all[] = { 0x80 | 0 << 3 | 0,
				       1,
				       0x80 | 12 << 3 | 1,
				       0,
				       1,
				       0x80 | 14 << 3 | 7,
				       0x4c,
				       2,
				       1,
				       1,
				       1,
				       0x80 | 13 << 3 | 0,
				       3,
				       0x80 | 15 << 3 | 0 };
	static const uint8_t cut[] = { 0x80 | 14 << 3, 0x40 };

	check_lines(0x030900, lnotab, sizeof(lnotab),
		    (uint64_t[]){ 0, 10, 6, 11, 266, 141, 270, 41, NONE });
	check_lines(0x030900, NULL, 0, (uint64_t[]){ 0, 10, NONE });
	check_lines(0x030a00, ranges, sizeof(ranges),
		    (uint64_t[]){ 0, 10, 2, 140, 5, 0, 6, 138, 10, 0, NONE });
	check_lines(0x030b00, all, sizeof(all),
		    (uint64_t[]){ 98, 10, 102, 12, 106, 82, 122, 81, 124, 0, NONE });
	check_lines(0x030b00, cut, sizeof(cut), (uint64_t[]){ 98, 10, 102, 0, NONE });
	check_lines(0x030b00, NULL, 0, (uint64_t[]){ 98, 10, 100, 0, NONE });
}

static int set_up(void **unused)
{
	void *arena = mmap(NULL, ARENA_SIZE + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (arena == MAP_FAILED || mprotect(arena, ARENA_SIZE, PROT_READ | PROT_WRITE))
		return -1;
	process.arena = arena;
	return 0;
}

RUN_TESTS_WITH(set_up, NULL)
