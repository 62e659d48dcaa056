/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/flamegraph/svg.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* Pixels. */
#define MARGIN	   10
#define HEAD	   46
#define ROW	   17
#define FOOT	   34
#define CHARACTER  670 /* hundredths, of 11 px of a monospaced font */
#define LEGEND_BOX 14

/* The look of each kind: colours of different lightness, and patterns. */
struct look {
	const char *name, *pattern, *color, *border;
};

static const struct look looks[FLAME_KINDS] = {
	[FLAME_PLAIN] = { "function", NULL, NULL, "stroke=\"#ffffff\"" },
	[FLAME_INLINED] = { "inlined into its caller", NULL, "#fff3b8",
			    "stroke=\"#8a6d00\" stroke-dasharray=\"3 2\"" },
	[FLAME_KERNEL] = { "kernel", "<path d=\"M0 8L8 0\" stroke=\"#3b7dad\"/>", "#b5d9ee",
			   "stroke=\"#ffffff\"" },
	[FLAME_GUESSED] = { "guessed, without proof",
			    "<circle cx=\"4\" cy=\"4\" r=\"1.2\" fill=\"#666666\"/>", "#dddddd",
			    "stroke=\"#666666\" stroke-dasharray=\"1 2\"" },
	[FLAME_INCOMPLETE] = { "incomplete: not unwound to the root",
			       "<path d=\"M0 0L8 8M0 8L8 0\" stroke=\"#999999\"/>", "#ffffff",
			       "stroke=\"#333333\"" },
	[FLAME_PYTHON] = { "Python, Ruby", NULL, "#f3c6dd", "stroke=\"#ffffff\"" },
};

struct drawing {
	const struct flame_event *event;
	const struct svg_options *options;
	FILE *file;
	uint64_t all;
	/* By node: the start of its next child, as weight. */
	uint64_t *next;
	size_t depth;	 /* of the deepest box */
	size_t left_out; /* boxes */
	bool has[FLAME_KINDS];
	double top; /* of the root's box */
};

/* ---- text --------------------------------------------------------------------------------------- */

static void print_character(int32_t point, const uint8_t *bytes, size_t length, FILE *file)
{
	switch (point) {
	case '&':
		fputs("&amp;", file);
		break;
	case '<':
		fputs("&lt;", file);
		break;
	case '>':
		fputs("&gt;", file);
		break;
	case '"':
		fputs("&quot;", file);
		break;
	/* XML 1.0 documents must not contain these two in any form (section 2.2, Char). */
	case 0xfffe:
	case 0xffff:
		for (size_t i = 0; i < length; i++)
			fprintf(file, "\\x%02x", bytes[i]);
		break;
	default:
		fwrite(bytes, 1, length, file);
	}
}

/* Prints at most `max` characters of an escaped text (text_escape); if cut, the last one marks the
 * cut. */
static void xml_text(const char *text, size_t max, FILE *file)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t size = strlen(text), left = text_width(text) > max ? max - 1 : max;

	for (size_t i = 0; i < size && left; left--) {
		size_t length;
		int32_t point = text_decode(bytes + i, size - i, &length);

		print_character(point, bytes + i, length, file);
		i += length;
	}
	if (text_width(text) > max)
		fputs("…", file);
}

/* ---- layout -------------------------------------------------------------------------------- */

static bool is_shown(const struct drawing *drawing, uint32_t node)
{
	uint64_t weight = drawing->event->tree.nodes[node].total.weight;

	return weight && percent_of(weight, drawing->all) >= drawing->options->min_share;
}

static const struct flame_frame *frame_of(const struct drawing *drawing, uint32_t node)
{
	return drawing->event->tree.nodes[node].key;
}

static int measure_node(void *context, uint32_t node, size_t depth)
{
	struct drawing *drawing = context;

	if (!is_shown(drawing, node)) {
		drawing->left_out++;
		return 0;
	}
	drawing->has[flame_frame_kind(frame_of(drawing, node))] = true;
	if (depth > drawing->depth)
		drawing->depth = depth;
	return 1;
}

/* In hundredths: the same on every host. */
static uint64_t to_pixels(const struct drawing *drawing, uint64_t weight)
{
	uint64_t width = (drawing->options->width - 2 * MARGIN) * UINT64_C(100);

	return drawing->all ? reel_decimal_ratio_rounded(weight, width, drawing->all) : 0;
}

/* ---- boxes --------------------------------------------------------------------------------- */

static void print_amount(const struct drawing *drawing, struct amount amount)
{
	const struct flame_event *event = drawing->event;

	fprintf(drawing->file, "%s%s, %s (%s samples)",
		event->is_time ? format_nanoseconds(amount.weight).text
			       : format_count(amount.weight).text,
		event->is_time ? "" : " counts", format_share(amount.weight, drawing->all).text,
		format_count(amount.samples).text);
}

static void print_title(const struct drawing *drawing, const struct flame_frame *frame,
			struct amount amount)
{
	FILE *file = drawing->file;

	fputs("<title>", file);
	xml_text(frame->symbol->name, SIZE_MAX, file);
	fputs(flame_kind_marks[flame_frame_kind(frame)], file);
	if (*frame->symbol->module) {
		fputs(" (", file);
		xml_text(frame->symbol->module, SIZE_MAX, file);
		fputc(')', file);
	}
	if (*frame->file) {
		_cleanup_free_ char *path = text_escape(frame->file, "");

		fputc('\n', file);
		xml_text(path, SIZE_MAX, file);
		fprintf(file, ":%" PRIu32, frame->line);
	}
	fputc('\n', file);
	print_amount(drawing, amount);
	fputs("</title>", file);
}

/* Plain functions get one of several shades of a colour, so that neighbours differ. */
static void print_fill(const struct flame_frame *frame, enum flame_kind kind, FILE *file)
{
	static const char *const shades[] = { "#ffb15c", "#ffbd70", "#ffa647", "#ffc785",
					      "#f99d3e" };

	if (looks[kind].pattern)
		fprintf(file, "url(#kind%d)", kind);
	else if (looks[kind].color)
		fputs(looks[kind].color, file);
	else
		fputs(shades[frame->symbol->hash % (sizeof(shades) / sizeof(*shades))], file);
}

/* `x` and `width` in hundredths. */
static void print_label(const char *name, uint64_t x, double y, uint64_t width, FILE *file)
{
	uint64_t room = width > 600 ? (width - 600) / CHARACTER : 0;

	if (room < 3)
		return;
	fprintf(file, "<text x=\"%.2f\" y=\"%.2f\">", (double)x / 100 + 3, y + ROW - 5);
	xml_text(name, (size_t)room, file);
	fputs("</text>", file);
}

static int draw_node(void *context, uint32_t node, size_t depth)
{
	struct drawing *drawing = context;
	const struct call_tree_node *at = &drawing->event->tree.nodes[node];
	const struct flame_frame *frame = frame_of(drawing, node);
	enum flame_kind kind = flame_frame_kind(frame);
	uint64_t x, width = to_pixels(drawing, at->total.weight);
	double y = drawing->top + (drawing->options->icicle ? 1.0 : -1.0) * (double)depth * ROW;

	drawing->next[node] = drawing->next[at->parent];
	drawing->next[at->parent] += at->total.weight;
	if (!is_shown(drawing, node))
		return 0;
	x = MARGIN * 100 + to_pixels(drawing, drawing->next[node]);
	fputs("<g>", drawing->file);
	print_title(drawing, frame, at->total);
	fprintf(drawing->file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%d\" fill=\"",
		(double)x / 100, y, (double)width / 100, ROW - 1);
	print_fill(frame, kind, drawing->file);
	fprintf(drawing->file, "\" %s/>", looks[kind].border);
	print_label(frame->symbol->name, x, y, width, drawing->file);
	fputs("</g>\n", drawing->file);
	return 1;
}

static void draw_root(struct drawing *drawing)
{
	const struct call_tree_node *root = &drawing->event->tree.nodes[CALL_TREE_ROOT];

	fputs("<g><title>all\n", drawing->file);
	print_amount(drawing, root->total);
	fprintf(drawing->file,
		"</title><rect x=\"%d\" y=\"%.2f\" width=\"%.2f\" height=\"%d\" fill=\"#eeeeee\"/>",
		MARGIN, drawing->top, (double)to_pixels(drawing, drawing->all) / 100, ROW - 1);
	print_label("all", MARGIN * 100, drawing->top, to_pixels(drawing, drawing->all),
		    drawing->file);
	fputs("</g>\n", drawing->file);
}

/* ---- around them ----------------------------------------------------------------------------- */

static void draw_patterns(const struct drawing *drawing)
{
	fputs("<defs>\n", drawing->file);
	for (int kind = 0; kind < FLAME_KINDS; kind++) {
		if (!looks[kind].pattern)
			continue;
		fprintf(drawing->file,
			"<pattern id=\"kind%d\" width=\"8\" height=\"8\" "
			"patternUnits=\"userSpaceOnUse\"><rect width=\"8\" height=\"8\" "
			"fill=\"%s\"/>%s</pattern>\n",
			kind, looks[kind].color, looks[kind].pattern);
	}
	fputs("</defs>\n", drawing->file);
}

/* The host, or the number of captures. */
static char *origin_of(const struct flame_source *source)
{
	if (source->info)
		return text_escape(source->info->hostname, "");
	if (!source->captures)
		return memory_print("folded stacks");
	return memory_print("a profile of %s captures", format_count(source->captures).text);
}

static void draw_head(const struct drawing *drawing, const struct flame_source *source)
{
	_cleanup_free_ char *file = text_escape(path_base(source->path), "");
	_cleanup_free_ char *origin = origin_of(source);
	_cleanup_free_ char *event = text_escape(event_name(drawing->event->event), "");
	struct amount all = drawing->event->tree.nodes[CALL_TREE_ROOT].total;

	fprintf(drawing->file, "<text x=\"%d\" y=\"18\" font-size=\"14\" font-weight=\"bold\">",
		MARGIN);
	xml_text(file, SIZE_MAX, drawing->file);
	fputs(", ", drawing->file);
	xml_text(origin, SIZE_MAX, drawing->file);
	fprintf(drawing->file, "</text>\n<text x=\"%d\" y=\"36\">%s samples of ", MARGIN,
		format_count(all.samples).text);
	xml_text(event, SIZE_MAX, drawing->file);
	fprintf(drawing->file, "; complete traces: %s",
		format_share(source->quality->stops[REEL_STOP_ROOT],
			     quality_unwound(source->quality))
			.text);
	if (drawing->left_out)
		fprintf(drawing->file, "; boxes below %s %% are hidden",
			format_limit(drawing->options->min_share).text);
	fputs("</text>\n", drawing->file);
}

/* Only explain the kinds in the picture. */
static void draw_legend(const struct drawing *drawing, double y)
{
	double x = MARGIN;

	for (int kind = 0; kind < FLAME_KINDS; kind++) {
		if (!drawing->has[kind])
			continue;
		fprintf(drawing->file,
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"%d\" height=\"%d\" fill=\"", x, y,
			LEGEND_BOX, LEGEND_BOX);
		if (looks[kind].pattern)
			fprintf(drawing->file, "url(#kind%d)", kind);
		else
			fputs(looks[kind].color ? looks[kind].color : "#ffb15c", drawing->file);
		fprintf(drawing->file, "\" %s/><text x=\"%.2f\" y=\"%.2f\">%s</text>\n",
			looks[kind].border, x + LEGEND_BOX + 5, y + LEGEND_BOX - 3,
			looks[kind].name);
		x += LEGEND_BOX + 20 + CHARACTER * (double)strlen(looks[kind].name) / 100;
	}
}

void svg_write(const struct flame_event *event, const struct flame_source *source,
	       const struct svg_options *options, FILE *file)
{
	const struct call_tree *tree = &event->tree;
	struct drawing drawing = {
		.event = event,
		.options = options,
		.file = file,
		.all = tree->nodes[CALL_TREE_ROOT].total.weight,
	};
	size_t height;

	call_tree_walk(tree, measure_node, NULL, &drawing);
	height = HEAD + (drawing.depth + 1) * ROW + FOOT;
	drawing.top = (double)HEAD + (options->icicle ? 0 : (double)drawing.depth * ROW);
	drawing.next = memory_get(tree->n_nodes * sizeof(*drawing.next));
	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%zu\" "
		"viewBox=\"0 0 %u %zu\" font-family=\"monospace\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		options->width, height, options->width, height);
	draw_patterns(&drawing);
	draw_head(&drawing, source);
	draw_root(&drawing);
	call_tree_walk(tree, draw_node, NULL, &drawing);
	draw_legend(&drawing, (double)(height - FOOT) + 10);
	fputs("</svg>\n", file);
	free(drawing.next);
}
