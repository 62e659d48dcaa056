/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the searches for modules' and for the kernel's files: the places to search, and the
 * files there that were rejected. */
#ifndef ELF_FILE_SEARCH_H
#define ELF_FILE_SEARCH_H

#include "base/bytes.h"
#include "format/record.h"
#include "include/commands.h"
#include "elf/elf_file.h"

/* ---- where to look ---------------------------------------------------------- */

struct reel_strings {
	char **all;
	size_t n, capacity;
};

/* Appends `string` and takes ownership (NULL: out of memory). */
struct reel_error *reel_strings_add(struct reel_strings *strings, char *string) REEL_MUST_CHECK;
void reel_strings_free(struct reel_strings *strings);

/* Copies of the options that name places. */
struct reel_search_folders {
	struct reel_strings symfs;
	struct reel_strings debug_dirs; /* with DEBUG_DIR under each symfs directory */
	struct reel_strings named;	/* module_files */
	char *debuginfod_cache;		/* NULL: none */
};

/* Even after an error the caller frees them. */
struct reel_error *reel_search_folders_copy(const struct reel_capture_options *options,
					    struct reel_search_folders *ret) REEL_MUST_CHECK;
void reel_search_folders_free(struct reel_search_folders *places);

const char *reel_base_name(const char *path);

/* DIR/.build-id/xx/yyyy + suffix; NULL if memory runs out. */
char *reel_build_id_path(const char *dir, const char *hex, const char *suffix);

/* A file previously fetched by the debuginfod client ("executable", "debuginfo"); NULL if the
 * folder has none, or memory runs out. */
char *reel_fetched_path(const struct reel_search_folders *places, const char *hex,
			const char *kind);

/* ---- rejected files ----------------------------------------------------------- */

/* Room for a build-id in hexadecimal. */
#define REEL_BUILD_ID_TEXT (2 * REEL_BUILD_ID_MAX + 1)

/* `ret`: REEL_BUILD_ID_TEXT bytes; "" for none. */
void reel_build_id_print(struct reel_bytes build_id, char *ret);

/* Rejected candidates. */
struct reel_candidates {
	struct reel_buffer seen; /* "/a: No such file or directory; /b has build-id 12" */
	bool mismatch, broken;
};

void reel_candidates_note(struct reel_candidates *candidates, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Notes that the file's build-id differs from the wanted one. */
void reel_candidates_note_build_id(struct reel_candidates *candidates,
				   const struct reel_elf_file *file);
/* Notes why a candidate could not be opened; takes `error`, and returns it if memory ran out. */
struct reel_error *reel_candidates_note_error(struct reel_candidates *candidates,
					      struct reel_error *error) REEL_MUST_CHECK;

/* The state of a module if no candidate matched. */
enum reel_module_state reel_candidates_state(const struct reel_candidates *candidates);
/* All notes, as one text that lives as long as they do. */
struct reel_error *reel_candidates_text(struct reel_candidates *candidates,
					const char **ret) REEL_MUST_CHECK;
void reel_candidates_free(struct reel_candidates *candidates);

#endif
