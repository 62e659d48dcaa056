/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of a module: by build-id, never by path alone.  Without a
 * build-id a file is believed only if it was named for it (module_files, symfs)
 * or has the recorded device and inode.
 */
#ifndef REPLAY_MODULE_SEARCH_H
#define REPLAY_MODULE_SEARCH_H

#include "format/record.h"
#include "include/stackreel.h"
#include "replay/elf_file.h"

struct reel_module_search;

/* Takes the search-related options of `options` (copied). Reads module_files' build-ids at once. */
struct reel_error *reel_module_search_create(const struct reel_capture_options *options,
					     struct reel_module_search **ret) REEL_MUST_CHECK;
void reel_module_search_destroy(struct reel_module_search *search);

struct reel_module_files {
	/* The file itself; NULL: not found. A debug file never takes its place. */
	struct reel_elf_file *file;
	/* Its debug file (with .debug_info, .symtab or .debug_frame); NULL: none, or `file` has all. */
	struct reel_elf_file *debug;
	enum reel_module_state state;
	/* Why it is not FOUND, naming the paths tried; NULL otherwise. Owned. */
	char *problem;
};

/*
 * Looks for a module of kind FILE: module_files, symfs directories + path,
 * the recorded path on this host, DEBUG_DIR/.build-id/xx/yyyy (the file) ; then for debug information:
 * DEBUG_DIR/.build-id/xx/yyyy.debug, .gnu_debuglink with its CRC next to the file, in .debug/ and
 * in DEBUG_DIR/path. Every candidate must have the module's build-id.
 */
struct reel_error *reel_module_search_find(struct reel_module_search *search,
					   const struct reel_record_module *module,
					   struct reel_module_files *ret) REEL_MUST_CHECK;
void reel_module_files_free(struct reel_module_files *files);

#endif
