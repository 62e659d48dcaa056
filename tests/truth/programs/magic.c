/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps known values in all registers, and prints them as rules for magic_check.py.
 *
 *   magic count        all 16 count in unison, one instruction each: pc shows which have
 *   magic sp VALUE     all 16 keep their values, and rsp is VALUE
 *   magic read         system calls that keep the CPU busy
 *   magic sleep        system calls that block
 *   magic int80        32-bit system calls of 64-bit code
 *   magic fault        stores that fault
 *   magic vdso         clock_gettime in the vDSO
 *   magic libc         memset
 *
 * They never end: the recorder's --duration ends them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef __x86_64__
#error "only x86-64 has these loops yet"
#endif

/* By DWARF number (psABI x86-64, figure 3.36). */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15 };

#define MAGIC(n) (UINT64_C(0xf1e2d3c4b5a60007) + UINT64_C(0x1010) * (n))

#define STRING(x)     #x
#define LOAD(n, name) "	movabs $0xf1e2d3c4b5a60007 + 0x1010 * " STRING(n) ", %" name "\n"
#define LOAD_SAVED                                                                                 \
	LOAD(3, "rbx")                                                                             \
	LOAD(6, "rbp") LOAD(12, "r12") LOAD(13, "r13") LOAD(14, "r14") LOAD(15, "r15")
#define LOAD_8_TO_10 LOAD(8, "r8") LOAD(9, "r9") LOAD(10, "r10")
#define NAME(name)   ".globl " name "\n" name ":\n"

/* Where rsp counts: nothing is mapped there. */
#define COUNT_SP UINT64_C(0x500000000001)
/* 4 bytes (REX.W 83 /0 ib) for each register. */
#define COUNT(name) "	add $1, %" name "\n"

void magic_count(void) __attribute__((noreturn));
void magic_sp(uint64_t sp) __attribute__((noreturn));
void magic_syscall(long number, long rdi, long rsi, long rdx) __attribute__((noreturn));
void magic_int80(long number, long rbx, long rcx, long rdx) __attribute__((noreturn));
void magic_fault(char *start, char *end) __attribute__((noreturn));
void magic_call(void *function, long rdi, long rsi, long rdx) __attribute__((noreturn));
extern const char magic_count_begin[], magic_count_end[], magic_sp_pc[], magic_syscall_done[],
	magic_int80_done[], magic_fault_store[], magic_call_done[];

__asm__(".text\n" NAME("magic_count") LOAD(0, "rax") LOAD(1, "rdx") LOAD(2, "rcx") LOAD_SAVED LOAD(
	4, "rsi") LOAD(5, "rdi")
		LOAD_8_TO_10 LOAD(11, "r11") "	movabs $0x500000000001, %rsp\n" NAME(
			"magic_count_begin") COUNT("rax") COUNT("rdx") COUNT("rcx") COUNT("rbx")
			COUNT("rsi") COUNT("rdi") COUNT("rbp") COUNT("rsp") COUNT("r8") COUNT(
				"r9") COUNT("r10") COUNT("r11") COUNT("r12") COUNT("r13")
				COUNT("r14") COUNT("r15") "	jmp magic_count_begin\n" NAME(
					"magic_count_end")

					NAME("magic_sp") "	mov %rdi, %rsp\n" LOAD(
						0, "rax") LOAD(1, "rdx") LOAD(2, "rcx")
						LOAD_SAVED LOAD(4, "rsi") LOAD(
							5, "rdi") LOAD_8_TO_10 LOAD(11, "r11")
							NAME("magic_sp_pc") "	jmp magic_sp_pc\n"

	/* The number is kept in r9, which no call of four arguments needs. */
	NAME("magic_syscall") "	push %rdi\n"
			      "	mov %rsi, %rdi\n"
			      "	mov %rdx, %rsi\n"
			      "	mov %rcx, %rdx\n"
			      "	pop %r9\n" LOAD_SAVED LOAD(8, "r8")
				      LOAD(10, "r10") "1:	mov %r9, %rax\n"
						      "	syscall\n" NAME(
							      "magic_syscall_done") "	jmp 1b\n"

	NAME("magic_int80") "	push %rdi\n"
			    "	push %rsi\n"
			    "	push %rcx\n" LOAD_SAVED LOAD(4, "rsi") LOAD(5, "rdi") LOAD_8_TO_10
	"	mov %rdx, %rcx\n"
	"	pop %rdx\n"
	"	pop %rbx\n"
	"	pop %r12\n"
	"1:	mov %r12, %rax\n"
	"	int $0x80\n" NAME("magic_int80_done") "	jmp 1b\n"

	/* Drops the pages, then touches each; rdi is the page. */
	NAME("magic_fault") "	mov %rdi, %r12\n"
			    "	mov %rsi, %r13\n"
			    "1:	mov %r12, %rdi\n"
			    "	mov %r13, %rsi\n"
			    "	sub %r12, %rsi\n"
			    "	mov $4, %edx\n"	 /* MADV_DONTNEED */
			    "	mov $28, %eax\n" /* madvise */
			    "	syscall\n" LOAD(0, "rax") LOAD(1, "rdx") LOAD(2, "rcx")
				    LOAD(3, "rbx") LOAD(4, "rsi") LOAD(6, "rbp") LOAD_8_TO_10 LOAD(
					    11, "r11") LOAD(14, "r14") LOAD(15, "r15")
					    NAME("magic_fault_store") "	mov %rax, 8(%rdi)\n"
								      "	add $4096, %rdi\n"
								      "	cmp %r13, %rdi\n"
								      "	jb magic_fault_store\n"
								      "	jmp 1b\n"

	/* The arguments are kept above the call, which needs rsp aligned to 16. */
	NAME("magic_call") "	and $-16, %rsp\n"
			   "	push %rdi\n"
			   "	push %rsi\n"
			   "	push %rdx\n"
			   "	push %rcx\n" LOAD_SAVED "1:	mov (%rsp), %rdx\n"
			   "	mov 8(%rsp), %rsi\n"
			   "	mov 16(%rsp), %rdi\n"
			   "	call *24(%rsp)\n" NAME("magic_call_done") "	jmp 1b\n");

static const int saved[] = { RBX, RBP, R12, R13, R14, R15 };

/* rule BEGIN END WHERE…: for samples there, in one of these places (SPEC.md, `where`). */
static void rule(const char *begin, const char *end, const char *where)
{
	printf("rule %lu %lu %s", (unsigned long)(uintptr_t)begin, (unsigned long)(uintptr_t)end,
	       where);
}

static void value(int reg, uint64_t value)
{
	printf(" %d=%lu", reg, (unsigned long)value);
}

static void magic(int reg)
{
	value(reg, MAGIC((uint64_t)reg));
}

static void magic_saved(void)
{
	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
		magic(saved[i]);
}

static void magic_all(void)
{
	for (int reg = 0; reg <= R15; reg++) {
		if (reg != RSP)
			magic(reg);
	}
}

static void rules_end(void)
{
	printf("\n");
	fflush(stdout);
}

/* ---- the modes ------------------------------------------------------------------------------ */

static void run_count(void)
{
	printf("count %lu 4 64", (unsigned long)(uintptr_t)magic_count_begin);
	for (int reg = 0; reg <= R15; reg++)
		value(reg, reg == RSP ? COUNT_SP : MAGIC((uint64_t)reg));
	rules_end();
	magic_count();
}

static void run_sp(const char *argument)
{
	uint64_t sp = strtoull(argument, NULL, 0);

	rule(magic_sp_pc, magic_sp_pc + 1, "13");
	magic_all();
	value(RSP, sp);
	rules_end();
	magic_sp(sp);
}

/* entry_64.S: a system call changes rax, rcx and r11 only. */
static void run_syscall(long number, long rdi, long rsi, long rdx)
{
	rule(magic_syscall_done, magic_syscall_done + 1, "2");
	magic_saved();
	magic(R8);
	magic(R10);
	value(R9, (uint64_t)number);
	value(RDI, (uint64_t)rdi);
	value(RSI, (uint64_t)rsi);
	value(RDX, (uint64_t)rdx);
	/* Neither their old nor their new values. */
	printf(" 0=? 2=? 11=?");
	rules_end();
	magic_syscall(number, rdi, rsi, rdx);
}

static void run_read(void)
{
	size_t size = 1 << 16;

	run_syscall(0, open("/dev/zero", O_RDONLY | O_CLOEXEC), (long)(uintptr_t)malloc(size),
		    (long)size);
}

static void run_sleep(void)
{
	static const struct timespec time = { 0, 200000 };

	run_syscall(35, (long)(uintptr_t)&time, 0, MAGIC(RDX));
}

/* i386's nanosleep with 32-bit pointers: the time is in the low 2 GB. */
static void run_int80(void)
{
	uint32_t *time = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (time == MAP_FAILED)
		exit(1);
	time[1] = 200000;
	rule(magic_int80_done, magic_int80_done + 1, "2");
	value(RBX, (uint64_t)(uintptr_t)time);
	value(R12, 162);
	value(RDX, 7);
	magic(RSI);
	magic(RDI);
	magic(RBP);
	magic(R13);
	magic(R14);
	magic(R15);
	printf(" 0=?");
	rules_end();
	magic_int80(162, (long)(uintptr_t)time, 0, 7);
}

static void run_fault(void)
{
	size_t size = 256 << 12;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, size, MADV_NOHUGEPAGE))
		exit(1);
	rule(magic_fault_store, magic_fault_store + 1, "13");
	for (int reg = 0; reg <= R15; reg++) {
		if (reg != RSP && reg != RDI && reg != R12 && reg != R13)
			magic(reg);
	}
	value(R12, (uint64_t)(uintptr_t)pages);
	value(R13, (uint64_t)(uintptr_t)(pages + size));
	printf(" %d=%lu..%lu/4096", RDI, (unsigned long)(uintptr_t)pages,
	       (unsigned long)(uintptr_t)(pages + size));
	rules_end();
	magic_fault(pages, pages + size);
}

/*
 * Functions may save a callee-saved register and use it: then it is on the stack, between sp and
 * the call's return address.
 */
static void run_call(const char *what, void *begin, void *end, void *function, long rdi, long rsi,
		     long rdx)
{
	printf("%s %lu %lu %lu", what, (unsigned long)(uintptr_t)begin,
	       (unsigned long)(uintptr_t)end, (unsigned long)(uintptr_t)magic_call_done);
	magic_saved();
	rules_end();
	magic_call(function, rdi, rsi, rdx);
}

/* The mapping that contains an address. */
static void mapping_find(const void *of, void **begin_ret, void **end_ret)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= (uintptr_t)of &&
		    (uintptr_t)of < end) {
			*begin_ret = (void *)begin;
			*end_ret = (void *)end;
			fclose(file);
			return;
		}
	}
	exit(1);
}

static void run_vdso(void)
{
	static struct timespec time;
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD), *begin, *end;
	void *function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;

	if (!function)
		exit(1);
	mapping_find(function, &begin, &end);
	run_call("saved", begin, end, function, CLOCK_MONOTONIC, (long)(uintptr_t)&time, 0);
}

static void run_libc(void)
{
	size_t size = 1 << 20;
	void *begin, *end, *function = dlsym(RTLD_DEFAULT, "memset");

	if (!function)
		exit(1);
	mapping_find(function, &begin, &end);
	run_call("saved", begin, end, function, (long)(uintptr_t)malloc(size), 0x5a, (long)size);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "count"))
		run_count();
	else if (!strcmp(mode, "sp") && argc > 2)
		run_sp(argv[2]);
	else if (!strcmp(mode, "read"))
		run_read();
	else if (!strcmp(mode, "sleep"))
		run_sleep();
	else if (!strcmp(mode, "int80"))
		run_int80();
	else if (!strcmp(mode, "fault"))
		run_fault();
	else if (!strcmp(mode, "vdso"))
		run_vdso();
	else if (!strcmp(mode, "libc"))
		run_libc();
	fprintf(stderr, "magic: see the source for how to call it\n");
	return 2;
}
