/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What .gopclntab says of unwinding: the .debug_frame that Go's linker makes of it, for files that
 * were stripped of that (-ldflags "-s -w"), and which functions change stacks; of these
 * an embedded image has its own list.
 */
#ifndef MODULE_GO_FRAMES_H
#define MODULE_GO_FRAMES_H

#include "cfi/cfi.h"
#include "elf/elf_file.h"

struct reel_go_frames {
	/* As a section; empty if the file is not Go's, or it was not asked for. */
	struct reel_buffer debug_frame;
	struct reel_cfi_range *switches; /* in ascending order */
	size_t n_switches, switches_capacity;
};

struct reel_error *reel_go_frames_read(struct reel_elf_file *file, const struct reel_arch *arch,
				       bool wants_debug_frame,
				       struct reel_go_frames *ret) REEL_MUST_CHECK;
void reel_go_frames_free(struct reel_go_frames *frames);

#endif
