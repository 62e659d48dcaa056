/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/export/trace_facts.h"
#include "cli/page/page_header.h"
#include "cli/page/page_marks.h"
#include "cli/print/json.h"
#include "cli/print/text.h"

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

static void print_capture(const struct page_header *header, FILE *file)
{
	const struct reel_capture_info *info = header->source->of.info;
	uint64_t wall_time;

	print_text("host", info->hostname, file);
	print_text("kernel", info->kernel_release, file);
	print_text("arch", info->arch, file);
	print_text("command", info->command_line, file);
	fprintf(file, "\"cpus\":%" PRIu32 ",\n", info->cpus);
	if (wall_time_of(info, header->profile->start, &wall_time))
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

static void print_events(const struct page_header *header, FILE *file)
{
	fputs("\"events\":[", file);
	for (size_t i = 0; i < header->profile->n_events; i++) {
		const struct flame_event *event = &header->profile->events[i];

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

void page_header_print(const struct page_header *header, FILE *file)
{
	const struct flame_source *of = &header->source->of;

	fputc('{', file);
	print_text("file", path_base(of->path), file);
	if (of->info)
		print_capture(header, file);
	else
		fprintf(file, "\"captures\":%" PRIu64 ",\n", of->captures);
	print_stops(of->quality, file);
	fprintf(file, "\"samples\":%" PRIu64 ",\"pruned\":%" PRIu64 ",\"lines\":%s,\n",
		of->quality->traces, header->profile->pruned,
		header->profile->frames.by_line ? "true" : "false");
	fprintf(file, "\"step\":%" PRIu64 ",\n", header->profile->spans.step);
	if (header->source->capture)
		page_marks_print(header->source->capture, header->profile, file);
	if (header->source->code) {
		page_code_print(header->source->code, file);
		page_instructions_print(header->source->instructions, file);
	}
	if (header->source->diff)
		page_diff_print(header->source->diff, file);
	print_events(header, file);
	page_strings_print(header->strings, file);
	fputs("\"columns\":", file);
	columns_print_table(header->columns, file);
	fputc('}', file);
}
