/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/report/name_column.h"
#include "cli/report/report_callers.h"
#include "cli/report/report_tree.h"

/* List at most this many similar names if none matches. */
#define SIMILAR_MAX 8

/* ---- which functions ------------------------------------------------------------------------ */

struct search {
	const char *text; /* escaped, as names are */
	bool (*matches)(const char *name, const char *text);
	struct callees *callees;
	/* Instead of being callees. */
	char *similar;
	size_t n_similar;
};

static bool is_named(const char *name, const char *text)
{
	size_t length = strlen(text);

	return !strncmp(name, text, length) && (!name[length] || name[length] == '(');
}

static bool has_part(const char *name, const char *text)
{
	return strstr(name, text);
}

static void add_matching(void *context, struct symbol *symbol)
{
	struct search *search = context;

	if (symbol->pseudo || (!search->matches(symbol->name, search->text) &&
			       !search->matches(symbol_shown(symbol, true), search->text)))
		return;
	pointer_map_put(&search->callees->symbols, symbol, symbol);
	search->callees->count++;
}

static void record_similar(void *context, struct symbol *symbol)
{
	struct search *search = context;
	_cleanup_free_ char *before = NULL;

	if (symbol->pseudo || !strcasestr(symbol->name, search->text) ||
	    search->n_similar++ >= SIMILAR_MAX)
		return;
	before = search->similar;
	search->similar =
		memory_print("%s%s'%s'", before ? before : "", before ? ", " : "", symbol->name);
}

static void complain_of_none(const struct profiles *profiles, struct search *search)
{
	symbol_table_visit(&profiles->symbols, record_similar, search);
	if (search->similar)
		complain("--callers: no function name matches '%s'; similar names: %s%s",
			 search->text, search->similar,
			 search->n_similar > SIMILAR_MAX ? " and more" : "");
	else
		complain("--callers: no function name matches '%s'", search->text);
	free(search->similar);
}

bool callees_find(const struct profiles *profiles, const char *text, struct callees *ret)
{
	_cleanup_free_ char *escaped = text_escape(text, "");
	struct search search = { .text = escaped, .matches = is_named, .callees = ret };

	*ret = (struct callees){ 0 };
	symbol_table_visit(&profiles->symbols, add_matching, &search);
	if (ret->count)
		return true;
	search.matches = has_part;
	symbol_table_visit(&profiles->symbols, add_matching, &search);
	if (!ret->count)
		complain_of_none(profiles, &search);
	return ret->count;
}

void callees_free(struct callees *callees)
{
	pointer_map_free(&callees->symbols);
}

/* ---- the tree ------------------------------------------------------------------------------- */

struct turning {
	const struct callees *callees;
	const struct call_tree *from;
	size_t n_groups;
	uint32_t group; /* the innermost one that was entered; the root without groups */
	uint32_t place; /* of this group in the new tree */
	bool has_place;
	struct call_tree to;
	uint32_t *ends;
};

/* Adds the path from `node` up to its groups, which are the first levels of both trees. */
static void add_way_up(struct turning *turning, uint32_t node)
{
	const struct call_tree_node *nodes = turning->from->nodes;
	struct amount amount = nodes[node].total;
	uint32_t at = turning->place, from = node;

	for (; node != turning->group; node = nodes[node].parent)
		at = call_tree_child(&turning->to, at, nodes[node].key);
	amount_add(&turning->to.nodes[at].self, amount);
	if (turning->ends)
		turning->ends[from] = at;
}

/* The node's path from the root, which has `n` keys, in the new tree. */
static uint32_t copy_path(struct turning *turning, uint32_t node, size_t n)
{
	const struct call_tree_node *nodes = turning->from->nodes;
	const void *keys[GROUP_KEYS_MAX];
	uint32_t at = CALL_TREE_ROOT;

	for (size_t i = n; i; node = nodes[node].parent)
		keys[--i] = nodes[node].key;
	for (size_t i = 0; i < n; i++)
		at = call_tree_child(&turning->to, at, keys[i]);
	return at;
}

static int enter(void *context, uint32_t node, size_t depth)
{
	struct turning *turning = context;
	struct symbol *symbol = (struct symbol *)turning->from->nodes[node].key;

	if (depth == turning->n_groups) {
		turning->group = node;
		turning->has_place = false;
	}
	if (depth <= turning->n_groups || !pointer_map_get(&turning->callees->symbols, symbol) ||
	    symbol->on_path++)
		return 1;
	if (turning->n_groups && !turning->has_place)
		turning->place = copy_path(turning, turning->group, turning->n_groups);
	turning->has_place = true;
	add_way_up(turning, node);
	return 1;
}

static void leave(void *context, uint32_t node, size_t depth)
{
	struct turning *turning = context;
	struct symbol *symbol = (struct symbol *)turning->from->nodes[node].key;

	(void)depth;
	if (pointer_map_get(&turning->callees->symbols, symbol))
		symbol->on_path--;
}

void callers_make(const struct profiles *profiles, const struct profile *profile,
		  const struct callees *callees, struct call_tree *ret, uint32_t *ends)
{
	struct turning turning = {
		.ends = ends,
		.callees = callees,
		.from = &profile->tree,
		.n_groups = profiles->n_groups,
	};

	for (uint32_t i = 0; ends && i < profile->tree.n_nodes; i++)
		ends[i] = CALL_TREE_NONE;
	call_tree_init(&turning.to);
	turning.to.compare = symbol_compare;
	call_tree_walk(turning.from, enter, leave, &turning);
	call_tree_finish(&turning.to);
	*ret = turning.to;
}

void report_callers_print(const struct profiles *profiles, const struct profile *profile,
			  const struct callees *callees, uint64_t limit,
			  const struct output *output)
{
	struct tree_shares shares = {
		.all = profile->tree.nodes[CALL_TREE_ROOT].total.weight,
		.limit = limit,
		.without_self = true,
	};
	struct call_tree tree;

	callers_make(profiles, profile, callees, &tree, NULL);
	shares.limit_of = tree.nodes[CALL_TREE_ROOT].total.weight;
	fprintf(output->file, "# callers are shown below their callees; shares are of all %s\n",
		profile->is_time ? "time" : "samples");
	tree_draw(&tree, &shares, NULL, name_heads_of(profiles->symbols.by).head, output);
	call_tree_free(&tree);
}
