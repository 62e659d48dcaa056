/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/browse/page.h"
#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "cli/report/name_column.h"
#include "cli/report/report_tree.h"

#define LEVEL_WIDTH 2
/* Deeper levels are not indented further, for lack of room. */
#define LEVELS_SHOWN 24

struct tree_row {
	uint32_t node;
	unsigned int level;
	bool continues; /* its parent calls nothing else: directly below it, without a share */
};

struct tree_page {
	struct page page;
	const struct call_tree *tree;
	struct call_tree own; /* if `tree` points here */
	struct tree_shares shares;
	const char *head;
	uint64_t limit;
	const struct tree_courses *courses;
	struct tree_courses own_courses; /* if `courses` points here */
	bool *is_open;			 /* expanded nodes */
	bool *is_matched;		 /* the node or a descendant matches the filter */
	struct tree_row *rows;
	size_t capacity;
};

/* ---- which rows --------------------------------------------------------------------------- */

static bool is_shown(const struct tree_page *page, uint32_t node)
{
	return page->is_matched[node] &&
	       percent_of(page->tree->nodes[node].total.weight, page->shares.all) >= page->limit;
}

static uint32_t shown_from(const struct tree_page *page, uint32_t node)
{
	while (node != CALL_TREE_NONE && !is_shown(page, node))
		node = page->tree->nodes[node].next_sibling;
	return node;
}

static uint32_t first_child(const struct tree_page *page, uint32_t node)
{
	return shown_from(page, page->tree->nodes[node].first_child);
}

static uint32_t next_sibling(const struct tree_page *page, uint32_t node)
{
	return shown_from(page, page->tree->nodes[node].next_sibling);
}

static void add_row(struct tree_page *page, uint32_t node, unsigned int level, bool continues)
{
	page->rows =
		memory_reserve(page->rows, &page->capacity, page->page.n_rows, sizeof(*page->rows));
	page->rows[page->page.n_rows++] = (struct tree_row){ node, level, continues };
}

/* The next node of the walk after a node's subtree, and the number of levels up to it. */
static uint32_t behind(const struct tree_page *page, uint32_t node, size_t *depth)
{
	uint32_t next;

	while ((next = next_sibling(page, node)) == CALL_TREE_NONE) {
		node = page->tree->nodes[node].parent;
		if (node == CALL_TREE_ROOT)
			return CALL_TREE_NONE;
		--*depth;
	}
	return next;
}

static void make_rows(struct tree_page *page)
{
	_cleanup_free_ unsigned int *levels = NULL; /* of this node's ancestors */
	size_t depth = 0, capacity = 0;
	uint32_t node = first_child(page, CALL_TREE_ROOT);
	bool is_filtered = *page->page.filter;

	page->page.n_rows = 0;
	while (node != CALL_TREE_NONE) {
		bool continues = depth && tree_continues_parent(page->tree, node);
		uint32_t child = first_child(page, node);

		levels = memory_reserve(levels, &capacity, depth, sizeof(*levels));
		levels[depth] = depth ? levels[depth - 1] + !continues : 0;
		add_row(page, node, levels[depth], continues);
		if (child != CALL_TREE_NONE && (is_filtered || page->is_open[node])) {
			depth++;
			node = child;
		} else {
			node = behind(page, node, &depth);
		}
	}
}

static void filter(struct page *base)
{
	struct tree_page *page = (struct tree_page *)base;
	const struct call_tree_node *nodes = page->tree->nodes;

	for (uint32_t i = page->tree->n_nodes; i-- > 1;) {
		page->is_matched[i] |= symbol_has(nodes[i].key, base->filter);
		page->is_matched[nodes[i].parent] |= page->is_matched[i];
	}
}

static void refilter(struct page *base)
{
	struct tree_page *page = (struct tree_page *)base;

	memset(page->is_matched, 0, page->tree->n_nodes);
	filter(base);
	make_rows(page);
}

/* ---- opening and closing ------------------------------------------------------------------ */

/* Expands the node, and its descendants while each has a single child. */
static void open_node(struct tree_page *page, uint32_t node)
{
	const struct call_tree_node *nodes = page->tree->nodes;

	do {
		page->is_open[node] = true;
		node = nodes[node].first_child;
	} while (node != CALL_TREE_NONE && tree_continues_parent(page->tree, node));
}

/* Expands or collapses a node and all its descendants; the root stays open. */
static void open_below(struct tree_page *page, uint32_t top, bool is_open)
{
	_cleanup_free_ bool *is_below = memory_get(page->tree->n_nodes);

	is_below[top] = true;
	if (top != CALL_TREE_ROOT)
		page->is_open[top] = is_open;
	for (uint32_t i = top + 1; i < page->tree->n_nodes; i++) {
		is_below[i] = is_below[page->tree->nodes[i].parent];
		if (is_below[i])
			page->is_open[i] = is_open;
	}
}

/* Expands the heaviest path while it has more than half of all. */
static void open_hottest(struct tree_page *page)
{
	const struct call_tree_node *nodes = page->tree->nodes;
	uint32_t node = nodes[CALL_TREE_ROOT].first_child;

	/* A single node at the root is the function that the tree is for. */
	if (node != CALL_TREE_NONE && nodes[node].next_sibling == CALL_TREE_NONE)
		open_node(page, node);
	while (node != CALL_TREE_NONE && nodes[node].total.weight > page->shares.all / 2) {
		open_node(page, node);
		node = nodes[node].first_child;
	}
}

static void choose_node(struct tree_page *page, uint32_t node)
{
	for (size_t i = 0; i < page->page.n_rows; i++) {
		if (page->rows[i].node == node)
			page->page.row = i;
	}
}

/* Collapses the node, or moves to its parent. */
static void leave(struct tree_page *page, const struct tree_row *row)
{
	uint32_t parent = page->tree->nodes[row->node].parent;

	if (page->is_open[row->node] && first_child(page, row->node) != CALL_TREE_NONE) {
		page->is_open[row->node] = false;
		make_rows(page);
	} else if (parent != CALL_TREE_ROOT) {
		choose_node(page, parent);
	}
}

static void toggle(struct tree_page *page, uint32_t node)
{
	if (page->is_open[node])
		page->is_open[node] = false;
	else
		open_node(page, node);
}

static bool press(struct page *base, int key)
{
	struct tree_page *page = (struct tree_page *)base;
	struct tree_row row = base->n_rows ? page->rows[base->row] : (struct tree_row){ 0 };

	if (!base->n_rows)
		return false;
	switch (key) {
	case PRESSED_RETURN:
	case '+':
		toggle(page, row.node);
		break;
	case PRESSED_TO_RIGHT:
		open_node(page, row.node);
		break;
	case PRESSED_TO_LEFT:
	case '-':
		leave(page, &row);
		return true;
	case 'e':
		open_below(page, row.node, !page->is_open[row.node]);
		break;
	case 'E':
	case 'C':
		open_below(page, CALL_TREE_ROOT, key == 'E');
		break;
	default:
		return false;
	}
	make_rows(page);
	choose_node(page, row.node);
	return true;
}

/* ---- printing ----------------------------------------------------------------------------- */

static void print_head(const struct page *page, const struct output *output)
{
	const struct tree_page *of = (const struct tree_page *)page;
	_cleanup_free_ char *head =
		has_courses(output) ? memory_print("%-*s  %s", COURSE_COLUMNS, "COURSE", of->head)
				    : memory_print("%s", of->head);

	tree_print_head(&of->shares, head, output);
	fputc('\n', output->file);
}

static void print_course(const struct tree_page *page, const struct tree_row *row, FILE *file)
{
	if (row->continues || !page->courses->columns)
		fprintf(file, "%*s", COURSE_COLUMNS, "");
	else
		tree_course_print(page->courses->columns[row->node], file);
	fputs("  ", file);
}

static void print_row(const struct page *base, size_t index, const struct output *output)
{
	const struct tree_page *page = (const struct tree_page *)base;
	const struct tree_row *row = &page->rows[index];
	const struct symbol *symbol = page->tree->nodes[row->node].key;
	unsigned int level = row->level < LEVELS_SHOWN ? row->level : LEVELS_SHOWN;
	bool is_open = page->is_open[row->node] || *base->filter;
	const char *module = path_base(symbol->module);
	/* Before the name, the branch's sign; after it, the module. */
	size_t used = tree_numbers_width(&page->shares, output) + level * LEVEL_WIDTH + 2 +
		      (*module ? text_width(module) + 2 : 0) +
		      (has_courses(output) ? COURSE_COLUMNS + 2 : 0);

	tree_print_numbers(page->tree, &page->shares, row->node, row->continues, output);
	if (has_courses(output))
		print_course(page, row, output->file);
	fprintf(output->file, "%*s%s ", (int)(level * LEVEL_WIDTH), "",
		first_child(page, row->node) == CALL_TREE_NONE ? " "
		: is_open				       ? "-"
							       : "+");
	symbol_print(symbol, name_room(used, output), output);
	if (*module)
		fprintf(output->file, "%s  %s%s", color_dim(output), module, color_end(output));
	fputc('\n', output->file);
}

static const struct symbol *symbol(const struct page *page, size_t row)
{
	const struct tree_page *tree = (const struct tree_page *)page;

	return tree->tree->nodes[tree->rows[row].node].key;
}

/* ---- making ------------------------------------------------------------------------------- */

static void free_tree(struct page *base)
{
	struct tree_page *page = (struct tree_page *)base;

	if (page->tree == &page->own)
		call_tree_free(&page->own);
	tree_courses_free(&page->own_courses);
	free(page->is_open);
	free(page->is_matched);
	free(page->rows);
	free(page);
}

static const struct page_kind kind = { print_head, print_row, symbol,	NULL,
				       press,	   refilter,  free_tree };

/*
 * `ends`: for each node of the sums, the node of `tree` where its samples end; NONE: its caller's.
 * With `all`, they end at its callers' as well.
 */
static void make_courses(const struct sums *sums, const struct call_tree *tree,
			 const uint32_t *ends, bool all, struct tree_courses *ret)
{
	const struct call_tree_node *nodes = sums->profile->tree.nodes;
	_cleanup_free_ struct course_part *parts = NULL;
	size_t n = 0, capacity = 0;

	for (size_t i = 0; i < sums->log.n; i++) {
		struct course_part part = sums->log.parts[i];

		for (uint32_t node = part.end; node != CALL_TREE_ROOT; node = nodes[node].parent) {
			if (ends[node] == CALL_TREE_NONE)
				continue;
			part.end = ends[node];
			parts = memory_reserve(parts, &capacity, n, sizeof(part));
			parts[n++] = part;
			if (!all)
				break;
		}
	}
	tree_courses_make(ret, tree, &sums->log, parts, n);
}

/* Takes ownership of `own` if `tree` is NULL; `ends` and `all` are then as
 * above. */
static struct page *make(const struct page_source *source, char *title,
			 const struct call_tree *tree, struct call_tree own, const uint32_t *ends,
			 bool all)
{
	struct tree_page *page = memory_get(sizeof(*page));

	*page = (struct tree_page){
		.page = { .kind = &kind, .title = title, .filter = memory_print("%s", "") },
		.own = own,
		.shares.all = source->sums->profile->tree.nodes[CALL_TREE_ROOT].total.weight,
		.head = name_heads_of(source->sums->profiles.symbols.by).head,
		.limit = source->limit,
	};
	page->tree = tree ? tree : &page->own;
	page->courses = tree ? sums_courses(source->sums) : &page->own_courses;
	if (!tree)
		make_courses(source->sums, page->tree, ends, all, &page->own_courses);
	page->is_open = memory_get(page->tree->n_nodes);
	page->is_matched = memory_get(page->tree->n_nodes);
	open_hottest(page);
	filter(&page->page);
	make_rows(page);
	return &page->page;
}

struct page *tree_page(const struct page_source *source)
{
	return make(source, memory_print("calls, from the root"), &source->sums->profile->tree,
		    (struct call_tree){ 0 }, NULL, false);
}

struct page *callers_page(const struct page_source *source, char *title,
			  const struct callees *callees)
{
	const struct profile *profile = source->sums->profile;
	_cleanup_free_ uint32_t *ends = memory_resize(NULL, profile->tree.n_nodes, sizeof(*ends));
	struct call_tree tree;
	struct page *page;

	callers_make(&source->sums->profiles, profile, callees, &tree, ends);
	page = make(source, title, NULL, tree, ends, true);
	((struct tree_page *)page)->shares.without_self = true;
	return page;
}

/* All calls below the function, wherever it was called; recursive calls are below themselves.
 * `places`: of each of the nodes. */
static void add_callees(const struct call_tree *from, const struct symbol *symbol,
			struct call_tree *to, uint32_t *places)
{
	places[CALL_TREE_ROOT] = CALL_TREE_NONE;
	for (uint32_t i = 1; i < from->n_nodes; i++) {
		const struct call_tree_node *node = &from->nodes[i];

		places[i] = places[node->parent];
		if (places[i] == CALL_TREE_NONE && node->key == symbol)
			places[i] = call_tree_child(to, CALL_TREE_ROOT, symbol);
		else if (places[i] != CALL_TREE_NONE)
			places[i] = call_tree_child(to, places[i], node->key);
		if (places[i] != CALL_TREE_NONE)
			amount_add(&to->nodes[places[i]].self, node->self);
	}
}

struct page *callees_page(const struct page_source *source, const struct symbol *symbol)
{
	const struct call_tree *from = &source->sums->profile->tree;
	_cleanup_free_ uint32_t *places = memory_resize(NULL, from->n_nodes, sizeof(*places));
	struct call_tree tree;

	call_tree_init(&tree);
	tree.compare = symbol_compare;
	add_callees(from, symbol, &tree, places);
	call_tree_finish(&tree);
	return make(
		source,
		memory_print("callees of %s", symbol_shown(symbol, source->output->short_names)),
		NULL, tree, places, false);
}
