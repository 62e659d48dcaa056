/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See bare.cc. Deliberately without CFI; each loop has a million rounds, so prologues take next to no time.
 * The back chain at 0(%r15) plays the role of the frame pointer.
 */
	.text

	.globl bare_framed
	.type bare_framed, @function
bare_framed:
	stmg %r6, %r15, 48(%r15)
	lgr %r1, %r15
	aghi %r15, -168
	stg %r1, 0(%r15)
	lgr %r12, %r2
1:	brctg %r2, 1b
	lgr %r2, %r12
	brasl %r14, bare_framed_inner
	lmg %r6, %r15, 216(%r15)
	br %r14
	.size bare_framed, . - bare_framed

	.type bare_framed_inner, @function
bare_framed_inner:
	stmg %r6, %r15, 48(%r15)
	lgr %r1, %r15
	aghi %r15, -184
	stg %r1, 0(%r15)
1:	brctg %r2, 1b
	lghi %r2, 7
	lmg %r6, %r15, 232(%r15)
	br %r14
	.size bare_framed_inner, . - bare_framed_inner

	.globl bare_unframed
	.type bare_unframed, @function
bare_unframed:
	stmg %r6, %r15, 48(%r15)
	aghi %r15, -168
	/* Not a back chain, and must not be mistaken for one. */
	lghi %r1, 0x1234
	stg %r1, 0(%r15)
	/* Nor a link register. */
	lghi %r14, 0x5678
1:	brctg %r2, 1b
	lghi %r2, 9
	basr %r14, %r3
	lmg %r6, %r15, 216(%r15)
	br %r14
	.size bare_unframed, . - bare_unframed

	.section .note.GNU-stack, "", @progbits
