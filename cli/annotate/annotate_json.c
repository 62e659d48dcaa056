/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/annotate/annotation.h"
#include "cli/print/json.h"
#include "cli/profile/profile.h"

static void print_string(const char *name, const char *value, FILE *file)
{
	fprintf(file, "\"%s\": ", name);
	json_string((const uint8_t *)value, strlen(value), file);
}

static void print_amount(const char *name, struct amount amount, FILE *file)
{
	fprintf(file, "\"%s\": {\"weight\": %" PRIu64 ", \"samples\": %" PRIu64 "}", name,
		amount.weight, amount.samples);
}

static void print_places(const struct row *row, FILE *file)
{
	fputs("\"places\": [", file);
	for (size_t i = 0; i < row->n_places; i++) {
		fputs(i ? ", {" : "{", file);
		print_string("function", row->places[i].function, file);
		fputs(", ", file);
		print_string("file", row->places[i].file, file);
		fprintf(file, ", \"line\": %" PRIu32 ", \"inlined\": %s}", row->places[i].line,
			row->places[i].inlined ? "true" : "false");
	}
	fputs("]", file);
}

static void print_row(const struct row *row, FILE *file)
{
	fprintf(file, "{\"address\": %" PRIu64 ", \"size\": %" PRIu64 ", \"bytes\": ", row->address,
		row->size);
	if (row->bytes) {
		fputc('"', file);
		for (size_t i = 0; i < row->size; i++)
			fprintf(file, "%02x", row->bytes[i]);
		fputc('"', file);
	} else {
		fputs("null", file);
	}
	fputs(", \"text\": ", file);
	json_escaped((const uint8_t *)row->text, strlen(row->text), file);
	if (row->has_target)
		fprintf(file, ", \"target\": %" PRIu64, row->target);
	if (row->target_name) {
		fputs(", \"target_name\": ", file);
		json_escaped((const uint8_t *)row->target_name, strlen(row->target_name), file);
	}
	fputs(", ", file);
	print_amount("self", row->self, file);
	fputs(", ", file);
	print_places(row, file);
	fputc('}', file);
}

void annotate_print_json(const struct view *view, const struct output *output)
{
	const struct listing *listing = view->listing;
	const struct reel_function_info *info = listing->info;
	FILE *file = output->file;

	fputc('{', file);
	print_string("function", view->name, file);
	fputs(", ", file);
	print_string("module", info->module_path, file);
	fprintf(file, ", \"begin\": %" PRIu64 ", \"end\": %" PRIu64 ", ", info->begin,
		listing->n
			? listing->rows[listing->n - 1].address + listing->rows[listing->n - 1].size
			: info->begin);
	print_string("arch", info->arch, file);
	fputs(", ", file);
	print_string("code", info->embedded ? "capture" : info->code_path, file);
	fputs(", ", file);
	print_string("event", event_name(view->event), file);
	fprintf(file, ", \"unit\": \"%s\", ", listing->is_time ? "ns" : "");
	print_string("skid", view->skid, file);
	fputs(", ", file);
	print_amount("whole", listing->whole, file);
	fputs(", ", file);
	print_amount("self", listing->self, file);
	fputs(", ", file);
	print_amount("inlined", listing->inlined, file);
	if (view->values) {
		fputs(", ", file);
		line_values_print_json(view->values, output);
	}
	fputs(", \"instructions\": [", file);
	for (size_t i = 0; i < listing->n; i++) {
		fputs(i ? ",\n" : "\n", file);
		print_row(&listing->rows[i], file);
	}
	fputs("\n]}\n", file);
}
