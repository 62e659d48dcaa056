/* SPDX-License-Identifier: Apache-2.0 */
/* The pages, as cli/flamegraph/page.c fills them in.  The Makefile passes -I to where they are made, and HAVE_PAGES if they are. */
	.section .rodata
	.globl web_flame_page, web_diff_page, web_flame_page_size, web_diff_page_size
	.balign 4
web_flame_page_size:
	.4byte web_flame_page_end - web_flame_page
web_diff_page_size:
	.4byte web_diff_page_end - web_diff_page
web_flame_page:
#ifdef HAVE_PAGES
	.incbin "flame.html"
#endif
web_flame_page_end:
web_diff_page:
#ifdef HAVE_PAGES
	.incbin "diff.html"
#endif
web_diff_page_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits
