/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options shared by several commands: argp children, so that each is spelled and explained in one
 * place. A command lists its groups and calls options_parse.
 */
#ifndef CLI_SESSION_OPTIONS_H
#define CLI_SESSION_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/print/output.h"
#include "cli/session/limits.h"
#include "cli/session/values.h"
#include "cli/session/where.h"
#include "include/commands.h"

#define DEFAULT_CAPTURE "stackreel.reel"

struct string_list {
	const char **items; /* NULL-terminated unless empty */
	size_t count;
};

void string_list_add(struct string_list *list, const char *item);

struct label_list {
	struct reel_label_match *items;
	size_t count;
};

/* Keys that must be fields of the capture's tracepoints, each with what to say otherwise. */
struct field_list {
	struct {
		char *name, *complaint;
	} * items;
	size_t count;
};

struct number_list {
	uint32_t *items;
	size_t count;
};

/* A part of the work: `number` is below `count`. A `count` of 0 means all. */
struct shard {
	uint32_t number, count;
};

/* Unix times, ns. */
struct wall_range {
	uint64_t from, to;
	uint64_t length; /* of --for, until the options are complete */
};

enum sandbox_wanted {
	SANDBOX_OFF,
	SANDBOX_BY_INPUT, /* for standard input */
	SANDBOX_ON,
};

/* Missing files of modules: fetching from servers, and the cache of fetched files. */
struct debuginfod_options {
	bool fetch;
	const char *urls;  /* NULL: $DEBUGINFOD_URLS */
	uint64_t timeout;  /* ns, for all files together */
	uint64_t max_size; /* bytes of a file; 0: no limit */
};

struct options {
	/* The input, as given. */
	const char *file;
	const char *default_file; /* NULL: DEFAULT_CAPTURE */
	const char *output;
	bool quiet;
	/* In PERCENT; 0: no minimum. */
	uint64_t min_complete;
	/* The event to show; NULL: all. */
	const char *event;
	/* Of the command: values of variables that traces have. */
	const struct reel_value_request *values;
	size_t n_values;
	bool stacks; /* of the command: traces have stack pointers */
	/* Of --values; their numbers follow those. */
	struct value_list shown_values;
	bool wakers; /* on top of the stacks of waits */
	struct string_list symfs, debug_dirs, module_files, comms, identities;
	bool may_be_locked; /* accept a missing identity */
	bool may_lack_header;
	uint32_t samples_max; /* that are unwound; 0: all */
	/* Of the new capture. */
	struct string_list recipients;
	bool decrypt;
	struct number_list pids, tids, cpus;
	struct label_list labels;
	struct where_list wheres;
	struct field_list fields; /* keys of labels and of --by */
	uint64_t from, to;	  /* since the first sample */
	struct wall_range wall;	  /* the same by the wall's clock; 0: an open end */
	struct shard shard;
	/*
	 * A capture without matching samples is not an error: the command reads further captures.
	 */
	bool may_be_idle;
	bool no_host_files, no_inlines, no_demangle, no_frame_pointers;
	enum reel_runtimes_shown runtimes;
	bool short_names; /* of --names; each command has its own default */
	uint32_t max_frames;
	uint32_t threads; /* 0: one for each CPU */
	struct limits limits;
	enum sandbox_wanted sandbox;
	struct debuginfod_options debuginfod;
	/* The debuginfod client's cache; NULL: not used. */
	char *debuginfod_cache;
	/* As in struct reel_open_options. */
	const struct reel_capture *previous;
};

/* FILE, -o, -q, --memory-limit and --time-limit, which take effect when parsing ends; and -i,
 * perf's spelling of FILE. */
extern const struct argp options_file;
/* --pid --tid --comm --cpu --label --time --event --where … */
extern const struct argp options_filter;
/* --shard */
extern const struct argp options_shard;
/* --symfs --debug-dir --module --no-host-files --no-inline … */
extern const struct argp options_search;
/* --debuginfod, --no-debuginfod … */
extern const struct argp options_debuginfod;
/* --sandbox, --no-sandbox: for commands that only read and print. */
extern const struct argp options_sandbox;
/* --identity */
extern const struct argp options_keys;
/* --encrypt-to */
extern const struct argp options_recipients;
/* --decrypt, for commands that make a capture from a capture: it requires -o. */
extern const struct argp options_rewrite;
/* --min-complete */
extern const struct argp options_quality;
/* -j */
extern const struct argp options_work;

/* All of these, under headings: for commands that walk traces. */
extern const struct argp_child options_of_traces[];
/* The same, and --shard: for commands whose parts add up to the whole. */
extern const struct argp_child options_of_shards[];
/* The same without --sandbox, for commands that read many files. */
extern const struct argp_child options_of_fleets[];
/* The subset for commands that unwind a capture to make another capture. */
extern const struct argp_child options_of_rewriting[];

/* Keys of a command's own options begin here. */
#define OPTION_KEY_OWN 0x400
/* Of --names and --values, which options_parse handles. */
#define OPTION_KEY_NAMES  0x200
#define OPTION_KEY_VALUES 0x201

/*
 * Keys of options that only set a member of the parser's input, of type bool, const char * or struct
 * string_list.  argp allows keys of 24 bits.
 */
#define OPTION_FLAG(type, member) OPTION_KEY_OF(1, type, member, bool)
#define OPTION_TEXT(type, member) OPTION_KEY_OF(2, type, member, const char *)
#define OPTION_LIST(type, member) OPTION_KEY_OF(3, type, member, struct string_list)
#define OPTION_KEY_OF(kind, type, member, expected)                                                \
	((kind) << 20 | (int)(offsetof(type, member) * _Generic(((type *)0)->member, expected : 1)))

/* Handles these keys: the parser of a group that has no others, or the last case of one. */
error_t options_store(int key, char *arg, struct argp_state *state);

/*
 * Parses a command line. `options`, the parser's input, begins with a struct options, the input of its
 * groups. The parser (NULL: none) only gets keys that options_store does not handle.
 */
void options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		   void *options);
void options_free(struct options *options);

/* Opens -o, for names in the style of --names; false after an error, which was reported. */
bool options_open_output(const struct options *options, struct output *ret);

/* The library's part of the options; borrows from `options`. */
struct reel_open_options options_of_capture(const struct options *options);
struct reel_walk_options options_of_walk(const struct options *options,
					 const struct reel_capture_info *info);

/* Values that the options name may exist in another part or capture. */
bool options_are_of_part(const struct options *options);

/* argp_error, with complain()'s escaping. */
void options_error(struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Reports the error in the value of the option `name`, and destroys it; NULL: none. */
void options_check(struct argp_state *state, const char *name, struct reel_error *error);

/* The entry of --names, for commands that have it. */
#define OPTION_NAMES(default_style)                                                                \
	{                                                                                          \
		"names", OPTION_KEY_NAMES, "STYLE", 0,                                             \
			"Name functions in this style: short, full or mangled (" default_style     \
			")",                                                                       \
			0                                                                          \
	}

/* Adds a value of --values, FUNC:EXPR or FUNC; errors are argp's. */
void options_add_values(struct argp_state *state, const char *arg, struct options *options);
#define OPTION_VALUES(key)                                                                         \
	{                                                                                          \
		"values", key, "FUNC:EXPR", 0,                                                     \
			"Add the value of this variable, in the innermost call of FUNC, as a "     \
			"label of samples (repeatable)",                                           \
			0                                                                          \
	}

/*
 * For commands that read several captures in sequence, at the parser's end: if `files` is empty, adds the
 * one from -i or the default.  Standard input must be the last, since reading it may enter the
 * sandbox, which blocks other files (options_sandbox). With --shard fewer may remain, or none.
 */
void inputs_check(struct string_list *files, struct options *options, struct argp_state *state);
/* Of several captures, keeps this shard's and clears --shard; a single capture is divided by its blocks. */
void inputs_select_shard(struct string_list *files, struct options *options);

/* Parsers, also for the tests. */

/* "A..B", "A..", "..B"; an open end is 0. */
bool time_range_parse(const char *text, uint64_t *from_ret, uint64_t *to_ret);
/* "1/4". */
bool shard_parse(const char *text, struct shard *ret);
/* "KEY=VALUE"; `ret` borrows from `text` and from the library. False: no such key, or no `='. */
bool label_match_parse(const char *text, struct reel_label_match *ret);
/* Whether a tracepoint's field may have this key: "prev_comm", "arg-pid". */
bool field_key_is(const char *name);
/* Copies both; the copy of `name` lives as long as the options. */
const char *options_add_field(struct options *options, const char *name, const char *complaint);
/* A number from 0 to 100, with or without a final '%'; in PERCENT. */
bool percent_parse(const char *text, uint64_t *ret);

#endif
