/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF objects, as record/sampling/programs.c hands them to libbpf.  The Makefile passes -I to where they are built. */
	.section .rodata
	.balign 16
	.globl reel_object_scratch, reel_object_scratch_end
reel_object_scratch:
	.incbin "sampler.bpf.o"
reel_object_scratch_end:
	.balign 16
	.globl reel_object_copies, reel_object_copies_end
reel_object_copies:
	.incbin "sampler_copies.bpf.o"
reel_object_copies_end:

	.globl reel_object_dynptr, reel_object_dynptr_end
reel_object_dynptr:
	.incbin "sampler_dynptr.bpf.o"
reel_object_dynptr_end:
	.section .note.GNU-stack,"",%progbits
