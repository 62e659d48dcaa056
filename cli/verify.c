/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel verify: check captures for damage; report the position and the lost data. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session/options.h"
#include "cli/print/json.h"
#include "cli/session/selection.h"
#include "cli/session/session.h"
#include "cli/print/text.h"

struct verify_options {
	struct options common;
	struct string_list files;
	bool deep, json;
};

/* The context for printing a finding. */
struct report {
	const struct verify_options *options;
	const struct session *session;
	FILE *file;
	/* The line with the file's name is printed. */
	bool has_head;
};

/* ---- options --------------------------------------------------------------------------------- */

static const struct argp_child children[] = {
	{ &options_search, 0, "Modules (--deep):", 1 },	   { &options_work, 0, NULL, 1 },
	{ &options_keys, 0, "Encrypted captures:", 2 },	   { &options_sandbox, 0, "Sandbox:", 3 },
	{ &options_file, 0, "Input, output, limits:", 4 }, { 0 },
};

static error_t parse_verify_option(int key, char *arg, struct argp_state *state)
{
	struct verify_options *options = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		string_list_add(&options->files, arg);
		return 0;
	case ARGP_KEY_END:
		inputs_check(&options->files, &options->common, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "deep", OPTION_FLAG(struct verify_options, deep), NULL, 0,
	  "Also unwind all samples, and report how their traces end", 0 },
	{ "json", OPTION_FLAG(struct verify_options, json), NULL, 0,
	  "Print one JSON object per line: findings, then the file", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_verify_option,
	.args_doc = "[FILE...]",
	.doc = "Check captures for damage: checksums, records, their consistency, and images of "
	       "modules. Each problem is reported with its place and the resulting loss.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. The exit status is 1 if a capture is damaged, cannot be "
	       "read, or is encrypted and no key was given.",
	.children = children,
};

/* ---- findings -------------------------------------------------------------------------------- */

static const char *class_of(const struct reel_finding *finding)
{
	if (finding->is_remark)
		return "remark";
	switch (finding->code) {
	case REEL_ERROR_TRUNCATED:
		return "truncated";
	case REEL_ERROR_UNSUPPORTED:
		return "unsupported";
	case REEL_ERROR_KEY:
		return "encrypted";
	case REEL_ERROR_NOT_A_CAPTURE:
		return "not a capture";
	default:
		return "corrupt";
	}
}

static void json_text(const char *name, const char *text, FILE *file)
{
	fprintf(file, ", \"%s\": ", name);
	json_string((const uint8_t *)text, strlen(text), file);
}

static void print_json_finding(const char *path, const struct reel_finding *finding, FILE *file)
{
	fprintf(file, "{\"finding\": \"%s\"", class_of(finding));
	json_text("file", path, file);
	if (finding->offset == UINT64_MAX)
		fputs(", \"offset\": null", file);
	else
		fprintf(file, ", \"offset\": %" PRIu64, finding->offset);
	json_text("message", finding->message, file);
	json_text("lost", finding->lost, file);
	fputs("}\n", file);
}

static void print_finding(void *context, const struct reel_finding *finding)
{
	struct report *report = context;
	const char *path = report->session->info->path, *message = finding->message;
	_cleanup_free_ char *escaped = NULL, *name = NULL, *lost = NULL;
	size_t size = strlen(path);

	if (report->options->json) {
		print_json_finding(path, finding, report->file);
		return;
	}
	if (!report->has_head) {
		name = text_escape(path, "");
		fprintf(report->file, "%s:\n", name);
		report->has_head = true;
	}
	/* Most messages begin with the file's name as well. */
	if (!strncmp(message, path, size) && !strncmp(message + size, ": ", 2))
		message += size + 2;
	escaped = text_escape(message, "");
	lost = text_escape(finding->lost, "");
	fprintf(report->file, "  %s: %s\n", class_of(finding), escaped);
	if (*lost)
		fprintf(report->file, "    lost: %s\n", lost);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void print_counts(const struct session *session, const struct reel_verify_counts *counts,
			 FILE *file)
{
	fprintf(file, "%s", format_plural(counts->samples, "sample").text);
	if (counts->has_end && counts->expected_samples != counts->samples)
		fprintf(file, " of %s", format_count(counts->expected_samples).text);
	fprintf(file, ", %s side records", format_count(counts->side_records).text);
	if (counts->has_end && counts->expected_side_records &&
	    counts->expected_side_records != counts->side_records)
		fprintf(file, " of %s", format_count(counts->expected_side_records).text);
	fprintf(file, ", %s blocks", format_count(counts->blocks).text);
	if (counts->images)
		fprintf(file, ", %s images", format_count(counts->images).text);
	fprintf(file, ", %s", format_bytes(session->info->file_size).text);
	if (counts->digests)
		fputs(", SHA-256 matches", file);
}

static void print_json_counts(const struct session *session,
			      const struct reel_verify_counts *counts, FILE *file)
{
	fprintf(file, "{\"whole\": %s", counts->problems ? "false" : "true");
	json_text("file", session->info->path, file);
	fprintf(file,
		", \"problems\": %" PRIu64 ", \"remarks\": %" PRIu64 ", \"blocks\": %" PRIu64
		", \"damaged_blocks\": %" PRIu64 ", \"samples\": %" PRIu64
		", \"side_records\": %" PRIu64 ", \"images\": %" PRIu64 ", \"digests\": %" PRIu64,
		counts->problems, counts->remarks, counts->blocks, counts->damaged_blocks,
		counts->samples, counts->side_records, counts->images, counts->digests);
	if (counts->has_end)
		fprintf(file,
			", \"expected_samples\": %" PRIu64 ", \"expected_side_records\": %" PRIu64,
			counts->expected_samples, counts->expected_side_records);
	fputs("}\n", file);
}

static void print_verdict(const struct report *report, const struct reel_verify_counts *counts)
{
	const struct session *session = report->session;
	_cleanup_free_ char *name = text_escape(session->info->path, "");

	if (report->options->json) {
		print_json_counts(session, counts, report->file);
		return;
	}
	fprintf(report->file, report->has_head ? "  " : "%s: ", name);
	if (reel_capture_locked(session->capture))
		fprintf(report->file,
			"encrypted: checksums and positions of %s blocks %s, but anyone can forge "
			"these; records, samples and missing data cannot be checked without the "
			"key\n",
			format_count(counts->blocks).text,
			counts->problems > 1 ? "are wrong" : "are right");
	else {
		fputs(counts->problems ? "NOT WHOLE: " : "whole: ", report->file);
		print_counts(session, counts, report->file);
		fputc('\n', report->file);
	}
}

static bool only_count(void *context, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	(void)context;
	(void)trace;
	(void)event;
	return true;
}

/* Findings of a replay: how traces end, and unreadable files. */
static bool replay(struct report *report, struct session *session)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;
	size_t n;

	if (!session_visit(session, only_count, NULL) ||
	    !no_error(reel_capture_modules(session->capture, &modules, &n)))
		return false;
	if (!report->options->json) {
		fputs("  ", report->file);
		quality_print(&session->quality, report->file);
		fputc('\n', report->file);
	}
	for (size_t i = 0; i < n; i++) {
		struct reel_finding remark = { .is_remark = true,
					       .message = modules[i].problem,
					       .offset = UINT64_MAX,
					       .lost = "" };

		if (modules[i].frames && *modules[i].problem)
			print_finding(report, &remark);
	}
	return true;
}

static int verify_open(const struct verify_options *options, struct session *session, FILE *file)
{
	struct report report = { .options = options, .session = session, .file = file };
	const REEL_SIZED(reel_verify_options, wanted, .found = print_finding, .context = &report);
	REEL_SIZED(reel_verify_counts, counts);
	bool ok = no_error(reel_capture_verify(session->capture, &wanted, &counts));

	progress_end(&session->progress);
	if (!ok)
		return STATUS_ERROR;
	print_verdict(&report, &counts);
	if (options->deep && !reel_capture_locked(session->capture))
		ok = replay(&report, session);
	return ok && !counts.problems ? STATUS_OK : STATUS_ERROR;
}

/* The header is unreadable, or the file is not a capture. */
static void print_unreadable(const struct verify_options *options, struct reel_error *error,
			     FILE *file)
{
	const struct reel_finding finding = { .code = reel_error_code(error),
					      .message = reel_error_message(error),
					      .offset = UINT64_MAX,
					      .lost = "" };

	if (options->json)
		print_json_finding(options->common.file, &finding, file);
	no_error(error);
}

int command_verify(int argc, char **argv)
{
	struct verify_options options = {
		.common = { .may_be_locked = true, .may_lack_header = true },
	};
	struct output output;
	int status = STATUS_OK;

	options_parse(&parser, argc, argv, 0, &options);
	options.common.no_host_files |= !options.deep;
	for (size_t i = 0; i < options.files.count; i++) {
		struct session session;
		struct reel_error *error;
		bool is_open;

		options.common.file = options.files.items[i];
		error = session_try_open(&session, &options.common);
		if (!i && !output_open(&output, options.common.output)) {
			reel_error_destroy(error);
			session_close(&session);
			status = STATUS_ERROR;
			goto out;
		}
		is_open = !error;
		if (error)
			print_unreadable(&options, error, output.file);
		if (!is_open || verify_open(&options, &session, output.file) != STATUS_OK)
			status = STATUS_ERROR;
		session_close(&session);
	}
	status = output_close(&output, status);
out:
	free(options.files.items);
	options_free(&options.common);
	return status;
}
