/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that come to rest at known places, with changing values in all registers, in the red
 * zone and in the frames above: a debugger finds the same data as a sample, later.  For
 * capture_gdb.py.
 *
 *   rest SEED THREADS       reads a byte from standard input, then everything comes to rest
 *
 * How a thread rests: `spin` jumps to itself; `sleep` calls nanosleep repeatedly; `pause` waits
 * in a system call, once; `fault` waits in a page fault that nobody serves (userfaultfd).  On
 * which stack: the main thread's, a thread's, or an alternate one, in a handler.  How deep: a few
 * frames to hundreds, of functions with a frame of fixed size, with alloca, and with a realigned
 * one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef __x86_64__
#error "only x86-64 has these functions yet"
#endif

#define PAGE	    4096u
#define THREADS_MAX 64

enum how { SPIN, SLEEP, PAUSE, FAULT, HOWS };
static const char *const how_names[HOWS] = { "spin", "sleep", "pause", "fault" };

struct recipe {
	enum how how;
	bool alternate;
	int depth;
	uint64_t random;
	uint64_t values[32]; /* of registers, then of the red zone */
	uint64_t page;
	pthread_t thread;
};

static struct recipe recipes[THREADS_MAX];
static __thread struct recipe *current;
static volatile int go;

/* These never return. They load all registers but rsp from `values`; r12 last. */
void rest_spin(const uint64_t *values);
void rest_sleep(const uint64_t *values, const struct timespec *time);
void rest_pause(const uint64_t *values);
void rest_fault(const uint64_t *values, uint64_t page);
extern const char rest_spin_pc[], rest_sleep_pc[], rest_pause_pc[], rest_fault_pc[];
static const char *const pcs[HOWS] = { rest_spin_pc, rest_sleep_pc, rest_pause_pc, rest_fault_pc };

#define SAVE(name)                                                                                 \
	"	push %" name "\n"                                                                  \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	.cfi_rel_offset %" name ", 0\n"
#define BEGIN(name)                                                                                \
	".globl " name ", " name "_pc\n.type " name ", @function\n" name                           \
	": .cfi_startproc\n" SAVE("rbx") SAVE("rbp") SAVE("r12") SAVE("r13") SAVE("r14")           \
		SAVE("r15") "	mov %rdi, %r12\n"                                                    \
			    "	mov %rsi, %r13\n"                                                    \
			    "	lea 128(%r12), %rsi\n" /* the red zone */                          \
			    "	lea -128(%rsp), %rdi\n"                                              \
			    "	mov $16, %ecx\n"                                                     \
			    "	rep movsq\n"                                                         \
			    "	mov %r13, %rsi\n"
#define END(name) ".cfi_endproc\n.size " name ", . - " name "\n"
/* Registers that a system call preserves, and that its arguments do not need. */
#define LOAD_SOME                                                                                  \
	"	mov 24(%r12), %rbx\n"                                                                    \
	"	mov 48(%r12), %rbp\n"                                                                    \
	"	mov 8(%r12), %rdx\n"                                                                     \
	"	mov 64(%r12), %r8\n"                                                                     \
	"	mov 72(%r12), %r9\n"                                                                     \
	"	mov 80(%r12), %r10\n"                                                                    \
	"	mov 104(%r12), %r13\n"                                                                   \
	"	mov 112(%r12), %r14\n"                                                                   \
	"	mov 120(%r12), %r15\n"
#define LOAD_OTHERS                                                                                \
	"	mov (%r12), %rax\n"                                                                      \
	"	mov 16(%r12), %rcx\n"                                                                    \
	"	mov 88(%r12), %r11\n"

__asm__(".text\n" BEGIN("rest_spin") LOAD_SOME LOAD_OTHERS
	"	mov 32(%r12), %rsi\n"
	"	mov 40(%r12), %rdi\n"
	"	mov 96(%r12), %r12\n"
	"rest_spin_pc: jmp rest_spin_pc\n" END("rest_spin")

		BEGIN("rest_sleep") LOAD_SOME "	mov %rsi, %rdi\n"
					      "	xor %esi, %esi\n"
					      "	mov 96(%r12), %r12\n"
					      "1:	mov $35, %eax\n"
					      "	syscall\n"
					      "rest_sleep_pc: jmp 1b\n" END("rest_sleep")

						      BEGIN("rest_pause") LOAD_SOME
	"	mov 32(%r12), %rsi\n"
	"	mov 40(%r12), %rdi\n"
	"	mov 96(%r12), %r12\n"
	"1:	mov $34, %eax\n"
	"	syscall\n"
	"rest_pause_pc: jmp 1b\n" END("rest_pause")

		BEGIN("rest_fault") LOAD_SOME LOAD_OTHERS "	mov %rsi, %rdi\n"
							  "	mov 32(%r12), %rsi\n"
							  "	mov 96(%r12), %r12\n"
							  "rest_fault_pc: mov %rax, 24(%rdi)\n"
							  "	ud2\n" END("rest_fault"));

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void tell(const char *alternate_top)
{
	printf("thread %ld %s %d %lu %lu\n", syscall(SYS_gettid), how_names[current->how],
	       current->depth, (unsigned long)(uintptr_t)pcs[current->how],
	       (unsigned long)(uintptr_t)alternate_top);
	fflush(stdout);
}

static void come_to_rest(struct recipe *recipe)
{
	static const struct timespec time = { 0, 5000000 };

	switch (recipe->how) {
	case SPIN:
		rest_spin(recipe->values);
		break;
	case SLEEP:
		rest_sleep(recipe->values, &time);
		break;
	case PAUSE:
		rest_pause(recipe->values);
		break;
	default:
		rest_fault(recipe->values, recipe->page);
		break;
	}
	abort();
}

/* ---- frames ------------------------------------------------------------------------------- */

static void descend(struct recipe *recipe, int depth);

static void fill(volatile uint64_t *words, size_t count, struct recipe *recipe)
{
	for (size_t i = 0; i < count; i++)
		words[i] = next(&recipe->random);
}

static __attribute__((noinline)) void descend_fixed(struct recipe *recipe, int depth)
{
	volatile uint64_t words[40];

	fill(words, 40, recipe);
	descend(recipe, depth - 1);
	fill(words, 1, recipe);
}

static __attribute__((noinline)) void descend_alloca(struct recipe *recipe, int depth)
{
	size_t count = 1 + next(&recipe->random) % 100;
	volatile uint64_t *words = __builtin_alloca(count * 8);

	fill(words, count, recipe);
	descend(recipe, depth - 1);
	fill(words, 1, recipe);
}

static __attribute__((noinline)) void descend_aligned(struct recipe *recipe, int depth)
{
	volatile uint64_t words[16] __attribute__((aligned(128)));

	fill(words, 16, recipe);
	descend(recipe, depth - 1);
	fill(words, 1, recipe);
}

/* A frame most of which was never written to. */
static __attribute__((noinline)) void descend_hole(struct recipe *recipe, int depth)
{
	volatile uint64_t words[3 * PAGE / 8];

	words[0] = words[3 * PAGE / 8 - 1] = next(&recipe->random);
	descend(recipe, depth - 1);
	words[0] = 0;
}

static __attribute__((noinline)) void descend(struct recipe *recipe, int depth)
{
	if (!depth) {
		come_to_rest(recipe);
		return;
	}
	switch (next(&recipe->random) % 8) {
	case 0:
	case 1:
	case 2:
		descend_fixed(recipe, depth);
		break;
	case 3:
	case 4:
		descend_alloca(recipe, depth);
		break;
	case 5:
		descend_hole(recipe, depth);
		break;
	default:
		descend_aligned(recipe, depth);
		break;
	}
	__asm__ volatile(""); /* no sibling call */
}

/* ---- stacks --------------------------------------------------------------------------------- */

static void on_signal(int number)
{
	(void)number;
	descend(current, 5);
}

static __attribute__((noinline)) void descend_and_raise(struct recipe *recipe, int depth)
{
	volatile uint64_t words[10];

	fill(words, 10, recipe);
	if (depth)
		descend_and_raise(recipe, depth - 1);
	else
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	fill(words, 1, recipe);
}

static void *rest(void *argument)
{
	struct recipe *recipe = argument;
	stack_t stack = { .ss_size = 262144 };

	current = recipe;
	if (!recipe->alternate) {
		tell(NULL);
		while (!go)
			usleep(1000);
		descend(recipe, recipe->depth);
	}
	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	tell((char *)stack.ss_sp + stack.ss_size);
	while (!go)
		usleep(1000);
	descend_and_raise(recipe, recipe->depth);
	return NULL;
}

/* Pages whose first access waits for ever; 0 if the kernel does not support that. */
static uint64_t faulting_pages(size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (uint64_t)(uintptr_t)pages;
	range.range.len = size;
	if (fd < 0 || pages == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		return 0;
	return range.range.start;
}

static void *wait_for_word(void *unused)
{
	char byte;

	(void)unused;
	if (read(0, &byte, 1) != 1)
		exit(1);
	go = 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	uint64_t random, faulting;
	int count = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t waiter;

	if (count < 1 || count > THREADS_MAX) {
		fprintf(stderr, "rest SEED THREADS\n");
		return 2;
	}
	random = strtoull(argv[1], NULL, 0);
	faulting = faulting_pages((size_t)count * PAGE);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < count; i++) {
		struct recipe *recipe = &recipes[i];

		recipe->random = next(&random);
		/* The spinning threads share the CPUs: two are enough. */
		recipe->how = i < 2 ? SPIN : (enum how)(SLEEP + i % (HOWS - SLEEP));
		if (recipe->how == FAULT && !faulting)
			recipe->how = PAUSE;
		recipe->alternate = next(&random) % 3 == 0;
		recipe->depth = (int)(next(&random) % (i % 4 ? 12 : 400));
		recipe->page = faulting + (uint64_t)i * PAGE;
		for (int j = 0; j < 32; j++)
			recipe->values[j] = next(&recipe->random);
	}
	/* A different one every now and then. */
	recipes[0].how = (enum how)(next(&random) % HOWS);
	if (recipes[0].how == FAULT && !faulting)
		recipes[0].how = PAUSE;
	if (pthread_create(&waiter, NULL, wait_for_word, NULL))
		return 1;
	for (int i = 1; i < count; i++) {
		if (pthread_create(&recipes[i].thread, NULL, rest, &recipes[i]))
			return 1;
	}
	printf("faults %s\n", faulting ? "wait" : "no userfaultfd");
	rest(&recipes[0]);
	return 1;
}
