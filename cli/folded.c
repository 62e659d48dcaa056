/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel folded: a line for each stack, `a;b;c 10`, for flamegraph.pl and its kin. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/pointer_map.h"
#include "cli/profile.h"
#include "cli/text.h"

enum {
	KEY_WEIGHT = OPTION_KEY_OWN,
	KEY_UNIT,
	KEY_NO_SUFFIX,
	KEY_WITH_COMM,
	KEY_ANNOTATE,
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
	bool with_comm;
	bool annotate;
};

/* ---- options ------------------------------------------------------------------------------ */

static const struct unit *unit_of(const char *name, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (!strcmp(name, units[i].name))
			return &units[i];
	}
	argp_error(state, "--unit wants ns, us, ms or s, not `%s'", name);
	return NULL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct folded_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case KEY_WEIGHT:
		options->by_time = !strcmp(arg, "time");
		if (!options->by_time && strcmp(arg, "samples") != 0)
			argp_error(state, "--weight wants samples or time, not `%s'", arg);
		return 0;
	case KEY_UNIT:
		options->unit = unit_of(arg, state);
		return 0;
	case KEY_NO_SUFFIX:
		options->no_suffix = true;
		return 0;
	case KEY_WITH_COMM:
		options->with_comm = true;
		return 0;
	case KEY_ANNOTATE:
		options->annotate = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "weight", KEY_WEIGHT, "WHAT", 0, "What the numbers are: samples (default) or time", 0 },
	{ "unit", KEY_UNIT, "UNIT", 0, "Of --weight=time: ns, us, ms (default) or s", 0 },
	{ "no-suffix", KEY_NO_SUFFIX, NULL, 0,
	  "Leave the unit out: flamegraph.pl wants bare numbers", 0 },
	{ "with-comm", KEY_WITH_COMM, NULL, 0, "Begin each stack with the thread's name", 0 },
	{ "annotate", KEY_ANNOTATE, NULL, 0,
	  "Mark kernel functions by _[k] and inlined ones by _[i], for flamegraph.pl's colours",
	  0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Prints each stack on a line, root first: `a;b;c 10'.\v"
	"FILE is " DEFAULT_CAPTURE
	" if not given, `-' is standard input. A trace that could not be "
	"unwound to its root begins with `[incomplete: reason]'.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- names -------------------------------------------------------------------------------- */

/* The key of a node here is its name as it is printed: different symbols may have one. */
struct names {
	const struct folded_options *options;
	/* Of a symbol. */
	struct pointer_map texts;
	/* By content; open addressing, a power of two, at most half full. */
	char **interned;
	size_t n_interned, n_slots;
};

static char *make_name(const struct names *names, const struct symbol *symbol)
{
	const char *mark = "";
	char *name;

	if (names->options->annotate && symbol->kernel)
		mark = "_[k]";
	else if (names->options->annotate && symbol->inlined)
		mark = "_[i]";
	name = memory_print("%s%s", symbol->name, mark);
	for (char *c = name; (c = strchr(c, ';'));)
		*c = ':';
	return name;
}

static char **slot_of_name(char **slots, size_t n_slots, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;
	size_t i;

	/* FNV-1a */
	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3;
	for (i = hash >> 20; slots[i & (n_slots - 1)]; i++) {
		if (!strcmp(slots[i & (n_slots - 1)], name))
			break;
	}
	return &slots[i & (n_slots - 1)];
}

static void grow_names(struct names *names)
{
	size_t n = names->n_slots ? names->n_slots * 2 : 256;
	char **slots = memory_get(n * sizeof(*slots));

	for (size_t i = 0; i < names->n_slots; i++) {
		if (names->interned[i])
			*slot_of_name(slots, n, names->interned[i]) = names->interned[i];
	}
	free(names->interned);
	names->interned = slots;
	names->n_slots = n;
}

/* For call_tree_map. */
static const void *name_of(void *context, const void *symbol)
{
	struct names *names = context;
	char *name = pointer_map_get(&names->texts, symbol), **slot;

	if (name)
		return name;
	if (names->n_interned * 2 >= names->n_slots)
		grow_names(names);
	name = make_name(names, symbol);
	slot = slot_of_name(names->interned, names->n_slots, name);
	if (*slot) {
		free(name);
	} else {
		*slot = name;
		names->n_interned++;
	}
	pointer_map_put(&names->texts, symbol, *slot);
	return *slot;
}

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n_slots; i++)
		free(names->interned[i]);
	free(names->interned);
	pointer_map_free(&names->texts);
}

/* ---- lines --------------------------------------------------------------------------------- */

/*
 * Lines stand in the order of their bytes.  A node's own line comes with its name as if that ended
 * there, and the lines of its children as if it went on with `;', which no name has: names between
 * these two come between.
 */
struct item {
	const char *name;
	uint32_t node;
	bool children;
};

/* What is left to print below one node. */
struct level {
	struct item *items;
	size_t n, next;
	size_t end; /* of the text of the node */
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

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const uint8_t *left = (const uint8_t *)x->name, *right = (const uint8_t *)y->name;
	int left_byte, right_byte;

	while (*left && *left == *right) {
		left++;
		right++;
	}
	left_byte = *left ? *left : x->children ? ';' : 0;
	right_byte = *right ? *right : y->children ? ';' : 0;
	return left_byte - right_byte;
}

/* The text of the levels ends at `end`. */
static void enter_level(struct folder *folder, uint32_t parent, size_t end)
{
	const struct call_tree_node *nodes = folder->tree->nodes;
	struct level *level;
	size_t n = 0;

	if (folder->n_levels == folder->levels_capacity) {
		folder->levels_capacity = folder->levels_capacity * 2 + 64;
		folder->levels = memory_resize(folder->levels, folder->levels_capacity,
					       sizeof(*folder->levels));
	}
	level = &folder->levels[folder->n_levels++];
	for (uint32_t i = nodes[parent].first_child; i != CALL_TREE_NONE; i = nodes[i].next_sibling)
		n++;
	*level = (struct level){ .items = memory_resize(NULL, 2 * n + 1, sizeof(*level->items)),
				 .end = end };
	for (uint32_t i = nodes[parent].first_child; i != CALL_TREE_NONE;
	     i = nodes[i].next_sibling) {
		if (nodes[i].self.samples)
			level->items[level->n++] = (struct item){ nodes[i].key, i, false };
		if (nodes[i].first_child != CALL_TREE_NONE)
			level->items[level->n++] = (struct item){ nodes[i].key, i, true };
	}
	if (level->n)
		qsort(level->items, level->n, sizeof(*level->items), compare_items);
}

/* All digits, without zeros at the end: sums of the lines are exact. */
static void print_time(uint64_t ns, const struct unit *unit, bool suffix, FILE *file)
{
	uint64_t rest = ns % unit->ns;

	fprintf(file, "%" PRIu64, ns / unit->ns);
	if (rest) {
		char digits[24];
		int n = snprintf(digits, sizeof(digits), "%" PRIu64, unit->ns + rest);

		while (digits[n - 1] == '0')
			n--;
		/* The leading 1 stands for the point. */
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

/* Puts the name, and a `;' where more is to follow, behind what ends at `at`. */
static size_t put_name(struct folder *folder, size_t at, const struct item *item)
{
	size_t size = strlen(item->name);

	if (at + size + 1 > folder->capacity) {
		folder->capacity = (at + size + 1) * 2;
		folder->text = memory_resize(folder->text, folder->capacity, 1);
	}
	memcpy(folder->text + at, item->name, size);
	at += size;
	if (item->children)
		folder->text[at++] = ';';
	return at;
}

/* No recursion: stacks are as deep as files say. */
static void print_lines(struct folder *folder)
{
	enter_level(folder, CALL_TREE_ROOT, 0);
	while (folder->n_levels) {
		struct level *level = &folder->levels[folder->n_levels - 1];
		const struct item *item = &level->items[level->next++];
		size_t end;

		if (level->next > level->n) {
			free(level->items);
			folder->n_levels--;
			continue;
		}
		end = put_name(folder, level->end, item);
		if (item->children)
			enter_level(folder, item->node, end);
		else
			print_line(folder, end, folder->tree->nodes[item->node].self);
	}
}

static void print_profile(const struct folded_options *options, const struct profile *profile,
			  FILE *file)
{
	struct names names = { .options = options };
	struct call_tree tree;
	struct folder folder = { .options = options, .tree = &tree, .file = file };

	call_tree_map(&profile->tree, name_of, &names, false, &tree);
	call_tree_finish(&tree);
	print_lines(&folder);
	call_tree_free(&tree);
	names_free(&names);
	free(folder.levels);
	free(folder.text);
}

/* ---- the command --------------------------------------------------------------------------------
 */

/* The numbers of two events must not be added up, so there is one profile. */
static const struct profile *choose_profile(const struct folded_options *options,
					    const struct profiles *profiles, bool *ok_ret)
{
	const struct profile *profile = profiles->count ? &profiles->items[0] : NULL;
	_cleanup_free_ char *name = NULL;

	*ok_ret = true;
	if (!profile)
		return NULL;
	name = text_escape(event_name(profile->event), "");
	if (profiles->count > 1 && !options->common.quiet)
		complain("samples of %zu events: only those of %s are shown (--event chooses)",
			 profiles->count, name);
	if (options->by_time && !profile->is_time) {
		complain("--weight=time: %s counts, it does not measure time", name);
		*ok_ret = false;
	}
	return profile;
}

static int folded(const struct folded_options *options, struct session *session)
{
	struct profiles profiles;
	struct output output;
	int status = STATUS_ERROR;
	bool ok;

	profiles_init(&profiles, options->with_comm ? GROUP_COMM : GROUP_NONE, false, true);
	if (session_visit(session, profiles_add, &profiles)) {
		const struct profile *profile;

		profiles_finish(&profiles);
		session_warn(session);
		profile = choose_profile(options, &profiles, &ok);
		if (ok && output_open(&output, options->common.output)) {
			if (profile)
				print_profile(options, profile, output.file);
			status = output_close(&output, session_status(session));
		}
	}
	profiles_free(&profiles);
	return status;
}

int command_folded(int argc, char **argv)
{
	struct folded_options options = { .unit = &units[2] };
	struct session session;
	int status = STATUS_ERROR;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	if (session_open(&session, &options.common))
		status = folded(&options, &session);
	session_close(&session);
	options_free(&options.common);
	return status;
}
