/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of x86-64 whose CFI computes the caller's place with a count, as OpenSSL's bn_mul_mont
 * does: CFA = [rsp + 8 + 8 r9] + 8.
 *
 *     counted spin|trap [ROUNDS]
 *
 * Where lower counts would lead lie addresses of a place that looks like a frame, with an address
 * in decoy() as its return address.  `spin` stays in the function; with `trap` a signal interrupts
 * it there, and the handler does.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define COUNT "6"

/* rdi: rounds, rsi: the place that lower counts lead to, rdx: whether to raise a signal */
__asm__(".globl counted\n"
	".type counted, @function\n"
	"counted:\n"
	"	.cfi_startproc\n"
	"	mov %rsp,%rax\n"
	"	.cfi_def_cfa_register %rax\n"
	"	mov $" COUNT ",%r9d\n"
	"	lea -256(%rsp),%rsp\n"
	"	and $-1024,%rsp\n"
	"	mov %rax,8(%rsp,%r9,8)\n"
	/* DW_CFA_def_cfa_expression: breg7 8, breg9 0, lit8, mul, plus, deref, plus_uconst 8 */
	"	.cfi_escape 0x0f,10,0x77,8,0x79,0,0x38,0x1e,0x22,0x06,0x23,8\n"
	"	lea -1(%r9),%rcx\n"
	"1:	mov %rsi,8(%rsp,%rcx,8)\n"
	"	dec %rcx\n"
	"	jns 1b\n"
	"	xor %ecx,%ecx\n"
	"	test %edx,%edx\n"
	"	jz 2f\n"
	"	int3\n"
	"2:	dec %rdi\n"
	"	jns 2b\n"
	"	mov 8(%rsp,%r9,8),%rsp\n"
	"	.cfi_def_cfa %rsp,8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size counted, .-counted\n");
void counted(unsigned long rounds, const void *frame, int trap);

static unsigned long rounds = 300000000;

static void on_trap(int number)
{
	(void)number;
	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("");
}

void decoy(void);
__attribute__((noinline)) void decoy(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

static __attribute__((noinline)) void caller(int trap)
{
	volatile const void *frame[2] = { (const char *)decoy + 4, NULL };

	counted(trap ? 0 : rounds, (const void *)frame, trap);
	__asm__ volatile("" : : "r"(frame) : "memory");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_trap };

	if (argc > 2)
		rounds = strtoul(argv[2], NULL, 10);
	if (argc < 2 || sigaction(SIGTRAP, &action, NULL))
		return 2;
	caller(!strcmp(argv[1], "trap"));
	return 0;
}
