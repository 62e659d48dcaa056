/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function symbols of a module, by address.
 *
 * Source: .symtab of the debug file, else of the file, else the file's
 * .dynsym.  Functions (STT_FUNC, STT_GNU_IFUNC) and what has no type
 * (assembly's labels), in executable sections.  Of several at one address, the
 * first that differs decides, after perf's choose_best_symbol:
 *   1. with a size before without     4. fewer leading underscores
 *   2. with a type before without     5. the longer name
 *   3. global, then weak, then local  6. the name that sorts first
 * (perf prefers local to weak ones; but in libc the local alias is __GI_x.)
 * A symbol without size reaches to the next one.  Inside of a longer symbol
 * a shorter one wins, but one without size never wins over one with.
 */
#ifndef REPLAY_ELF_SYMBOL_TABLE_H
#define REPLAY_ELF_SYMBOL_TABLE_H

#include "replay/elf/elf_file.h"

struct reel_symbol {
	uint64_t address;
	const char *name; /* in the file's string table; mangled, with its @VERSION */
	bool sized;
};

struct reel_symbol_table;

/* Either file may be NULL; both must outlive the table. */
struct reel_error *reel_symbol_table_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					    struct reel_symbol_table **ret) REEL_MUST_CHECK;
/* Each symbol of the file's .symtab that names code, aliases too. */
struct reel_error *reel_symbol_table_visit(struct reel_elf_file *file,
					   void (*visit)(void *context, const char *name,
							 uint64_t address),
					   void *context) REEL_MUST_CHECK;
void reel_symbol_table_destroy(struct reel_symbol_table *table);
/* The symbol that holds an ELF address, NULL: none does. */
const struct reel_symbol *reel_symbol_table_find(const struct reel_symbol_table *table,
						 uint64_t address);

#endif
