/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures are compared as `stackreel diff --tree` does it, by shares; the page gets the tree, with
 * each node's amounts on both sides.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/diff_view.h"
#include "cli/flamegraph/diff_page.h"
#include "cli/flamegraph/page.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

/* Skip branches below this share of both sides together: they would be invisible. */
#define LIMIT (PERCENT / 100)

struct diff_data {
	FILE *file;
	const struct diff_result *result;
	struct diff_unit unit;
	uint32_t *nodes, n_nodes; /* that are shown, in order of a walk */
	uint32_t *depths;
	uint64_t all;
};

static void print_escaped(const char *text, FILE *file)
{
	json_escaped((const uint8_t *)text, strlen(text), file);
}

static int enter_node(void *context, uint32_t node, size_t depth)
{
	struct diff_data *data = context;
	const struct call_tree *tree = &data->result->counts->subjects.tree;

	if (percent_of(tree->nodes[node].total.weight, data->all) < LIMIT)
		return 0;
	data->nodes[data->n_nodes] = node;
	data->depths[data->n_nodes++] = (uint32_t)depth;
	return 1;
}

static const struct diff_change *total_of(const struct diff_data *data, uint32_t i)
{
	return &data->result->paths->items[(size_t)data->nodes[i] * PARTS + PART_TOTAL];
}

static void print_column(const struct diff_data *data, const char *name,
			 void (*print)(const struct diff_data *data, uint32_t i))
{
	fprintf(data->file, ",\n\"%s\":[", name);
	for (uint32_t i = 0; i < data->n_nodes; i++) {
		fputs(i ? "," : "", data->file);
		print(data, i);
	}
	fputc(']', data->file);
}

static void print_depth(const struct diff_data *data, uint32_t i)
{
	fprintf(data->file, "%" PRIu32, data->depths[i]);
}

static void print_frame(const struct diff_data *data, uint32_t i)
{
	fprintf(data->file, "%zu", total_of(data, i)->item->function->item.number);
}

static void print_old(const struct diff_data *data, uint32_t i)
{
	fprintf(data->file, "%.9g", total_of(data, i)->value[SIDE_OLD] * data->unit.scale);
}

static void print_new(const struct diff_data *data, uint32_t i)
{
	fprintf(data->file, "%.9g", total_of(data, i)->value[SIDE_NEW] * data->unit.scale);
}

static void print_sure(const struct diff_data *data, uint32_t i)
{
	fputc(total_of(data, i)->is_sure ? '1' : '0', data->file);
}

static void print_functions(const struct diff_data *data)
{
	const struct diff_items *functions = &data->result->counts->subjects.kinds[KIND_FUNCTION];

	fputs(",\n\"frames\":[", data->file);
	for (size_t i = 0; i < functions->n; i++) {
		const struct symbol *symbol = &functions->items[i]->function->symbol;

		fputs(i ? ",\n[" : "\n[", data->file);
		print_escaped(symbol->name, data->file);
		fputc(',', data->file);
		print_escaped(symbol->module, data->file);
		fputc(']', data->file);
	}
	fputc(']', data->file);
}

/* The lines that `diff` prints above its table. */
static void print_head(const struct diff_data *data)
{
	char *head = NULL, *rest;
	size_t size;
	FILE *file = open_memstream(&head, &size);

	memory_check(file);
	diff_print_head(data->result, &data->unit, "", file);
	fprintf(file, "branches below %s %% are hidden\n", format_limit(LIMIT).text);
	fclose(file);
	memory_check(head);
	fputs(",\n\"says\":[", data->file);
	rest = head;
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		fputs(line == head ? "" : ",", data->file);
		print_escaped(line, data->file);
	}
	fputc(']', data->file);
	free(head);
}

static char *data_of(const struct diff_result *result, size_t *size_ret)
{
	const struct call_tree *tree = &result->counts->subjects.tree;
	struct diff_data data = { .result = result, .unit = diff_unit_of(result->counts) };
	_cleanup_free_ char *title = NULL, *escaped = NULL;
	char *text = NULL;

	title = memory_print("%s -> %s", result->files[SIDE_OLD]->items[0],
			     result->files[SIDE_NEW]->items[0]);
	escaped = text_escape(title, "");
	data.file = open_memstream(&text, size_ret);
	memory_check(data.file);
	diff_tree_weigh(result);
	data.all = tree->nodes[CALL_TREE_ROOT].total.weight;
	data.nodes = memory_resize(NULL, tree->n_nodes, sizeof(*data.nodes));
	data.depths = memory_resize(NULL, tree->n_nodes, sizeof(*data.depths));
	call_tree_walk(tree, enter_node, NULL, &data);
	fputs("{\"title\":", data.file);
	print_escaped(escaped, data.file);
	fprintf(data.file, ",\n\"unit\":\"%s\"", data.unit.name);
	print_head(&data);
	print_functions(&data);
	print_column(&data, "depth", print_depth);
	print_column(&data, "frame", print_frame);
	print_column(&data, "old", print_old);
	print_column(&data, "new", print_new);
	print_column(&data, "sure", print_sure);
	fputs("}\n", data.file);
	fclose(data.file);
	memory_check(text);
	free(data.nodes);
	free(data.depths);
	return text;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Returns an enum status. */
static int read_capture(struct options *options, const char *path, enum diff_side side,
			struct diff_counts *counts)
{
	struct session session;
	int status = STATUS_ERROR;

	options->file = path;
	if (session_open(&session, options) && diff_counts_add(counts, &session, side)) {
		session_warn(&session);
		status = session_status(&session);
	}
	session_close(&session);
	return status;
}

static int write_page(const struct options *options, const struct diff_result *result, int status)
{
	_cleanup_free_ char *data = NULL, *packed = NULL;
	struct output output;
	size_t size;

	data = data_of(result, &size);
	packed = page_pack(data, size, &size);
	if (!output_open(&output, options->output))
		return STATUS_ERROR;
	page_write(PAGE_DIFF, packed, output.file);
	return output_close(&output, status);
}

static int compare(const struct options *options, struct diff_counts *counts,
		   const struct string_list *old, const struct string_list *new, int status)
{
	struct diff_changes changes, paths;
	struct diff_result result = {
		.counts = counts,
		.changes = &changes,
		.paths = &paths,
		.files = { old, new },
		/* The defaults of `diff`. */
		.doubts = { .false_rate = 0.05, .run_noise = 0.05 },
	};

	diff_counts_join_renamed(counts);
	diff_changes_find(counts, KIND_FUNCTION, &result.doubts, &changes);
	diff_changes_find(counts, KIND_PATH, &result.doubts, &paths);
	status = write_page(options, &result, status);
	diff_changes_free(&paths);
	diff_changes_free(&changes);
	return status;
}

int diff_page_make(struct options *options, const struct string_list *old)
{
	const char *file = options->file;
	const struct string_list new = { .items = &file, .count = 1 };
	struct diff_counts counts;
	int status = STATUS_OK;

	diff_counts_init(&counts);
	counts.per = PER_ALL;
	counts.has_paths = true;
	counts.n_captures[SIDE_OLD] = old->count;
	counts.n_captures[SIDE_NEW] = 1;
	for (size_t i = 0; i < old->count && status == STATUS_OK; i++)
		status = read_capture(options, old->items[i], SIDE_OLD, &counts);
	if (status == STATUS_OK)
		status = read_capture(options, file, SIDE_NEW, &counts);
	if (status == STATUS_OK)
		status = compare(options, &counts, old, &new, status);
	diff_counts_free(&counts);
	return status;
}
