/* SPDX-License-Identifier: Apache-2.0 */
/* A .dwp: the concatenated sections of many .dwo files, and an index of their parts
 * (DWARF 5, 7.3.5; version 2 is GNU's for DWARF 4, https://gcc.gnu.org/wiki/DebugFissionDWP). */
#ifndef REPLAY_DWARF_PACKAGE_H
#define REPLAY_DWARF_PACKAGE_H

#include "replay/dwarf/dwarf_file.h"

struct reel_package;

/* `of` is the file of the package: a package for another CPU is CORRUPT. */
struct reel_error *reel_package_open(const char *path, const struct reel_elf_file *of,
				     struct reel_package **ret) REEL_MUST_CHECK;
void reel_package_close(struct reel_package *package);
const char *reel_package_path(const struct reel_package *package);
/* The parts of the unit with that id, as sections that live with the package; false: none. */
bool reel_package_find(struct reel_package *package, uint64_t id, struct reel_dwarf *parts_ret);

#endif
