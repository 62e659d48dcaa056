/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel folded: a line for each stack, `a;b;c 10`, for flamegraph.pl and its kin. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/profile/profile_view.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

enum {
	KEY_WEIGHT = OPTION_KEY_OWN,
	KEY_UNIT,
	KEY_WITH_COMM,
	KEY_BY,
};

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
};

struct folded_options {
	struct options common;
	bool by_time;
	const struct unit *unit;
	bool no_suffix;
	struct grouping groups;
	bool annotate;
};

/* ---- options ------------------------------------------------------------------------------ */

static const struct unit *unit_of(const char *name, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (!strcmp(name, units[i].name))
			return &units[i];
	}
	options_error(state, "--unit: invalid unit '%s' (expected ns, us, ms or s)", name);
	return NULL;
}

static error_t parse_folded_option(int key, char *arg, struct argp_state *state)
{
	struct folded_options *options = state->input;

	switch (key) {
	case KEY_WEIGHT:
		options->by_time = !strcmp(arg, "time");
		if (!options->by_time && strcmp(arg, "samples") != 0)
			options_error(state,
				      "--weight: invalid weight '%s' (expected samples or time)",
				      arg);
		return 0;
	case KEY_UNIT:
		options->unit = unit_of(arg, state);
		return 0;
	case KEY_WITH_COMM:
		grouping_take(state, "comm", &options->groups, &options->common);
		return 0;
	case KEY_BY:
		grouping_take(state, arg, &options->groups, &options->common);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "weight", KEY_WEIGHT, "WHAT", 0, "Print samples (default) or time as numbers", 0 },
	{ "unit", KEY_UNIT, "UNIT", 0, "Print time in UNIT: ns, us, ms (default) or s", 0 },
	{ "no-suffix", OPTION_FLAG(struct folded_options, no_suffix), NULL, 0,
	  "Do not print the unit, for flamegraph.pl", 0 },
	{ "by", KEY_BY, "KEY,...", 0,
	  "Begin each stack with its thread, process, comm, host, state, event, cpu, or a label "
	  "such as lock or container; or with several of these",
	  0 },
	{ "with-comm", KEY_WITH_COMM, NULL, 0, "Begin each stack with the thread's name: --by=comm",
	  0 },
	{ "annotate", OPTION_FLAG(struct folded_options, annotate), NULL, 0,
	  "Mark kernel functions by _[k] and inlined ones by _[i], for flamegraph.pl's colours",
	  0 },
	OPTION_NAMES("full"),
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_folded_option,
	.args_doc = "[FILE]",
	.doc = "Print one line per stack, root first: 'a;b;c 10'.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. A trace that could not be unwound to its root begins with "
	       "'[incomplete: reason]'.",
	.children = options_of_shards,
};

/* ---- lines --------------------------------------------------------------------------------- */

/*
 * Lines are in byte order. A node's own line sorts by its name alone, and its callees' lines by the
 * name followed by `;', which no name contains: names between the two sort between them.
 */
struct item {
	const char *name;
	uint32_t node;
	bool goes_on;
};

/* The remaining items below one node. */
struct level {
	struct item *items;
	size_t n, next;
	size_t end; /* end of the node's text */
};

struct folder {
	const struct folded_options *options;
	const struct call_tree *tree;
	FILE *file;
	char *text;
	size_t capacity;
	struct level *levels;
	size_t n_levels, levels_capacity;
};

static const char *name_of(const void *key)
{
	const struct symbol *symbol = key;

	return symbol->name;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const uint8_t *left = (const uint8_t *)x->name, *right = (const uint8_t *)y->name;
	int left_byte, right_byte;

	while (*left && *left == *right) {
		left++;
		right++;
	}
	left_byte = *left ? *left : x->goes_on ? ';' : 0;
	right_byte = *right ? *right : y->goes_on ? ';' : 0;
	return left_byte - right_byte;
}

/* The text of the levels ends at `end`. */
static void enter_level(struct folder *folder, uint32_t parent, size_t end)
{
	const struct call_tree_node *nodes = folder->tree->nodes;
	struct level *level;
	size_t n = 0;

	folder->levels = memory_reserve(folder->levels, &folder->levels_capacity, folder->n_levels,
					sizeof(*folder->levels));
	level = &folder->levels[folder->n_levels++];
	for (uint32_t i = nodes[parent].first_child; i != CALL_TREE_NONE; i = nodes[i].next_sibling)
		n++;
	*level = (struct level){ .items = memory_resize(NULL, 2 * n + 1, sizeof(*level->items)),
				 .end = end };
	for (uint32_t i = nodes[parent].first_child; i != CALL_TREE_NONE;
	     i = nodes[i].next_sibling) {
		const char *name = name_of(nodes[i].key);

		if (nodes[i].self.samples)
			level->items[level->n++] = (struct item){ name, i, false };
		if (nodes[i].tail || nodes[i].first_child != CALL_TREE_NONE)
			level->items[level->n++] = (struct item){ name, i, true };
	}
	if (level->n)
		qsort(level->items, level->n, sizeof(*level->items), compare_items);
}

/* All digits, without trailing zeros: sums of the lines are exact. */
static void print_time(uint64_t ns, const struct unit *unit, bool suffix, FILE *file)
{
	uint64_t rest = ns % unit->ns;

	fprintf(file, "%" PRIu64, ns / unit->ns);
	if (rest) {
		char digits[24];
		int n = snprintf(digits, sizeof(digits), "%" PRIu64, unit->ns + rest);

		while (digits[n - 1] == '0')
			n--;
		/* Print the point in place of the leading 1. */
		fprintf(file, ".%.*s", n - 1, digits + 1);
	}
	if (suffix)
		fputs(unit->name, file);
}

static void print_line(const struct folder *folder, size_t size, struct amount amount)
{
	const struct folded_options *options = folder->options;

	fwrite_unlocked(folder->text, 1, size, folder->file);
	fputc_unlocked(' ', folder->file);
	if (options->by_time)
		print_time(amount.weight, options->unit, !options->no_suffix, folder->file);
	else
		fprintf(folder->file, "%" PRIu64, amount.samples);
	fputc_unlocked('\n', folder->file);
}

/* Appends the name at `at`, with a `;' if more follows. */
static size_t append_name(struct folder *folder, size_t at, const char *name, bool goes_on)
{
	size_t size = strlen(name);

	folder->text = memory_reserve(folder->text, &folder->capacity, at + size, 1);
	memcpy(folder->text + at, name, size);
	at += size;
	if (goes_on)
		folder->text[at++] = ';';
	return at;
}

static void print_tail(struct folder *folder, const struct call_tree_tail *tail, size_t at)
{
	const void *const *keys = folder->tree->tail_keys + tail->first;

	for (size_t i = 0; i < tail->n; i++)
		at = append_name(folder, at, name_of(keys[i]), i + 1 < tail->n);
	print_line(folder, at, tail->self);
}

static void print_item(struct folder *folder, const struct item *item, size_t at)
{
	const struct call_tree_node *node = &folder->tree->nodes[item->node];

	at = append_name(folder, at, item->name, item->goes_on);
	if (!item->goes_on)
		print_line(folder, at, node->self);
	else if (node->tail)
		print_tail(folder, &folder->tree->tails[node->tail], at);
	else
		enter_level(folder, item->node, at);
}

/* Not recursive: files determine the depth of stacks. */
static void print_lines(struct folder *folder)
{
	enter_level(folder, CALL_TREE_ROOT, 0);
	while (folder->n_levels) {
		struct level *level = &folder->levels[folder->n_levels - 1];

		if (level->next < level->n) {
			print_item(folder, &level->items[level->next++], level->end);
		} else {
			free(level->items);
			folder->n_levels--;
		}
	}
}

static void print_profile(const struct folded_options *options, const struct profile *profile,
			  FILE *file)
{
	struct folder folder = { .options = options, .tree = &profile->tree, .file = file };

	print_lines(&folder);
	free(folder.levels);
	free(folder.text);
}

/* ---- the command ---------------------------------------------------------------------------- */

/* The numbers of two events must not be added up, so choose one profile. */
static const struct profile *choose_profile(const struct folded_options *options,
					    const struct profiles *profiles, bool *ok_ret)
{
	const struct profile *profile = profiles->count ? &profiles->items[0] : NULL;
	const char *name;

	*ok_ret = true;
	if (!profile)
		return NULL;
	name = event_name(profile->event);
	if (profiles->count > 1 && !options->common.quiet)
		complain("samples of %zu events, showing only %s (use --event to choose)",
			 profiles->count, name);
	if (options->by_time && !profile->is_time) {
		complain("--weight=time: event %s is a count, not a time", name);
		*ok_ret = false;
	}
	return profile;
}

static void init_profiles(struct profiles *profiles, const struct folded_options *options)
{
	const struct by by = {
		.groups = options->groups,
		.symbols = options->annotate ? SYMBOLS_BY_NAME_ANNOTATED : SYMBOLS_BY_NAME,
	};

	profiles_init(profiles, &by, true);
	profiles->symbols.short_names = options->common.short_names;
}

/* Returns the exit status, which is `status` if all was written. */
static int print(const struct folded_options *options, const struct profiles *profiles, int status)
{
	const struct profile *profile;
	struct output output;
	bool ok;

	profile = choose_profile(options, profiles, &ok);
	if (!ok || !output_open(&output, options->common.output))
		return STATUS_ERROR;
	if (profile)
		print_profile(options, profile, output.file);
	return output_close(&output, status);
}

static int folded(const struct folded_options *options, struct session *session)
{
	struct profiles profiles;
	int status = STATUS_ERROR;

	init_profiles(&profiles, options);
	if (session_visit(session, profiles_add, &profiles) &&
	    groups_have_labels(profiles.groups, profiles.n_groups, session)) {
		profiles_finish(&profiles);
		session_warn(session);
		status = print(options, &profiles, session_status(session));
	}
	profiles_free(&profiles);
	return status;
}

/* The file is a profile from `stackreel aggregate`. */
static int fold_profile(const struct folded_options *options)
{
	struct profile_view view;
	struct profiles profiles;
	int status = STATUS_ERROR;

	if (options->groups.n) {
		complain("%s: a profile has no threads or labels; remove --by and --with-comm",
			 options->common.file);
		return STATUS_ERROR;
	}
	init_profiles(&profiles, options);
	if (profile_view_open(&view, &options->common, &profiles))
		status = print(options, &profiles, quality_status(&view.quality, &options->common));
	profiles_free(&profiles);
	return status;
}

int command_folded(int argc, char **argv)
{
	struct folded_options options = { .unit = &units[2] };
	struct session session;
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &options);
	if (profile_file_is(options.common.file)) {
		status = fold_profile(&options);
	} else {
		if (session_open(&session, &options.common))
			status = folded(&options, &session);
		session_close(&session);
	}
	options_free(&options.common);
	return status;
}
