/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units that -gsplit-dwarf put into other files (DWARF 5, 7.3, and GNU's variant for DWARF 4): a
 * .dwo for each object file, or a .dwp, a package of .dwo files.
 */
#ifndef REPLAY_DWARF_SPLIT_UNITS_H
#define REPLAY_DWARF_SPLIT_UNITS_H

#include "base/id_table.h"
#include "replay/dwarf/dwarf_file.h"
#include "replay/files/module_search.h"

struct reel_split_unit {
	struct reel_id_entry by_id;
	struct reel_dwarf *dwarf;
	struct reel_unit *unit;
};

struct reel_split_file;
struct reel_package;

struct reel_split_units {
	struct reel_dwarf *skeletons;
	const struct reel_elf_file *file; /* with the skeletons */
	const struct reel_elf_file *code; /* with the code */
	/* NULL: do not look for files. */
	const struct reel_module_search *search;
	struct reel_split_file *files;
	struct reel_id_table by_id;
	struct reel_package *package; /* NULL: not found */
	bool package_tried;
	unsigned n_others; /* opened files without the unit */
	char *problem;	   /* for the first unit not found */
};

/* The split unit of any unit; `*ret` is NULL if that is not a skeleton, or it is not found. */
struct reel_error *reel_split_units_find(struct reel_split_units *units, struct reel_unit *skeleton,
					 struct reel_split_unit **ret) REEL_MUST_CHECK;
void reel_split_units_free(struct reel_split_units *units);

#endif
