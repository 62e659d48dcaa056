/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of a module: by build-id, or where it has none, by the digest of its file; never
 * by path alone.  Where the capture has neither, a file is believed only if it was named for it
 * (module_files by its name, symfs by its path) or has the recorded device and inode, and that is
 * told.
 */
#ifndef ELF_MODULE_SEARCH_H
#define ELF_MODULE_SEARCH_H

#include "format/record.h"
#include "include/stackreel.h"
#include "elf/elf_file.h"

struct reel_module_search;
struct reel_strings;

/* Takes the search-related options of `options` (copied). Reads module_files' build-ids at once. */
struct reel_error *reel_module_search_create(const struct reel_capture_options *options,
					     struct reel_module_search **ret) REEL_MUST_CHECK;
void reel_module_search_destroy(struct reel_module_search *search);

/* The build-id of one of module_files; empty for none, and for a path that is none of them. */
struct reel_bytes reel_module_search_build_id(const struct reel_module_search *search,
					      const char *path);

struct reel_module_files {
	/* The file itself; NULL: not found. A debug file never takes its place. */
	struct reel_elf_file *file;
	/* Its debug file (with .debug_info or .symtab); NULL: none, or `file` has .debug_info. */
	struct reel_elf_file *debug;
	enum reel_module_state state;
	/* Neither a build-id nor a digest says that the file is the one that was recorded. */
	bool unchecked;
	/* Why it is not FOUND, naming the paths tried; NULL otherwise. Owned. */
	char *problem;
};

/*
 * Looks for a module of kind FILE: module_files, symfs directories + path,
 * the recorded path on this host, DEBUG_DIR/.build-id/xx/yyyy (the file).
 * Every candidate must have the module's build-id, or digest.
 *
 * Then, if the file has no .debug_info, for its debug file: module_files,
 * DEBUG_DIR/.build-id/xx/yyyy.debug, and .gnu_debuglink's name next to the file, in .debug/ and in
 * DEBUG_DIR/path; DEBUG_DIR under each symfs directory too.  It must have the
 * file's build-id, or where the file has none, the CRC of .gnu_debuglink.  For
 * .gnu_debugaltlink (dwz) the file that it names, under DEBUG_DIR as well, with its
 * build-id; it becomes the reel_elf_file_alternate of the one that asks for it.
 *
 * " (deleted)" behind a path is not part of it.  What is not found is a state
 * of *ret, not an error; errors are a lack of memory.
 */
struct reel_error *reel_module_search_find(struct reel_module_search *search,
					   const struct reel_record_module *module,
					   struct reel_module_files *ret) REEL_MUST_CHECK;
/* The same, but for the file at its recorded path below `root`, the target's own root directory. */
struct reel_error *reel_module_search_find_below(struct reel_module_search *search,
						 const char *root,
						 const struct reel_record_module *module,
						 struct reel_module_files *ret) REEL_MUST_CHECK;
/*
 * Where a file may be that -gsplit-dwarf made, for what was built in `directory` to the module that
 * was found at `module_path`: `name` in that directory below each symfs and debug directory, and on
 * this host unless it was said not to look there; and beside the module.  Appends to `ret`.
 */
struct reel_error *reel_module_search_split_files(const struct reel_module_search *search,
						  const char *module_path, const char *directory,
						  const char *name,
						  struct reel_strings *ret) REEL_MUST_CHECK;
void reel_module_files_free(struct reel_module_files *files);

#endif
