/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the parts of a Go program's .gopclntab by its header, and values that only
 * runtime.moduledata has.  Internal to go_*.c.
 */
#ifndef ELF_GO_MODULE_H
#define ELF_GO_MODULE_H

#include "elf/elf_file.h"

enum reel_go_version {
	REEL_GO_1_2,
	REEL_GO_1_16,
	REEL_GO_1_18,
	REEL_GO_1_20,
};

/* PCDATA_InlTreeIndex, since 1.13. */
#define REEL_GO_TREE_PCDATA 2

struct reel_go_format {
	struct reel_section section;
	uint64_t base; /* of the table in the section */
	uint64_t size; /* from there to the section's end */
	enum reel_go_version version;
	bool big_endian;
	unsigned quantum; /* the least size of an instruction */
	unsigned word;	  /* of an address, in bytes */
	/* Offsets in the table. */
	uint64_t functab, names, file_numbers, files, pcs, functions;
	uint64_t n_functions; /* 0 if the table is missing */
	unsigned functab_word, funcdata_word;
	unsigned extra_fields;	/* of a _func, after npcdata */
	unsigned tree_funcdata; /* FUNCDATA_InlTree */
	/* Since 1.18, functions are relative to `text`, and funcdata to go:func.*. */
	bool is_relative;
	uint64_t text; /* 0 before */
};

/* n_functions is 0 if the file has no table. */
struct reel_error *reel_go_format_find(struct reel_elf_file *file,
				       struct reel_go_format *ret) REEL_MUST_CHECK;
void reel_go_format_close(struct reel_go_format *format);
/* A number at an offset of the table; false if the offset is outside. */
bool reel_go_number(const struct reel_go_format *format, uint64_t offset, unsigned size,
		    uint64_t *ret);

/* Words of runtime.moduledata from minpc on. */
struct reel_go_module {
	uint64_t words[48];
	size_t n; /* 0: not found */
};

/* Also sets format->text, if found. */
struct reel_error *reel_go_module_find(struct reel_elf_file *file, struct reel_go_format *format,
				       struct reel_go_module *ret) REEL_MUST_CHECK;

#endif
