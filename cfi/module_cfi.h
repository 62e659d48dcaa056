/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the call frame information of an ELF file, and which symbols it lets reach an address. */
#ifndef CFI_MODULE_CFI_H
#define CFI_MODULE_CFI_H

#include "cfi/cfi.h"
#include "elf/elf_file.h"
#include "elf/symbol_table.h"
#include "cfi/go_frames.h"

/*
 * Fills in sections (decompressed if necessary), bases and text range; they live with the file.
 * The caller sets `arch`.  For a file without .debug_frame its debug file may have one: take
 * `debug_frame` from that file's input, and everything else from the file's own.
 */
struct reel_error *reel_module_cfi_input(struct reel_elf_file *file,
					 struct reel_cfi_input *ret) REEL_MUST_CHECK;

/* Moves a .debug_frame made from .gopclntab, if any, to the input: the CFI created from the input
 * frees it. */
void reel_module_cfi_take(struct reel_cfi_input *input, struct reel_go_frames *go);

/*
 * The CFI of `file`, with the .debug_frame of `debug` (may be NULL) or the one from
 * .gopclntab if the file has none itself.  Both must outlive it.
 */
struct reel_error *reel_module_cfi_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_arch *arch,
					  struct reel_cfi **ret) REEL_MUST_CHECK;

enum reel_symbol_reach {
	REEL_SYMBOL_REACHES,
	REEL_SYMBOL_ENDS_BEFORE,
	/* Neither its size nor an FDE is known: check the code between. */
	REEL_SYMBOL_ASK_CODE,
};

/*
 * Whether the table's symbol for an address really names it.  A symbol without a size extends to
 * the next one, but not beyond its FDE or into a different one: in a stripped file the symbols in
 * between are gone.  `cfi` may be NULL.
 */
enum reel_symbol_reach reel_symbol_reach(const struct reel_symbol *symbol, uint64_t address,
					 struct reel_cfi *cfi);

#endif
