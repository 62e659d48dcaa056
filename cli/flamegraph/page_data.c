/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page's data of a capture, as JSON; cli/flamegraph/web/flame.js reads it. Numbers of a kind are
 * together in columns, as differences where this makes them small: gzip does the rest.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/trace_facts.h"
#include "cli/flamegraph/page.h"
#include "cli/print/json.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

struct data {
	FILE *file;
	const struct flame_profile *profile;
	/* By number - 1. */
	struct flame_frame **frames;
	uint32_t n_frames;
	size_t frames_capacity;
	/* By event: each node's number in the page. */
	uint32_t **nodes;
};

/* Of the current event. */
struct walk {
	struct data *data;
	const struct call_tree *tree;
	uint32_t *nodes, next;
	FILE *frames; /* a second column, written along with the first */
};

static void print_escaped(const char *text, FILE *file)
{
	json_escaped((const uint8_t *)text, strlen(text), file);
}

static void print_raw(const char *text, FILE *file)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	print_escaped(escaped, file);
}

/* ---- stacks --------------------------------------------------------------------------------- */

static uint32_t frame_number(struct data *data, struct flame_frame *frame)
{
	if (frame->number)
		return frame->number - 1;
	data->frames = memory_reserve(data->frames, &data->frames_capacity, data->n_frames,
				      sizeof(struct flame_frame *));
	data->frames[data->n_frames] = frame;
	frame->number = ++data->n_frames;
	return frame->number - 1;
}

static int enter_node(void *context, uint32_t node, size_t depth)
{
	struct walk *walk = context;
	struct flame_frame *frame = (struct flame_frame *)walk->tree->nodes[node].key;
	const char *comma = walk->next ? "," : "";

	walk->nodes[node] = ++walk->next;
	fprintf(walk->data->file, "%s%zu", comma, depth);
	fprintf(walk->frames, "%s%" PRIu32, comma, frame_number(walk->data, frame));
	return 1;
}

/* The depth and frame of each node, in walking order. */
static void print_tree(struct data *data, size_t number)
{
	const struct call_tree *tree = &data->profile->events[number].tree;
	struct walk walk = { .data = data, .tree = tree };
	char *frames = NULL;
	size_t size;

	walk.frames = open_memstream(&frames, &size);
	memory_check(walk.frames);
	walk.nodes = memory_resize(NULL, tree->n_nodes, sizeof(*walk.nodes));
	walk.nodes[CALL_TREE_ROOT] = 0;
	fputs("\"depth\":[", data->file);
	call_tree_walk(tree, enter_node, NULL, &walk);
	fclose(walk.frames);
	memory_check(frames);
	fprintf(data->file, "],\"frame\":[%s]", frames);
	free(frames);
	data->nodes[number] = walk.nodes;
}

static void print_heat(const struct flame_heat *heat, FILE *file)
{
	fprintf(file, "\"heat\":{\"step\":%" PRIu64 ",\"samples\":[", heat->step);
	for (size_t i = 0; i < heat->n; i++)
		fprintf(file, "%s%" PRIu64, i ? "," : "", heat->cells[i]);
	fputs("]}", file);
}

static void print_events(struct data *data)
{
	fputs("\"events\":[", data->file);
	for (size_t i = 0; i < data->profile->n_events; i++) {
		const struct flame_event *event = &data->profile->events[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", data->file);
		print_raw(event_name(event->event), data->file);
		fprintf(data->file, ",\"isTime\":%s,\"period\":%" PRIu64 ",",
			event->is_time ? "true" : "false", event->period);
		print_heat(&event->heat, data->file);
		fputc(',', data->file);
		print_tree(data, i);
		fputc('}', data->file);
	}
	fputs("],\n", data->file);
}

static void print_frame(const struct flame_frame *frame, FILE *file)
{
	enum flame_kind kind = flame_frame_kind(frame);

	fputc('[', file);
	print_escaped(frame->symbol->name, file);
	fprintf(file, ",%d,", kind);
	print_escaped(frame->symbol->module, file);
	fputc(',', file);
	print_raw(frame->file, file);
	fprintf(file, ",%" PRIu32 "]", frame->line);
}

static void print_frames(const struct data *data)
{
	fputs("\"kinds\":[", data->file);
	for (int i = 0; i < FLAME_KINDS; i++) {
		fputs(i ? "," : "", data->file);
		print_escaped(flame_kind_marks[i], data->file);
	}
	fputs("],\n\"frames\":[", data->file);
	for (uint32_t i = 0; i < data->n_frames; i++) {
		fputs(i ? ",\n" : "\n", data->file);
		print_frame(data->frames[i], data->file);
	}
	fputs("],\n", data->file);
}

/* ---- spans ---------------------------------------------------------------------------------- */

static void print_threads(const struct data *data)
{
	const struct flame_profile *profile = data->profile;

	fputs("\"threads\":[", data->file);
	for (size_t i = 0; i < profile->n_threads; i++) {
		fputs(i ? ",\n[" : "\n[", data->file);
		print_escaped(profile->threads[i].thread->name, data->file);
		fputc(',', data->file);
		print_escaped(profile->threads[i].process->name, data->file);
		fputc(']', data->file);
	}
	fputs("],\n", data->file);
}

enum column {
	COLUMN_BIN,
	COLUMN_EVENT,
	COLUMN_THREAD,
	COLUMN_NODE,
	COLUMN_EXTRA,
	COLUMN_SAMPLES,
	COLUMNS,
};

static int64_t node_of(const struct data *data, const struct flame_span *span)
{
	return data->nodes[span->event][span->node];
}

/* The excess over the event's usual weight of the samples, modulo 2^64. */
static int64_t extra_weight(const struct data *data, const struct flame_span *span)
{
	uint64_t usual = data->profile->events[span->event].period * span->amount.samples;

	return (int64_t)(span->amount.weight - usual);
}

/* Threads and nodes of a step are in order, so differences are small. */
static int64_t column_of(const struct data *data, size_t i, enum column column)
{
	const struct flame_span *span = &data->profile->spans.items[i];
	const struct flame_span *last = i ? span - 1 : NULL;

	switch (column) {
	case COLUMN_BIN:
		return (int64_t)(span->bin - (last ? last->bin : 0));
	case COLUMN_EVENT:
		return span->event;
	case COLUMN_THREAD:
		return (int64_t)span->thread - (last ? last->thread : 0);
	case COLUMN_NODE:
		return node_of(data, span) - (last ? node_of(data, last) : 0);
	case COLUMN_EXTRA:
		return extra_weight(data, span);
	case COLUMN_SAMPLES:
	case COLUMNS:
		break;
	}
	return (int64_t)span->amount.samples;
}

static void print_spans(const struct data *data)
{
	static const char *const names[COLUMNS] = { "bin",  "event", "thread",
						    "node", "extra", "samples" };
	const struct flame_spans *spans = &data->profile->spans;

	fprintf(data->file, "\"step\":%" PRIu64 ",\n\"spans\":{", spans->step);
	for (enum column column = 0; column < COLUMNS; column++) {
		fprintf(data->file, "%s\"%s\":[", column ? ",\n" : "", names[column]);
		for (size_t i = 0; i < spans->n; i++)
			fprintf(data->file, "%s%" PRId64, i ? "," : "", column_of(data, i, column));
		fputc(']', data->file);
	}
	fputs("}\n", data->file);
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static void print_text(const char *name, const char *text, FILE *file)
{
	fprintf(file, "\"%s\":", name);
	print_raw(text, file);
	fputs(",\n", file);
}

static void print_host(const struct data *data, const struct reel_capture_info *info)
{
	uint64_t wall_time;

	print_text("host", info->hostname, data->file);
	print_text("kernel", info->kernel_release, data->file);
	print_text("arch", info->arch, data->file);
	if (wall_time_of(info, data->profile->start, &wall_time))
		print_text("time", format_wall_time(wall_time).text, data->file);
}

static void print_source(const struct data *data, const struct flame_source *source)
{
	const struct quality *quality = source->quality;

	print_text("file", path_base(source->path), data->file);
	if (source->info)
		print_host(data, source->info);
	else
		fprintf(data->file, "\"captures\":%" PRIu64 ",\n", source->captures);
	print_text("complete",
		   format_share(quality->stops[REEL_STOP_ROOT], quality_unwound(quality)).text,
		   data->file);
	fprintf(data->file, "\"samples\":%" PRIu64 ",\"pruned\":%" PRIu64 ",\n", quality->traces,
		data->profile->pruned);
}

char *page_data_of(const struct flame_profile *profile, const struct flame_source *source,
		   size_t *size_ret)
{
	struct data data = { .profile = profile };
	char *text = NULL;

	data.file = open_memstream(&text, size_ret);
	memory_check(data.file);
	data.nodes = memory_get((profile->n_events + 1) * sizeof(*data.nodes));
	fputs("{", data.file);
	print_source(&data, source);
	print_events(&data);
	print_frames(&data);
	print_threads(&data);
	print_spans(&data);
	fputs("}\n", data.file);
	fclose(data.file);
	memory_check(text);
	for (size_t i = 0; i < profile->n_events; i++)
		free(data.nodes[i]);
	free(data.nodes);
	free(data.frames);
	return text;
}
