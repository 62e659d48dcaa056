/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/by.h"

const char *const by_symbol_keys[] = {
	[SYMBOLS_BY_FUNCTION] = "function", [SYMBOLS_BY_MODULE] = "module",
	[SYMBOLS_BY_LINE] = "line",	    [SYMBOLS_BY_SOURCE] = "source",
	[SYMBOLS_BY_ADDRESS] = "address",   NULL,
};
const char *const by_group_keys[] = {
	[GROUP_THREAD] = "thread", [GROUP_PROCESS] = "process",
	[GROUP_COMM] = "comm",	   [GROUP_HOST] = "host",
	[GROUP_STATE] = "state",   [GROUP_EVENT] = "event",
	[GROUP_CPU] = "cpu",	   NULL,
};

/* Returns the index of the name, or SIZE_MAX. */
static size_t find_name(const char *const *names, const char *name)
{
	for (size_t i = 0; names[i]; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return SIZE_MAX;
}

const char *symbols_by_name(enum symbols_by by)
{
	return by_symbol_keys[by];
}

bool by_has_symbol_rows(const struct by *by)
{
	return by->has_symbols || !by->groups.n;
}

char *by_text(const struct by *by)
{
	char *text = memory_print("%s", "");

	for (size_t i = 0; i < by->groups.n + by_has_symbol_rows(by); i++) {
		_cleanup_free_ char *before = text;

		text = memory_print("%s%s%s", before, i ? ", " : "",
				    i < by->groups.n ? by->groups.keys[i].name
						     : symbols_by_name(by->symbols));
	}
	return text;
}

/* ---- parsing ------------------------------------------------------------------------------ */

static char *list(char *before, const char *const *names)
{
	for (size_t i = 0; names[i]; i++) {
		_cleanup_free_ char *old = before;

		before = memory_print("%s%s%s", old, *old ? ", " : "", names[i]);
	}
	return before;
}

static char *complain_of(const char *name, bool with_symbols)
{
	_cleanup_free_ char *keys = memory_print("%s", "");

	if (with_symbols)
		keys = list(keys, by_symbol_keys);
	keys = list(keys, by_group_keys);
	keys = list(keys, reel_label_keys());
	return memory_print("invalid key '%s' (expected %s); for a variable, FUNC:EXPR", name,
			    keys);
}

static bool has_key(const struct grouping *grouping, const char *name)
{
	for (size_t i = 0; i < grouping->n; i++) {
		if (!strcmp(grouping->keys[i].name, name))
			return true;
	}
	return false;
}

/* FUNC:EXPR; returns NULL, or the problem. */
static char *add_variable(struct grouping *grouping, const char *name)
{
	struct reel_value_request *request = &grouping->requests[grouping->n_requests];
	char *problem = value_request_parse(name, false, request);

	if (!problem)
		grouping->keys[grouping->n++] =
			(struct group_key){ GROUP_VARIABLE, value_text_keep(name),
					    grouping->n_requests++ };
	return problem;
}

static char *add_group(struct grouping *grouping, const char *name, bool with_symbols)
{
	const char *expression = value_expression(name);
	const char *const *labels = reel_label_keys();
	size_t known = find_name(by_group_keys, name), label = find_name(labels, name);
	struct group_key key = { .kind = GROUP_LABEL };

	if (known == SIZE_MAX && label == SIZE_MAX && !expression &&
	    (!field_key_is(name) || find_name(by_symbol_keys, name) != SIZE_MAX))
		return complain_of(name, with_symbols);
	if (has_key(grouping, name))
		return memory_print("'%s' is given twice", name);
	if (grouping->n == GROUP_KEYS_MAX)
		return memory_print("more than %d keys", GROUP_KEYS_MAX);
	if (expression)
		return add_variable(grouping, name);
	if (known != SIZE_MAX)
		key = (struct group_key){ (enum group_kind)known, by_group_keys[known], 0 };
	else
		key.name = label != SIZE_MAX ? labels[label] : value_text_keep(name);
	grouping->keys[grouping->n++] = key;
	return NULL;
}

static char *add_key(struct by *by, const char *name, bool with_symbols)
{
	size_t symbols = with_symbols ? find_name(by_symbol_keys, name) : SIZE_MAX;

	if (symbols == SIZE_MAX)
		return add_group(&by->groups, name, with_symbols);
	if (by->has_symbols)
		return memory_print("'%s' and '%s' exclude each other",
				    symbols_by_name(by->symbols), name);
	by->symbols = (enum symbols_by)symbols;
	by->has_symbols = true;
	return NULL;
}

static char *parse(const char *text, bool with_symbols, struct by *ret)
{
	_cleanup_free_ char *names = memory_print("%s", text);
	char *rest = names, *name, *problem = NULL;

	*ret = (struct by){ 0 };
	while (!problem && (name = strsep(&rest, ",")))
		problem = add_key(ret, name, with_symbols);
	return problem;
}

char *by_parse(const char *text, struct by *ret)
{
	return parse(text, true, ret);
}

char *grouping_parse(const char *text, struct grouping *ret)
{
	struct by by;
	char *problem = parse(text, false, &by);

	*ret = by.groups;
	return problem;
}

static void want(const struct grouping *grouping, bool with_symbols, struct options *options)
{
	for (size_t i = 0; i < grouping->n; i++) {
		const char *name = grouping->keys[i].name;
		_cleanup_free_ char *problem = NULL, *complaint = NULL;

		if (grouping->keys[i].kind != GROUP_LABEL ||
		    find_name(reel_label_keys(), name) != SIZE_MAX)
			continue;
		problem = complain_of(name, with_symbols);
		complaint = memory_print("--by: %s", problem);
		options_add_field(options, name, complaint);
	}
	options->values = grouping->requests;
	options->n_values = grouping->n_requests;
}

void by_take(struct argp_state *state, const char *arg, struct by *ret, struct options *options)
{
	_cleanup_free_ char *problem = by_parse(arg, ret);

	if (problem)
		options_error(state, "--by: %s", problem);
	want(&ret->groups, true, options);
}

void grouping_take(struct argp_state *state, const char *arg, struct grouping *ret,
		   struct options *options)
{
	_cleanup_free_ char *problem = grouping_parse(arg, ret);

	if (problem)
		options_error(state, "--by: %s", problem);
	want(ret, false, options);
}
