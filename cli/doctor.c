/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel doctor: missing data of each module, the number of affected samples, and remedies. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/doctor/diagnosis.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"
#include "cli/session/session.h"
#include "cli/session/summary.h"

/* Modules that affect a smaller share of the samples are only counted. */
#define WORTH_TELLING (PERCENT / 10)

struct doctor_options {
	struct options common;
	bool all;
};

static const struct argp_option own_options[] = {
	{ "all", OPTION_FLAG(struct doctor_options, all), NULL, 0,
	  "Also list complete modules, and modules that cost less than 0.1 % of the samples", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.args_doc = "[FILE]",
	.doc = "Show for each module of a capture what is missing on this host (its file, symbols, "
	       "or debug information), how many samples are affected, and how to fix it.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. Missing data does not change the exit status.",
	.children = options_of_traces,
};

static int compare_counts(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* Modules that end traces first, then modules without names. */
static int compare_modules(const void *a, const void *b)
{
	const struct module_counts *x = a, *y = b;

	if (x->ended != y->ended)
		return compare_counts(x->ended, y->ended);
	if (x->nameless != y->nameless)
		return compare_counts(x->nameless, y->nameless);
	if (x->lineless != y->lineless)
		return compare_counts(x->lineless, y->lineless);
	return x->samples != y->samples ? compare_counts(x->samples, y->samples)
					: (x->id > y->id) - (x->id < y->id);
}

static void print_share(FILE *file, uint64_t count, uint64_t of)
{
	fprintf(file, "  %9s", count ? format_share(count, of).text : "");
}

/* The number of affected samples. */
static uint64_t cost(const struct module_counts *counts)
{
	uint64_t most = counts->ended;

	most = counts->nameless > most ? counts->nameless : most;
	most = counts->interpreting > most ? counts->interpreting : most;
	return counts->lineless > most ? counts->lineless : most;
}

#define MISSING_WIDTH  22
#define PROBLEM_COLUMN (4 * 11 + 2 + MISSING_WIDTH + 2)

static void print_diagnoses(unsigned bits, FILE *file)
{
	const char *start = "";
	size_t width = 0;

	for (int kind = 0; kind < DIAGNOSES; kind++) {
		if (!(bits >> kind & 1))
			continue;
		width += strlen(start) + strlen(diagnoses[kind].name);
		fprintf(file, "%s%s", start, diagnoses[kind].name);
		start = ", ";
	}
	if (!bits)
		width = (size_t)fprintf(file, "nothing");
	if (width < MISSING_WIDTH)
		fprintf(file, "%*s", (int)(MISSING_WIDTH - width), "");
}

static void print_module(const struct session *session, const struct module_counts *counts,
			 const struct reel_module_info *module, FILE *file)
{
	_cleanup_free_ char *path = text_escape(*module->path ? module->path : "[unknown]", "");
	_cleanup_free_ char *build_id = text_escape(module->build_id, "");
	_cleanup_free_ char *problem = text_escape(module->problem, "");
	uint64_t traces = session->quality.traces;
	unsigned bits = diagnoses_of(counts, module);

	print_share(file, counts->samples, traces);
	print_share(file, counts->ended, traces);
	print_share(file, counts->nameless, traces);
	print_share(file, counts->lineless, traces);
	fputs("  ", file);
	print_diagnoses(bits, file);
	fprintf(file, "  %s%s%s\n", path, *build_id ? "  " : "", build_id);
	if (*problem && !(bits & 1u << JIT_CODE))
		fprintf(file, "%*s%s\n", PROBLEM_COLUMN, "", problem);
}

static int compare_ids(const void *a, const void *b)
{
	const struct reel_module_info *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void print_modules(const struct session *session, const struct doctor_options *options,
			  struct module_stats *stats, const struct reel_module_info *modules,
			  size_t n, const struct output *output)
{
	uint64_t traces = session->quality.traces;
	const uint64_t *stops = session->quality.stops;
	unsigned told = 0, served = 0;
	size_t left_out = 0, well = 0;
	FILE *file = output->file;

	qsort(stats->modules, stats->n, sizeof(*stats->modules), compare_modules);
	fprintf(file, "\n%s  %9s  %9s  %9s  %9s  %-*s  %s%s\n", color_bold(output), "SAMPLES",
		"ENDED", "NO NAME", "NO LINE", MISSING_WIDTH, "MISSING", "MODULE",
		color_end(output));
	for (size_t i = 0; i < stats->n; i++) {
		const struct module_counts *counts = &stats->modules[i];
		const struct reel_module_info key = { .id = counts->id };
		const struct reel_module_info *module =
			bsearch(&key, modules, n, sizeof(key), compare_ids);

		if (!counts->samples || !module)
			continue;
		if (options->all || percent_of(cost(counts), traces) >= WORTH_TELLING) {
			print_module(session, counts, module, file);
			told |= diagnoses_of(counts, module);
			served |= diagnoses_served(counts, module);
		} else if (cost(counts)) {
			left_out++;
		} else {
			well++;
		}
	}
	if (left_out)
		fprintf(file, "%s more cost less than 0.1 %% of the samples (see --all)\n",
			format_count(left_out).text);
	if (well)
		fprintf(file, "%s complete (see --all)\n", format_plural(well, "module").text);
	if (percent_of(stops[REEL_STOP_STACK_CUT], traces) >= WORTH_TELLING)
		told |= 1u << MISSING_STACK;
	if (session->options->debuginfod.fetch)
		served = 0;
	diagnoses_print_remedies(session, stats, told, served, file);
}

static void print_summary(const struct session *session, const struct module_stats *stats,
			  FILE *file)
{
	const struct quality *quality = &session->quality;

	summary_print_origin(session, file);
	fprintf(file, "\n%s, ", format_plural(session->quality.traces, "sample").text);
	quality_print(&session->quality, file);
	fprintf(file,
		"\n"
		"%s: %s without a name, %s without a line\n",
		format_plural(quality->frames, "frame").text,
		format_share(quality->nameless, quality->frames).text,
		format_share(stats->lineless, quality->frames).text);
	if (!quality->with_runtime)
		return;
	summary_print_runtimes(quality, file);
	fputc('\n', file);
}

int command_doctor(int argc, char **argv)
{
	struct doctor_options options = { 0 };
	_cleanup_free_ struct reel_module_info *modules = NULL;
	struct module_stats stats = { 0 };
	struct session session;
	struct output output;
	int status = STATUS_ERROR;
	size_t n;

	options_parse(&parser, argc, argv, 0, &options);
	if (!session_open(&session, &options.common)) {
		options_free(&options.common);
		return STATUS_ERROR;
	}
	if (module_stats_open(&session, &stats) &&
	    session_visit(&session, module_stats_count, &stats) &&
	    no_error(reel_capture_modules(session.capture, &modules, &n)) &&
	    output_open(&output, options.common.output)) {
		session_warn(&session);
		print_summary(&session, &stats, output.file);
		print_modules(&session, &options, &stats, modules, n, &output);
		status = output_close(&output, session_status(&session));
	}
	module_stats_free(&stats);
	session_close(&session);
	options_free(&options.common);
	return status;
}
