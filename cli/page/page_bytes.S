/* SPDX-License-Identifier: Apache-2.0 */
/* The page, as cli/page/page_file.c fills it in. The Makefile passes -I to where it is made. */
	.section .rodata
	.globl page_bytes, page_bytes_end
page_bytes:
	.incbin "page.html"
page_bytes_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits
