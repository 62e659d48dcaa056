/* SPDX-License-Identifier: Apache-2.0 */
/* See bare.cc. Deliberately without CFI; each loop has a million rounds, so prologues take next to no time. */
	.text

	.globl bare_framed
	.type bare_framed, @function
bare_framed:
	push %rbp
	mov %rsp, %rbp
	push %rbx
	sub $40, %rsp
	mov %rdi, %rbx
1:	dec %rdi
	jnz 1b
	mov %rbx, %rdi
	call bare_framed_inner
	add $40, %rsp
	pop %rbx
	pop %rbp
	ret
	.size bare_framed, . - bare_framed

	.type bare_framed_inner, @function
bare_framed_inner:
	push %rbp
	mov %rsp, %rbp
	sub $64, %rsp
1:	dec %rdi
	jnz 1b
	mov $7, %eax
	leave
	ret
	.size bare_framed_inner, . - bare_framed_inner

	.globl bare_unframed
	.type bare_unframed, @function
bare_unframed:
	push %rbp
	sub $48, %rsp
	/* Not a frame pointer, and must not be mistaken for one. */
	mov $0x1234567, %ebp
	mov %rsi, %rax
1:	dec %rdi
	jnz 1b
	mov $9, %edi
	call *%rax
	add $48, %rsp
	pop %rbp
	ret
	.size bare_unframed, . - bare_unframed

	.section .note.GNU-stack, "", @progbits
