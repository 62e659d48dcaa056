/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/report/report_programs.h"

#define SHOWN 6

struct program {
	const char *name;
	struct amount amount;
};

/* The key of samples whose event the capture does not define. */
static const char no_event;

void programs_init(struct programs *programs)
{
	symbol_table_init(&programs->symbols, SYMBOLS_BY_FUNCTION);
	groups_init(&programs->processes, (struct group_key){ GROUP_PROCESS, "process", 0 });
	call_tree_init(&programs->tree);
}

void programs_free(struct programs *programs)
{
	call_tree_free(&programs->tree);
	groups_free(&programs->processes);
	symbol_table_free(&programs->symbols);
}

static const void *key_of(const struct reel_event_info *event)
{
	return event ? (const void *)event : &no_event;
}

void programs_add(struct programs *programs, const struct reel_trace *trace,
		  const struct reel_event_info *event)
{
	struct call_tree *tree = &programs->tree;
	uint32_t node = call_tree_child(tree, CALL_TREE_ROOT, key_of(event));

	node = call_tree_child(tree, node,
			       groups_find(&programs->processes, &programs->symbols, trace, event));
	amount_add(&tree->nodes[node].self, (struct amount){ trace->weight, 1 });
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct program *)a)->name, ((const struct program *)b)->name);
}

static int compare_amounts(const void *a, const void *b)
{
	const struct amount *x = &((const struct program *)a)->amount;
	const struct amount *y = &((const struct program *)b)->amount;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return compare_names(a, b);
}

static int compare_symbols(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct group *)a)->symbol;
	uintptr_t y = (uintptr_t)((const struct group *)b)->symbol;

	return (x > y) - (x < y);
}

/* By symbol. The caller frees them. */
static struct group *sorted_processes(const struct groups *processes)
{
	struct group *sorted = memory_get((processes->n_tasks + 1) * sizeof(*sorted));

	for (size_t i = 0; i < processes->n_tasks; i++)
		sorted[i] = processes->tasks[i];
	if (processes->n_tasks)
		qsort(sorted, processes->n_tasks, sizeof(*sorted), compare_symbols);
	return sorted;
}

/* Processes of the same name are one program. The caller frees them. */
static struct program *find_programs(const struct programs *programs, const void *event,
				     size_t *n_ret)
{
	const struct call_tree *tree = &programs->tree;
	struct program *found = memory_get((tree->n_nodes + 1) * sizeof(*found));
	size_t n = 0, merged = 0, n_processes = programs->processes.n_tasks;
	_cleanup_free_ struct group *processes = sorted_processes(&programs->processes);

	for (uint32_t i = 1; i < tree->n_nodes; i++) {
		const struct call_tree_node *node = &tree->nodes[i];
		struct group wanted = { .symbol = (struct symbol *)node->key };
		const struct group *group;

		if (node->parent == CALL_TREE_ROOT || tree->nodes[node->parent].key != event)
			continue;
		group = bsearch(&wanted, processes, n_processes, sizeof(wanted), compare_symbols);
		found[n++] = (struct program){ group ? group->comm : "", node->self };
	}
	if (n)
		qsort(found, n, sizeof(*found), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (merged && !strcmp(found[merged - 1].name, found[i].name))
			amount_add(&found[merged - 1].amount, found[i].amount);
		else
			found[merged++] = found[i];
	}
	if (merged)
		qsort(found, merged, sizeof(*found), compare_amounts);
	*n_ret = merged;
	return found;
}

/* Where weights are unknown, samples count. */
static struct short_text share_of(struct amount amount, struct amount all)
{
	return all.weight ? format_share(amount.weight, all.weight)
			  : format_share(amount.samples, all.samples);
}

void programs_print(const struct programs *programs, const struct reel_event_info *event,
		    FILE *file)
{
	struct amount all = { 0 }, rest = { 0 };
	size_t n;
	_cleanup_free_ struct program *found = find_programs(programs, key_of(event), &n);

	for (size_t i = 0; i < n; i++) {
		amount_add(&all, found[i].amount);
		if (i >= SHOWN)
			amount_add(&rest, found[i].amount);
	}
	if (n < 2)
		return;
	fputs("# programs: ", file);
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		_cleanup_free_ char *name = text_escape(found[i].name, "");

		fprintf(file, "%s%s %s", i ? ", " : "", *name ? name : "[no name]",
			share_of(found[i].amount, all).text);
	}
	if (n > SHOWN)
		fprintf(file, ", %zu more %s", n - SHOWN, share_of(rest, all).text);
	fputs(" (--by process lists them)\n", file);
}
