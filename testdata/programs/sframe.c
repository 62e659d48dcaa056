/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose frames need different rows of .sframe: leaves, variable sizes, realigned stacks, many
 * arguments, early exits, and by hand a signal frame and an outermost function.  testdata/sframe/make.sh builds
 * libraries of it.  With PROGRAM, a program without libraries that works in leaf(), called in known ways.
 */
#include <alloca.h>

#define ALONE __attribute__((noinline, noclone))
#define AFTER __asm__ volatile("" ::: "memory") /* no tail call */

#ifndef PROGRAM

long extern_call(long, ...);
_Noreturn void extern_exit(long);

long leaf(long a)
{
	return a * 3;
}

long calls(long a)
{
	return extern_call(a) + extern_call(a + 1);
}

long variable(long n)
{
	char *bytes = alloca(n);

	return extern_call((long)bytes) + n;
}

long aligned(long n)
{
	char bytes[100] __attribute__((aligned(128)));
	char *more = alloca(n);

	return extern_call((long)bytes, more) + bytes[n & 63];
}

long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	long sum = 0;

	for (long k = 0; k < a; k++)
		sum += extern_call(a, b, c, d, e, f, g, h, i, k, sum);
	return sum + leaf(b);
}

long big(void)
{
	char bytes[70000];

	return extern_call((long)bytes);
}

long early(long n)
{
	switch (n) {
	case 0:
		return 1;
	case 1:
		return extern_call(2) + 1;
	case 2:
		return extern_call(extern_call(3));
	default:
		extern_exit(n);
	}
}

/* Its stub is in .plt.got: the address is in the GOT already. */
void *address(void)
{
	return (void *)extern_exit;
}

#if defined(__x86_64__)
#define RA "16"
#elif defined(__aarch64__)
#define RA "30"
#else
#define RA "14"
#endif

#ifdef MARKS /* which version 2 of .sframe cannot represent */
__asm__(".text\n"
	"outermost:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined " RA "\n"
	"	nop\n"
	"	nop\n"
	"	.cfi_endproc\n"
	"signal_frame:\n"
	"	.cfi_startproc\n"
	"	.cfi_signal_frame\n"
	"	nop\n"
	"	nop\n"
	"	.cfi_endproc\n");
#endif

#else

static volatile long sink;

ALONE static void leaf(long n)
{
	while (n--)
		sink++;
}

ALONE static void variable(long n, long work)
{
	volatile char *bytes = alloca(n);

	bytes[0] = 1;
	leaf(work);
	AFTER;
}

ALONE static void fixed(long n, long work)
{
	volatile char bytes[1000];

	bytes[n] = 1;
	variable(n, work);
	AFTER;
}

ALONE static void recursive(long depth, long work)
{
	if (depth)
		recursive(depth - 1, work);
	else
		fixed(100, work);
	AFTER;
}

ALONE __attribute__((noreturn)) void begin(void)
{
	for (int i = 0; i < 40; i++)
		recursive(i % 4, 4000000);
	__asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall");
	__builtin_unreachable();
}

__asm__(".globl _start\n"
	"_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined 16\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call begin\n"
	"	hlt\n"
	"	.cfi_endproc\n");

#endif
