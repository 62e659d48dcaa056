/* SPDX-License-Identifier: Apache-2.0 */
/* Values of variables at the hottest lines, as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "cli/annotate/line_values.h"
#include "cli/annotate/views.h"
#include "cli/print/json.h"
#include "cli/print/text.h"
#include "cli/report/name_column.h"

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

static void print_line(const struct view *view, const struct value_line *line,
		       const struct output *output)
{
	const struct source_file *source =
		view->sources && line->number ? source_file_get(view->sources, line->file) : NULL;
	_cleanup_free_ char *code = source ? source_line(source, line->number) : NULL;
	_cleanup_free_ char *name =
		text_escape(*line->file ? path_base(line->file) : "[no line]", "");
	_cleanup_free_ char *text = memory_print("%s:%" PRIu32 "%s%s", name, line->number,
						 code ? "  " : "", code ? code : "");

	share_print(view->listing, line->self, output);
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

void line_values_print(const struct view *view, const struct output *output)
{
	const struct line_values *values = view->values;
	struct amount rest = { 0 };
	size_t shown = 0;

	fprintf(output->file, "\n%s%7s VALUES AT THE HOTTEST LINES%s\n", color_bold(output),
		"SELF %", color_end(output));
	for (; shown < values->n && shown < LINES_SHOWN; shown++) {
		const struct value_line *line = &values->lines[shown];

		if (shown && percent_of(line->self.weight, view->listing->self.weight) < SHARE_MIN)
			break;
		print_line(view, line, output);
	}
	for (size_t i = shown; i < values->n; i++)
		amount_add(&rest, values->lines[i].self);
	if (rest.samples) {
		share_print(view->listing, rest, output);
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
