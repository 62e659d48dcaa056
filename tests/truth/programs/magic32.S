/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Like magic.c, in 32-bit code, without a libc: one program for each MODE.
 * Built with -m32 -nostdlib -static, so that nm prints the runtime addresses.
 */
#define MAGIC(n) (0xf1e20007 + 0x1010 * (n))
#define COUNT 1
#define INT80 2
#define VSYSCALL 3

	.globl _start, spot
	.text
_start:
#if MODE == COUNT
	mov $MAGIC(0), %eax
	mov $MAGIC(1), %ecx
	mov $MAGIC(2), %edx
	mov $MAGIC(3), %ebx
	mov $MAGIC(4), %esp
	mov $MAGIC(5), %ebp
	mov $MAGIC(6), %esi
	mov $MAGIC(7), %edi
	/* 3 bytes each: 83 /0 ib. */
spot:	add $1, %eax
	add $1, %ecx
	add $1, %edx
	add $1, %ebx
	add $1, %esp
	add $1, %ebp
	add $1, %esi
	add $1, %edi
	jmp spot
#else
#if MODE == VSYSCALL
	/* The auxiliary vector follows argv and envp. */
	lea 4(%esp), %esi
1:	lodsl
	test %eax, %eax
	jnz 1b
2:	lodsl
	test %eax, %eax
	jnz 2b
3:	lodsl
	mov %eax, %ecx
	lodsl
	cmp $32, %ecx		/* AT_SYSINFO: __kernel_vsyscall */
	jne 3b
	push %eax
#endif
	mov $time, %ebx
	xor %ecx, %ecx
	mov $MAGIC(2), %edx
	mov $MAGIC(5), %ebp
	mov $MAGIC(6), %esi
	mov $MAGIC(7), %edi
4:	mov $162, %eax		/* nanosleep */
#if MODE == VSYSCALL
	call *(%esp)
#else
	int $0x80
#endif
spot:	jmp 4b

	.data
	.globl time
time:	.long 0, 200000
#endif
	.section .note.GNU-stack, "", @progbits
