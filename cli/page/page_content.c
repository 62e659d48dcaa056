/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/page/columns.h"
#include "cli/page/page_content.h"
#include "cli/page/page_header.h"
#include "cli/page/page_strings.h"
#include "cli/print/text.h"

/* Of functions: bits of the column "functionFlags". */
#define FUNCTION_JIT 1u
/* Of frames: a group of samples; others are enum flame_kind. */
#define KIND_GROUP 8u

struct content {
	const struct flame_profile *profile;
	const struct page_source *source;
	struct page_strings strings;
	struct columns columns;
	/* By number - 1. */
	struct flame_frame **frames;
	uint32_t n_frames;
	size_t frames_capacity;
	struct pointer_map functions;		 /* symbols to their numbers + 1 */
	const struct flame_frame **first_frames; /* by function */
	size_t n_functions, functions_capacity;
	/* By event: each node's number in the page, from 0 (the root). */
	uint32_t **nodes;
};

/* ---- stacks --------------------------------------------------------------------------------- */

static uint32_t frame_number(struct content *content, struct flame_frame *frame)
{
	if (!frame->number) {
		content->frames = memory_reserve(content->frames, &content->frames_capacity,
						 content->n_frames, sizeof(struct flame_frame *));
		content->frames[content->n_frames] = frame;
		frame->number = ++content->n_frames;
	}
	return frame->number - 1;
}

/* Of the current event. */
struct walk {
	struct content *content;
	const struct call_tree *tree;
	uint32_t *nodes, next;
	struct column depths, frames;
};

static int enter_node(void *context, uint32_t node, size_t depth)
{
	struct walk *walk = context;
	struct flame_frame *frame = (struct flame_frame *)walk->tree->nodes[node].key;

	walk->nodes[node] = ++walk->next;
	column_add(&walk->depths, depth);
	column_add_difference(&walk->frames, frame_number(walk->content, frame));
	return 1;
}

/* The depth and frame of each node, from the root down. */
static void add_trees(struct content *content)
{
	struct walk walk = { .content = content,
			     .depths = { .name = "nodeDepth" },
			     .frames = { .name = "nodeFrame" } };

	for (size_t i = 0; i < content->profile->n_events; i++) {
		walk.tree = &content->profile->events[i].tree;
		walk.nodes = memory_resize(NULL, walk.tree->n_nodes, sizeof(*walk.nodes));
		walk.nodes[CALL_TREE_ROOT] = walk.next = 0;
		call_tree_walk(walk.tree, enter_node, NULL, &walk);
		content->nodes[i] = walk.nodes;
	}
	columns_add(&content->columns, walk.depths);
	columns_add(&content->columns, walk.frames);
}

static uint32_t function_number(struct content *content, const struct flame_frame *frame)
{
	uintptr_t number = (uintptr_t)pointer_map_get(&content->functions, frame->symbol);

	if (number)
		return (uint32_t)number - 1;
	content->first_frames = memory_reserve(content->first_frames, &content->functions_capacity,
					       content->n_functions, sizeof(struct flame_frame *));
	content->first_frames[content->n_functions++] = frame;
	pointer_map_put(&content->functions, frame->symbol,
			(void *)(uintptr_t)content->n_functions);
	return (uint32_t)content->n_functions - 1;
}

static uint32_t escaped_number(struct content *content, const char *text)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	return page_strings_get(&content->strings, escaped);
}

static void add_frames(struct content *content)
{
	struct column functions = { .name = "frameFunction" }, kinds = { .name = "frameKind" };
	struct column files = { .name = "frameFile" }, lines = { .name = "frameLine" };

	for (uint32_t i = 0; i < content->n_frames; i++) {
		const struct flame_frame *frame = content->frames[i];

		column_add_difference(&functions, function_number(content, frame));
		column_add(&kinds, frame->is_group ? KIND_GROUP : flame_frame_kind(frame));
		column_add_difference(&files, escaped_number(content, frame->file));
		column_add_difference(&lines, frame->line);
	}
	columns_add(&content->columns, functions);
	columns_add(&content->columns, kinds);
	columns_add(&content->columns, files);
	columns_add(&content->columns, lines);
}

/* Code that a JIT made is in memory without a file. */
static bool is_jit(const struct content *content, const struct flame_frame *frame)
{
	struct reel_module_info module;
	struct reel_error *error;

	if (!content->source->capture || !frame->module_id)
		return false;
	error = reel_capture_module(content->source->capture, frame->module_id, &module);
	if (error) {
		reel_error_destroy(error);
		return false;
	}
	return module.id && module.kind == REEL_MODULE_ANONYMOUS;
}

static void add_functions(struct content *content)
{
	struct column names = { .name = "functionName" }, shorts = { .name = "functionShort" };
	struct column modules = { .name = "functionModule" }, flags = { .name = "functionFlags" };

	for (size_t i = 0; i < content->n_functions; i++) {
		const struct flame_frame *frame = content->first_frames[i];
		const struct symbol *symbol = frame->symbol;

		page_strings_add_names(&content->strings, symbol, &names, &shorts);
		column_add_difference(&modules,
				      page_strings_get(&content->strings, symbol->module));
		column_add(&flags, is_jit(content, frame) ? FUNCTION_JIT : 0);
	}
	columns_add(&content->columns, names);
	columns_add(&content->columns, shorts);
	columns_add(&content->columns, modules);
	columns_add(&content->columns, flags);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* The number of "name", for a symbol "name (number)". */
static uint32_t name_without_number(struct content *content, const struct symbol *symbol)
{
	const char *end = strrchr(symbol->name, '(');
	size_t size =
		end && end > symbol->name ? (size_t)(end - symbol->name) - 1 : strlen(symbol->name);
	_cleanup_free_ char *name = memory_print("%.*s", (int)size, symbol->name);

	return page_strings_get(&content->strings, name);
}

/* Numbers processes in order of their first threads. */
static void add_processes(struct content *content)
{
	const struct flame_profile *profile = content->profile;
	struct column ids = { .name = "processId" }, names = { .name = "processName" };
	uint32_t n = 0;

	for (size_t i = 0; i < profile->n_threads; i++)
		profile->threads[i].process->number = 0;
	for (size_t i = 0; i < profile->n_threads; i++) {
		struct symbol *process = profile->threads[i].process;

		if (process->number)
			continue;
		process->number = ++n;
		column_add_difference(&ids, profile->threads[i].pid);
		column_add_difference(&names, name_without_number(content, process));
	}
	columns_add(&content->columns, ids);
	columns_add(&content->columns, names);
}

static void add_threads(struct content *content)
{
	const struct flame_profile *profile = content->profile;
	struct column ids = { .name = "threadId" }, names = { .name = "threadName" };
	struct column processes = { .name = "threadProcess" }, counts = { .name = "threadCount" };

	for (size_t i = 0; i < profile->n_threads; i++) {
		const struct flame_thread *thread = &profile->threads[i];

		column_add_difference(&ids, thread->tid);
		column_add_difference(&names, name_without_number(content, thread->thread));
		column_add_difference(&processes, thread->process->number - 1);
		column_add(&counts, thread->count);
	}
	columns_add(&content->columns, ids);
	columns_add(&content->columns, names);
	columns_add(&content->columns, processes);
	columns_add(&content->columns, counts);
}

/* ---- labels --------------------------------------------------------------------------------- */

static void add_labels(struct content *content)
{
	const struct flame_labels *labels = &content->profile->labels;
	struct column keys = { .name = "labelKey" }, texts = { .name = "labelText" };
	struct column sizes = { .name = "labelSetSize" }, members = { .name = "labelSetMember" };

	for (uint32_t i = 0; i < labels->n_values; i++) {
		column_add_difference(&keys,
				      page_strings_get(&content->strings, labels->values[i].key));
		column_add_difference(&texts, escaped_number(content, labels->values[i].text));
	}
	for (uint32_t i = 0; i < labels->n_sets; i++) {
		column_add(&sizes, labels->sets[i].n);
		for (uint32_t j = 0; j < labels->sets[i].n; j++)
			column_add_difference(&members, labels->members[labels->sets[i].first + j]);
	}
	columns_add(&content->columns, keys);
	columns_add(&content->columns, texts);
	columns_add(&content->columns, sizes);
	columns_add(&content->columns, members);
}

/* ---- spans ---------------------------------------------------------------------------------- */

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

/* By event, thread and time; then differences are small. */
static int compare_spans(const void *a, const void *b)
{
	const struct flame_span *x = a, *y = b;
	int order = COMPARE(x->event, y->event);

	if (!order)
		order = COMPARE(x->thread, y->thread);
	if (!order)
		order = COMPARE(x->bin, y->bin);
	if (!order)
		order = COMPARE(x->node, y->node);
	if (!order)
		order = COMPARE(x->state, y->state);
	return order ? order : COMPARE(x->labels, y->labels);
}

/* The columns of spans. */
enum span_column {
	SPAN_BIN,
	SPAN_NODE,
	SPAN_SAMPLES,
	SPAN_EXTRA,
	SPAN_STATE,
	SPAN_LABELS,
	SPAN_COLUMNS,
};

static void add_span(const struct content *content, struct column *to, enum span_column column,
		     const struct flame_span *span)
{
	uint64_t usual = content->profile->events[span->event].period * span->amount.samples;

	switch (column) {
	case SPAN_BIN:
		column_add_difference(to, (int64_t)span->bin);
		break;
	case SPAN_NODE:
		column_add_difference(to, content->nodes[span->event][span->node]);
		break;
	case SPAN_SAMPLES:
		column_add(to, span->amount.samples - 1);
		break;
	case SPAN_EXTRA:
		column_add_signed(to, (int64_t)(span->amount.weight - usual));
		break;
	case SPAN_STATE:
		column_add(to, span->state);
		break;
	case SPAN_LABELS:
	case SPAN_COLUMNS:
		column_add_difference(to, span->labels);
		break;
	}
}

static bool is_same_run(const struct flame_span *x, const struct flame_span *y)
{
	return x->event == y->event && x->thread == y->thread;
}

/* A run has a thread's spans of an event. */
static void add_runs(struct content *content, const struct flame_span *spans, size_t n)
{
	struct column event = { .name = "runEvent" }, thread = { .name = "runThread" };
	struct column length = { .name = "runLength" };

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && is_same_run(&spans[i], &spans[end]); end++)
			;
		column_add(&event, spans[i].event);
		column_add_difference(&thread, spans[i].thread);
		column_add(&length, end - i);
	}
	columns_add(&content->columns, event);
	columns_add(&content->columns, thread);
	columns_add(&content->columns, length);
}

static void add_spans(struct content *content)
{
	static const char *const names[SPAN_COLUMNS] = { "spanBin",   "spanNode",  "spanSamples",
							 "spanExtra", "spanState", "spanLabels" };
	struct flame_spans *spans = (struct flame_spans *)&content->profile->spans;

	if (spans->n)
		qsort(spans->items, spans->n, sizeof(*spans->items), compare_spans);
	add_runs(content, spans->items, spans->n);
	for (enum span_column column = 0; column < SPAN_COLUMNS; column++) {
		struct column to = { .name = names[column] };

		for (size_t i = 0; i < spans->n; i++)
			add_span(content, &to, column, &spans->items[i]);
		columns_add(&content->columns, to);
	}
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void write_content(const struct content *content, FILE *file)
{
	const struct page_header parts = { content->profile, content->source, &content->strings,
					   &content->columns };
	_cleanup_free_ char *header = NULL;
	size_t size;
	FILE *text = open_memstream(&header, &size);

	memory_check(text);
	page_header_print(&parts, text);
	fclose(text);
	memory_check(header);
	for (int i = 0; i < 4; i++)
		fputc((int)(size >> 8 * i & 0xff), file);
	fwrite(header, 1, size, file);
	columns_write(&content->columns, file);
}

static void content_free(struct content *content)
{
	for (uint32_t i = 0; i < content->n_frames; i++)
		content->frames[i]->number = 0;
	for (size_t i = 0; i < content->profile->n_events; i++)
		free(content->nodes[i]);
	free(content->nodes);
	free(content->frames);
	free(content->first_frames);
	pointer_map_free(&content->functions);
	page_strings_free(&content->strings);
	columns_free(&content->columns);
}

char *page_content_make(struct flame_profile *profile, const struct page_source *source,
			size_t *size_ret)
{
	struct content content = { .profile = profile, .source = source };
	char *text = NULL;
	FILE *file = open_memstream(&text, size_ret);

	memory_check(file);
	content.nodes = memory_get((profile->n_events + 1) * sizeof(*content.nodes));
	add_trees(&content);
	add_frames(&content);
	add_functions(&content);
	add_processes(&content);
	add_threads(&content);
	add_labels(&content);
	add_spans(&content);
	if (source->code) {
		page_code_add(source->code, &content.strings, &content.columns);
		page_instructions_add(source->instructions, &content.strings, &content.columns);
	}
	if (source->diff)
		page_diff_add(source->diff, &content.strings, &content.columns);
	write_content(&content, file);
	fclose(file);
	memory_check(text);
	content_free(&content);
	return text;
}
