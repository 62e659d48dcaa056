/* SPDX-License-Identifier: Apache-2.0 */
/* See bare.cc. Deliberately without CFI; each loop has a million rounds, so prologues take next to no time. */
	.text

	.globl bare_framed
	.type bare_framed, %function
bare_framed:
	stp x29, x30, [sp, #-48]!
	mov x29, sp
	str x19, [sp, #16]
	mov x19, x0
1:	subs x0, x0, #1
	b.ne 1b
	mov x0, x19
	bl bare_framed_inner
	ldr x19, [sp, #16]
	ldp x29, x30, [sp], #48
	ret
	.size bare_framed, . - bare_framed

	.type bare_framed_inner, %function
bare_framed_inner:
	stp x29, x30, [sp, #-32]!
	mov x29, sp
1:	subs x0, x0, #1
	b.ne 1b
	mov x0, #7
	ldp x29, x30, [sp], #32
	ret
	.size bare_framed_inner, . - bare_framed_inner

	.globl bare_unframed
	.type bare_unframed, %function
bare_unframed:
	stp x29, x30, [sp, #-32]!
	/* Not a frame pointer, and must not be mistaken for one. */
	mov x29, #0x1234
	/* Nor a link register. */
	mov x30, #0x5678
1:	subs x0, x0, #1
	b.ne 1b
	mov x0, #9
	blr x1
	ldp x29, x30, [sp], #32
	ret
	.size bare_unframed, . - bare_unframed

	.section .note.GNU-stack, "", %progbits
