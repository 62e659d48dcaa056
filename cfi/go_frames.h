/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind information from .gopclntab: the .debug_frame that Go's linker makes from it, for files
 * stripped of .debug_frame (-ldflags "-s -w"), and the functions that change stacks; an embedded
 * image has its own list of such functions.
 */
#ifndef CFI_GO_FRAMES_H
#define CFI_GO_FRAMES_H

#include "cfi/cfi.h"
#include "elf/elf_file.h"

struct reel_go_frames {
	/* A section; empty if the file is not Go's, or it was not requested. */
	struct reel_buffer debug_frame;
	struct reel_cfi_range *switches; /* in ascending order */
	size_t n_switches, switches_capacity;
};

struct reel_error *reel_go_frames_read(struct reel_elf_file *file, const struct reel_arch *arch,
				       bool wants_debug_frame,
				       struct reel_go_frames *ret) REEL_MUST_CHECK;
void reel_go_frames_free(struct reel_go_frames *frames);

#endif
