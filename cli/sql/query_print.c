/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/sql/query.h"
#include "cli/print/text.h"
#include "cli/print/json.h"

struct printer {
	const struct query_result *result;
	enum query_format format;
	const struct output *output;
	/* The last cell read. */
	struct query_cell cell;
	char *bytes;
	size_t capacity;
	bool is_first; /* of the rows */
};

static bool read_cell(struct printer *printer)
{
	FILE *cells = printer->result->cells;

	if (fread(&printer->cell, sizeof(printer->cell), 1, cells) != 1)
		return false;
	printer->bytes = memory_reserve(printer->bytes, &printer->capacity, printer->cell.size, 1);
	return fread(printer->bytes, 1, printer->cell.size, cells) == printer->cell.size;
}

static void print_padded(const char *text, const struct query_column *column, bool is_last,
			 FILE *file)
{
	size_t gap = column->width - text_width(text);

	if (!column->is_text)
		fprintf(file, "%*s", (int)gap, "");
	fputs(text, file);
	if (column->is_text && !is_last)
		fprintf(file, "%*s", (int)gap, "");
}

static void print_separator(const struct printer *printer, int column)
{
	static const char *const separators[] = {
		[QUERY_TABLE] = "  ",
		[QUERY_TSV] = "\t",
		[QUERY_CSV] = ",",
		[QUERY_JSON] = ",",
	};

	if (column)
		fputs(separators[printer->format], printer->output->file);
}

static void print_text(const struct printer *printer, int column, const char *text)
{
	FILE *file = printer->output->file;

	print_separator(printer, column);
	if (printer->format == QUERY_TABLE)
		print_padded(text, &printer->result->columns[column],
			     column + 1 == printer->result->n_columns, file);
	else if (printer->format == QUERY_CSV)
		csv_print(text, file);
	else
		fputs(text, file);
}

static void print_json_cell(const struct printer *printer, int column)
{
	const char *name = printer->result->columns[column].name;
	FILE *file = printer->output->file;

	print_separator(printer, column);
	json_escaped((const uint8_t *)name, strlen(name), file);
	fputc(':', file);
	/* JSON has no infinity. */
	if (printer->cell.kind == SQLITE_NULL ||
	    (printer->cell.kind == SQLITE_FLOAT && memchr(printer->bytes, 'I', printer->cell.size)))
		fputs("null", file);
	else if (printer->cell.kind == SQLITE_INTEGER || printer->cell.kind == SQLITE_FLOAT)
		fwrite(printer->bytes, 1, printer->cell.size, file);
	else
		json_escaped((const uint8_t *)printer->bytes, printer->cell.size, file);
}

static bool print_row(struct printer *printer)
{
	bool json = printer->format == QUERY_JSON;
	FILE *file = printer->output->file;

	if (json)
		fputs(printer->is_first ? "\n{" : ",\n{", file);
	for (int i = 0; i < printer->result->n_columns; i++) {
		_cleanup_free_ char *text = NULL;

		if (!read_cell(printer))
			return false;
		if (json) {
			print_json_cell(printer, i);
			continue;
		}
		text = text_escape_again((const uint8_t *)printer->bytes, printer->cell.size, "");
		print_text(printer, i, text);
	}
	fputs(json ? "}" : "\n", file);
	printer->is_first = false;
	return true;
}

static void print_header(const struct printer *printer)
{
	const struct output *output = printer->output;
	bool table = printer->format == QUERY_TABLE;

	fputs(table ? color_bold(output) : "", output->file);
	for (int i = 0; i < printer->result->n_columns; i++)
		print_text(printer, i, printer->result->columns[i].name);
	fputs(table ? color_end(output) : "", output->file);
	fputc('\n', output->file);
}

bool query_print(const struct query_result *result, enum query_format format, bool header,
		 const struct output *output)
{
	struct printer printer = {
		.result = result, .format = format, .output = output, .is_first = true
	};
	bool json = format == QUERY_JSON, ok = true;

	rewind(result->cells);
	if (json)
		fputc('[', output->file);
	else if (header && result->n_columns)
		print_header(&printer);
	while (ok && !output_is_broken(output) && fgetc(result->cells) != EOF)
		ok = print_row(&printer);
	if (json)
		fputs("\n]\n", output->file);
	free(printer.bytes);
	if (!ok || ferror(result->cells)) {
		complain("cannot read a temporary file (TMPDIR)");
		return false;
	}
	return true;
}
