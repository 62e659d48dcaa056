/* SPDX-License-Identifier: Apache-2.0 */
/* Ruby's code objects and methods, made in this process's own memory, whole and hostile. */
#include <sys/mman.h>

#include "record/runtime/ruby.h"
#include "tests/support/mutate.h"
#include "tests/support/own_memory.h"
#include "tests/support/test.h"

#define ARENA_SIZE  (1u << 18)
#define OBJECT_SIZE 512
#define TYPE_STRING 5u
#define TYPE_ARRAY  7u
#define TYPE_MEMO   0x1au
#define OUTSIDE	    (1u << 13)
#define METHOD	    6u
#define CODE	    7u
#define NAME_SERIAL 700u
#define NAME_UNITS  2

/* Memory that ends at a page that cannot be read. */
static struct {
	uint8_t *arena;
	size_t used;
	const uint16_t *fields;
	uint32_t version;
	uint64_t code, body, method, data;
	size_t data_size;
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

static void put(uint64_t at, uint64_t value)
{
	put_bytes(at, &value, sizeof(value));
}

/* Its characters are elsewhere. */
static uint64_t make_text(const char *characters)
{
	uint64_t text = allocate(64), data = allocate(strlen(characters));

	put_bytes(data, characters, strlen(characters));
	put(text, TYPE_STRING | OUTSIDE);
	put(text + process.fields[RUBY_STRING_LENGTH], strlen(characters));
	put(text + process.fields[RUBY_STRING_POINTER], data);
	return text;
}

static uint64_t make_array(uint64_t n)
{
	uint64_t array = allocate(40), data = allocate(8 * n);

	put(array, TYPE_ARRAY);
	put(array + 16, n);
	put(array + 32, data);
	return array;
}

static uint64_t word_at(uint64_t at)
{
	uint64_t word;

	memcpy(&word, (void *)(uintptr_t)at, sizeof(word));
	return word;
}

static void set_element(uint64_t array, uint64_t index, uint64_t value)
{
	put(word_at(array + 32) + 8 * index, value);
}

/* Lines 3 and 5; the second one begins at the third word of instructions. */
static void make_lines(void)
{
	uint16_t size = process.fields[RUBY_LINE_SIZE];
	uint64_t entries = allocate(2 * (size_t)size), index = allocate(8);

	put_bytes(entries, &(int32_t){ 3 }, sizeof(int32_t));
	put_bytes(entries + size, &(int32_t){ 5 }, sizeof(int32_t));
	/* Sums of begins up to each of nine positions. */
	put(index, 1 | 1 << 7 | 2 << 14 | 2 << 21);
	put_bytes(process.body + process.fields[RUBY_BODY_SIZE], &(uint32_t){ 4 },
		  sizeof(uint32_t));
	put(process.body + process.fields[RUBY_BODY_LINES], entries);
	put(process.body + process.fields[RUBY_BODY_LINES_COUNT], 2);
	put(process.body + process.fields[RUBY_BODY_LINES_INDEX], index);
}

static void make_code(void)
{
	bool is_fixnum = process.version < 0x030200;

	process.code = allocate(OBJECT_SIZE);
	process.body = allocate(OBJECT_SIZE);
	put(process.code, TYPE_MEMO | CODE << 12);
	put(process.code + process.fields[RUBY_CODE_BODY], process.body);
	put(process.body + process.fields[RUBY_BODY_FILE], make_text("/srv/app.rb"));
	put(process.body + process.fields[RUBY_BODY_NAME], make_text("block in handle"));
	put(process.body + process.fields[RUBY_BODY_FIRST_LINE], is_fixnum ? 3 << 1 | 1 : 3);
	make_lines();
}

/* The table of names has operators of one character, and one method. */
static void make_method(void)
{
	uint64_t names = make_array(NAME_UNITS), definition = allocate(OBJECT_SIZE);

	for (unsigned int i = 0; i < NAME_UNITS; i++)
		set_element(names, i, make_array(1024));
	for (const char *c = "!%&*+-/<>^`|~"; *c; c++)
		set_element(word_at(word_at(names + 32)), 2 * (uint64_t)(uint8_t)*c,
			    make_text((char[]){ *c, '\0' }));
	set_element(word_at(word_at(names + 32) + 8), NAME_SERIAL % 512 * 2, make_text("sort_by"));
	process.method = allocate(OBJECT_SIZE);
	put(process.method, TYPE_MEMO | METHOD << 12);
	put(process.method + process.fields[RUBY_METHOD_DEFINITION], definition);
	put(definition + process.fields[RUBY_DEFINITION_ID], NAME_SERIAL << 4 | 1);
	process.data = allocate(64);
	process.data_size = 64;
	put(process.data + 24, names);
}

static void begin(const struct ruby_version *version)
{
	long page = sysconf(_SC_PAGESIZE);

	process.arena = mmap(NULL, ARENA_SIZE + (size_t)page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(process.arena != MAP_FAILED);
	assert_int_equal(mprotect(process.arena + ARENA_SIZE, (size_t)page, PROT_NONE), 0);
	process.used = 0;
	process.version = version->version;
	process.fields = version->fields;
	make_code();
	make_method();
}

static void end(void)
{
	munmap(process.arena, ARENA_SIZE + (size_t)sysconf(_SC_PAGESIZE));
}

static struct {
	unsigned int n;
	uint64_t line;
	char name[REEL_RUNTIME_TEXT_MAX + 1], file[REEL_RUNTIME_TEXT_MAX + 1];
	uint8_t lines[64];
	size_t lines_size;
} seen;

static void visit(void *context, const struct reel_runtime_function *function)
{
	(void)context;
	seen.n++;
	seen.line = function->line;
	assert_in_range(function->name.size, 1, REEL_RUNTIME_TEXT_MAX);
	assert_in_range(function->file.size, 1, REEL_RUNTIME_TEXT_MAX);
	assert_null(memchr(function->name.data, 0, function->name.size));
	assert_null(memchr(function->file.data, 0, function->file.size));
	snprintf(seen.name, sizeof(seen.name), "%.*s", (int)function->name.size,
		 (const char *)function->name.data);
	snprintf(seen.file, sizeof(seen.file), "%.*s", (int)function->file.size,
		 (const char *)function->file.data);
	seen.lines_size = function->lines.size;
	assert_true(seen.lines_size <= REEL_RUNTIME_LINES_MAX);
	if (seen.lines_size)
		memcpy(seen.lines, function->lines.data,
		       seen.lines_size < sizeof(seen.lines) ? seen.lines_size : sizeof(seen.lines));
}

static uint32_t identity_at(uint64_t at)
{
	__u64 words[REEL_BPF_IDENTITY_SIZE / 8];

	memcpy(words, (void *)(uintptr_t)at, sizeof(words));
	return reel_bpf_identity(words);
}

/* The identities are those of now, so that what was made of the objects is read. */
static void ask(uint64_t deadline)
{
	const struct reel_runtime_place place = { .kind = REEL_BPF_INTERPRETER_RUBY,
						  .version = process.version,
						  .at = process.data,
						  .size = process.data_size };
	const struct reel_runtime_code codes[] = {
		{ process.code, identity_at(process.body + process.fields[RUBY_BODY_FILE]) },
		{ process.method, identity_at(process.method + process.fields[RUBY_METHOD_CLASS]) },
	};

	memset(&seen, 0, sizeof(seen));
	reel_runtime_functions((uint32_t)getpid(), &place, codes, 1, deadline, visit, NULL);
	if (!seen.n) {
		reel_runtime_functions((uint32_t)getpid(), &place, codes + 1, 1, deadline, visit,
				       NULL);
		return;
	}
	assert_string_equal(seen.name, "block in handle");
	assert_string_equal(seen.file, "/srv/app.rb");
}

TEST(test_whole)
{
	static const uint8_t lines[] = { 0, 0, 24, 4 };

	needs_own_memory();
	for (size_t i = 0; i < n_ruby_versions; i++) {
		begin(&ruby_versions[i]);
		ask(UINT64_MAX);
		assert_int_equal(seen.n, 1);
		assert_int_equal(seen.line, 3);
		assert_int_equal(seen.lines_size, sizeof(lines));
		assert_memory_equal(seen.lines, lines, sizeof(lines));
		/* Of another kind: then it is asked for the method. */
		put(process.code, TYPE_STRING);
		ask(UINT64_MAX);
		assert_int_equal(seen.n, 1);
		assert_string_equal(seen.name, "sort_by");
		assert_string_equal(seen.file, "<cfunc>");
		/* No time left. */
		ask(0);
		assert_int_equal(seen.n, 0);
		end();
	}
}

static void put_text(enum ruby_field field, uint64_t offset, uint64_t value)
{
	put(word_at(process.body + process.fields[field]) + offset, value);
}

/* One wrong field, and the function has no name; the method that is asked for then has none, too. */
static void check_refused(void (*spoil)(void))
{
	for (size_t i = 0; i < n_ruby_versions; i++) {
		begin(&ruby_versions[i]);
		put(process.method, TYPE_STRING);
		ask(UINT64_MAX);
		assert_int_equal(seen.n, 1);
		spoil();
		ask(UINT64_MAX);
		assert_int_equal(seen.n, 0);
		end();
	}
}

static void spoil_type(void)
{
	put_text(RUBY_BODY_NAME, 0, TYPE_ARRAY | OUTSIDE);
}

static void spoil_length(void)
{
	put_text(RUBY_BODY_NAME, process.fields[RUBY_STRING_LENGTH], UINT64_MAX);
}

static void spoil_pointer(void)
{
	put_text(RUBY_BODY_FILE, process.fields[RUBY_STRING_POINTER],
		 (uint64_t)(uintptr_t)process.arena + ARENA_SIZE - 4);
}

static void spoil_body(void)
{
	put(process.code, TYPE_MEMO | 5u << 12);
}

static void spoil_lines(void)
{
	put(process.body + process.fields[RUBY_BODY_LINES],
	    (uint64_t)(uintptr_t)process.arena + ARENA_SIZE - 4);
}

static void spoil_index(void)
{
	put(word_at(process.body + process.fields[RUBY_BODY_LINES_INDEX]), 1 | 4 << 7);
}

TEST(test_wrong_fields)
{
	needs_own_memory();
	check_refused(spoil_type);
	check_refused(spoil_length);
	check_refused(spoil_pointer);
	check_refused(spoil_body);
	check_refused(spoil_lines);
	check_refused(spoil_index);
}

/* The address has another function since the sample. */
TEST(test_other_identity)
{
	struct reel_runtime_place place = { .kind = REEL_BPF_INTERPRETER_RUBY };
	struct reel_runtime_code code;

	needs_own_memory();
	begin(&ruby_versions[0]);
	place.version = process.version;
	code = (struct reel_runtime_code){
		process.code, identity_at(process.body + process.fields[RUBY_BODY_FILE])
	};
	put(process.body + process.fields[RUBY_BODY_NAME], make_text("another"));
	memset(&seen, 0, sizeof(seen));
	assert_true(reel_runtime_functions((uint32_t)getpid(), &place, &code, 1, UINT64_MAX, visit,
					   NULL));
	assert_int_equal(seen.n, 0);
	end();
}

/* Any damage: nothing is read outside, texts stay within their limits, and it takes no long. */
TEST(test_damaged)
{
	uint64_t random = 11;

	needs_own_memory();
	for (unsigned int i = 0; i < 2000; i++) {
		begin(&ruby_versions[i % n_ruby_versions]);
		for (unsigned int j = 1 + (unsigned int)(next_random(&random) % 8); j; j--) {
			size_t at = next_random(&random) % process.used;

			/* Words, as most are pointers or sizes. */
			put((uint64_t)(uintptr_t)process.arena + (at & ~(size_t)7),
			    next_random(&random) >> next_random(&random) % 64);
		}
		memset(&seen, 0, sizeof(seen));
		for (unsigned int j = 0; j < 2; j++) {
			struct reel_runtime_place place = { .kind = REEL_BPF_INTERPRETER_RUBY,
							    .version = process.version,
							    .at = process.data,
							    .size = process.data_size };
			struct reel_runtime_code code = {
				j ? process.method : process.code,
				j ? identity_at(process.method + process.fields[RUBY_METHOD_CLASS])
				  : identity_at(process.body + process.fields[RUBY_BODY_FILE])
			};
			struct reel_bpf_interpreter interpreter;

			reel_runtime_functions((uint32_t)getpid(), &place, &code, 1, UINT64_MAX,
					       visit, NULL);
			ruby_locate((uint32_t)getpid(), &place, &interpreter);
		}
		end();
	}
}

/* Functions are read without knowing which row of their version fits. */
TEST(test_rows)
{
	for (size_t i = 0; i < n_ruby_versions; i++) {
		const uint16_t *first = ruby_fields_of(ruby_versions[i].version);

		for (unsigned int j = 0; j < RUBY_FIELDS; j++) {
			if (j != RUBY_RACTOR_NODE && j != RUBY_RACTOR_THREADS)
				assert_int_equal(ruby_versions[i].fields[j], first[j]);
		}
	}
}

TEST(test_unknown_version)
{
	struct reel_runtime_place place = { .kind = REEL_BPF_INTERPRETER_RUBY,
					    .version = 0x020700 };
	struct reel_bpf_interpreter interpreter;

	assert_int_equal(ruby_locate((uint32_t)getpid(), &place, &interpreter),
			 REEL_RUNTIME_UNKNOWN);
}

RUN_TESTS()
