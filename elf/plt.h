/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stubs of a file's procedure linkage tables, which call functions of other files.  They have
 * no symbols; the function is found by the relocation of the GOT word that a stub jumps through,
 * with -z now as without, since both are read from the file.
 */
#ifndef ELF_PLT_H
#define ELF_PLT_H

#include "elf/elf_file.h"

struct reel_plt_stub {
	uint64_t begin, end;
	uint64_t slot; /* the GOT's word */
	/* The function's name; NULL: `target` is where the word leads, or the resolver that decides
	 * (IRELATIVE). */
	const char *name;
	uint64_t target;
};

struct reel_texts;

/* The stubs that a relocation names, ascending; the caller frees them.  Their names are added to the
 * texts: the file's tables of symbols and strings are large, and only a few names are needed. */
struct reel_error *reel_plt_read(struct reel_elf_file *file, struct reel_texts *texts,
				 struct reel_plt_stub **ret, size_t *n_ret) REEL_MUST_CHECK;

/*
 * The address named by the operand at `code`, which is at `address`: a call's target; for a PLT
 * stub, the word of the GOT.  `got` is DT_PLTGOT, `kind` one of enum reel_arch_address; `code` must
 * have the operand's full size.
 */
uint64_t reel_operand_address(unsigned kind, const uint8_t *code, uint64_t address, uint64_t got);

#endif
