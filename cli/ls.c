/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel ls: the captures in a directory, one a line. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/print/json.h"
#include "cli/print/text.h"
#include "cli/session/folder.h"
#include "cli/session/sandbox.h"
#include "cli/session/summary.h"
#include "cli/session/wall_time.h"

/* Programs in a line. */
#define PROGRAMS_MAX 3

struct ls {
	struct options common;
	bool json;
};

static const struct argp_option own_options[] = {
	{ "json", OPTION_FLAG(struct ls, json), NULL, 0, "Print a JSON object for each capture",
	  0 },
	{ 0 },
};

static const struct argp_child children[] = {
	{ &options_file, 0, NULL, 0 },
	{ &options_keys, 0, NULL, 0 },
	{ &options_sandbox, 0, NULL, 0 },
	{ 0 },
};

static const struct argp parser = {
	.options = own_options,
	.parser = options_store,
	.args_doc = "[DIR]",
	.doc = "List the captures in DIR (the current directory): host, start and end in local "
	       "time, length, samples, samples in a second, lost samples, size, and the threads' "
	       "names with most samples. Captures are found by their content, also those of "
	       "several hosts.\v"
	       "'stackreel report --at TIME DIR' shows what happened. The exit status is 1 if a "
	       "capture is damaged.",
	.children = children,
};

static uint64_t lost_samples(const struct reel_outline *part)
{
	uint64_t lost = 0;

	for (int cause = 0; cause < REEL_LOSS_COUNT; cause++)
		lost += loss_is_of_samples((enum reel_loss)cause) ? part->lost[cause] : 0;
	return lost;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_programs(const struct reel_outline *part, FILE *file)
{
	for (size_t i = 0; i < part->n_comms && i < PROGRAMS_MAX; i++) {
		_cleanup_free_ char *name = text_escape(part->comms[i].name, "");

		fprintf(file, "%s%s %s", i ? ", " : "", *name ? name : "?",
			format_share_short(part->comms[i].samples, part->samples).text);
	}
}

/* Without the year's zone, which the head has. */
static void print_part(const struct folder_part *entry, int host_width, FILE *file)
{
	const struct reel_outline *part = entry->outline;
	_cleanup_free_ char *host = text_escape(part->hostname, "");

	fprintf(file, "%-*s  %.19s  %.8s  %10s %9s %7s %7s %9s  ", host_width, *host ? host : "-",
		format_local_time(part->start).text, format_local_time(part->end).text + 11,
		format_nanoseconds(part->end - part->start).text, format_count(part->samples).text,
		format_ratio(part->samples * 1000, (part->end - part->start) / 1000000).text,
		format_count(lost_samples(part)).text, format_bytes(part->file_size).text);
	print_programs(part, file);
	fputs(part->problem ? "  (damaged)\n" : part->complete ? "\n" : "  (unfinished)\n", file);
}

static void print_all(const struct folder *folder, FILE *file)
{
	size_t width = strlen("host");

	for (size_t i = 0; i < folder->n; i++) {
		_cleanup_free_ char *host = text_escape(folder->parts[i].outline->hostname, "");

		width = text_width(host) > width ? text_width(host) : width;
	}
	fprintf(file, "%-*s  %-19s  %-8s  %10s %9s %7s %7s %9s  %s\n", (int)width, "host", "from",
		"to", "length", "samples", "rate", "lost", "size", "programs");
	for (size_t i = 0; i < folder->n; i++)
		print_part(&folder->parts[i], (int)width, file);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_text(const char *name, const char *text, FILE *file)
{
	fprintf(file, "\"%s\": ", name);
	json_string((const uint8_t *)text, strlen(text), file);
	fputs(", ", file);
}

static void json_time(const char *name, uint64_t time, FILE *file)
{
	fprintf(file, "\"%s\": %" PRIu64 ".%09" PRIu64 ", ", name, time / 1000000000,
		time % 1000000000);
}

static void print_json(const struct folder_part *entry, FILE *file)
{
	const struct reel_outline *part = entry->outline;

	fputc('{', file);
	json_text("file", entry->path, file);
	json_text("host", part->hostname, file);
	json_time("start", part->start, file);
	json_time("end", part->end, file);
	fprintf(file,
		"\"samples\": %" PRIu64 ", \"lost_samples\": %" PRIu64 ", \"size\": %" PRIu64
		", \"complete\": %s, \"encrypted\": %s, ",
		part->samples, lost_samples(part), part->file_size,
		part->complete ? "true" : "false", part->encrypted ? "true" : "false");
	if (part->problem)
		json_text("problem", part->problem, file);
	fputs("\"programs\": [", file);
	for (size_t i = 0; i < part->n_comms; i++) {
		fputs(i ? ", {" : "{", file);
		json_text("name", part->comms[i].name, file);
		fprintf(file, "\"samples\": %" PRIu64 "}", part->comms[i].samples);
	}
	fputs("]}\n", file);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int list(const struct ls *ls, const struct folder *folder)
{
	int status = folder->unread ? STATUS_ERROR : STATUS_OK;
	struct output output;

	if (!output_open(&output, ls->common.output))
		return STATUS_ERROR;
	if (!ls->json && folder->n)
		print_all(folder, output.file);
	for (size_t i = 0; i < folder->n; i++) {
		if (ls->json)
			print_json(&folder->parts[i], output.file);
		if (folder->parts[i].outline->problem) {
			complain("%s", folder->parts[i].outline->problem);
			status = STATUS_ERROR;
		}
	}
	if (!folder->n)
		complain("%s: no readable captures in this directory", ls->common.file);
	if (folder->others && !ls->common.quiet)
		complain("%s: %s ignored, which are not captures", ls->common.file,
			 format_plural(folder->others, "file").text);
	return output_close(&output, status);
}

int command_ls(int argc, char **argv)
{
	struct ls ls = { .common.default_file = "." };
	struct folder folder = { 0 };
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &ls);
	tzset(); /* before the sandbox */
	if (output_reserve(ls.common.output) &&
	    (!sandbox_is_wanted(&ls.common) || sandbox_enter(&ls.common)) &&
	    no_error(folder_read(&ls.common, true, &folder)))
		status = list(&ls, &folder);
	folder_free(&folder);
	options_free(&ls.common);
	return status;
}
