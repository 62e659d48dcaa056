/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function symbols of a module, by address, and the stubs of its PLTs, which have none.
 *
 * Source: .symtab of the debug file, else of the file, else the file's .dynsym and the symbols that
 * .gnu_debugdata adds.  Functions (STT_FUNC, STT_GNU_IFUNC) and symbols without a type (assembly's
 * labels), in executable sections.  Among several at one address, the first difference decides,
 * after perf's choose_best_symbol:
 *   1. with a size before without     4. fewer leading underscores
 *   2. with a type before without     5. the longer name
 *   3. global, then weak, then local  6. the name that sorts first
 * (perf prefers local to weak symbols; but in libc the local alias is __GI_x.)
 * A symbol without size extends to the next one (but see reel_symbolizer_set_code).  Inside a
 * longer symbol a shorter one wins, but one without size never wins over one with.
 */
#ifndef ELF_SYMBOL_TABLE_H
#define ELF_SYMBOL_TABLE_H

#include "elf/elf_file.h"

struct reel_symbol {
	uint64_t address, end; /* without a size: the farthest possible end */
	/* In the file's string table, or the table's own; mangled, with its @VERSION. */
	const char *name;
	bool sized;
	bool is_stub;	       /* of a PLT: the name is the called function's */
	uint8_t binding, type; /* STB_, STT_; 0 for stubs */
};

struct reel_symbol_table;

/* Either file may be NULL; both must outlive the table. */
struct reel_error *reel_symbol_table_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					    struct reel_symbol_table **ret) REEL_MUST_CHECK;
/* The same of variables: STT_OBJECT in sections of data, by .symtab of the debug file, else of the
 * file, else the file's .dynsym. */
struct reel_error *reel_symbol_table_create_data(struct reel_elf_file *file,
						 struct reel_elf_file *debug,
						 struct reel_symbol_table **ret) REEL_MUST_CHECK;
/* Each symbol of the file's .symtab that names code, including aliases. */
struct reel_error *reel_symbol_table_visit(struct reel_elf_file *file,
					   void (*visit)(void *context, const char *name,
							 uint64_t address),
					   void *context) REEL_MUST_CHECK;
/* A symbol that names code, and its file's. */
struct reel_code_symbol {
	const char *name; /* mangled, with its @VERSION */
	uint64_t address, size;
	bool is_resolver; /* STT_GNU_IFUNC: chooses the function at run time */
};

/* Each symbol of the tables named above that names code, including aliases, in any order. */
struct reel_error *reel_code_symbols_visit(struct reel_elf_file *file, struct reel_elf_file *debug,
					   void (*visit)(void *context,
							 const struct reel_code_symbol *symbol),
					   void *context) REEL_MUST_CHECK;
/* It only has symbols for other modules: the file is stripped, and between two symbols there may be
 * any number of functions. */
bool reel_symbol_table_is_partial(const struct reel_symbol_table *table);
/* Why the file's symbols could not be used; NULL if they could. */
const char *reel_symbol_table_problem(const struct reel_symbol_table *table);
void reel_symbol_table_destroy(struct reel_symbol_table *table);
/* Symbols that hold any address, some more than once; NULL after the last. */
const struct reel_symbol *reel_symbol_table_at(const struct reel_symbol_table *table, size_t i);
/* The symbol that holds an ELF address; NULL if none does. */
const struct reel_symbol *reel_symbol_table_find(const struct reel_symbol_table *table,
						 uint64_t address);

#endif
