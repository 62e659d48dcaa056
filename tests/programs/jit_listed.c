/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code of two ELF files that it lists for debuggers (__jit_debug_descriptor), as JITs do.
 *
 *   jit_listed SECONDS FIRST SECOND    each in turn, for that CPU time, twice; then reads its input
 *   jit_listed damaged FIRST SECOND    the same, with entries that mislead and a list without an end
 *
 * A file is loaded into anonymous memory, at its own addresses; both may have the same ones.  Its
 * entry point calls a function, whose name tells which file's functions are its callers.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct entry {
	struct entry *next, *previous;
	const void *file;
	uint64_t size;
};

struct {
	uint32_t version, action;
	struct entry *relevant, *first;
} __jit_debug_descriptor = { .version = 1 };

/* Where debuggers stop. */
__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static double seconds;
static int waits;

static double cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#define SPIN(name)                                                                                 \
	__attribute__((noinline)) void name(void)                                                  \
	{                                                                                          \
		double until = cpu_time() + seconds;                                               \
                                                                                                   \
		while (cpu_time() < until)                                                         \
			;                                                                          \
		if (waits)                                                                         \
			getchar();                                                                 \
		__asm__ volatile("" ::: "memory"); /* no call at the end */                        \
	}
SPIN(spin_of_first)
SPIN(spin_of_second)

static char *read_file(const char *path, uint64_t *size_ret)
{
	FILE *file = fopen(path, "re");
	char *bytes = malloc(1 << 20);

	if (!file || !bytes)
		exit(1);
	*size_ret = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static void load(const char *bytes)
{
	const Elf64_Ehdr *header = (const void *)bytes;
	const Elf64_Phdr *segments = (const void *)(bytes + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		uint64_t first = segments[i].p_vaddr & -(uint64_t)sysconf(_SC_PAGESIZE);
		char *start = (char *)(uintptr_t)segments[i].p_vaddr;

		if (segments[i].p_type != PT_LOAD)
			continue;
		if (mmap((void *)(uintptr_t)first,
			 segments[i].p_vaddr + segments[i].p_memsz - first,
			 PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			exit(1);
		memcpy(start, bytes + segments[i].p_offset, segments[i].p_filesz);
		__builtin___clear_cache(start, start + segments[i].p_filesz);
	}
}

static void add(struct entry *entry)
{
	entry->next = __jit_debug_descriptor.first;
	if (entry->next)
		entry->next->previous = entry;
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = entry;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
}

static void take(struct entry *entry)
{
	if (entry->previous)
		entry->previous->next = entry->next;
	else
		__jit_debug_descriptor.first = entry->next;
	if (entry->next)
		entry->next->previous = entry->previous;
	__jit_debug_descriptor.relevant = entry;
	__jit_debug_descriptor.action = 2;
	__jit_debug_register_code();
}

/* No file, one that is far larger than its bytes, one whose sections are elsewhere, and a loop. */
static void mislead(const char *bytes, size_t size)
{
	static struct entry entries[4];
	char *damaged = malloc(size);

	if (!damaged)
		exit(1);
	memcpy(damaged, bytes, size);
	((Elf64_Ehdr *)damaged)->e_shoff = UINT64_MAX - 8;
	entries[0] = (struct entry){ .file = (const void *)1, .size = UINT64_MAX };
	entries[1] = (struct entry){ .file = bytes, .size = UINT64_MAX / 2 };
	entries[2] = (struct entry){ .file = damaged, .size = size };
	for (int i = 0; i < 4; i++)
		add(&entries[i]);
	entries[0].next = &entries[3];
}

int main(int argc, char **argv)
{
	static void (*const spins[])(void) = { spin_of_first, spin_of_second };
	int is_damaged = argc == 4 && !strcmp(argv[1], "damaged");

	if (argc != 4)
		return 1;
	seconds = is_damaged ? 0.3 : atof(argv[1]);
	for (int i = 0; i < 4; i++) {
		struct entry entry = { 0 };
		char *bytes = read_file(argv[2 + i % 2], &entry.size);
		uintptr_t run = ((const Elf64_Ehdr *)bytes)->e_entry;

		if (!i && is_damaged)
			mislead(bytes, entry.size);
		load(bytes);
		entry.file = bytes;
		add(&entry);
		waits = i == 3;
		((void (*)(void (*)(void)))run)(spins[i % 2]);
		take(&entry);
		free(bytes);
	}
	return 0;
}
