/* SPDX-License-Identifier: Apache-2.0 */
/* The pages, as cli/page/page_file.c fills them in. The Makefile passes -I to where they are made. */
	.section .rodata
	.globl page_bytes, page_bytes_end, page_firefox_bytes, page_firefox_bytes_end
page_bytes:
	.incbin "page.html"
page_bytes_end:
	.byte 0
page_firefox_bytes:
	.incbin "firefox.html"
page_firefox_bytes_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits
