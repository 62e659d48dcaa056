// SPDX-License-Identifier: Apache-2.0
// Calls functions a known number of times, from known callers: tests/record/test-probes.sh.
//   probed ROUNDS [SPIN]   main -> first -> second -> third (SPIN times round a loop); main -> power, 5 deep, -> third; main -> jumps -> leaves
//                          (longjmp past both); from a second thread: first; each ROUNDS times
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP(x)	 asm volatile("" : "+r"(x))

// As <sys/sdt.h> makes them, without its package: STAP_PROBE(shop, NAME), one with a semaphore.
#if __SIZEOF_POINTER__ == 8
#define WORD ".8byte "
#else
#define WORD ".4byte "
#endif
#define STATIC_PROBE(name, semaphore, arguments, ...)                                              \
	asm volatile("990: nop\n"                                                                  \
		     ".pushsection .note.stapsdt,\"\",\"note\"\n"                                  \
		     ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                                 \
		     "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                   \
		     "993: " WORD "990b, _.stapsdt.base, " semaphore "\n"                          \
		     ".asciz \"shop\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n"            \
		     "994: .balign 4\n.popsection\n"                                               \
		     ".ifndef _.stapsdt.base\n"                                                    \
		     ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"       \
		     ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"    \
		     ".size _.stapsdt.base, 1\n.popsection\n.endif\n" __VA_ARGS__)

// A constant, and a register.
#ifdef __x86_64__
#define ARGUMENTS "-4@$-7 8@%rsp"
#elif defined(__aarch64__)
#define ARGUMENTS "-4@-7 8@sp"
#else
#define ARGUMENTS ""
#endif

extern "C" {
__attribute__((section(".probes"), used,
	       visibility("hidden"))) volatile unsigned short sold_semaphore = 0;
}

namespace shop
{
struct Cart {
	int n;
	NOINLINE int add(int count, const char *name);
};
NOINLINE int Cart::add(int count, const char *name)
{
	n += count + name[0];
	KEEP(n);
	STATIC_PROBE("added", "0", ARGUMENTS);
	return n;
}
NOINLINE int total(int n)
{
	KEEP(n);
	return n + 1;
}
NOINLINE long total(long n)
{
	KEEP(n);
	return n + 2;
}
template <class T> NOINLINE T twice(T x)
{
	KEEP(x);
	return 2 * x;
}
} // namespace shop

extern "C" {
static long spin = 1;
NOINLINE long third(long n)
{
	for (long i = 0; i < spin; i++)
		KEEP(n);
	return n + 3;
}
NOINLINE long second(long n)
{
	long r = third(n);
	KEEP(r);
	return r + 2;
}
NOINLINE long first(long n)
{
	long r = second(n);
	KEEP(r);
	return r + 1;
}
NOINLINE long power(long n, long depth)
{
	long r = depth > 1 ? power(n, depth - 1) : third(n);
	KEEP(r);
	return 2 * r;
}
static jmp_buf back;
NOINLINE void leaves(void)
{
	longjmp(back, 1);
}
NOINLINE long jumps(long n)
{
	leaves();
	KEEP(n);
	return n;
}
static void *calls(void *rounds)
{
	for (long i = 0; i < *(long *)rounds; i++)
		first(i);
	return nullptr;
}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10;
	shop::Cart cart = {};
	volatile long sum = 0;
	pthread_t other;

	spin = argc > 2 ? atol(argv[2]) : 1;
	pthread_create(&other, nullptr, calls, &rounds);
	for (long i = 0; i < rounds; i++) {
		sum += first(i);
		sum += power(i, 5);
		sum += cart.add((int)i, "x") + shop::total((int)i) + shop::total(i) +
		       shop::twice((int)i) + shop::twice(i);
		if (!setjmp(back))
			jumps(i);
	}
	for (long i = 0; i < rounds && sold_semaphore; i++)
		STATIC_PROBE("sold", "sold_semaphore", "");
	pthread_join(other, nullptr);
	printf("%ld\n", (long)sum);
}
