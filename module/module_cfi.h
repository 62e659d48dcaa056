/* SPDX-License-Identifier: Apache-2.0 */
/* Where an ELF file has its call frame information. */
#ifndef MODULE_MODULE_CFI_H
#define MODULE_MODULE_CFI_H

#include "cfi/cfi.h"
#include "elf/elf_file.h"
#include "module/go_frames.h"

/*
 * Fills in sections (decompressed where they are compressed), bases and text range; they live with
 * the file.  `arch` is the caller's to set.  A file without .debug_frame may have one in its debug
 * file: take `debug_frame` of that file's input, and everything else of the file's own.
 */
struct reel_error *reel_module_cfi_input(struct reel_elf_file *file,
					 struct reel_cfi_input *ret) REEL_MUST_CHECK;

/* Makes what .gopclntab has, if anything, the input's .debug_frame: the CFI that is created of it
 * frees it. */
void reel_module_cfi_take(struct reel_cfi_input *input, struct reel_go_frames *go);

/*
 * The CFI of `file`, with the .debug_frame of `debug` where it has none itself (NULL: there is no
 * such file), or that of .gopclntab. Both must outlive it.
 */
struct reel_error *reel_module_cfi_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_arch *arch,
					  struct reel_cfi **ret) REEL_MUST_CHECK;

#endif
