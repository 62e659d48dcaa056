/* SPDX-License-Identifier: Apache-2.0 */
/* cli/page/page_bytes.S for WebAssembly, whose data symbols have sizes. */
	.section .rodata.page_bytes,"",@
	.globl page_bytes, page_bytes_end, page_firefox_bytes, page_firefox_bytes_end
	.type page_bytes,@object
	.type page_bytes_end,@object
	.type page_firefox_bytes,@object
	.type page_firefox_bytes_end,@object
page_bytes:
	.incbin "page.html"
.Lpage:
	.size page_bytes, .Lpage - page_bytes
page_bytes_end:
	.int8 0
	.size page_bytes_end, 1
page_firefox_bytes:
	.incbin "firefox.html"
.Lfirefox:
	.size page_firefox_bytes, .Lfirefox - page_firefox_bytes
page_firefox_bytes_end:
	.int8 0
	.size page_firefox_bytes_end, 1
