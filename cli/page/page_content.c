/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/trace_facts.h"
#include "cli/page/page_content.h"
#include "cli/page/page_marks.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* Of functions: bits of the column "functionFlags". */
#define FUNCTION_JIT 1u
/* Of frames: a group of samples; others are enum flame_kind. */
#define KIND_GROUP 8u

struct content {
	const struct flame_profile *profile;
	const struct page_source *source;
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
	struct column *depths, *frames;
};

static int enter_node(void *context, uint32_t node, size_t depth)
{
	struct walk *walk = context;
	struct flame_frame *frame = (struct flame_frame *)walk->tree->nodes[node].key;

	walk->nodes[node] = ++walk->next;
	column_append(walk->depths, depth);
	column_append_difference(walk->frames, frame_number(walk->content, frame));
	return 1;
}

/* The depth and frame of each node, from the root down. */
static void add_trees(struct content *content)
{
	struct walk walk = { .content = content };

	walk.depths = column_make(&content->columns, "nodeDepth");
	walk.frames = column_make(&content->columns, "nodeFrame");
	for (size_t i = 0; i < content->profile->n_events; i++) {
		walk.tree = &content->profile->events[i].tree;
		walk.nodes = memory_resize(NULL, walk.tree->n_nodes, sizeof(*walk.nodes));
		walk.nodes[CALL_TREE_ROOT] = walk.next = 0;
		call_tree_walk(walk.tree, enter_node, NULL, &walk);
		content->nodes[i] = walk.nodes;
	}
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

static void add_frames(struct content *content)
{
	struct column *functions = column_make(&content->columns, "frameFunction");
	struct column *kinds = column_make(&content->columns, "frameKind");
	struct column *files = column_make(&content->columns, "frameFile");
	struct column *lines = column_make(&content->columns, "frameLine");

	for (uint32_t i = 0; i < content->n_frames; i++) {
		const struct flame_frame *frame = content->frames[i];

		column_append_difference(functions, function_number(content, frame));
		column_append(kinds, frame->is_group ? KIND_GROUP : flame_frame_kind(frame));
		column_append_raw_text(files, frame->file);
		column_append_difference(lines, frame->line);
	}
}

/* Code that a JIT made is in memory without a file. */
static bool is_jit(const struct content *content, const struct flame_frame *frame)
{
	REEL_SIZED(reel_module_info, module);
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
	struct column *names = column_make(&content->columns, "functionName");
	struct column *shorts = column_make(&content->columns, "functionShort");
	struct column *modules = column_make(&content->columns, "functionModule");
	struct column *flags = column_make(&content->columns, "functionFlags");

	for (size_t i = 0; i < content->n_functions; i++) {
		const struct flame_frame *frame = content->first_frames[i];
		const struct symbol *symbol = frame->symbol;

		column_append_names(names, shorts, symbol);
		column_append_text(modules, symbol->module);
		column_append(flags, is_jit(content, frame) ? FUNCTION_JIT : 0);
	}
}

/* ---- threads -------------------------------------------------------------------------------- */

/* "name" of a symbol "name (number)". */
static void append_name(struct column *names, const struct symbol *symbol)
{
	const char *end = strrchr(symbol->name, '(');
	size_t size =
		end && end > symbol->name ? (size_t)(end - symbol->name) - 1 : strlen(symbol->name);
	_cleanup_free_ char *name = memory_print("%.*s", (int)size, symbol->name);

	column_append_text(names, name);
}

/* Numbers processes in order of their first threads. */
static void add_processes(struct content *content)
{
	const struct flame_profile *profile = content->profile;
	struct column *ids = column_make(&content->columns, "processId");
	struct column *names = column_make(&content->columns, "processName");
	uint32_t n = 0;

	for (size_t i = 0; i < profile->n_threads; i++)
		profile->threads[i].process->number = 0;
	for (size_t i = 0; i < profile->n_threads; i++) {
		struct symbol *process = profile->threads[i].process;

		if (process->number)
			continue;
		process->number = ++n;
		column_append_difference(ids, profile->threads[i].pid);
		append_name(names, process);
	}
}

static void add_threads(struct content *content)
{
	const struct flame_profile *profile = content->profile;
	struct column *ids = column_make(&content->columns, "threadId");
	struct column *names = column_make(&content->columns, "threadName");
	struct column *processes = column_make(&content->columns, "threadProcess");
	struct column *counts = column_make(&content->columns, "threadCount");

	for (size_t i = 0; i < profile->n_threads; i++) {
		const struct flame_thread *thread = &profile->threads[i];

		column_append_difference(ids, thread->tid);
		append_name(names, thread->thread);
		column_append_difference(processes, thread->process->number - 1);
		column_append(counts, thread->count);
	}
}

/* ---- labels --------------------------------------------------------------------------------- */

static void add_labels(struct content *content)
{
	const struct flame_labels *labels = &content->profile->labels;
	struct column *keys = column_make(&content->columns, "labelKey");
	struct column *texts = column_make(&content->columns, "labelText");
	struct column *sizes = column_make(&content->columns, "labelSetSize");
	struct column *members = column_make(&content->columns, "labelSetMember");

	for (uint32_t i = 0; i < labels->n_values; i++) {
		column_append_text(keys, labels->values[i].key);
		column_append_raw_text(texts, labels->values[i].text);
	}
	for (uint32_t i = 0; i < labels->n_sets; i++) {
		column_append(sizes, labels->sets[i].n);
		for (uint32_t j = 0; j < labels->sets[i].n; j++)
			column_append_difference(members,
						 labels->members[labels->sets[i].first + j]);
	}
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

static bool is_same_run(const struct flame_span *x, const struct flame_span *y)
{
	return x->event == y->event && x->thread == y->thread;
}

/* A run has a thread's spans of an event. */
static void add_runs(struct content *content, const struct flame_span *spans, size_t n)
{
	struct column *event = column_make(&content->columns, "runEvent");
	struct column *thread = column_make(&content->columns, "runThread");
	struct column *length = column_make(&content->columns, "runLength");

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && is_same_run(&spans[i], &spans[end]); end++)
			;
		column_append(event, spans[i].event);
		column_append_difference(thread, spans[i].thread);
		column_append(length, end - i);
	}
}

static void add_each_span(struct content *content, const struct flame_span *spans, size_t n)
{
	struct column *bins = column_make(&content->columns, "spanBin");
	struct column *nodes = column_make(&content->columns, "spanNode");
	struct column *samples = column_make(&content->columns, "spanSamples");
	struct column *extras = column_make(&content->columns, "spanExtra");
	struct column *states = column_make(&content->columns, "spanState");
	struct column *labels = column_make(&content->columns, "spanLabels");

	for (size_t i = 0; i < n; i++) {
		const struct flame_span *span = &spans[i];
		uint64_t usual =
			content->profile->events[span->event].period * span->amount.samples;

		column_append_difference(bins, (int64_t)span->bin);
		column_append_difference(nodes, content->nodes[span->event][span->node]);
		column_append(samples, span->amount.samples - 1);
		column_append_signed(extras, (int64_t)(span->amount.weight - usual));
		column_append(states, span->state);
		column_append_difference(labels, span->labels);
	}
}

static void add_spans(struct content *content)
{
	struct flame_spans *spans = (struct flame_spans *)&content->profile->spans;

	if (spans->n)
		qsort(spans->items, spans->n, sizeof(*spans->items), compare_spans);
	add_runs(content, spans->items, spans->n);
	add_each_span(content, spans->items, spans->n);
}

/* ---- the header: JSON --------------------------------------------------------------------- */

static void print_raw(const char *text, FILE *file)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	json_escaped_text(escaped, file);
}

static void print_text(const char *name, const char *text, FILE *file)
{
	fprintf(file, "\"%s\":", name);
	print_raw(text, file);
	fputs(",\n", file);
}

static void print_capture(const struct content *content, FILE *file)
{
	const struct reel_capture_info *info = content->source->of.info;
	uint64_t wall_time;

	print_text("host", info->hostname, file);
	print_text("kernel", info->kernel_release, file);
	print_text("arch", info->arch, file);
	print_text("command", info->command_line, file);
	fprintf(file, "\"cpus\":%" PRIu32 ",\n", info->cpus);
	if (wall_time_of(info, content->profile->start, &wall_time))
		print_text("time", format_wall_time(wall_time).text, file);
}

static void print_stops(const struct quality *quality, FILE *file)
{
	bool some = false;

	fprintf(file, "\"unwound\":%" PRIu64 ",\"complete\":%" PRIu64 ",\"stops\":[",
		quality_unwound(quality), quality->stops[REEL_STOP_ROOT]);
	for (int i = 0; i < REEL_STOP_COUNT; i++) {
		if (i == REEL_STOP_ROOT || i == REEL_STOP_NO_USER_STATE || !quality->stops[i])
			continue;
		fprintf(file, "%s[", some ? "," : "");
		json_escaped_text(reel_stop_name((enum reel_stop)i), file);
		fprintf(file, ",%" PRIu64 "]", quality->stops[i]);
		some = true;
	}
	fputs("],\n", file);
}

static void print_events(const struct content *content, FILE *file)
{
	fputs("\"events\":[", file);
	for (size_t i = 0; i < content->profile->n_events; i++) {
		const struct flame_event *event = &content->profile->events[i];

		fputs(i ? ",\n{\"name\":" : "{\"name\":", file);
		print_raw(event_name(event->event), file);
		fprintf(file,
			",\"isTime\":%s,\"period\":%" PRIu64 ",\"frequency\":%" PRIu64
			",\"nodes\":%" PRIu32 "}",
			event->is_time ? "true" : "false", event->period,
			event->event ? event->event->frequency : 0, event->tree.n_nodes - 1);
	}
	fputs("],\n", file);
}

static void print_header(const struct content *content, FILE *file)
{
	const struct flame_source *of = &content->source->of;

	fputc('{', file);
	print_text("file", path_base(of->path), file);
	if (of->info)
		print_capture(content, file);
	else
		fprintf(file, "\"captures\":%" PRIu64 ",\n", of->captures);
	print_stops(of->quality, file);
	fprintf(file, "\"samples\":%" PRIu64 ",\"pruned\":%" PRIu64 ",\"lines\":%s,\n",
		of->quality->traces, content->profile->pruned,
		content->profile->frames.by_line ? "true" : "false");
	fprintf(file, "\"step\":%" PRIu64 ",\n", content->profile->spans.step);
	if (content->source->capture)
		page_marks_print(content->source->capture, content->profile, file);
	if (content->source->code) {
		page_code_print(content->source->code, file);
		page_instructions_print(content->source->instructions, file);
	}
	if (content->source->diff)
		page_diff_print(content->source->diff, file);
	print_events(content, file);
	columns_print_tables(&content->columns, file);
	fputc('}', file);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void write_content(const struct content *content, FILE *file)
{
	_cleanup_free_ char *header = NULL;
	size_t size;
	FILE *text = open_memstream(&header, &size);

	memory_check(text);
	print_header(content, text);
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
		page_code_add(source->code, &content.columns);
		page_instructions_add(source->instructions, &content.columns);
	}
	if (source->diff)
		page_diff_add(source->diff, &content.columns);
	write_content(&content, file);
	fclose(file);
	memory_check(text);
	content_free(&content);
	return text;
}
