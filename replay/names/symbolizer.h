/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the addresses of one module: symbol, inlined functions, source
 * lines.  Not to be used by two threads at once.
 */
#ifndef REPLAY_NAMES_SYMBOLIZER_H
#define REPLAY_NAMES_SYMBOLIZER_H

#include "elf/module_search.h"
#include "cfi/cfi.h"
#include "replay/code/synthesis.h"

struct reel_symbolizer;

struct reel_symbolizer_options {
	/* Nor source lines: debug information is read only where there is no symbol. */
	bool no_inlines;
	bool no_demangle;
	/* Where files of -gsplit-dwarf are looked for; outlives it. NULL: nowhere. */
	const struct reel_module_search *search;
};

/*
 * Either file may be NULL; both must outlive the symbolizer.  Debug information is taken from the
 * debug file if it has any, else from the file; symbols from .symtab of either (the debug file's
 * first), else .dynsym and .gnu_debugdata: symbol_table.h says which.  Nothing is read before the
 * first look-up.
 */
struct reel_error *reel_symbolizer_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_symbolizer_options *options,
					  struct reel_symbolizer **ret) REEL_MUST_CHECK;
/*
 * The file's CFI and code (either may be NULL), which must outlive the symbolizer.  They tell where
 * a function ends whose symbol has no size, and where one begins that has no name.
 */
void reel_symbolizer_set_code(struct reel_symbolizer *symbolizer, struct reel_cfi *cfi,
			      struct reel_synthesis *synthesis);
/*
 * What the capture has of the file (embedded_image.h), which may be the file itself, before the
 * first look-up.  What it says of an address counts.
 */
void reel_symbolizer_set_image(struct reel_symbolizer *symbolizer, struct reel_elf_file *image);
void reel_symbolizer_destroy(struct reel_symbolizer *symbolizer);

struct reel_symbol_frame {
	/* Demangled unless asked not to; "" if unknown. Lives with the symbolizer. */
	const char *function;
	/* What it was before it was demangled; "" if it is the same. */
	const char *linkage_name;
	/* Absolute where the debug information says the unit's directory; "" if unknown. */
	const char *file;
	uint32_t line, column;
	/* As in struct reel_debug_frame, but "" if unknown; the names as they stand there. */
	const char *debug_name;
	uint32_t function_line, discriminator;
	/* From the start of the symbol that holds the address, or of the FDE. */
	uint64_t function_offset;
	/* Where that symbol ends, if it says so; else 0. */
	uint64_t symbol_end;
	bool inlined; /* into the frame that follows */
	bool is_fde;  /* nothing names the function, but an FDE has its addresses */
};

/*
 * The functions at an ELF address, innermost inlined first; at least one
 * entry.  The outermost one's name is the symbol's where there is one (so that it agrees
 * with nm), else the debug information's.  `*frames_ret` is borrowed until the next call.
 */
struct reel_error *reel_symbolizer_look_up(struct reel_symbolizer *symbolizer, uint64_t address,
					   const struct reel_symbol_frame **frames_ret,
					   size_t *n_ret) REEL_MUST_CHECK;

/*
 * Why debug information or symbols that are there could not be used (after the first
 * look-up), NULL if they could.  Look-ups then go by what else there is.
 */
const char *reel_symbolizer_problem(const struct reel_symbolizer *symbolizer);

/* Of 800,000 names of LLVM, Rust's compiler, boost, VTK and others none took more than 32,000. */
#define REEL_DEMANGLE_STEPS 100000

/*
 * A C++ or Rust name demangled (owned), or NULL if it is not mangled, is longer
 * than 1,024 bytes, or costs too much: it takes at most 100,000 steps (two milliseconds)
 * and 192 KB of stack.
 */
char *reel_demangle(const char *name);
/* The same with at most *steps steps, of which it leaves those that were not taken. */
char *reel_demangle_within(const char *name, long *steps);

#endif
