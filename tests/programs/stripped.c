/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stripped SECONDS: uses this much CPU time, in functions whose symbols strip(1) removes, in an
 * assembly function without a size, and below a PLT stub.
 */
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned sink;

/* The symbol stays in .dynsym (-rdynamic), and has neither size nor FDE, like the following
 * function, whose symbol is removed. */
#ifdef __s390x__
#define NOP_AND_RETURN "nopr %r7\n\tbr %r14\n\t"
#else
#define NOP_AND_RETURN "nop\n\tret\n\t"
#endif
void sizeless(void);
__asm__(".globl sizeless\n"
	".type sizeless, @function\n"
	"sizeless:\n\t" NOP_AND_RETURN ".p2align 4\n"
	"behind_it:\n\t" NOP_AND_RETURN ".p2align 4\n");

/* Follows it. */
static NOINLINE void first(unsigned n)
{
	while (n--)
		sink += n;
}

static NOINLINE void second(unsigned n)
{
	while (n--)
		sink ^= n * 3;
}

int main(int argc, char **argv)
{
	clock_t end = (clock_t)((argc > 1 ? atof(argv[1]) : 1) * CLOCKS_PER_SEC);

	while (clock() < end) {
		first(20000);
		second(20000);
		sizeless();
	}
	return 0;
}
