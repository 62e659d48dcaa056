/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spends its time in known call chains, without any library:
 *
 *   _start;run;climb;…;climb;spin   with one to eight of climb
 *
 * Small enough to keep it and its recordings for every CPU.
 */
#if defined(__x86_64__)
#define START ".cfi_undefined rip\n xor %ebp, %ebp\n call run\n mov %eax, %edi\n mov $60, %eax\n syscall"
#elif defined(__aarch64__)
/* An instruction follows the call: an interrupt may come before the kernel notes the call. */
#define START ".cfi_undefined x30\n mov x29, #0\n bl run\n mov x8, #93\n svc #0\n nop"
#elif defined(__riscv)
#define START ".cfi_undefined ra\n li s0, 0\n call run\n li a7, 93\n ecall"
#elif defined(__s390x__)
#define START                                                                                      \
	".cfi_undefined %r14\n aghi %r15, -160\n xc 0(8,%r15), 0(%r15)\n brasl %r14, run\n svc 1"
#endif

__asm__(".text\n.globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n" START
	"\n.cfi_endproc\n.size _start, . - _start");

int run(void);

/* A leaf without a frame of its own. */
static __attribute__((noinline)) unsigned long spin(unsigned long n)
{
	while (n--)
		__asm__ volatile("" : "+r"(n));
	return n;
}

static __attribute__((noinline)) unsigned long climb(int steps, unsigned long n)
{
	unsigned long room[4] = { n, n, n, n }, result;

	__asm__ volatile("" : : "r"(room) : "memory");
	result = steps > 1 ? climb(steps - 1, n) : spin(n);
	/* Keeps the call out of tail position. */
	__asm__ volatile("" : "+r"(result) : "r"(room) : "memory");
	return result + room[0];
}

#ifndef ROUNDS
#define ROUNDS 40
#endif
/* For spin: a small value shows prologues and epilogues. */
#ifndef LENGTH
#define LENGTH 2000000
#endif

int run(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < ROUNDS; i++)
		sum += climb(1 + i % 8, LENGTH);
	return (int)(sum >> 63);
}
