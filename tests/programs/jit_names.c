/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JIT that names its code, for tests of the names that a recorder stores (x86-64):
 *
 *   jit_names FILE HOW MS
 *
 * FILE: `map`, /tmp/perf-PID.map; `dump`, ./jit-PID.dump; `none`; or a file that should not be
 * read, as the perf map: `fifo`, `link`, `folder`, `owner` (another user's), `endless` (a line of
 * 64 MB), `sparse` (1 GB of zeros), `stale` (of an earlier process); `anew`, which is rewritten
 * for each function; or as the jitdump: `magic`, `record`, `times` (a CPU's, all wrong). HOW:
 * `reuse`, three functions for MS milliseconds each, the third where the first one was; `move`,
 * one that is moved, as the jitdump records, and then a different one in its place; `fork`, one
 * that a child runs; `many`, one function after the other as fast as it can, each named.  It
 * prints the memory's address, and when each ran: "START END NAME" (CLOCK_MONOTONIC). It removes
 * its files.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMORY (1u << 20)

static uint8_t *memory;
static FILE *map, *dump;
static char map_path[64], dump_path[64];
static int has_wrong_times, is_anew;
static char said[4096];

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void put(const void *bytes, size_t size)
{
	if (fwrite(bytes, size, 1, dump) != 1)
		exit(1);
}

static void put_record(uint32_t id, const void *head, size_t head_size, const char *name,
		       const uint8_t *code, size_t code_size)
{
	const uint32_t prefix[] = { id, (uint32_t)(16 + head_size + (name ? strlen(name) + 1 : 0) +
						   code_size) };
	uint64_t time = has_wrong_times ? 1 : now();

	put(prefix, sizeof(prefix));
	put(&time, sizeof(time));
	put(head, head_size);
	if (name)
		put(name, strlen(name) + 1);
	if (code_size)
		put(code, code_size);
	fflush(dump);
}

static void say(const uint8_t *code, size_t size, const char *name)
{
	static uint64_t index;
	const uint32_t ids[] = { (uint32_t)getpid(), (uint32_t)gettid() };
	uint64_t load[] = { 0, (uintptr_t)code, (uintptr_t)code, size, index++ };

	if (is_anew) {
		map = freopen(map_path, "w", map);
		fputs(said, map);
		snprintf(said + strlen(said), sizeof(said) - strlen(said), "%lx %zx %s\n",
			 (unsigned long)(uintptr_t)code, size, name);
	}
	if (map) {
		fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, size, name);
		fflush(map);
	}
	if (dump) {
		memcpy(load, ids, sizeof(ids));
		put_record(0, load, sizeof(load), name, code, size);
	}
}

/* A function that counts down from its argument, after `lead` no-op instructions. */
static void *make(size_t at, size_t lead, const char *name)
{
	/* mov %edi, %ecx; 1: dec %ecx; jnz 1b; ret */
	static const uint8_t code[] = { 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };

	memset(memory + at, 0x90, lead);
	memcpy(memory + at + lead, code, sizeof(code));
	say(memory + at, lead + sizeof(code), name);
	return memory + at;
}

/* Moves the whole first function to a different place. */
static void *move(uint8_t *from, size_t to, size_t size)
{
	const uint32_t ids[] = { (uint32_t)getpid(), (uint32_t)gettid() };
	const uint64_t new = (uintptr_t)memory + to;
	uint64_t head[] = { 0, new, (uintptr_t)from, new, size, 0 };

	memcpy(memory + to, from, size);
	memcpy(head, ids, sizeof(ids));
	put_record(1, head, sizeof(head), NULL, NULL, 0);
	return memory + to;
}

static void run(void *code, const char *name, unsigned int ms)
{
	void (*function)(int);
	uint64_t start = now(), end = start + ms * UINT64_C(1000000);

	memcpy(&function, &code, sizeof(function));
	while (now() < end)
		function(10000);
	printf("%lu %lu %s\n", (unsigned long)start, (unsigned long)now(), name);
	fflush(stdout);
}

static void open_dump(void)
{
	const uint32_t header[] = { 0x4a695444, 1, 40, 62, 0, (uint32_t)getpid() };
	const uint64_t more[] = { 0, (uint64_t)has_wrong_times };

	snprintf(dump_path, sizeof(dump_path), "jit-%d.dump", getpid());
	dump = fopen(dump_path, "w+");
	if (!dump)
		exit(1);
	put(header, sizeof(header));
	put(more, sizeof(more));
	fflush(dump);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		exit(1);
}

static void open_map(void)
{
	map = fopen(map_path, "w");
	if (!map)
		exit(1);
}

static void overwrite(FILE *file, const void *bytes, size_t size, long at)
{
	if (pwrite(fileno(file), bytes, size, at) != (ssize_t)size)
		exit(1);
}

static void open_files(const char *file)
{
	static char line[64 << 20];
	int status = 0;

	has_wrong_times = !strcmp(file, "times");
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	if (!strcmp(file, "dump") || !strcmp(file, "magic") || !strcmp(file, "record") ||
	    !strcmp(file, "times"))
		open_dump();
	else if (!strcmp(file, "fifo"))
		status = mkfifo(map_path, 0600);
	else if (!strcmp(file, "link"))
		status = symlink("/etc/passwd", map_path);
	else if (!strcmp(file, "folder"))
		status = mkdir(map_path, 0700);
	else if (strcmp(file, "none") != 0)
		open_map();
	if (!strcmp(file, "owner"))
		status = fchown(fileno(map), 4711, 4711);
	is_anew = !strcmp(file, "anew");
	if (!strcmp(file, "stale")) {
		const struct timespec times[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

		fprintf(map, "%lx %x stale\n", (unsigned long)(uintptr_t)memory, MEMORY);
		fflush(map);
		status = futimens(fileno(map), times);
		map = NULL;
	}
	if (!strcmp(file, "sparse"))
		status = ftruncate(fileno(map), 1 << 30);
	if (!strcmp(file, "endless")) {
		memset(line, 'x', sizeof(line));
		fwrite(line, sizeof(line), 1, map);
	}
	if (!strcmp(file, "magic"))
		overwrite(dump, "x", 1, 0);
	if (!strcmp(file, "record"))
		put("\0\0\0\0\1\0\0\0nothing.", 16);
	if (status)
		exit(1);
}

/* Each at its own place, while places remain. */
static void run_many(unsigned int ms)
{
	uint64_t end = now() + ms * UINT64_C(1000000);
	unsigned long i = 0;
	char name[64];

	for (; now() < end; i++) {
		void (*function)(int);
		void *code;

		snprintf(name, sizeof(name), "many %lu", i);
		code = make(i * 32 % MEMORY, 1, name);
		memcpy(&function, &code, sizeof(function));
		function(10);
	}
	printf("%lu functions\n", i);
}

int main(int argc, char **argv)
{
	unsigned int ms = argc == 4 ? (unsigned int)atoi(argv[3]) : 0;

	if (argc != 4)
		return 2;
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	printf("memory %lx %x\n", (unsigned long)(uintptr_t)memory, MEMORY);
	fflush(stdout);
	open_files(argv[1]);
	if (!strcmp(argv[2], "fork")) {
		void *code = make(4096, 8, "by the parent");

		/* The recorder may already know that the parent runs such code. */
		if (!fork()) {
			run(code, "by the parent", ms);
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(argv[2], "move")) {
		uint8_t *code = make(4096, 8, "moved");

		run(code, "moved", ms);
		run(move(code, 65536, 15), "moved", ms);
		run(make(4096, 8, "in its place"), "in its place", ms);
	} else if (!strcmp(argv[2], "many")) {
		run_many(ms);
	} else {
		run(make(4096, 16, "first"), "first", ms);
		run(make(8192, 8, "second one"), "second one", ms);
		run(make(4096 + 3, 13, "third"), "third", ms);
	}
	remove(map_path);
	remove(dump_path);
	return 0;
}
