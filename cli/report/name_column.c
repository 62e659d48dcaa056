/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/report/name_column.h"
#include "cli/profile/symbols.h"
#include "cli/print/text.h"

/* Without a terminal, long names do not push the last column beyond this width. */
#define WIDTH_MAX 60

/* The shortest cut of a module's name on a narrow terminal. */
#define MODULE_WIDTH_MIN 6

size_t name_print(const char *name, size_t width, const struct output *output)
{
	size_t shown = 0, needed = text_width(name);

	if (!width || needed <= width) {
		fputs(name, output->file);
		return needed;
	}
	for (; *name && (shown < width - 1 || (*name & 0xc0) == 0x80); name++) {
		shown += ((uint8_t)name[1] & 0xc0) != 0x80;
		fputc(*name, output->file);
	}
	fputs(output->utf8 ? "…" : ">", output->file);
	return width;
}

/* Whether it has types of arguments: at its end would be the last ones. */
static bool has_arguments(const char *name)
{
	const char *at = name + strcspn(name, "(<");

	return at > name && *at && at[-1] != ' ' && !strstr(at, "…") && strncmp(at, "()", 2) != 0;
}

/* The end tells functions of a namespace, and files of a folder, apart. */
size_t name_print_end(const char *name, size_t width, const struct output *output)
{
	size_t needed = text_width(name);

	if (!width || needed <= width) {
		fputs(name, output->file);
		return needed;
	}
	if (has_arguments(name))
		return name_print(name, width, output);
	for (size_t skipped = needed - width + 1; skipped; skipped--) {
		name++;
		while ((*name & 0xc0) == 0x80)
			name++;
	}
	fprintf(output->file, "%s%s", output->utf8 ? "…" : "<", name);
	return width;
}

struct name_column name_heads_of(enum symbols_by by)
{
	switch (by) {
	case SYMBOLS_BY_MODULE:
		return (struct name_column){ .head = "MODULE", .module_head = "" };
	case SYMBOLS_BY_LINE:
		return (struct name_column){ .head = "LINE", .module_head = "FOLDER" };
	case SYMBOLS_BY_SOURCE:
		return (struct name_column){ .head = "SOURCE", .module_head = NAME_MODULE_HEAD };
	case SYMBOLS_BY_ADDRESS:
		return (struct name_column){ .head = "ADDRESS", .module_head = NAME_MODULE_HEAD };
	default:
		return (struct name_column){ .head = NAME_HEAD, .module_head = NAME_MODULE_HEAD };
	}
}

void name_column_add(struct name_column *column, const char *name, const char *module)
{
	size_t width = text_width(name), module_width = text_width(path_base(module));

	if (width > column->width)
		column->width = width;
	if (module_width > column->module_width)
		column->module_width = module_width;
	column->has_modules |= *module != '\0';
}

static size_t at_least(size_t a, size_t b)
{
	return a > b ? a : b;
}

size_t name_room(size_t used, const struct output *output)
{
	if (!output->width)
		return 0;
	return at_least(output->width > used ? output->width - used : 0, NAME_WIDTH_MIN);
}

/* Modules get up to a third of the room. */
static void fit_terminal(struct name_column *column, size_t room)
{
	if (column->has_modules && column->width + 2 + column->module_width > room) {
		size_t third = at_least(room / 3, MODULE_WIDTH_MIN);

		if (column->module_width > third)
			column->module_width = third;
		room = room > column->module_width + 2 ? room - column->module_width - 2 : 0;
	}
	room = at_least(room, NAME_WIDTH_MIN);
	if (column->width > room)
		column->width = room;
}

void name_column_fit(struct name_column *column, size_t used, const struct output *output)
{
	column->width = at_least(column->width, strlen(column->head));
	column->module_width = at_least(column->module_width, strlen(column->module_head));
	if (output->width)
		fit_terminal(column, output->width > used ? output->width - used : 0);
	else if (column->width > WIDTH_MAX)
		column->width = WIDTH_MAX;
}

/* A name padded to the column; on a terminal also cut to it. */
static void print_name(const struct name_column *column, const char *name,
		       const struct output *output)
{
	size_t width = name_print_end(name, output->width ? column->width : 0, output);

	for (; column->has_modules && width < column->width; width++)
		fputc(' ', output->file);
}

void name_column_print_head(const struct name_column *column, const struct output *output)
{
	print_name(column, column->head, output);
	fprintf(output->file, "%s%s%s\n", column->has_modules ? "  " : "",
		column->has_modules ? column->module_head : "", color_end(output));
}

void name_column_print(const struct name_column *column, const char *name, const char *module,
		       const struct output *output)
{
	print_name(column, name, output);
	if (*module) {
		fprintf(output->file, "  %s", color_dim(output));
		name_print(path_base(module), output->width ? column->module_width : 0, output);
		fputs(color_end(output), output->file);
	}
	fputc('\n', output->file);
}
