/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel info: a capture's origin, missing data, and reliability. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/profile/profile.h"
#include "cli/session/summary.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

struct info_options {
	struct options common;
	bool all_modules, full;
};

/* Their shares differ from the shares in all samples by 1.5 points at most, as a rule. */
#define SAMPLES_MAX 1000

static const struct argp_option own_options[] = {
	{ "all-modules", OPTION_FLAG(struct info_options, all_modules), NULL, 0,
	  "Also list modules that no trace needed", 0 },
	{ "full", OPTION_FLAG(struct info_options, full), NULL, 0,
	  "Unwind all samples, even of a large capture", 0 },
	{ 0 },
};

static const struct argp parser = {
	.options = own_options,
	.args_doc = "[FILE]",
	.doc = "Summarize a capture: metadata, found and missing modules, losses, and why traces "
	       "ended.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. In a large capture, only some 1,000 samples, "
	       "spread over its time, are unwound, and the output states this. --full, "
	       "--min-complete and options that select samples unwind all, as do encrypted "
	       "captures and those with a damaged header of a block. Symbols and debug information "
	       "are read with --full and such options only.",
	.children = options_of_traces,
};

/* ---- the capture ---------------------------------------------------------------------------- */

static void print_text(FILE *file, const char *name, const char *text)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	fprintf(file, "%-18s %s\n", name, *escaped ? escaped : "unknown");
}

static void print_file_id(FILE *file, const uint8_t *id)
{
	fprintf(file, "%-18s ", "file id");
	for (size_t i = 0; i < 16; i++)
		fprintf(file, "%02x", id[i]);
	fputc('\n', file);
}

static void print_capture(const struct session *session, FILE *file)
{
	const struct reel_capture_info *info = session->info;

	print_text(file, "file", session->options->file);
	fprintf(file, "%-18s %u.%u, %s\n", "format", info->format_major, info->format_minor,
		info->complete ? "complete" : "incomplete");
	print_file_id(file, info->file_id);
	print_text(file, "recorded by", info->tool_version);
	print_text(file, "command line", info->command_line);
	print_text(file, "host", info->hostname);
	print_text(file, "kernel", info->kernel_release);
	print_text(file, "kernel build-id", info->kernel_build_id);
	fprintf(file, "%-18s %s, %s-endian, %" PRIu32 " CPUs", "machine", info->arch,
		info->big_endian ? "big" : "little", info->cpus);
	if (info->page_size)
		fprintf(file, ", page size %" PRIu32 " bytes", info->page_size);
	fputc('\n', file);
	fprintf(file, "%-18s %s\n", "started", format_wall_time(info->start_wall_time).text);
	fprintf(file, "%-18s ", "events");
	summary_print_events(session, file);
	fprintf(file, "\n%-18s %s bytes\n", "stack limit", format_count(info->max_stack).text);
	print_text(file, "stacks",
		   info->scrubbed ? "scrubbed: only addresses keep their value" : "raw");
}

/* The data that an encrypted capture shows without its key. */
static void print_locked(const struct session *session, FILE *file)
{
	const struct reel_capture_info *info = session->info;

	print_text(file, "file", session->options->file);
	fprintf(file, "%-18s %u.%u, encrypted\n", "format", info->format_major, info->format_minor);
	print_file_id(file, info->file_id);
	print_text(file, "encrypted to", reel_capture_locked(session->capture));
	print_text(file, "stacks",
		   info->scrubbed ? "scrubbed: only addresses keep their value" : "raw");
	fprintf(file, "%-18s %s in %s blocks\n", "file size", format_bytes(info->file_size).text,
		format_count(info->blocks).text);
	fprintf(file, "%-18s %s compressed, %s raw; %s of stacks\n", "contents",
		format_bytes(info->stored_bytes).text, format_bytes(info->raw_bytes).text,
		format_bytes(info->stack_bytes).text);
	print_text(file, "not verified",
		   "all of the above: without the secret key, changes and missing data cannot be "
		   "detected");
}

/* Only some samples were unwound. */
static bool is_part(const struct session *session)
{
	return session->options->samples_max && session->quality.traces < session->info->samples;
}

static void print_sizes(const struct session *session, FILE *file)
{
	const struct reel_capture_info *info = session->info;
	uint64_t samples = info->samples ? info->samples : 1;

	fprintf(file, "%-18s %s in %s", "samples", format_count(info->samples).text,
		format_nanoseconds(info->last_sample_time - info->first_sample_time).text);
	if (is_part(session))
		fprintf(file, ", %s unwound (use --full for all)",
			format_count(session->quality.traces).text);
	else if (session->quality.traces != info->samples)
		fprintf(file, ", %s selected", format_count(session->quality.traces).text);
	fprintf(file, "\n%-18s %s in %s blocks: %s a sample\n", "file size",
		format_bytes(info->file_size).text, format_count(info->blocks).text,
		format_bytes(info->file_size / samples).text);
	fprintf(file, "%-18s %s compressed, %s raw", "contents",
		format_bytes(info->stored_bytes).text, format_bytes(info->raw_bytes).text);
	fprintf(file, "; %s of stacks: %s a sample\n", format_bytes(info->stack_bytes).text,
		format_bytes(info->stack_bytes / samples).text);
	if (info->jit_symbols || info->jit_unwinds)
		fprintf(file, "%-18s %s names, %s lines, unwind information %s times\n", "JIT code",
			format_count(info->jit_symbols).text, format_count(info->jit_lines).text,
			format_count(info->jit_unwinds).text);
}

static void print_quality(const struct session *session, FILE *file)
{
	const struct quality *quality = &session->quality;
	uint64_t unwound = quality_unwound(quality);

	if (is_part(session))
		fprintf(file,
			"\n"
			"Why traces ended (%s unwound)\n",
			format_count(quality->traces).text);
	else
		fputs("\nWhy traces ended\n", file);
	for (int stop = 0; stop < REEL_STOP_COUNT; stop++) {
		if (quality->stops[stop])
			fprintf(file, "  %9s  %9s  %s%s\n",
				format_share(quality->stops[stop], unwound).text,
				format_count(quality->stops[stop]).text, reel_stop_name(stop),
				stop == REEL_STOP_ROOT ? ": complete" : "");
	}
	if (!unwound)
		fputs("  no traces\n", file);
	if (quality->without_stack)
		fprintf(file,
			"  also %s without a user stack: kernel threads, threads that were "
			"exiting, and waits that ended while they were copied\n",
			format_plural(quality->without_stack, "sample").text);
	if (quality->stack_cut)
		fprintf(file, "  %s sample%s a stack cut at the limit\n",
			format_count(quality->stack_cut).text,
			quality->stack_cut == 1 ? " has" : "s have");
}

/* The hosts of a merged capture. */
static void print_hosts(const struct session *session, FILE *file)
{
	size_t n;
	const struct reel_host_info *hosts = reel_capture_hosts(session->capture, &n);

	if (!n)
		return;
	fprintf(file,
		"\n"
		"Captures merged from %s\n",
		format_plural(n, "host").text);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name =
			text_escape(*hosts[i].name ? hosts[i].name : "[unknown]", "");
		_cleanup_free_ char *kernel = text_escape(hosts[i].kernel_release, "");

		fprintf(file, "  %9s  %s, from %s%s%s", format_count(hosts[i].captures).text, name,
			format_wall_time(hosts[i].start_wall_time).text, *kernel ? ", kernel " : "",
			kernel);
		if (hosts[i].clock_change)
			fprintf(file, "; its clock was changed by up to %s",
				format_nanoseconds(hosts[i].clock_change).text);
		fputc('\n', file);
	}
}

/* By cause, then by CPU where known. */
static void print_labels(const struct session *session, struct sample_counts *labels, FILE *file)
{
	if (labels->n)
		fputs("\nLabels of samples (report --by LABEL)\n", file);
	sample_counts_sort(labels);
	for (size_t i = 0; i < labels->n; i++) {
		uint64_t samples = labels->values[i]->samples;

		fprintf(file, "  %9s  %9s  %s\n",
			format_share(samples, session->quality.traces).text,
			format_count(samples).text, labels->values[i]->name);
	}
}

static void print_losses(const struct session *session, FILE *file)
{
	struct quality quality = session->quality;
	size_t n;
	const struct reel_loss_info *losses = reel_capture_losses(session->capture, &n);

	/* A part of the traces does not show how many of all traces the losses affect. */
	if (is_part(session))
		quality.stops[REEL_STOP_STACK_END] = quality.stops[REEL_STOP_STACK_CUT] =
			UINT64_MAX;
	fputs("\nLosses: ", file);
	losses_print_all(session, &quality, file);
	fputc('\n', file);
	for (size_t i = 0; i < n; i++) {
		if (losses[i].cpu != UINT32_MAX)
			fprintf(file, "  CPU %-5" PRIu32 "  %9s  %s\n", losses[i].cpu,
				loss_amount((int)losses[i].cause, losses[i].count).text,
				reel_loss_name(losses[i].cause));
	}
}

/* Times are since the recording began. */
static void print_marks(const struct session *session, FILE *file)
{
	uint64_t start = session->info->start_time;
	size_t n;
	const struct reel_mark_info *marks = reel_capture_marks(session->capture, &n);

	if (n)
		fputs("\nMarks\n", file);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = text_escape(marks[i].text, "");
		uint64_t time = marks[i].time > start ? marks[i].time - start : 0;

		fprintf(file, "  %9s  %s%s%s\n", format_nanoseconds(time).text,
			reel_mark_name(marks[i].kind), *text ? ": " : "", text);
	}
}

/* ---- modules -------------------------------------------------------------------------------- */

static const char *state_name(const struct reel_module_info *module)
{
	if (module->recorded)
		return module->kind == REEL_MODULE_ANONYMOUS ? "code" : "names";
	switch (module->state) {
	case REEL_MODULE_UNUSED:
		return "unused";
	case REEL_MODULE_FOUND:
		return module->embedded ? "embedded" : "found";
	case REEL_MODULE_MISSING:
		return "MISSING";
	case REEL_MODULE_MISMATCH:
		return "MISMATCH";
	case REEL_MODULE_BROKEN:
		return "BROKEN";
	}
	return "unknown";
}

static bool lacks_file(const struct reel_module_info *module)
{
	return module->state > REEL_MODULE_FOUND && !module->recorded;
}

/* Modules with missing data first, then by frames. */
static int compare_modules(const void *a, const void *b)
{
	const struct reel_module_info *const *x = a, *const *y = b;
	int x_lacks = lacks_file(*x), y_lacks = lacks_file(*y);

	if (x_lacks != y_lacks)
		return y_lacks - x_lacks;
	if ((*x)->frames != (*y)->frames)
		return (*x)->frames > (*y)->frames ? -1 : 1;
	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static void print_indented(FILE *file, const char *name, const char *text)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	if (*escaped)
		fprintf(file, "  %20s%s %s\n", "", name, escaped);
}

static void print_module(const struct reel_module_info *module, const struct output *output)
{
	bool lacks = lacks_file(module);
	_cleanup_free_ char *path = text_escape(*module->path ? module->path : "[unknown]", "");
	FILE *file = output->file;

	fprintf(file, "  %s%-8s%s %9s  %s", lacks ? color_bold(output) : "", state_name(module),
		lacks ? color_end(output) : "", format_count(module->frames).text, path);
	if (*module->build_id) {
		_cleanup_free_ char *build_id = text_escape(module->build_id, "");

		fprintf(file, "  %s", build_id);
	}
	fputc('\n', file);
	if (strcmp(module->local_path, module->path) != 0)
		print_indented(file, "file", module->local_path);
	if (strcmp(module->debug_path, module->local_path) != 0)
		print_indented(file, "debug information", module->debug_path);
	print_indented(file, module->recorded ? "note:" : "problem:", module->problem);
	if (module->unchecked)
		print_indented(file,
			       "not verified:", "neither a build-id nor a digest was recorded");
}

static void print_modules(const struct session *session, const struct info_options *options,
			  const struct reel_module_info *modules, size_t n,
			  const struct output *output)
{
	size_t counts[REEL_MODULE_BROKEN + 1] = { 0 }, n_embedded = 0, n_recorded = 0;
	const struct reel_module_info **sorted = memory_resize(NULL, n, sizeof(*sorted));

	for (size_t i = 0; i < n; i++) {
		sorted[i] = &modules[i];
		if (modules[i].recorded)
			n_recorded++;
		else if ((unsigned int)modules[i].state <= REEL_MODULE_BROKEN)
			counts[modules[i].state]++;
		n_embedded += modules[i].embedded;
	}
	qsort(sorted, n, sizeof(*sorted), compare_modules);
	fprintf(output->file,
		"\n"
		"Modules%s: %zu found, %zu missing, %zu with a different build-id, %zu unreadable, "
		"%zu not needed",
		is_part(session) ? " of these traces" : "", counts[REEL_MODULE_FOUND] - n_embedded,
		counts[REEL_MODULE_MISSING], counts[REEL_MODULE_MISMATCH],
		counts[REEL_MODULE_BROKEN], counts[REEL_MODULE_UNUSED]);
	if (n_embedded)
		fprintf(output->file, ", %zu embedded", n_embedded);
	if (n_recorded)
		fprintf(output->file, ", %zu with names or code in the capture", n_recorded);
	fputc('\n', output->file);
	if (n > counts[REEL_MODULE_UNUSED] || options->all_modules)
		fprintf(output->file, "  %s%-8s %9s  %s%s\n", color_bold(output), "STATE", "FRAMES",
			"PATH  BUILD-ID", color_end(output));
	for (size_t i = 0; i < n; i++) {
		if (sorted[i]->state != REEL_MODULE_UNUSED || options->all_modules)
			print_module(sorted[i], output);
	}
	free(sorted);
}

static void print_problems(const struct session *session, FILE *file)
{
	size_t n;
	const struct reel_capture_problem *problems = reel_capture_problems(session->capture, &n);
	/* The first problem of a locked capture is the lock, which was reported. */
	size_t first = reel_capture_locked(session->capture) ? 1 : 0;

	if (n <= first)
		return;
	fputs("\nProblems of the file\n", file);
	for (size_t i = first; i < n; i++) {
		_cleanup_free_ char *escaped = text_escape(problems[i].message, "");

		fprintf(file, "  %s\n", escaped);
	}
}

/* ---- the command
 * --------------------------------------------------------------------------------- */

static bool count_labels(void *context, const struct reel_trace *trace,
			 const struct reel_event_info *event)
{
	struct sample_counts *labels = context;

	(void)event;
	for (size_t i = 0; i < trace->n_labels; i++)
		sample_counts_add(labels, 0, trace->labels[i].key);
	return true;
}

static int show_locked(const struct session *session, struct output *output)
{
	size_t n;

	complain("%s", reel_capture_problems(session->capture, &n)->message);
	if (!output_open(output, session->options->output))
		return STATUS_ERROR;
	print_locked(session, output->file);
	print_problems(session, output->file);
	return output_close(output, STATUS_ERROR);
}

int command_info(int argc, char **argv)
{
	struct info_options options = { .common.may_be_locked = true };
	_cleanup_free_ struct reel_module_info *modules = NULL;
	struct sample_counts labels = { .by_name = true };
	struct session session;
	size_t n_modules;
	struct output output;
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &options);
	if (!options.full && !options.common.min_complete &&
	    !selection_is_filtered(&options.common))
		options.common.samples_max = SAMPLES_MAX;
	if (!session_open(&session, &options.common)) {
		options_free(&options.common);
		return STATUS_ERROR;
	}
	if (reel_capture_locked(session.capture)) {
		progress_end(&session.progress);
		status = show_locked(&session, &output);
	} else if (session_visit(&session, count_labels, &labels) &&
		   no_error(reel_capture_modules(session.capture, &modules, &n_modules)) &&
		   output_open(&output, options.common.output)) {
		print_capture(&session, output.file);
		print_sizes(&session, output.file);
		print_hosts(&session, output.file);
		print_quality(&session, output.file);
		print_labels(&session, &labels, output.file);
		print_losses(&session, output.file);
		print_marks(&session, output.file);
		print_modules(&session, &options, modules, n_modules, &output);
		print_problems(&session, output.file);
		status = output_close(&output, session_status(&session));
	}
	sample_counts_free(&labels);
	session_close(&session);
	options_free(&options.common);
	return status;
}
