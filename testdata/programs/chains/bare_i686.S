/* SPDX-License-Identifier: Apache-2.0 */
/* See bare.cc. Deliberately without CFI; each loop has 100,000 rounds, so prologues take next to no time. */
	.text

	.globl bare_framed
	.type bare_framed, @function
bare_framed:
	push %ebp
	mov %esp, %ebp
	push %ebx
	sub $28, %esp
	mov 8(%ebp), %ebx
	mov %ebx, %ecx
1:	dec %ecx
	jnz 1b
	mov %ebx, (%esp)
	call bare_framed_inner
	xor %edx, %edx
	add $28, %esp
	pop %ebx
	pop %ebp
	ret
	.size bare_framed, . - bare_framed

	.type bare_framed_inner, @function
bare_framed_inner:
	push %ebp
	mov %esp, %ebp
	sub $44, %esp
	mov 8(%ebp), %ecx
1:	dec %ecx
	jnz 1b
	mov $7, %eax
	leave
	ret
	.size bare_framed_inner, . - bare_framed_inner

	.globl bare_unframed
	.type bare_unframed, @function
bare_unframed:
	push %ebp
	sub $40, %esp
	/* Not a frame pointer, and must not be mistaken for one. */
	mov $0x1234567, %ebp
	mov 48(%esp), %ecx
	mov 56(%esp), %eax
1:	dec %ecx
	jnz 1b
	movl $9, (%esp)
	movl $0, 4(%esp)
	call *%eax
	add $40, %esp
	pop %ebp
	ret
	.size bare_unframed, . - bare_unframed

	.section .note.GNU-stack, "", @progbits
