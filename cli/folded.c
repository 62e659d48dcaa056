/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel folded: a line for each stack, `a;b;c 10`, for flamegraph.pl and its kin. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
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

/* ---- lines ----------------------------------------------------------------------------------- */

/* A stack as text, with room for more frames behind it. */
struct folder {
	const struct folded_options *options;
	const struct call_tree *tree;
	char *text;
	size_t capacity;
	/* Where the text of each depth ends. */
	size_t *ends;
	size_t ends_capacity;
	struct line *lines;
	size_t n_lines, lines_capacity;
};

struct line {
	char *stack;
	struct amount amount;
};

static size_t put_text(struct folder *folder, size_t at, const char *text)
{
	size_t size = strlen(text);

	if (at + size + 1 > folder->capacity) {
		folder->capacity = (at + size + 1) * 2;
		folder->text = memory_resize(folder->text, folder->capacity, 1);
	}
	for (size_t i = 0; i < size; i++)
		folder->text[at + i] = text[i] == ';' ? ':' : text[i];
	folder->text[at + size] = '\0';
	return at + size;
}

static size_t put_symbol(struct folder *folder, size_t at, const struct symbol *symbol)
{
	at = put_text(folder, at, symbol->name);
	if (folder->options->annotate && symbol->kernel)
		at = put_text(folder, at, "_[k]");
	else if (folder->options->annotate && symbol->inlined)
		at = put_text(folder, at, "_[i]");
	return at;
}

static int fold(void *context, uint32_t node, size_t depth)
{
	struct folder *folder = context;
	const struct call_tree_node *found = &folder->tree->nodes[node];
	size_t at = 0;

	if (depth >= folder->ends_capacity) {
		folder->ends_capacity = depth * 2 + 64;
		folder->ends =
			memory_resize(folder->ends, folder->ends_capacity, sizeof(*folder->ends));
	}
	if (depth > 1) {
		at = put_text(folder, folder->ends[depth - 1], " ");
		folder->text[at - 1] = ';';
	}
	folder->ends[depth] = put_symbol(folder, at, found->key);
	if (!found->self.samples)
		return 1;
	if (folder->n_lines == folder->lines_capacity) {
		folder->lines_capacity = folder->lines_capacity * 2 + 64;
		folder->lines = memory_resize(folder->lines, folder->lines_capacity,
					      sizeof(*folder->lines));
	}
	folder->lines[folder->n_lines++] = (struct line){
		.stack = memory_print("%s", folder->text),
		.amount = found->self,
	};
	return 1;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->stack, y->stack);
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

static void print_lines(const struct folder *folder, FILE *file)
{
	const struct folded_options *options = folder->options;

	for (size_t i = 0; i < folder->n_lines; i++) {
		struct line line = folder->lines[i];

		/* Different symbols can have one text, such as the same name in two modules. */
		while (i + 1 < folder->n_lines && !strcmp(folder->lines[i + 1].stack, line.stack))
			amount_add(&line.amount, folder->lines[++i].amount);
		fputs(line.stack, file);
		fputc(' ', file);
		if (options->by_time)
			print_time(line.amount.weight, options->unit, !options->no_suffix, file);
		else
			fprintf(file, "%" PRIu64, line.amount.samples);
		fputc('\n', file);
	}
}

static void print_profile(const struct folded_options *options, const struct profile *profile,
			  FILE *file)
{
	struct folder folder = { .options = options, .tree = &profile->tree };

	call_tree_walk(&profile->tree, fold, NULL, &folder);
	if (folder.n_lines)
		qsort(folder.lines, folder.n_lines, sizeof(*folder.lines), compare_lines);
	print_lines(&folder, file);
	for (size_t i = 0; i < folder.n_lines; i++)
		free(folder.lines[i].stack);
	free(folder.lines);
	free(folder.ends);
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
