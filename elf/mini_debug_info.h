/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniDebugInfo: section .gnu_debugdata of a stripped file, an xz-compressed ELF file with the
 * symbols of functions that .dynsym omits, as in Fedora's packages (gdb's manual, "MiniDebugInfo").
 */
#ifndef ELF_MINI_DEBUG_INFO_H
#define ELF_MINI_DEBUG_INFO_H

#include "elf/elf_file.h"

struct reel_mini_debug_info {
	struct reel_elf_file *file; /* NULL if missing */
	uint8_t *bytes;
};

/* CORRUPT or UNSUPPORTED if it exists but is unusable. */
struct reel_error *reel_mini_debug_info_open(struct reel_elf_file *file,
					     struct reel_mini_debug_info *ret) REEL_MUST_CHECK;
void reel_mini_debug_info_close(struct reel_mini_debug_info *info);

#endif
