/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that runs elsewhere than where its file is mapped (x86-64):
 *
 *   code_places HOW MS [LIBRARY]
 *
 * Prints a line; then main calls outer, which calls inner, for MS milliseconds of CPU time.  HOW: `fixed`, anonymous
 * memory replaces the program's text, which is copied there; `moved`, the copy is moved there by
 * mremap; `memfd`, the copy is mapped there; `patched`, as fixed, but inner is other code, without a
 * frame. Or inner is code in the `heap`, or in the program's `data`.  Or
 * (`shared`) LIBRARY's, which the program loads after it made a process that shares its memory and
 * calls outer there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

/* sub $24, %rsp; mov $200000, %ecx; 1: dec %ecx; jnz 1b; add $24, %rsp; ret */
static const uint8_t leaf[] = { 0x48, 0x83, 0xec, 24,	0xb9, 0x40, 0x0d, 3,  0,
				0xff, 0xc9, 0x75, 0xfc, 0x48, 0x83, 0xc4, 24, 0xc3 };
static _Alignas(PAGE) uint8_t data[PAGE] = { 1 };
static volatile uint64_t sink;
static void (*volatile shared)(void);
static long ms;

__attribute__((noipa, aligned(64))) void inner(void)
{
	for (int i = 0; i < 200000; i++)
		sink += (uint64_t)i;
}

__attribute__((noipa)) void outer(void (*function)(void))
{
	function();
	sink++;
}

/* Runs from a copy of itself: it cannot be in memory that it replaces, and calls nothing. */
__attribute__((noipa)) static void replace(char *text, const char *copy, size_t size, long flags,
					   long fd)
{
	register long r10 __asm__("r10") = flags;
	register long r8 __asm__("r8") = fd;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_mmap), "D"(text), "S"(size), "d"(7), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	for (size_t i = 0; fd < 0 && i < size; i++)
		((volatile char *)text)[i] = copy[i];
}

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	return memory;
}

struct text {
	char *start;
	size_t size;
};

static int find_text(struct dl_phdr_info *program, size_t size, void *ret)
{
	(void)size;
	for (size_t i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &program->dlpi_phdr[i];
		uintptr_t start = program->dlpi_addr + part->p_vaddr;
		struct text text = { (char *)(start & -PAGE),
				     (start % PAGE + part->p_memsz + PAGE - 1) & -PAGE };

		if (part->p_type == PT_LOAD && part->p_flags & PF_X)
			*(struct text *)ret = text;
	}
	return 1; /* the program is the first */
}

static void move_text(const char *how)
{
	struct text all = { 0 };
	char *text, *copy, *code;
	size_t size;
	int fd = -1;

	dl_iterate_phdr(find_text, &all);
	text = all.start;
	size = all.size;
	copy = map(size);
	memcpy(copy, text, size);
	if (!strcmp(how, "patched"))
		memcpy(copy + ((char *)inner - text), leaf, sizeof(leaf));
	if (!strcmp(how, "moved")) {
		if (mprotect(copy, size, PROT_READ | PROT_EXEC) ||
		    mremap(copy, size, size, MREMAP_FIXED | MREMAP_MAYMOVE, text) == MAP_FAILED)
			exit(1);
		return;
	}
	if (!strcmp(how, "memfd")) {
		fd = memfd_create("text", 0);
		if (write(fd, copy, size) != (ssize_t)size)
			exit(1);
	}
	code = map(PAGE);
	memcpy(code, (const char *)replace, 512);
	((void (*)(char *, const char *, size_t, long, long))code)(
		text, copy, size, MAP_FIXED | MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd);
	if (mprotect(text, size, PROT_READ | PROT_EXEC))
		exit(1);
}

static void *make_code(uint8_t *page)
{
	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		exit(1);
	return memcpy(page, leaf, sizeof(leaf));
}

static int sharer(void *unused)
{
	clock_t end;

	(void)unused;
	while (!shared)
		usleep(1000);
	end = clock() + ms * (CLOCKS_PER_SEC / 1000);
	while (clock() < end)
		outer(shared);
	_exit(0);
}

static void share(const char *library)
{
	const size_t size = 1 << 20;
	int child = clone(sharer, (char *)map(size) + size, CLONE_VM | SIGCHLD, NULL);
	void *handle = dlopen(library, RTLD_NOW);

	if (child < 0 || !handle)
		exit(1);
	shared = (void (*)(void))dlsym(handle, "inner");
	if (waitpid(child, NULL, 0) != child)
		exit(1);
}

int main(int argc, char **argv)
{
	void (*function)(void) = inner;
	clock_t end;

	if (argc < 3)
		return 2;
	ms = atol(argv[2]);
	if (argc == 4) {
		share(argv[3]);
		return 0;
	}
	if (!strcmp(argv[1], "heap"))
		function = (void (*)(void))make_code(
			(uint8_t *)(((uintptr_t)malloc(4 * PAGE) + PAGE) & ~(uintptr_t)(PAGE - 1)));
	else if (!strcmp(argv[1], "data"))
		function = (void (*)(void))make_code(data);
	else
		move_text(argv[1]);
	puts(argv[1]);
	fflush(stdout);
	end = clock() + ms * (CLOCKS_PER_SEC / 1000);
	while (clock() < end)
		outer(function);
	return 0;
}
