/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --by: what samples are grouped by, and what their frames are summed up to. */
#ifndef CLI_PROFILE_BY_H
#define CLI_PROFILE_BY_H

#include "cli/profile/groups.h"

#define GROUP_KEYS_MAX 8

/* The keys of samples, in order. Trees have a level for each, above the stacks. */
struct grouping {
	struct group_key keys[GROUP_KEYS_MAX];
	size_t n;
	/* Of the keys that are variables, for the traces. */
	struct reel_value_request requests[GROUP_KEYS_MAX];
	size_t n_requests;
};

/* All zero is the default: functions, without groups. */
struct by {
	struct grouping groups;
	enum symbols_by symbols;
	bool has_symbols; /* a key of symbols was given */
	bool merges_parts; /* clones and parts of functions count as the function */
};

/*
 * Parses keys separated by commas, at most one of them of symbols. Returns an error message, which
 * the caller frees; NULL: success.
 */
char *by_parse(const char *text, struct by *ret);
/* The same without keys of symbols. */
char *grouping_parse(const char *text, struct grouping *ret);
/* Parse the value of --by; errors are argp's. The options, if any, then refer to `ret`. */
void by_take(struct argp_state *state, const char *arg, struct by *ret, struct options *options);
void grouping_take(struct argp_state *state, const char *arg, struct grouping *ret,
		   struct options *options);

/* Tables have a row for each symbol, within each group. */
bool by_has_symbol_rows(const struct by *by);
/* "function", "module" … */
const char *symbols_by_name(enum symbols_by by);
/* "container, function"; the caller frees it. */
char *by_text(const struct by *by);

/* The keys of groups that are not labels, and of symbols; NULL-terminated. */
extern const char *const by_group_keys[];
extern const char *const by_symbol_keys[];

#endif
