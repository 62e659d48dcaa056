/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and markers of a processed profile for Firefox's profiler; docs/exports.md. */
#ifndef CLI_EXPORT_FIREFOX_H
#define CLI_EXPORT_FIREFOX_H

#include <stdio.h>

#include "cli/export/stack_store.h"
#include "cli/export/tracks.h"

/* In the order of the profile's list. */
enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_JIT,
	FIREFOX_GUESSED,
};

#define FIREFOX_NONE UINT32_MAX

/* Texts and pairs of texts, each once, numbered in order of arrival. */
struct firefox_numbers {
	struct symbol_table keys;
	struct pointer_map numbers;
	uint32_t count;
};

struct firefox_lib {
	char *path, *debug_path, *build_id; /* escaped */
	const char *arch;
	bool big_endian;
	/* The first segment's address in the file's address space; frames' addresses are relative
	 * to it.
	 */
	uint64_t begin;
	uint32_t name; /* a string */
};

/* A symbol of a module, of frames that are not inlined. */
struct firefox_symbol {
	uint32_t lib, name;
	uint64_t begin;
};

struct firefox_function {
	uint32_t name, lib, source;
};

/* Of a stored frame. */
struct firefox_frame {
	uint32_t lib, function, symbol;
	enum firefox_category category;
};

/* Of side records; those of waits are made of samples. */
struct firefox_marker {
	uint64_t time;	 /* as in samples */
	uint64_t thread; /* 0: of none */
	uint32_t capture;
	enum firefox_marker_kind { FIREFOX_LOSS, FIREFOX_MARK, FIREFOX_THREAD, FIREFOX_EXEC } kind;
	const char *name;
	uint32_t name_string;
	uint32_t cpu;	  /* UINT32_MAX: of all */
	uint64_t count;	  /* of losses */
	const char *text; /* of a mark, or the program; escaped; NULL: unknown */
};

struct firefox {
	FILE *file;
	struct stack_store stacks;
	struct tracks tracks;
	char *command_line, *system; /* of the first capture, escaped */
	uint32_t cpus;
	uint64_t interval; /* ns */

	struct firefox_numbers string_numbers, lib_numbers, function_numbers, source_numbers;
	const char **strings;
	size_t strings_capacity;
	struct firefox_lib *libs;
	size_t libs_capacity;
	struct firefox_frame *frames; /* by the stored frame's number */
	size_t n_frames, frames_capacity;
	struct firefox_function *functions;
	size_t functions_capacity;
	uint32_t *sources; /* strings */
	size_t sources_capacity;
	struct firefox_symbol *symbols;
	size_t n_symbols, symbols_capacity;

	struct firefox_marker *markers;
	size_t n_markers, markers_capacity;
	bool has_recorder;	  /* markers of it: losses and marks */
	struct track **by_thread; /* all tracks */
	uint32_t state_strings[REEL_STATE_WOKEN + 1];
	int column; /* of markers, while it is written */

	const struct track *track; /* while its samples are written */
	const char *separator;
};

/*
 * Places frames added since the last call, in modules of this capture. False after an error, which
 * was reported.
 */
bool firefox_place_frames(struct firefox *firefox, struct session *session);
/* Call this when all frames are placed. */
void firefox_find_symbols(struct firefox *firefox);
/* Prints the contents of "shared", and the libs. */
void firefox_print_shared(const struct firefox *firefox);
void firefox_print_libs(const struct firefox *firefox);
/* The number of a text, which lives as long as the tables. */
uint32_t firefox_string(struct firefox *firefox, const char *text);
void firefox_tables_init(struct firefox *firefox);
void firefox_tables_free(struct firefox *firefox);

/* ---- markers: what samples do not show ------------------------------------------------------ */

/* Reads the markers of this capture. Times are converted with the tracks' `info`. */
void firefox_markers_read(struct firefox *firefox, struct reel_capture *capture);
/* Call this when all captures were read, before the strings are printed. */
void firefox_markers_sort(struct firefox *firefox);
void firefox_markers_free(struct firefox *firefox);

/* The schema of all kinds, for meta. */
void firefox_print_marker_schema(FILE *file);
/* The table of the track's thread, if this is the thread's first track; otherwise an empty one. */
bool firefox_print_markers(struct firefox *firefox);
/* A thread without samples, whose markers are losses and marks; nothing without any. */
void firefox_print_recorder(struct firefox *firefox);

#endif
