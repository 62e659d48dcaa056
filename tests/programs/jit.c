/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code without a file, as JITs make it, for tests of the code that a recorder stores (x86-64):
 *
 *   jit HOW MS
 *
 * HOW the memory is made: `rwx`, written where it runs; `wx`, either written or run; `memfd`,
 * mapped twice; `many`, as rwx, on 64 pages; `pushed`, as rwx, where a push instead of a call
 * leaves the return address, as interpreters do. Three functions call each other for MS
 * milliseconds; then the last one is rewritten, and they run as long again. For each run, prints
 * its start (CLOCK_MONOTONIC), and address and bytes of each function. Between the functions is
 * data that the stack points to: no call leads there.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE	  4096
#define PAGES	  64
#define SECRET_AT (6 * PAGE)

struct memory {
	uint8_t *run, *write;
	int is_wx;
};

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void protect(const struct memory *memory, int protection)
{
	if (memory->is_wx && mprotect(memory->run, PAGES * PAGE, protection))
		exit(1);
}

static void put(const struct memory *memory, size_t at, const void *bytes, size_t size)
{
	protect(memory, PROT_READ | PROT_WRITE);
	memcpy(memory->write + at, bytes, size);
	protect(memory, PROT_READ | PROT_EXEC);
	printf("%p ", (void *)(memory->run + at));
	for (size_t i = 0; i < size; i++)
		printf("%02x", ((const uint8_t *)bytes)[i]);
	printf("\n");
}

/* sub $8, %rsp; mov $to, %rax; call *%rax; add $8, %rsp; ret */
static void put_caller(const struct memory *memory, size_t at, size_t to)
{
	uint8_t code[] = { 0x48, 0x83, 0xec, 8,	   0x48, 0xb8, 0,    0,	   0, 0,   0,
			   0,	 0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3 };
	uint64_t address = (uintptr_t)(memory->run + to);

	memcpy(code + 6, &address, sizeof(address));
	put(memory, at, code, sizeof(code));
}

/* mov $200000, %ecx; 1: dec %ecx; jnz 1b; mov $value, %eax; ret */
static void put_leaf(const struct memory *memory, size_t at, uint8_t value)
{
	const uint8_t code[] = { 0xb9, 0x40, 0x0d,  3, 0, 0xff, 0xc9, 0x75,
				 0xfc, 0xb8, value, 0, 0, 0,	0xc3 };

	put(memory, at, code, sizeof(code));
}

/*
 * At `at`, the leaf's return address: mov (%rbp), %rcx; pop %rbp; ret.  After it, the callee: push
 * %rbp; mov %rsp, %rbp; mov $at, %rax; push %rax; push %rbp; mov %rsp, %rbp; mov $leaf, %rax; jmp
 * *%rax.  At `leaf`: mov $200000, %ecx; 1: dec %ecx; jnz 1b; mov $value, %eax; pop %rbp; ret.
 */
#define PUSHED_AT    (2 * PAGE + 64) /* not preceded by a call */
#define PUSHED_ENTRY (PUSHED_AT + 6)
#define LEAF_SIZE    16
static void put_pushed(const struct memory *memory, size_t at, size_t leaf, uint8_t value)
{
	uint8_t code[] = { 0x48, 0x8b, 0x4d, 0,	   0x5d, 0xc3, 0x55, 0x48, 0x89, 0xe5,
			   0x48, 0xb8, 0,    0,	   0,	 0,    0,    0,	   0,	 0,
			   0x50, 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,	   0,	 0,
			   0,	 0,    0,    0,	   0,	 0xff, 0xe0 };
	const uint8_t leaf_code[LEAF_SIZE] = { 0xb9, 0x40, 0x0d,  3, 0, 0xff, 0xc9, 0x75,
					       0xfc, 0xb8, value, 0, 0, 0,    0x5d, 0xc3 };
	uint64_t to = (uintptr_t)(memory->run + at), leaf_at = (uintptr_t)(memory->run + leaf);

	memcpy(code + 12, &to, sizeof(to));
	memcpy(code + 27, &leaf_at, sizeof(leaf_at));
	put(memory, at, code, sizeof(code));
	put(memory, leaf, leaf_code, sizeof(leaf_code));
}

static struct memory make(const char *how)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC, private = MAP_PRIVATE | MAP_ANONYMOUS;
	const size_t size = PAGES * PAGE;
	struct memory memory = { .is_wx = !strcmp(how, "wx") };
	int fd = -1;

	if (!strcmp(how, "memfd")) {
		fd = memfd_create("jit", 0);
		if (fd < 0 || ftruncate(fd, (off_t)size))
			exit(1);
		memory.write = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memory.run = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	} else {
		memory.run = mmap(NULL, size, memory.is_wx ? PROT_READ | PROT_WRITE : all, private,
				  -1, 0);
		memory.write = memory.run;
	}
	if (memory.run == MAP_FAILED || memory.write == MAP_FAILED)
		exit(1);
	return memory;
}

static int run(const struct memory *memory, uint64_t length, size_t n_pages, size_t entry)
{
	uint64_t end = now(CLOCK_MONOTONIC) + length,
		 cpu_end = now(CLOCK_PROCESS_CPUTIME_ID) + length / 4;
	volatile uint8_t *secret = memory->run + SECRET_AT;
	int sum = 0;

	/* A busy host may not let it run. */
	while (now(CLOCK_MONOTONIC) < end || now(CLOCK_PROCESS_CPUTIME_ID) < cpu_end) {
		for (size_t i = 0; i < n_pages; i++) {
			int (*function)(void);
			uint8_t *at = memory->run + (i ? (PAGES - i) * PAGE : entry);

			memcpy(&function, &at, sizeof(at));
			sum += function() + *secret;
		}
	}
	return sum;
}

int main(int argc, char **argv)
{
	size_t leaf = 4 * PAGE + 300;
	struct memory memory;
	uint64_t length;
	size_t n_pages;
	int is_pushed, sum = 0;

	if (argc != 3)
		return 2;
	is_pushed = !strcmp(argv[1], "pushed");
	memory = make(argv[1]);
	length = strtoull(argv[2], NULL, 10) * 1000000;
	n_pages = strcmp(argv[1], "many") ? 1 : PAGES - 8;
	protect(&memory, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < 128; i++)
		memcpy(memory.write + SECRET_AT + 16 * i, "\xff\xd0swordfish.14", 15);
	for (int time = 1; time <= 2; time++) {
		printf("time %llu\n", (unsigned long long)now(CLOCK_MONOTONIC));
		if (is_pushed) {
			/* No call leads to the memory's first page, and to that after the leaf. */
			leaf = 5 * PAGE - LEAF_SIZE;
			put_leaf(&memory, 0, (uint8_t)time);
			put_pushed(&memory, PUSHED_AT, leaf, (uint8_t)time);
			put_leaf(&memory, 5 * PAGE, (uint8_t)time);
		} else {
			put_caller(&memory, 0, 2 * PAGE);
			put_caller(&memory, 2 * PAGE, leaf);
			put_leaf(&memory, leaf, (uint8_t)time);
		}
		for (size_t i = 1; i < n_pages; i++)
			put_leaf(&memory, (PAGES - i) * PAGE, (uint8_t)time);
		sum += run(&memory, length, n_pages, is_pushed ? PUSHED_ENTRY : 0);
	}
	return sum == 0;
}
