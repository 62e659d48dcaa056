/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/name_column.h"
#include "cli/symbols.h"
#include "cli/text.h"

/* Without a terminal, long names do not push the last column out further than this. */
#define WIDTH_MAX 60

#define HEAD "SYMBOL"

void name_column_add(struct name_column *column, const char *name, const char *module)
{
	size_t width = text_width(name);

	if (width > column->width)
		column->width = width;
	column->has_modules |= *module != '\0';
}

void name_column_fit(struct name_column *column, size_t used, const struct output *output)
{
	size_t limit = WIDTH_MAX;

	if (output->width)
		limit = output->width > used + 20 ? output->width - used : 20;
	/* On a terminal, leave room for modules. */
	if (output->width && column->has_modules && limit > 50)
		limit -= 20;
	if (column->width > limit)
		column->width = limit;
	if (column->width < strlen(HEAD))
		column->width = strlen(HEAD);
}

/* A name padded to the column; on a terminal also cut to it. */
static void print_name(const struct name_column *column, const char *name,
		       const struct output *output)
{
	size_t width = text_width(name), shown = 0;

	if (width > column->width && output->width) {
		for (; *name && (shown < column->width - 1 || (*name & 0xc0) == 0x80); name++) {
			shown += ((uint8_t)name[1] & 0xc0) != 0x80;
			fputc(*name, output->file);
		}
		fputs(output->utf8 ? "…" : ">", output->file);
		return;
	}
	fputs(name, output->file);
	for (; column->has_modules && width < column->width; width++)
		fputc(' ', output->file);
}

void name_column_print_head(const struct name_column *column, const struct output *output)
{
	print_name(column, HEAD, output);
	fprintf(output->file, "%s%s\n", column->has_modules ? "  MODULE" : "", color_end(output));
}

void name_column_print(const struct name_column *column, const char *name, const char *module,
		       const struct output *output)
{
	print_name(column, name, output);
	if (*module)
		fprintf(output->file, "  %s%s%s", color_dim(output), path_base(module),
			color_end(output));
	fputc('\n', output->file);
}
