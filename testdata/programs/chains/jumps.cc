/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control flow that leaves functions by other ways than their end.
 *
 *   jump       mode_jump -> jump_try -> jump_one -> jump_two -> longjmp
 *   noreturn   mode_noreturn -> refuse_try -> refuse -> refused -> refused_work
 *              The call of refused is the last instruction of refuse; another function follows.
 *   coroutine  mode_coroutine -> swapcontext
 *              __start_context -> coroutine_one or coroutine_two -> coroutine_work_one …
 */
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "chains.h"

/* ---- longjmp ---------------------------------------------------------------------------- */

static jmp_buf target;

NOINLINE void jump_two(uint64_t value)
{
	sink = mix(value);
	longjmp(target, 1);
}

NOINLINE void jump_one(uint64_t value)
{
	volatile uint64_t words[64];

	words[value & 63] = value;
	jump_two(value);
	sink = words[0];
}

NOINLINE uint64_t jump_try(uint64_t value)
{
	if (_setjmp(target) == 0)
		jump_one(value);
	return sink;
}

int mode_jump(double seconds, char **)
{
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 10000; i++)
			sink = jump_try(sink);
	}
	return 0;
}

/* ---- noreturn ----------------------------------------------------------------------------- */

NOINLINE uint64_t refused_work(uint64_t value)
{
	return spin(1000, value);
}

[[noreturn]] NOINLINE void refused(uint64_t value)
{
	sink = refused_work(value);
	longjmp(target, 1);
}

[[noreturn]] NOINLINE void refuse(uint64_t value)
{
	sink = value;
	refused(mix(value));
}

NOINLINE uint64_t refuse_try(uint64_t value)
{
	if (_setjmp(target) == 0)
		refuse(value);
	return sink;
}

int mode_noreturn(double seconds, char **)
{
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 1000; i++)
			sink = refuse_try(sink);
	}
	return 0;
}

/* musl does not provide these. */
#ifdef __GLIBC__

/* ---- coroutines ----------------------------------------------------------------------------- */

enum { COROUTINE_SIZE = 128 << 10 };

static ucontext_t scheduler, one, two;
static uint64_t stack_of_two[COROUTINE_SIZE / 8];

NOINLINE uint64_t coroutine_work_one(uint64_t value)
{
	return spin(30000, value);
}

static void coroutine_one()
{
	for (;;) {
		sink = coroutine_work_one(sink);
		swapcontext(&one, &scheduler);
	}
}

NOINLINE uint64_t coroutine_work_two(uint64_t value)
{
	return spin(30000, value);
}

static void coroutine_two()
{
	for (;;) {
		sink = coroutine_work_two(sink);
		swapcontext(&two, &scheduler);
	}
}

int mode_coroutine(double seconds, char **)
{
	void *stack = mmap(nullptr, COROUTINE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || getcontext(&one) || getcontext(&two))
		return 1;
	one.uc_stack.ss_sp = stack;
	one.uc_stack.ss_size = COROUTINE_SIZE;
	makecontext(&one, coroutine_one, 0);
	/* In the program's own data, far below the end of that mapping. */
	two.uc_stack.ss_sp = stack_of_two;
	two.uc_stack.ss_size = sizeof(stack_of_two);
	makecontext(&two, coroutine_two, 0);
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 20; i++) {
			swapcontext(&scheduler, &one);
			swapcontext(&scheduler, &two);
		}
	}
	return 0;
}

#endif
