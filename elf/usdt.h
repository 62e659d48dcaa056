/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static probes of a program or library (USDT): notes in .note.stapsdt, as <sys/sdt.h> of SystemTap
 * and its successors make them
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
 */
#ifndef ELF_USDT_H
#define ELF_USDT_H

#include "elf/elf_file.h"

struct reel_usdt {
	const char *provider, *name;
	const char *arguments; /* such as "-4@%edi 8@-16(%rbp)" */
	uint64_t offset;       /* of its nop, in the file */
	uint64_t semaphore;    /* the file offset of its counter; 0: none */
};

/* Skips malformed notes. */
void reel_usdt_visit(struct reel_elf_file *file,
		     void (*visit)(void *context, const struct reel_usdt *usdt), void *context);

#endif
