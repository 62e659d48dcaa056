/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of rows and tree nodes: functions (or modules), merged from the frames at their many
 * addresses; groups of samples (threads, processes, names); and the marks of cut traces, which are
 * roots of trees.
 */
#ifndef CLI_PROFILE_SYMBOLS_H
#define CLI_PROFILE_SYMBOLS_H

#include "cli/profile/call_tree.h"
#include "cli/profile/pointer_map.h"
#include "include/commands.h"

struct symbol {
	/* Escaped for output; the function, or the text in its place. */
	char *name;
	/* Escaped; "" for none. */
	char *module;
	bool inlined, kernel;
	/* The name is a function's, not an address in a module. */
	bool function;
	/* Not a function: a group, or the mark of a cut trace. */
	bool pseudo;
	/* Some of its frames were found without unwind information; only cli/browse asks. */
	bool guessed;
	/* NULL until symbol_shown needs it. */
	char *short_name;
	/* For symbols written to a file. */
	uint32_t number;
	/* While a tree is summed up. */
	struct amount self, total;
	uint32_t on_path;
	/* cli/profile/course.h; NULL: none. The last trace that was added to it. */
	float *course;
	uint32_t course_trace;
	/* Of the content; the table's chain. */
	uint64_t hash;
	struct symbol *next;
};

/* How frames are merged into symbols. */
enum symbols_by {
	SYMBOLS_BY_FUNCTION,
	SYMBOLS_BY_MODULE,
	/* Source lines and source files, each inlined function's own. */
	SYMBOLS_BY_LINE,
	SYMBOLS_BY_SOURCE,
	/* Addresses in modules: skip inlined functions (symbol.inlined). */
	SYMBOLS_BY_ADDRESS,
	/* Names as folded prints them, with `:' for `;', also in groups and marks. */
	SYMBOLS_BY_NAME,
	/* The same with _[k] and _[i]. */
	SYMBOLS_BY_NAME_ANNOTATED,
};

struct symbol_table {
	enum symbols_by by;
	bool short_names; /* by name: shortened */
	/* Clones and parts of functions count as the function. */
	bool merges_parts;
	/* By content. */
	struct symbol **buckets;
	size_t n_buckets, count;
	/* By the number of the frame's function. */
	struct symbol **by_function;
	size_t n_functions;
	/* By frame, where a function is several symbols. */
	struct pointer_map by_frame;
	/* The marks of cut traces. */
	struct symbol *stops[REEL_STOP_COUNT];
};

void symbol_table_init(struct symbol_table *table, enum symbols_by by);
void symbol_table_free(struct symbol_table *table);
/* The following frames are from another capture, with numbers and addresses of their own; symbols
 * stay, and are shared if their content is equal. */
void symbol_table_forget_frames(struct symbol_table *table);

/* For an order independent of arrival: by name, then by the other fields. */
int symbol_compare(const void *a, const void *b);
/* A symbol's parts, not escaped. */
struct symbol_parts {
	const char *name, *module;
	bool inlined, kernel, function;
};

/* Makes a symbol from the parts of another table's symbol. */
struct symbol *symbol_of_parts(struct symbol_table *table, const struct symbol_parts *parts);
/* Borrowed; the same function gives the same pointer. */
struct symbol *symbol_of_frame(struct symbol_table *table, const struct reel_frame *frame);
/* The root for traces that end too early: "[incomplete: stack bytes ran out]". */
struct symbol *symbol_of_stop(struct symbol_table *table, enum reel_stop stop);
/* A group of samples; `name` is untrusted. */
struct symbol *symbol_of_group(struct symbol_table *table, const char *name);

/* A thread or process: a new symbol, not shared by content, to be named once its name is known;
 * `name` is untrusted. */
struct symbol *symbol_of_task(struct symbol_table *table);
void symbol_name_task(const struct symbol_table *table, struct symbol *symbol, const char *name);

/* The symbol's name, shortened if `is_short`; borrowed. */
const char *symbol_shown(const struct symbol *symbol, bool is_short);
/* Sorts them; those of a module whose short names are equal are shown with their full ones from now
 * on. */
void symbols_tell_apart(const struct symbol **symbols, size_t n);

/* The function's name, an interpreter's with file and line; without one, the start of its unwind entry, "libfoo.so+0x1230 [fde]", or the
 * address, "libfoo.so+0x1234".  Not escaped; the caller frees it. */
char *frame_name(const struct reel_frame *frame);
/* As people read it: "[JIT]" for "//anon", executable memory without a file.  Files for machines have the recorded path. */
const char *module_name(const char *path);
/* Without directories. */
const char *path_base(const char *path);

/* Visits every symbol, in no particular order. */
void symbol_table_visit(const struct symbol_table *table,
			void (*visit)(void *context, struct symbol *symbol), void *context);

#endif
