/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/line_values.h"
#include "cli/print/json.h"
#include "cli/print/memory.h"
#include "cli/print/text.h"
#include "cli/report/name_column.h"

void line_values_init(struct line_values *values, const struct functions *functions,
		      const struct function *function, const struct string_list *expressions)
{
	*values = (struct line_values){ .functions = functions, .function = function };
	values->have_names = memory_get((expressions->count + 1) * sizeof(*values->have_names));
	for (size_t i = 0; i < expressions->count; i++) {
		const char *text = expressions->items[i];
		bool are_all = *text == '+';

		value_list_add(&values->requests,
			       (struct reel_value_request){ function->frame->function,
							    are_all ? NULL : text,
							    are_all && !strcmp(text, "+locals") });
	}
}

static void free_line(struct value_line *line)
{
	for (size_t i = 0; i < line->n; i++)
		value_counts_free(&line->variables[i]);
	free(line->variables);
}

void line_values_free(struct line_values *values)
{
	for (size_t i = 0; i < values->n; i++)
		free_line(&values->lines[i]);
	free(values->lines);
	free(values->requests.items);
	free(values->have_names);
}

static struct value_line *find_line(struct line_values *values, const struct reel_frame *leaf)
{
	for (size_t i = 0; i < values->n; i++) {
		if (values->lines[i].number == leaf->line &&
		    !strcmp(values->lines[i].file, leaf->file))
			return &values->lines[i];
	}
	values->lines =
		memory_reserve(values->lines, &values->capacity, values->n, sizeof(*values->lines));
	values->lines[values->n] = (struct value_line){ .file = leaf->file, .number = leaf->line };
	return &values->lines[values->n++];
}

static struct value_counts *find_variable(struct value_line *line, const char *name)
{
	for (size_t i = 0; i < line->n; i++) {
		if (!strcmp(line->variables[i].name, name))
			return &line->variables[i];
	}
	line->variables = memory_resize(line->variables, line->n + 1, sizeof(*line->variables));
	line->variables[line->n] = (struct value_counts){ .name = memory_print("%s", name) };
	return &line->variables[line->n++];
}

/* Of variables of one name, the innermost block's is last; a name may be asked for twice. */
static bool is_hidden(const struct reel_trace *trace, size_t index)
{
	const struct reel_frame_value *value = &trace->values[index];

	for (size_t i = 0; i < trace->n_values; i++) {
		const struct reel_frame_value *other = &trace->values[i];

		if (other->frame == value->frame && !strcmp(other->name, value->name) &&
		    (other->request == value->request ? i > index
						      : other->request < value->request))
			return true;
	}
	return false;
}

bool line_values_add(void *context, const struct reel_trace *trace,
		     const struct reel_event_info *event)
{
	struct line_values *values = context;
	const struct function *function = values->function;
	size_t host = 0; /* what the leaf's code is inlined into */
	const struct reel_frame *frame;
	uint64_t weight = values->functions->has_weights ? trace->weight : 1;
	struct value_line *line;

	(void)event;
	while (host < trace->n_frames && trace->frames[host]->inlined)
		host++;
	if (host == trace->n_frames)
		return true;
	frame = trace->frames[host];
	if (frame->function_id != function->frame->function_id ||
	    frame->module_address - frame->function_offset != function->begin)
		return true;
	line = find_line(values, trace->frames[0]);
	amount_add(&line->self, (struct amount){ weight, 1 });
	values->has_values |= trace->n_values != 0;
	for (size_t i = 0; i < trace->n_values; i++) {
		values->have_names[trace->values[i].request] |=
			value_has_variable(&trace->values[i]);
		if (trace->values[i].frame == host && !is_hidden(trace, i))
			value_counts_add(find_variable(line, trace->values[i].name),
					 &trace->values[i], weight, NULL);
	}
	return true;
}

bool line_values_have_names(const struct line_values *values)
{
	for (size_t i = 0; i < values->requests.count; i++) {
		const struct reel_value_request *request = &values->requests.items[i];

		if (!values->have_names[i] && request->expression)
			return session_explain_variable(request->function, request->expression);
	}
	return true;
}

static int compare_lines(const void *a, const void *b)
{
	const struct value_line *x = a, *y = b;
	int order;

	if (x->self.weight != y->self.weight)
		return x->self.weight < y->self.weight ? 1 : -1;
	order = strcmp(x->file, y->file);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

void line_values_finish(struct line_values *values)
{
	if (values->n)
		qsort(values->lines, values->n, sizeof(*values->lines), compare_lines);
	for (size_t i = 0; i < values->n; i++) {
		for (size_t j = 0; j < values->lines[i].n; j++) {
			struct value_counts *variable = &values->lines[i].variables[j];

			if (value_counts_have_ranges(variable))
				value_counts_make_ranges(variable);
			value_counts_sort(variable);
		}
	}
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Of the text: values of a variable, and lines, which must also have this share (of PERCENT). */
#define VALUES_SHOWN 3
#define LINES_SHOWN  10
#define SHARE_MIN    PERCENT
/* Of a variable in JSON. */
#define VALUES_MAX   100
#define NUMBER_WIDTH 6

static const char *const unknown_names[] = {
	[REEL_VALUE_OPTIMIZED_OUT] = "<optimized out>",
	[REEL_VALUE_NOT_CAPTURED] = "<not captured>",
};

/* ---- text ------------------------------------------------------------------------------- */

static char *add_share(char *list, const char *text, struct amount amount, struct amount all)
{
	_cleanup_free_ char *before = list, *escaped = text_escape(text, "");

	return memory_print("%s%s%s %s", before, *before ? ", " : "", escaped,
			    format_share(amount.weight, all.weight).text);
}

/* "600 59.72 %, 300 30.17 %, <not captured> 10.12 %" */
static char *list_values(const struct value_line *line, const struct value_counts *variable)
{
	char *list = memory_print("%s", "");
	struct amount rest = { 0 };

	for (size_t i = 0; i < variable->n; i++) {
		const struct value_count *value = &variable->values[i];

		if (i < VALUES_SHOWN || variable->n == VALUES_SHOWN + 1)
			list = add_share(list, value->text, value->amount, line->self);
		else
			amount_add(&rest, value->amount);
	}
	if (rest.samples) {
		_cleanup_free_ char *others =
			memory_print("%s others", format_count(variable->n - VALUES_SHOWN).text);

		list = add_share(list, others, rest, line->self);
	}
	for (int state = REEL_VALUE_OPTIMIZED_OUT; state <= REEL_VALUE_NOT_CAPTURED; state++) {
		if (variable->unknown[state].samples)
			list = add_share(list, unknown_names[state], variable->unknown[state],
					 line->self);
	}
	return list;
}

/* Cut to the terminal's width. */
static void print_name(const char *text, size_t used, const struct output *output)
{
	name_print(text, name_room(used, output), output);
	fputc('\n', output->file);
}

static void print_line(const struct value_line *line, const struct listing *listing,
		       struct source_files *sources, const struct output *output)
{
	const struct source_file *source =
		sources && line->number ? source_file_get(sources, line->file) : NULL;
	_cleanup_free_ char *code = source ? source_line(source, line->number) : NULL;
	_cleanup_free_ char *name =
		text_escape(*line->file ? path_base(line->file) : "[no line]", "");
	_cleanup_free_ char *text = memory_print("%s:%" PRIu32 "%s%s", name, line->number,
						 code ? "  " : "", code ? code : "");

	share_print(listing, line->self, output);
	print_name(text, 8, output);
	for (size_t i = 0; i < line->n; i++) {
		_cleanup_free_ char *list = list_values(line, &line->variables[i]);
		_cleanup_free_ char *variable = text_escape(line->variables[i].name, "");
		_cleanup_free_ char *row = memory_print("%s: %s", variable, list);

		fprintf(output->file, "%*s", 12, "");
		print_name(row, 12, output);
	}
	if (!line->n) {
		fprintf(output->file, "%*s", 12, "");
		print_name("[no values]", 12, output);
	}
}

void line_values_print(const struct line_values *values, const struct listing *listing,
		       struct source_files *sources, const struct output *output)
{
	struct amount rest = { 0 };
	size_t shown = 0;

	fprintf(output->file, "\n%s%7s VALUES AT THE HOTTEST LINES%s\n", color_bold(output),
		"SELF %", color_end(output));
	for (; shown < values->n && shown < LINES_SHOWN; shown++) {
		const struct value_line *line = &values->lines[shown];

		if (shown && percent_of(line->self.weight, listing->self.weight) < SHARE_MIN)
			break;
		print_line(line, listing, sources, output);
	}
	for (size_t i = shown; i < values->n; i++)
		amount_add(&rest, values->lines[i].self);
	if (rest.samples) {
		share_print(listing, rest, output);
		fprintf(output->file, "[%s]\n",
			format_plural(values->n - shown, "other line").text);
	}
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void print_amount(const char *name, struct amount amount, FILE *file)
{
	fprintf(file, "\"%s\": {\"weight\": %" PRIu64 ", \"samples\": %" PRIu64 "}", name,
		amount.weight, amount.samples);
}

static void print_variable(const struct value_counts *variable, FILE *file)
{
	struct amount rest = { 0 };

	fputs("{\"name\": ", file);
	json_string((const uint8_t *)variable->name, strlen(variable->name), file);
	fputs(", \"values\": [", file);
	for (size_t i = 0; i < variable->n; i++) {
		const struct value_count *value = &variable->values[i];

		if (i >= VALUES_MAX) {
			amount_add(&rest, value->amount);
			continue;
		}
		fprintf(file, "%s{\"value\": ", i ? ", " : "");
		json_string((const uint8_t *)value->text, strlen(value->text), file);
		fputs(", ", file);
		print_amount("self", value->amount, file);
		fputc('}', file);
	}
	fputs("], ", file);
	print_amount("others", rest, file);
	fputs(", ", file);
	print_amount("optimized_out", variable->unknown[REEL_VALUE_OPTIMIZED_OUT], file);
	fputs(", ", file);
	print_amount("not_captured", variable->unknown[REEL_VALUE_NOT_CAPTURED], file);
	fputc('}', file);
}

void line_values_print_json(const struct line_values *values, const struct output *output)
{
	FILE *file = output->file;

	fputs("\"values\": [", file);
	for (size_t i = 0; i < values->n; i++) {
		const struct value_line *line = &values->lines[i];

		fprintf(file, "%s{\"file\": ", i ? ",\n" : "\n");
		json_string((const uint8_t *)line->file, strlen(line->file), file);
		fprintf(file, ", \"line\": %" PRIu32 ", ", line->number);
		print_amount("self", line->self, file);
		fputs(", \"variables\": [", file);
		for (size_t j = 0; j < line->n; j++) {
			fputs(j ? ", " : "", file);
			print_variable(&line->variables[j], file);
		}
		fputs("]}", file);
	}
	fputs("\n]", file);
}
