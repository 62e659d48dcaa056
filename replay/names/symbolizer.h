/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the addresses of one module: symbol, inlined functions, source lines.  Only one thread
 * at a time may use it.
 */
#ifndef REPLAY_NAMES_SYMBOLIZER_H
#define REPLAY_NAMES_SYMBOLIZER_H

#include "replay/files/module_search.h"
#include "cfi/cfi.h"
#include "replay/synthesis/synthesis.h"

struct reel_symbolizer;
struct reel_debug_info;
struct reel_variables;

struct reel_symbolizer_options {
	/* Also no source lines: debug information is read only for addresses without a symbol. */
	bool no_inlines;
	/* Addresses have no names; symbols and debug information are not read for them. */
	bool no_names;
	bool no_demangle;
	/* To find files of -gsplit-dwarf; must outlive the symbolizer.  NULL: do not look. */
	const struct reel_module_search *search;
};

/*
 * Either file may be NULL; both must outlive the symbolizer.  Debug information is taken from the
 * debug file if it has any, else from the file; symbols from .symtab of either (the debug file's
 * first), else .dynsym and .gnu_debugdata (see elf/symbol_table.h).  The first look-up reads the
 * files.
 */
struct reel_error *reel_symbolizer_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_symbolizer_options *options,
					  struct reel_symbolizer **ret) REEL_MUST_CHECK;
/*
 * The file's CFI and code (either may be NULL), which must outlive the symbolizer.  They show where
 * a function ends if its symbol has no size, and where it begins if it has no name.
 */
void reel_symbolizer_set_code(struct reel_symbolizer *symbolizer, struct reel_cfi *cfi,
			      struct reel_synthesis *synthesis);
/*
 * Sets the capture's image of the file (elf/image/embedded_image.h), which may be the file itself,
 * before the first look-up.  Its information takes precedence.
 */
void reel_symbolizer_set_image(struct reel_symbolizer *symbolizer, struct reel_elf_file *image);
void reel_symbolizer_destroy(struct reel_symbolizer *symbolizer);

struct reel_symbol_frame {
	/* Demangled unless disabled; "" if unknown.  Lives with the symbolizer. */
	const char *function;
	/* The name before demangling; "" if it is the same. */
	const char *linkage_name;
	/* Absolute if the debug information has the unit's directory; "" if unknown. */
	const char *file;
	uint32_t line, column;
	/* As in struct reel_debug_frame, but "" if unknown; names are unchanged. */
	const char *debug_name;
	uint32_t function_line, discriminator;
	/* From the start of the address's symbol or FDE. */
	uint64_t function_offset;
	/* The end of that symbol if it has a size; else 0. */
	uint64_t symbol_end;
	bool inlined; /* into the frame that follows */
	bool is_fde;  /* the function has no name, but an FDE covers it */
};

/*
 * The functions at an ELF address, innermost inlined first; at least one entry.  The outermost
 * function's name is the symbol's if there is one (so that it agrees with nm), else the debug
 * information's.  `*frames_ret` is borrowed until the next call.
 */
struct reel_error *reel_symbolizer_look_up(struct reel_symbolizer *symbolizer, uint64_t address,
					   const struct reel_symbol_frame **frames_ret,
					   size_t *n_ret) REEL_MUST_CHECK;

/*
 * The variable with an ELF address, as reel_symbol_frame.function, and the address's offset in it;
 * "" if none is known.  The first look-up reads the symbols of all variables.
 */
struct reel_error *reel_symbolizer_look_up_variable(struct reel_symbolizer *symbolizer,
						    uint64_t address, const char **ret,
						    uint64_t *offset_ret) REEL_MUST_CHECK;

/*
 * The variables of its functions (replay/values/), from debug information; NULL: none.  And whether
 * any of its code is Go.
 */
struct reel_error *reel_symbolizer_variables(struct reel_symbolizer *symbolizer,
					     struct reel_variables **ret,
					     bool *has_go_ret) REEL_MUST_CHECK;

/*
 * Why existing debug information or symbols were unusable (after the first look-up), or NULL.
 * Look-ups use the other sources.
 */
const char *reel_symbolizer_problem(const struct reel_symbolizer *symbolizer);

/* The debug information that values come from: a file's, or else the image's; NULL: none. */
struct reel_error *reel_symbolizer_debug_info(struct reel_symbolizer *symbolizer,
					      struct reel_debug_info **ret) REEL_MUST_CHECK;

#endif
