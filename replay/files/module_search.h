/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of a module: by build-id or, without one, by the digest of its file; never by
 * path alone.  If the capture has neither, a file is accepted only if the user named it for the
 * module (module_files by its name, symfs by its path) or if it has the recorded device and inode,
 * and this is reported.
 */
#ifndef REPLAY_FILES_MODULE_SEARCH_H
#define REPLAY_FILES_MODULE_SEARCH_H

#include "format/record.h"
#include "include/commands.h"
#include "elf/elf_file.h"

struct reel_module_search;
struct reel_strings;

/* Takes the search-related options of `options` (copied). Reads module_files' build-ids at once. */
struct reel_error *reel_module_search_create(const struct reel_capture_options *options,
					     struct reel_module_search **ret) REEL_MUST_CHECK;
void reel_module_search_destroy(struct reel_module_search *search);

/* The build-id of one of module_files; empty if it has none, and for any other path. */
struct reel_bytes reel_module_search_build_id(const struct reel_module_search *search,
					      const char *path);

struct reel_module_files {
	/* The file itself; NULL if not found.  A debug file never replaces it. */
	struct reel_elf_file *file;
	/* Its debug file (with .debug_info or .symtab); NULL: none, or `file` has .debug_info. */
	struct reel_elf_file *debug;
	enum reel_module_state state;
	/* Neither a build-id nor a digest confirms that the file is the recorded one. */
	bool unchecked;
	/* Why it is not FOUND, naming the paths tried; NULL otherwise. Owned. */
	char *problem;
};

/*
 * Looks for a module of kind FILE: module_files, symfs directories + path, the recorded path on
 * this host, DEBUG_DIR/.build-id/xx/yyyy (the file).  Every candidate must have the module's
 * build-id, or digest.
 *
 * Next, if the file has no .debug_info, looks for its debug file: module_files,
 * DEBUG_DIR/.build-id/xx/yyyy.debug, and .gnu_debuglink's name next to the file, in .debug/ and in
 * DEBUG_DIR/path; also DEBUG_DIR under each symfs directory.  It must have the file's build-id or,
 * if the file has none, the CRC of .gnu_debuglink.  For .gnu_debugaltlink (dwz) the file that it
 * names, also under DEBUG_DIR, with its build-id; it becomes the reel_elf_file_alternate of the
 * file with the link.
 *
 * " (deleted)" after a path is not part of it.  A file that is not found is a state of *ret, not an
 * error; the only error is NO_MEMORY.
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
 * Possible places of a file made by -gsplit-dwarf, for code built in `directory` for the module
 * found at `module_path`: `name` in that directory below each symfs and debug directory, and on
 * this host unless disabled; and next to the module.  Appends to `ret`.
 */
struct reel_error *reel_module_search_split_files(const struct reel_module_search *search,
						  const char *module_path, const char *directory,
						  const char *name,
						  struct reel_strings *ret) REEL_MUST_CHECK;
void reel_module_files_free(struct reel_module_files *files);
/* Whether both are NULL, or one file of this host by whatever paths. */
bool reel_elf_files_are_same(const struct reel_elf_file *a, const struct reel_elf_file *b);

#endif
