/* SPDX-License-Identifier: Apache-2.0 */
/* jitdump files in both byte orders, whole and in pieces, valid and invalid. */
#include "format/perf/jitdump.h"
#include "tests/support/test.h"

enum { LOAD, MOVE, DEBUG, CLOSE, UNWIND };

/* ---- files ------------------------------------------------------------------------------ */

struct file {
	uint8_t bytes[4 << 20];
	size_t size;
	size_t record; /* where the last one begins */
	bool big_endian;
};

static void put(struct file *file, unsigned size, uint64_t value)
{
	reel_store_target(file->bytes + file->size, size, file->big_endian, value);
	file->size += size;
}

static void put_text(struct file *file, const char *text)
{
	strcpy((char *)file->bytes + file->size, text);
	file->size += strlen(text) + 1;
}

static struct file *begin(bool big_endian)
{
	static struct file file;

	file.size = 0;
	file.big_endian = big_endian;
	put(&file, 4, 0x4a695444);
	put(&file, 4, 1);
	put(&file, 4, 40);
	put(&file, 4, 62);
	put(&file, 4, 0);
	put(&file, 4, 1234);
	put(&file, 8, 99);
	put(&file, 8, 0);
	return &file;
}

static void begin_record(struct file *file, unsigned id, uint64_t time)
{
	file->record = file->size;
	put(file, 4, id);
	put(file, 4, 0);
	put(file, 8, time);
}

static void end_record(struct file *file)
{
	reel_store_target(file->bytes + file->record + 4, 4, file->big_endian,
			  file->size - file->record);
}

static void put_load(struct file *file, uint64_t time, uint64_t address, uint64_t size,
		     uint64_t index, const char *name)
{
	begin_record(file, LOAD, time);
	put(file, 4, 1234);
	put(file, 4, 1235);
	put(file, 8, address);
	put(file, 8, address);
	put(file, 8, size);
	put(file, 8, index);
	put_text(file, name);
	memset(file->bytes + file->size, 0x90, size < 4096 ? size : 4096);
	file->size += size < 4096 ? size : 4096;
	end_record(file);
}

static void put_move(struct file *file, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		     uint64_t index)
{
	begin_record(file, MOVE, time);
	put(file, 4, 1234);
	put(file, 4, 1235);
	put(file, 8, to);
	put(file, 8, from);
	put(file, 8, to);
	put(file, 8, size);
	put(file, 8, index);
	end_record(file);
}

static void put_unwind(struct file *file, const char *eh_frame, const char *header)
{
	begin_record(file, UNWIND, 1);
	put(file, 8, strlen(eh_frame) + strlen(header));
	put(file, 8, strlen(header));
	put(file, 8, 0);
	put_text(file, eh_frame);
	file->size--;
	put_text(file, header);
	file->size--;
	put(file, 4, 0); /* padded to a multiple of 8, or not */
	end_record(file);
}

struct line {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(struct file *file, uint64_t of, const struct line *lines, size_t count)
{
	begin_record(file, DEBUG, 1);
	put(file, 8, of);
	put(file, 8, count);
	for (size_t i = 0; i < count; i++) {
		put(file, 8, lines[i].address);
		put(file, 4, lines[i].line);
		put(file, 4, 7);
		put_text(file, lines[i].file);
	}
	end_record(file);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct seen {
	char text[8192];
};

__attribute__((format(printf, 2, 3))) static void add(struct seen *seen, const char *format, ...)
{
	size_t used = strlen(seen->text);
	va_list args;

	va_start(args, format);
	vsnprintf(seen->text + used, sizeof(seen->text) - used, format, args);
	va_end(args);
}

static struct reel_error *see_function(void *context, const struct reel_jitdump_function *function)
{
	struct reel_jitdump_lines lines = function->lines;
	struct reel_jitdump_line line;
	struct seen *seen = context;

	add(seen, "%llu %.*s#%llu %llx+%llx", (unsigned long long)function->time,
	    (int)function->name.size, (const char *)function->name.data,
	    (unsigned long long)function->index, (unsigned long long)function->address,
	    (unsigned long long)function->size);
	if (function->eh_frame.size)
		add(seen, " [%.*s @%llx]", (int)function->eh_frame.size,
		    (const char *)function->eh_frame.data,
		    (unsigned long long)function->frame_address);
	while (reel_jitdump_next_line(&lines, &line))
		add(seen, " %llx=%.*s:%u", (unsigned long long)line.address, (int)line.file.size,
		    (const char *)line.file.data, line.line);
	add(seen, "; ");
	return NULL;
}

static struct reel_error *see_move(void *context, const struct reel_jitdump_move *move)
{
	add(context, "%llu #%llu %llx>%llx+%llx; ", (unsigned long long)move->time,
	    (unsigned long long)move->index, (unsigned long long)move->from,
	    (unsigned long long)move->to, (unsigned long long)move->size);
	return NULL;
}

/* As a growing file is read: `step` more bytes each time. */
static struct reel_error *parse(const struct file *file, size_t step, struct seen *seen,
				struct reel_jitdump *dump)
{
	const struct reel_jitdump_visitor visitor = { see_function, see_move, seen };
	struct reel_error *error = NULL;
	uint64_t from = 0;

	memset(dump, 0, sizeof(*dump));
	memset(seen, 0, sizeof(*seen));
	for (size_t to = 0; to < file->size && !error;) {
		uint64_t taken;

		to = file->size - to < step ? file->size : to + step;
		if (from >= to)
			continue;
		error = reel_jitdump_parse(dump, file->bytes + from, to - from, &visitor, &taken);
		from += taken;
	}
	return error;
}

static void assert_parses(const struct file *file, const char *expected, uint64_t n_bad)
{
	static struct seen seen;
	struct reel_jitdump dump;

	for (size_t step = 1; step < 2 * file->size; step = step < 300 ? step + 1 : 3 * step) {
		assert_null(parse(file, file->size > 10000 ? step * 1000 : step, &seen, &dump));
		assert_string_equal(seen.text, expected);
		assert_int_equal(dump.n_bad, n_bad);
	}
}

/* ---- tests ------------------------------------------------------------------------------- */

TEST(test_records)
{
	static const struct line lines[] = {
		{ 0x1000, 3, "a.js" },
		{ 0x1004, 4, "\xff" },
		{ 0x1009, 9, "b.js" },
	};

	for (int big_endian = 0; big_endian < 2; big_endian++) {
		struct file *file = begin(big_endian);

		put_load(file, 5, 0x2000, 3, 1, "first");
		put_lines(file, 0x1000, lines, 3);
		put_unwind(file, "frames", "header");
		put_load(file, 6, 0x1000, 0x1d, 2, "second one");
		put_load(file, 7, 0x3000, 8, 3, "third");
		put_move(file, 8, 0x1000, 0x5000, 0x1d, 2);
		begin_record(file, CLOSE, 9);
		end_record(file);
		begin_record(file, 77, 9);
		put(file, 8, 1);
		end_record(file);
		put_load(file, 10, 0x4000, 0, 4, "without code");
		put_load(file, 11, 0x4000, 1, 5, "");
		assert_parses(file,
			      "5 first#1 2000+3; "
			      "6 second one#2 1000+1d [frames @1020] 1000=a.js:3 1004=a.js:4 "
			      "1009=b.js:9; "
			      "7 third#3 3000+8; 8 #2 1000>5000+1d; 11 #5 4000+1; ",
			      0);
	}
}

TEST(test_header)
{
	struct file *file = begin(false);
	struct reel_jitdump dump;
	struct reel_error *error;
	struct seen seen;

	file->bytes[32] = 1;
	/* A header longer than the known fields. */
	file->bytes[8] = 48;
	put(file, 8, 0);
	put_load(file, 5, 0x2000, 3, 1, "first");
	assert_null(parse(file, 1, &seen, &dump));
	assert_string_equal(seen.text, "5 first#1 2000+3; ");
	assert_true(dump.has_cpu_times);
	assert_int_equal(dump.machine, 62);
	assert_int_equal(dump.pid, 1234);

	file = begin(false);
	file->bytes[4] = 2;
	error = parse(file, 10, &seen, &dump);
	assert_int_equal(reel_error_code(error), REEL_ERROR_UNSUPPORTED);
	assert_string_equal(reel_error_message(error),
			    "jitdump: unsupported version 2 (expected 1)");
	reel_error_destroy(error);

	file->bytes[0] = 'x';
	assert_error(parse(file, 1, &seen, &dump), REEL_ERROR_CORRUPT);
	file = begin(false);
	file->bytes[8] = 39;
	assert_error(parse(file, 1, &seen, &dump), REEL_ERROR_CORRUPT);
}

TEST(test_shifted_lines)
{
	static const struct line v8[] = { { 0x1040, 1, "a" }, { 0x1050, 2, "\xff" } };
	static const struct line others[] = { { 0x103f, 1, "a" }, { 0x1050, 2, "b" } };
	static const struct line wrong[] = { { 0xfff, 1, "a" }, { 0x1050, 2, "b" } };
	struct file *file = begin(false);

	put_lines(file, 0x1000, v8, 2);
	put_load(file, 5, 0x1000, 0x60, 1, "v8");
	put_lines(file, 0x1000, others, 2);
	put_load(file, 6, 0x1000, 0x60, 2, "others");
	put_lines(file, 0x1000, wrong, 2);
	put_load(file, 7, 0x1000, 0x60, 3, "wrong");
	assert_parses(file,
		      "5 v8#1 1000+60 1000=a:1 1010=a:2; 6 others#2 1000+60 103f=a:1 1050=b:2; "
		      "7 wrong#3 1000+60 fff=a:1 1050=b:2; ",
		      0);
}

TEST(test_bad_records)
{
	static const struct line lines[] = { { 0x1000, 1, "a" }, { 0x1001, 2, "b" } };
	struct file *file = begin(false);

	/* Lines of another function, and more lines than exist. */
	put_lines(file, 0x3000, lines, 2);
	put_load(file, 1, 0x1000, 4, 1, "a");
	put_lines(file, 0x1000, lines, 2);
	file->bytes[file->record + 24] = 0xff;
	put_load(file, 2, 0x1000, 4, 2, "b");
	/* More unwind information than the record has. */
	put_unwind(file, "frames", "header");
	file->bytes[file->record + 16] = 200;
	put_load(file, 3, 0x1000, 4, 3, "c");
	put_unwind(file, "frames", "header");
	file->bytes[file->record + 24] = 200;
	put_load(file, 3, 0x1000, 4, 3, "d");
	/* A range that ends past 2^64; a name without an end; records that are too short. */
	put_load(file, 4, UINT64_MAX - 2, 4, 4, "e");
	begin_record(file, LOAD, 5);
	memset(file->bytes + file->size, 1, 60);
	file->size += 60;
	end_record(file);
	for (unsigned id = LOAD; id <= UNWIND; id++) {
		begin_record(file, id, 6);
		end_record(file);
	}
	put_move(file, 8, 0x1000, UINT64_MAX, 0x1d, 2);
	put_load(file, 9, 0x1000, 4, 9, "z");
	assert_parses(file,
		      "1 a#1 1000+4; 2 b#2 1000+4 1000=a:1 1001=b:2; 3 c#3 1000+4; 3 d#3 1000+4; "
		      "9 z#9 1000+4; ",
		      9);
}

TEST(test_broken)
{
	struct file *file = begin(false);
	struct reel_jitdump dump;
	struct reel_error *error;
	struct seen seen;

	put_load(file, 1, 0x1000, 4, 1, "a");
	begin_record(file, CLOSE, 1);
	file->bytes[file->record + 4] = 15;
	for (size_t step = 1; step < file->size; step++) {
		error = parse(file, step, &seen, &dump);
		assert_int_equal(reel_error_code(error), REEL_ERROR_CORRUPT);
		assert_string_equal(seen.text, "1 a#1 1000+4; ");
		reel_error_destroy(error);
	}
}

/* A record that exceeds the limit is skipped, and the following one is found. */
TEST(test_long_records)
{
	struct file *file = begin(false);

	begin_record(file, UNWIND, 1);
	file->size += REEL_JITDUMP_ROOM + 1000;
	end_record(file);
	put_load(file, 1, 0x1000, 4, 1, "a");
	/* For large code the name is enough, and the file may continue after the bytes read. */
	put_load(file, 2, 0x2000, 4, 2, "b");
	memset(file->bytes + file->size, 0, REEL_JITDUMP_ROOM);
	file->size += REEL_JITDUMP_ROOM;
	end_record(file);
	put_load(file, 3, 0x3000, 4, 3, "c");
	assert_parses(file, "1 a#1 1000+4; 2 b#2 2000+4; 3 c#3 3000+4; ", 1);
}

/* Endless records before a function: they are dropped together, not one by one. */
TEST(test_many_before)
{
	struct file *file = begin(false);

	while (file->size < 3 * REEL_JITDUMP_ROOM) {
		begin_record(file, UNWIND, 1);
		end_record(file);
	}
	put_load(file, 1, 0x1000, 4, 1, "a");
	static struct seen seen;
	struct reel_jitdump dump;

	assert_null(parse(file, REEL_JITDUMP_ROOM, &seen, &dump));
	assert_string_equal(seen.text, "1 a#1 1000+4; ");
	assert_true(dump.n_bad >= 2);
}

RUN_TESTS()
