/* SPDX-License-Identifier: Apache-2.0 */
/* See bare.cc. Deliberately without CFI; each loop has a million rounds, so prologues take next to no time. */
	.text

	.globl bare_framed
	.type bare_framed, @function
bare_framed:
	addi sp, sp, -48
	sd ra, 40(sp)
	sd s0, 32(sp)
	sd s1, 24(sp)
	addi s0, sp, 48
	mv s1, a0
1:	addi a0, a0, -1
	bnez a0, 1b
	mv a0, s1
	jal bare_framed_inner
	ld s1, 24(sp)
	ld s0, 32(sp)
	ld ra, 40(sp)
	addi sp, sp, 48
	ret
	.size bare_framed, . - bare_framed

	.type bare_framed_inner, @function
bare_framed_inner:
	addi sp, sp, -64
	sd ra, 56(sp)
	sd s0, 48(sp)
	addi s0, sp, 64
1:	addi a0, a0, -1
	bnez a0, 1b
	li a0, 7
	ld s0, 48(sp)
	ld ra, 56(sp)
	addi sp, sp, 64
	ret
	.size bare_framed_inner, . - bare_framed_inner

	.globl bare_unframed
	.type bare_unframed, @function
bare_unframed:
	addi sp, sp, -48
	sd ra, 16(sp)
	sd s0, 8(sp)
	/* Not a frame pointer, and must not be mistaken for one. */
	li s0, 0x1234
	/* Nor a link register. */
	li ra, 0x5678
1:	addi a0, a0, -1
	bnez a0, 1b
	li a0, 9
	jalr a1
	ld s0, 8(sp)
	ld ra, 16(sp)
	addi sp, sp, 48
	ret
	.size bare_unframed, . - bare_unframed

	.section .note.GNU-stack, "", @progbits
