/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs on a stack of its own whose outermost return address was stored: that of a function that
 * never returns, and is right after the last instruction of another function, a call.  Coro's are
 * so, with glibc's abort.  Before that, makes that call.
 */
#include <setjmp.h>
#include <stdlib.h>

#define STACK 65536

void before(void);
void ends(void);
void run_on(void *stack, void (*function)(void));

__asm__(".text\n"
	".type before, @function\n"
	"before:\n"
	".cfi_startproc\n"
	"sub $8, %rsp; .cfi_adjust_cfa_offset 8\n"
	"call last\n"
	".cfi_endproc\n"
	".size before, . - before\n"
	".type ends, @function\n"
	"ends:\n"
	".cfi_startproc\n"
	"sub $24, %rsp; .cfi_adjust_cfa_offset 24\n"
	"1: pause\n"
	"jmp 1b\n"
	".cfi_endproc\n"
	".size ends, . - ends\n"
	".type run_on, @function\n"
	"run_on:\n"
	".cfi_startproc\n"
	"lea ends(%rip), %rax\n"
	"mov %rax, -8(%rdi)\n"
	"lea -8(%rdi), %rsp\n"
	"jmp *%rsi\n"
	".cfi_endproc\n"
	".size run_on, . - run_on\n");

static jmp_buf back;

__attribute__((noinline)) static void spin(void)
{
	for (volatile int i = 0; i < 1000000000; i++)
		;
}

__attribute__((noinline, noreturn, used)) static void last(void)
{
	spin();
	longjmp(back, 1);
}

__attribute__((noinline)) static void work(void)
{
	spin();
	exit(0);
}

int main(void)
{
	if (!setjmp(back))
		before();
	run_on((char *)aligned_alloc(16, STACK) + STACK, work);
}
