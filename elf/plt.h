/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stubs of a file's procedure linkage tables, by which it calls functions of other files.  They
 * have no symbols; the relocation of the GOT's word that a stub jumps by tells which function it is
 * for, with -z now as without, since both are read as they are in the file.
 */
#ifndef ELF_PLT_H
#define ELF_PLT_H

#include "elf/elf_file.h"

struct reel_plt_stub {
	uint64_t begin, end;
	uint64_t slot; /* the GOT's word */
	/* The function's, in the file's string table; NULL: `target` is where the word leads, or
	 * the resolver that says so (IRELATIVE). */
	const char *name;
	uint64_t target;
};

/* Those that a relocation names, ascending; to be freed. */
struct reel_error *reel_plt_read(struct reel_elf_file *file, struct reel_plt_stub **ret,
				 size_t *n_ret) REEL_MUST_CHECK;

#endif
