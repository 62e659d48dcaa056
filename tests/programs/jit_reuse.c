/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code without a file whose callers are easy to mistake (x86-64):
 *
 *   jit_reuse rewritten MS    two pages get another function every MS milliseconds, for 4 s: its frame is larger each time
 *   jit_reuse rewritten MS N  the same with N such functions, which are called in turns
 *   jit_reuse jumped          a piece of code that begins with endbr64 runs within the frame of another one, for 1 s: both jump
 *
 * The stack is main, caller, the code, leaf.  mistaken() has called earlier: its return address is in
 * all words of the code's frame.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE  4096
#define FORMS 64

static volatile long sum;
static uintptr_t old_address;
static uint8_t *code;

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

__attribute__((noinline)) static void leaf(void)
{
	for (int i = 0; i < 2000; i++)
		sum += i;
}

__attribute__((noinline)) static void note_address(void)
{
	old_address = (uintptr_t)__builtin_return_address(0);
}

__attribute__((noinline)) static void mistaken(void (*function)(void))
{
	function();
	sum++;
}

__attribute__((noinline)) static void fill_stack(void)
{
	volatile uintptr_t words[16 + 2 * FORMS];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = old_address;
	__asm__ volatile("" : : "r"(words) : "memory");
}

__attribute__((noinline)) static void caller(size_t at)
{
	void (*function)(void (*)(void), void *, void *);
	uint8_t *begin = code + at;

	memcpy(&function, &begin, sizeof(function));
	fill_stack();
	function(leaf, code + 256, code + 512);
	sum++;
}

static size_t put(size_t at, const void *bytes, size_t size)
{
	memcpy(code + at, bytes, size);
	return at + size;
}

static size_t put_with(size_t at, const void *bytes, size_t size, int32_t operand)
{
	return put(put(at, bytes, size), &operand, sizeof(operand));
}

/* Where the n-th function begins. */
static size_t begin_of(size_t n)
{
	return (2 * n + 1) * PAGE - 32;
}

/* sub $size,%rsp; call *%rdi; jmp to the next page: add $size,%rsp; ret. */
static void put_form(size_t n, int32_t size)
{
	size_t at = put_with(begin_of(n), "\x48\x81\xec", 3, size), next = (2 * n + 1) * PAGE;

	at = put(at, "\xff\xd7", 2);
	put_with(at, "\xe9", 1, (int32_t)(next - (at + 5)));
	at = put_with(next, "\x48\x81\xc4", 3, size);
	put(at, "\xc3", 1);
}

int main(int argc, char **argv)
{
	/* A call through a register could lead anywhere. */
	void (*volatile first)(void) = note_address;
	uint64_t end = now_ms() + 1000, length = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	size_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;

	code = mmap(NULL, 2 * PAGE * count, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED || argc < 2)
		return 2;
	mistaken(first);
	if (strcmp(argv[1], "jumped") == 0) {
		/* push %r14; sub $32,%rsp; mov %rdx,%r14; jmp *%rsi */
		put(0, "\x41\x56\x48\x83\xec\x20\x49\x89\xd6\xff\xe6", 11);
		/* endbr64; call *%rdi; jmp *%r14 */
		put(256, "\xf3\x0f\x1e\xfa\xff\xd7\x41\xff\xe6", 9);
		/* add $32,%rsp; pop %r14; ret */
		put(512, "\x48\x83\xc4\x20\x41\x5e\xc3", 7);
		while (now_ms() < end)
			caller(0);
		return 0;
	}
	for (int form = 0; now_ms() < end + 3000; form++) {
		uint64_t until = now_ms() + length;

		for (size_t n = 0; n < count; n++)
			put_form(n, 8 + 16 * (1 + form * 7 % FORMS));
		for (size_t n = 0; now_ms() < until; n++)
			caller(begin_of(n % count));
	}
	return 0;
}
