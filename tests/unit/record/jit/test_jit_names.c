/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a recorder takes from a perf map and a jitdump: while they grow, are cut off within a
 * line or record, are written anew, and are too large.  They are this program's own files, read as
 * the recorder's helper reads them.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/quantity.h"
#include "include/commands.h"
#include "record/jit/jit_names.h"
#include "tests/support/test.h"

static struct reel_timeline *timeline;
static struct reel_module_table *modules;
static struct reel_jit_names *names;
static uint64_t space; /* each test uses another pid, for which the reader has no files open */
static char map_path[64], dump_path[64];
static bool does_answer;
static uint64_t hit_time; /* 0: now */

/* The names put for each address, the latest one each, and the number of records. */
struct said {
	char name[32];
	uint64_t time, address, n;
};
static struct said said[8];
static uint64_t n_put;

/* ---- the recorder's surroundings ----------------------------------------------------------- */

/* Normally run by the recorder's helper, which is this program here. */
bool reel_inspector_jit(struct reel_inspector *inspector, uint32_t pid,
			const struct reel_jit_question *question, const struct reel_proc_map *dump,
			const struct reel_jit_listener *listener, struct reel_jit_state *ret)
{
	reel_jit_files_read(pid, question, dump, listener, ret);
	return does_answer;
}

bool reel_inspector_file(struct reel_inspector *inspector, uint32_t pid,
			 const struct reel_proc_map *map, struct reel_proc_file *ret, int *fd_ret)
{
	return false;
}

static struct reel_error *put(void *context, const struct reel_record *record)
{
	const struct reel_record_jit_symbol *symbol = &record->jit_symbol;
	size_t i = 0;

	assert_int_equal(record->id, REEL_RECORD_JIT_SYMBOL);
	assert_int_equal(symbol->space, space);
	n_put++;
	while (i < 7 && said[i].n && said[i].address != symbol->address)
		i++;
	said[i].n++;
	said[i].address = symbol->address;
	if (said[i].n > 1 && said[i].time >= symbol->time)
		return NULL;
	said[i].time = symbol->time;
	snprintf(said[i].name, sizeof(said[i].name), "%.*s", (int)symbol->name.size,
		 (const char *)symbol->name.data);
	return NULL;
}

static void tell(const struct reel_record *record)
{
	assert_null(reel_timeline_add(timeline, record));
}

static int setup(void **state)
{
	struct reel_jit_names_options options = { .sink = { .put = put } };

	space++;
	does_answer = true;
	hit_time = 0;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(dump_path, sizeof(dump_path), "/tmp/jit-%d.dump", (int)getpid());
	if (reel_timeline_create(false, &timeline) || reel_module_table_create(NULL, &modules))
		return -1;
	options.modules = modules;
	if (reel_jit_names_create(&options, &names))
		return -1;
	tell(&(struct reel_record){ .id = REEL_RECORD_SPACE,
				    .space = { .time = 1,
					       .id = space,
					       .pid = (uint64_t)getpid(),
					       .namespace_pid = (uint64_t)getpid(),
					       .machine = 62,
					       .word_bits = 64,
					       .byte_order = 1 } });
	return 0;
}

static int teardown(void **state)
{
	reel_jit_names_destroy(names);
	reel_module_table_destroy(modules);
	reel_timeline_destroy(timeline);
	unlink(map_path);
	unlink(dump_path);
	return 0;
}

/* ---- files and reading --------------------------------------------------------------------- */

/* Appends bytes to a file, or rewrites it. */
static void write_file(const char *path, const void *bytes, size_t size, int how)
{
	int fd = open(path, O_WRONLY | O_CREAT | how, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static void append(const char *text)
{
	write_file(map_path, text, strlen(text), O_APPEND);
}

static void hit(uint64_t address)
{
	reel_jit_names_hit(names, timeline, space, hit_time ? hit_time : reel_now(), address);
}

/* A part of a recording ends: read everything, and put the names of `n` addresses, from 0x1000 on
 * and 0x1000 apart. */
static void read_all(unsigned n)
{
	memset(said, 0, sizeof(said));
	n_put = 0;
	reel_jit_names_restart(names);
	for (unsigned i = 1; i <= n; i++)
		hit(i * 0x1000);
	while (reel_jit_names_read(names, true))
		reel_jit_names_apply(names);
	assert_null(reel_jit_names_write(names));
}

static const char *name_of(uint64_t address)
{
	for (size_t i = 0; i < 8; i++) {
		if (said[i].n && said[i].address == address)
			return said[i].name;
	}
	return "";
}

static uint64_t time_of(uint64_t address)
{
	for (size_t i = 0; i < 8; i++) {
		if (said[i].n && said[i].address == address)
			return said[i].time;
	}
	return 0;
}

/* ---- perf maps ------------------------------------------------------------------------------ */

TEST_WITH(test_growing, setup, teardown)
{
	read_all(2);
	assert_int_equal(n_put, 0);
	append("1000 10 first\n8000 10 no sample leads here\n20");
	read_all(2);
	assert_string_equal(name_of(0x1000), "first");
	assert_int_equal(n_put, 1);
	/* The rest of the line; a line's newline is not part of the next one. */
	append("00 20 second\n3000 1 thi");
	read_all(3);
	assert_string_equal(name_of(0x1000), "first");
	assert_string_equal(name_of(0x2000), "second");
	assert_int_equal(n_put, 2);
	append("rd\n");
	read_all(3);
	assert_string_equal(name_of(0x3000), "third");
	assert_int_equal(n_put, 3);
	assert_int_equal(reel_jit_names_left_out(names), 0);
}

/* HotSpot's Compiler.perfmap rewrites the whole file each time: both the repeated and the new lines
 * are later than the lines of the previous file. */
TEST_WITH(test_written_anew, setup, teardown)
{
	append("1000 10 old\n2000 10 gone\n");
	read_all(2);
	assert_string_equal(name_of(0x1000), "old");
	write_file(map_path, "1000 10 new\n", 12, O_TRUNC);
	read_all(2);
	assert_string_equal(name_of(0x1000), "new");
	assert_string_equal(name_of(0x2000), "gone");
	/* The samples are later: the old name is not needed. */
	assert_int_equal(n_put, 2);
	/* As long as the previous file, with other bytes: only the contents show the change. */
	write_file(map_path, "1000 10 two\n", 12, O_TRUNC);
	read_all(1);
	assert_string_equal(name_of(0x1000), "two");
	/* Empty, and filled again. */
	write_file(map_path, "", 0, O_TRUNC);
	read_all(1);
	assert_string_equal(name_of(0x1000), "two");
	append("1000 10 three\n");
	read_all(1);
	assert_string_equal(name_of(0x1000), "three");
	assert_int_equal(reel_jit_names_left_out(names), 0);
}

/* A name for a formerly empty place may be as old as the last reading; a name that replaced a
 * different one is later than the last reading, which still saw the other. */
TEST_WITH(test_dated_back, setup, teardown)
{
	uint64_t before, between;

	append("1000 10 old\n");
	before = reel_now();
	read_all(1);
	between = reel_now();
	read_all(1);
	write_file(map_path, "1000 10 new\n2000 10 made\n", 25, O_TRUNC);
	hit_time = between;
	read_all(2);
	assert_string_equal(name_of(0x1000), "new");
	assert_true(time_of(0x1000) > between);
	assert_int_equal(n_put, 3); /* including the old one */
	assert_string_equal(name_of(0x2000), "made");
	assert_in_range(time_of(0x2000), before, between);
}

TEST_WITH(test_bad_lines, setup, teardown)
{
	char *line = malloc(3 * 8192);

	assert_non_null(line);
	memset(line, 'x', 3 * 8192);
	append("1000 10 first\nno line\n2000 0 nothing\n3000 10 \n");
	append("4000 10 ");
	write_file(map_path, line, 3 * 8192, O_APPEND);
	/* The line has no end yet: its remaining bytes count. */
	read_all(6);
	assert_int_equal(n_put, 1);
	append(" the end of it\n5000 10 fifth\n");
	read_all(6);
	assert_string_equal(name_of(0x1000), "first");
	assert_string_equal(name_of(0x4000), "");
	assert_string_equal(name_of(0x5000), "fifth");
	assert_int_equal(n_put, 2);
	assert_int_equal(reel_jit_names_left_out(names), 4);
	free(line);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* Lines that match no hit, but fill memory. */
static void fill(FILE *file, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(file, "%x 10 some function that no sample leads to\n", 0x100000 + 16 * i);
}

/* Several chunks of a file, with a function in each. */
TEST_WITH(test_pieces, setup, teardown)
{
	FILE *file = fopen(map_path, "w");

	assert_non_null(file);
	for (unsigned i = 1; i <= 4; i++) {
		fprintf(file, "%x 10 piece %u\n", 0x1000 * i, i);
		fill(file, 7000);
	}
	assert_true(ftell(file) > 4 * 256 * 1024);
	fclose(file);
	read_all(4);
	assert_int_equal(n_put, 4);
	assert_string_equal(name_of(0x4000), "piece 4");
	assert_int_equal(reel_jit_names_left_out(names), 0);
}

/* 64 MB of names are kept, later ones are counted. */
TEST_WITH(test_memory, setup, teardown)
{
	const unsigned n = 700000;
	FILE *file = fopen(map_path, "w");
	uint64_t left_out = 0, before = 0;

	assert_non_null(file);
	fputs("1000 10 first\n", file);
	fill(file, n);
	/* Not a shorter name, which might still fit. */
	fputs("2000 10 a function that was made when there was no room any more\n", file);
	fclose(file);
	/* As much as can be read in two seconds, each time. */
	for (unsigned i = 0; i < 20 && (left_out != before || !left_out); i++) {
		before = left_out;
		read_all(2);
		left_out = reel_jit_names_left_out(names);
	}
	assert_string_equal(name_of(0x1000), "first");
	assert_string_equal(name_of(0x2000), "");
	assert_in_range(left_out, n / 50, n);
}

/* 65,536 addresses of a process. */
TEST_WITH(test_hits, setup, teardown)
{
	const unsigned max = 65536;

	append("1000 10 first\n");
	for (unsigned i = 0; i < max + 10; i++)
		hit(0x100000 + i);
	assert_int_equal(reel_jit_names_left_out(names), 10);
	/* Known ones are still updated. */
	hit(0x100000);
	assert_int_equal(reel_jit_names_left_out(names), 10);
	/* A new file has room. */
	read_all(1);
	assert_string_equal(name_of(0x1000), "first");
	assert_int_equal(reel_jit_names_left_out(names), 10);
}

/* The helper that read them died: its answer may be incomplete, so the files are read again; the
 * third time both are given up, and counted. */
TEST_WITH(test_no_answer, setup, teardown)
{
	append("1000 10 first\n");
	does_answer = false;
	for (unsigned i = 1; i <= 2; i++) {
		read_all(1);
		assert_int_equal(n_put, 0);
		assert_int_equal(reel_jit_names_left_out(names), 0);
	}
	does_answer = true;
	read_all(1);
	assert_string_equal(name_of(0x1000), "first");
	assert_int_equal(n_put, 1);
	does_answer = false;
	for (unsigned i = 1; i <= 3; i++)
		read_all(1);
	assert_int_equal(reel_jit_names_left_out(names), 2);
	does_answer = true;
	append("2000 10 second\n");
	read_all(2);
	assert_string_equal(name_of(0x2000), "");
	assert_int_equal(reel_jit_names_left_out(names), 2);
}

/* ---- jitdump -------------------------------------------------------------------------------- */

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

/* JIT_CODE_LOAD of 16 bytes of code. */
struct load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t address, code_address, code_size, index;
	char name[8];
	uint8_t code[16];
};

static struct header header_of(uint32_t magic)
{
	return (struct header){ .magic = magic,
				.version = 1,
				.size = sizeof(struct header),
				.machine = 62,
				.pid = (uint32_t)getpid() };
}

static struct load load_of(uint64_t time, uint64_t address, const char *name)
{
	struct load load = { .size = sizeof(load),
			     .time = time,
			     .address = address,
			     .code_address = address,
			     .code_size = sizeof(load.code) };

	strcpy(load.name, name);
	return load;
}

/* Like a JIT: its first page is mapped as code. */
static void map_dump(void)
{
	struct reel_record_module identity = { .kind = REEL_MODULE_FILE,
					       .path = reel_bytes_of_string(dump_path) };
	int fd = open(dump_path, O_RDONLY);
	struct stat status;
	uint64_t module;
	void *mapped;

	assert_true(fd >= 0 && !fstat(fd, &status));
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(mapped != MAP_FAILED);
	close(fd);
	identity.device_major = major(status.st_dev);
	identity.device_minor = minor(status.st_dev);
	identity.inode = status.st_ino;
	assert_null(reel_module_table_add(modules, &identity, &module));
	tell(&(struct reel_record){ .id = REEL_RECORD_MAP,
				    .map = { .time = 2,
					     .space = space,
					     .address = (uintptr_t)mapped,
					     .size = 4096,
					     .protection = 5,
					     .flags = 2,
					     .module = module } });
}

TEST_WITH(test_jitdump, setup, teardown)
{
	const struct header header = header_of(0x4a695444);
	struct load first = load_of(100, 0x1000, "first"), second = load_of(300, 0x1000, "second");

	write_file(dump_path, &header, sizeof(header), O_TRUNC);
	map_dump();
	hit_time = 200;
	/* Cut within a record's code, and within its head. */
	write_file(dump_path, &first, sizeof(first) - 8, O_APPEND);
	read_all(1);
	write_file(dump_path, (uint8_t *)&first + sizeof(first) - 8, 8, O_APPEND);
	write_file(dump_path, &second, 20, O_APPEND);
	read_all(1);
	assert_string_equal(name_of(0x1000), "first");
	assert_int_equal(n_put, 1);
	write_file(dump_path, (uint8_t *)&second + 20, sizeof(second) - 20, O_APPEND);
	read_all(1);
	assert_string_equal(name_of(0x1000), "second");
	assert_int_equal(n_put, 2);
	/* With the times in the records. */
	assert_int_equal(said[0].time, 300);
	assert_int_equal(reel_jit_names_left_out(names), 0);
}

/* Not a jitdump: nothing is read from it, and it is counted once. */
TEST_WITH(test_no_jitdump, setup, teardown)
{
	const struct header header = header_of(0x12345678);
	const struct load first = load_of(100, 0x1000, "first");

	write_file(dump_path, &header, sizeof(header), O_TRUNC);
	write_file(dump_path, &first, sizeof(first), O_APPEND);
	map_dump();
	append("2000 10 second\n");
	for (unsigned i = 0; i < 3; i++)
		read_all(2);
	assert_string_equal(name_of(0x1000), "");
	assert_string_equal(name_of(0x2000), "second");
	assert_int_equal(reel_jit_names_left_out(names), 1);
}

/* ---- hosts that cannot read files this way -------------------------------------------------- */

/* qemu-user 7.2 does not know it. */
static bool has_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void openat2_is_missing(void **state)
{
	skip();
}

int main(void)
{
	const struct CMUnitTest none[] = { cmocka_unit_test(openat2_is_missing) };

	return has_openat2() ? unit_tests_run(NULL, NULL)
			     : cmocka_run_group_tests(none, NULL, NULL);
}
