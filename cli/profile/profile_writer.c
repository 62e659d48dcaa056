/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/profile_file.h"

/* ---- functions: those that stacks have, by name ---------------------------------------------- */

struct functions {
	struct symbol **items;
	size_t n;
};

static void unmark(void *context, struct symbol *symbol)
{
	(void)context;
	symbol->number = 0;
}

static void mark_used(const struct call_tree *tree)
{
	for (uint32_t i = 1; i < tree->n_nodes; i++)
		((struct symbol *)tree->nodes[i].key)->number = 1;
}

static void collect(void *context, struct symbol *symbol)
{
	struct functions *functions = context;

	if (symbol->number)
		functions->items[functions->n++] = symbol;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *const *x = a, *const *y = b;

	return symbol_compare(*x, *y);
}

static struct functions number_functions(const struct profiles *profiles)
{
	struct functions functions = {
		.items = memory_resize(NULL, profiles->symbols.count + 1, sizeof(struct symbol *)),
	};

	symbol_table_visit(&profiles->symbols, unmark, NULL);
	for (size_t i = 0; i < profiles->count; i++)
		mark_used(&profiles->items[i].tree);
	symbol_table_visit(&profiles->symbols, collect, &functions);
	qsort(functions.items, functions.n, sizeof(*functions.items), compare_symbols);
	for (size_t i = 0; i < functions.n; i++)
		functions.items[i]->number = (uint32_t)i;
	return functions;
}

static void write_function(const struct symbol *symbol, FILE *file)
{
	char flags[5], *end = flags;

	if (symbol->kernel)
		*end++ = 'k';
	if (symbol->inlined)
		*end++ = 'i';
	if (symbol->pseudo)
		*end++ = 'p';
	else if (!symbol->function)
		*end++ = 'n';
	if (end == flags)
		*end++ = '-';
	*end = '\0';
	fprintf(file, "function\t%s\t%s\t%s\n", flags, symbol->name, symbol->module);
}

/* ---- all of it ------------------------------------------------------------------------------- */

const struct profile_number profile_total_numbers[] = {
	{ "captures", offsetof(struct profile_totals, captures) },
	{ "unread", offsetof(struct profile_totals, unread) },
	{ "problems", offsetof(struct profile_totals, problems) },
	{ "recorded", offsetof(struct profile_totals, recorded) },
	{ 0 },
};
const struct profile_number profile_quality_numbers[] = {
	{ "by_code", offsetof(struct quality, by_code) },
	{ "by_frame_pointer", offsetof(struct quality, by_frame_pointer) },
	{ "by_calls", offsetof(struct quality, by_calls) },
	{ "stack_cut", offsetof(struct quality, stack_cut) },
	{ "frames", offsetof(struct quality, frames) },
	{ "nameless", offsetof(struct quality, nameless) },
	{ 0 },
};

static void write_number(const char *name, uint64_t number, FILE *file)
{
	if (number)
		fprintf(file, "%s\t%" PRIu64 "\n", name, number);
}

static void write_numbers(const struct profile_number *numbers, const void *of, FILE *file)
{
	for (; numbers->name; numbers++)
		write_number(numbers->name, *(const uint64_t *)((const char *)of + numbers->offset),
			     file);
}

static void write_totals(const struct profile_totals *totals, FILE *file)
{
	write_numbers(profile_total_numbers, totals, file);
	for (int cause = 0; cause < REEL_LOSS_COUNT; cause++) {
		if (totals->lost[cause])
			fprintf(file, "lost\t%" PRIu64 "\t%s\n", totals->lost[cause],
				reel_loss_name(cause));
	}
}

static void write_quality(const struct quality *quality, FILE *file)
{
	for (int stop = 0; stop < REEL_STOP_COUNT; stop++) {
		if (quality->stops[stop])
			fprintf(file, "stop\t%" PRIu64 "\t%s\n", quality->stops[stop],
				reel_stop_name(stop));
	}
	write_number("kernel_alone", quality->without_stack, file);
	write_numbers(profile_quality_numbers, quality, file);
}

struct writing {
	const struct call_tree *tree;
	FILE *file;
};

static int write_node(void *context, uint32_t index, size_t depth)
{
	const struct writing *writing = context;
	const struct call_tree_node *node = &writing->tree->nodes[index];
	const struct symbol *symbol = node->key;

	fprintf(writing->file, "%zu %" PRIu32, depth, symbol->number);
	if (node->self.samples)
		fprintf(writing->file, " %" PRIu64 " %" PRIu64, node->self.samples,
			node->self.weight);
	putc_unlocked('\n', writing->file);
	return 1;
}

static int compare_events(const void *a, const void *b)
{
	const struct profile *x = a, *y = b;
	int order = strcmp(event_name(x->event), event_name(y->event));

	return order ? order : x->is_time - y->is_time;
}

static void write_profile(const struct profile *profile, FILE *file)
{
	_cleanup_free_ char *name = text_escape(event_name(profile->event), "");
	struct writing writing = { &profile->tree, file };

	fprintf(file, "event\t%s\t%s\n", profile->is_time ? "ns" : "count", name);
	write_quality(&profile->quality, file);
	call_tree_walk(&profile->tree, write_node, NULL, &writing);
}

void profile_file_write(struct profiles *profiles, const struct profile_totals *totals, FILE *file)
{
	struct functions functions;

	for (size_t i = 0; i < profiles->count; i++) {
		profiles->items[i].tree.by_key = true;
		call_tree_finish(&profiles->items[i].tree);
	}
	if (profiles->count)
		qsort(profiles->items, profiles->count, sizeof(*profiles->items), compare_events);
	functions = number_functions(profiles);
	fputs(PROFILE_SIGNATURE, file);
	write_totals(totals, file);
	for (size_t i = 0; i < functions.n; i++)
		write_function(functions.items[i], file);
	for (size_t i = 0; i < profiles->count; i++)
		write_profile(&profiles->items[i], file);
	fputs("end\n", file);
	free(functions.items);
}
