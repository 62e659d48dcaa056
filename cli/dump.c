/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel dump: every record of a capture, as text or as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/print/json.h"
#include "cli/session/session.h"
#include "cli/print/text.h"

/* As in tests/reader/reel_reader.py: 1 if there are problems; this status if also no record could be
 * read.
 */
#define STATUS_NOTHING_READ 2

struct dump_options {
	struct options common;
	bool json;
	bool bytes;
};

static const struct argp_child children[] = {
	{ &options_keys, 0, "Other options:", 1 },
	{ &options_sandbox, 0, NULL, 1 },
	{ &options_file, 0, NULL, 1 },
	{ 0 },
};

static const struct argp_option own_options[] = { { "json", OPTION_FLAG(struct dump_options, json),
						    NULL, 0, "Print one JSON object per line", 0 },
						  { "bytes",
						    OPTION_FLAG(struct dump_options, bytes), NULL,
						    0, "Also show the bytes of stacks", 0 },
						  { 0 } };

static const struct argp parser = {
	.options = own_options,
	.args_doc = "[FILE]",
	.doc = "Print every record of a capture in the file's order, with the fields that SPEC.md "
	       "describes.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. The exit status is 1 if the file has problems, which are "
	       "printed to standard error, and 2 if no record could be read.",
	.children = children,
};

/* ---- printing ------------------------------------------------------------------------------- */

struct dump {
	const struct dump_options *options;
	struct output output;
	uint64_t n_records;
};

static void print_hex(const struct reel_field *field, FILE *file)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < field->n_bytes; i++) {
		fputc(hex[field->bytes[i] >> 4], file);
		fputc(hex[field->bytes[i] & 15], file);
	}
}

/* The bytes of stacks are most of a capture; records' own are always shown. */
static bool is_shown(const struct dump *dump, const struct reel_field *field, int depth)
{
	return !depth || dump->options->bytes || field->kind != REEL_FIELD_BYTES;
}

static void print_items(const struct dump *dump, const struct reel_field *items, size_t n,
			bool named, int depth);

/* The form is the same in text and in JSON. */
static void print_bytes(const struct dump *dump, const struct reel_field *field)
{
	const char *quote = dump->options->json ? "\"" : "";
	FILE *file = dump->output.file;

	fputs(field->n_bytes || dump->options->json ? quote : "-", file);
	print_hex(field, file);
	fputs(quote, file);
}

static void print_string(const struct dump *dump, const struct reel_field *field)
{
	_cleanup_free_ char *text = NULL;

	if (dump->options->json) {
		json_string(field->bytes, field->n_bytes, dump->output.file);
		return;
	}
	text = text_escape_bytes(field->bytes, field->n_bytes, "\"");
	fprintf(dump->output.file, "\"%s\"", text);
}

/* The library nests fields up to three levels deep. */
static void print_field(const struct dump *dump, const struct reel_field *field, int depth)
{
	FILE *file = dump->output.file;
	bool json = dump->options->json;

	switch (field->kind) {
	case REEL_FIELD_ADDRESS:
		/* JSON has decimal numbers only. */
		fprintf(file, json ? "%" PRIu64 : "0x%" PRIx64, field->value);
		break;
	case REEL_FIELD_UNSIGNED:
		fprintf(file, "%" PRIu64, field->value);
		break;
	case REEL_FIELD_TEXT:
		print_string(dump, field);
		break;
	case REEL_FIELD_BYTES:
		print_bytes(dump, field);
		break;
	case REEL_FIELD_NULL:
		fputs(json ? "null" : "-", file);
		break;
	case REEL_FIELD_LIST:
		fputc('[', file);
		print_items(dump, field->items, field->n_items, false, depth + 1);
		fputc(']', file);
		break;
	case REEL_FIELD_OBJECT:
		fputc('{', file);
		print_items(dump, field->items, field->n_items, true, depth + 1);
		fputc('}', file);
		break;
	}
}

static void print_items(const struct dump *dump, const struct reel_field *items, size_t n,
			bool named, int depth)
{
	bool json = dump->options->json, first = true;

	for (size_t i = 0; i < n; i++) {
		if (!is_shown(dump, &items[i], depth))
			continue;
		if (!first)
			fputs(json ? ", " : " ", dump->output.file);
		if (named)
			fprintf(dump->output.file, json ? "\"%s\": " : "%s=", items[i].name);
		print_field(dump, &items[i], depth);
		first = false;
	}
}

static bool print_record(void *context, const struct reel_record_view *record)
{
	struct dump *dump = context;
	const struct output *output = &dump->output;
	FILE *file = output->file;

	dump->n_records++;
	if (dump->options->json) {
		fprintf(file,
			"{\"block\": %" PRIu32 ", \"block_offset\": %" PRIu64
			", \"record\": \"%s\"",
			record->block_sequence, record->block_offset, record->name);
		fputs(record->n_fields ? ", " : "", file);
		print_items(dump, record->fields, record->n_fields, true, 0);
		fputs("}\n", file);
	} else {
		fprintf(file, "%" PRIu32 "@%" PRIu64 " %s%s%s ", record->block_sequence,
			record->block_offset, color_bold(output), record->name, color_end(output));
		print_items(dump, record->fields, record->n_fields, true, 0);
		fputc('\n', file);
	}
	return !output_is_broken(output);
}

/* ---- problems -------------------------------------------------------------------------------- */

static const char *class_of(enum reel_error_code code)
{
	switch (code) {
	case REEL_ERROR_TRUNCATED:
		return "truncated";
	case REEL_ERROR_UNSUPPORTED:
		return "unsupported";
	case REEL_ERROR_NOT_A_CAPTURE:
		return "not a capture";
	case REEL_ERROR_KEY:
		return "encrypted";
	default:
		return "corrupt";
	}
}

static void print_problem(enum reel_error_code code, const char *message)
{
	fprintf(stderr, "{\"problem\": \"%s\", \"message\": ", class_of(code));
	json_string((const uint8_t *)message, strlen(message), stderr);
	fputs("}\n", stderr);
}

/* Prints the problems on stderr, as tests/reader/reel_reader.py does for JSON, and counts them. */
static size_t report_problems(const struct session *session, const struct dump_options *options)
{
	size_t n;
	const struct reel_capture_problem *problems = reel_capture_problems(session->capture, &n);

	if (!options->json)
		session_warn(session);
	for (size_t i = 0; i < n && options->json && !options->common.quiet; i++)
		print_problem(problems[i].code, problems[i].message);
	return n;
}

/* The file is not a capture, or is unreadable. */
static int report_unreadable(struct reel_error *error, const struct dump_options *options)
{
	enum reel_error_code code = reel_error_code(error);
	bool is_about_file = code == REEL_ERROR_NOT_A_CAPTURE || code == REEL_ERROR_UNSUPPORTED ||
			     code == REEL_ERROR_CORRUPT || code == REEL_ERROR_TRUNCATED ||
			     code == REEL_ERROR_KEY;

	if (!options->json || !is_about_file) {
		(void)no_error(error);
		return is_about_file ? STATUS_NOTHING_READ : STATUS_ERROR;
	}
	print_problem(code, reel_error_message(error));
	reel_error_destroy(error);
	return STATUS_NOTHING_READ;
}

static int dump_records(struct session *session, struct dump *dump)
{
	size_t n_problems;
	bool ok;

	/* A dump contains all bytes of the capture, including stacks. */
	output_make_private();
	if (!output_open(&dump->output, dump->options->common.output))
		return STATUS_ERROR;
	if (dump->output.terminal)
		session->progress.on = false;
	ok = no_error(reel_capture_visit_records(session->capture, print_record, dump));
	progress_end(&session->progress);
	n_problems = report_problems(session, dump->options);
	if (ok && !n_problems)
		return output_close(&dump->output, STATUS_OK);
	return output_close(&dump->output, dump->n_records ? STATUS_ERROR : STATUS_NOTHING_READ);
}

int command_dump(int argc, char **argv)
{
	/* Do not search for modules. */
	struct dump_options options = { .common.no_host_files = true };
	struct dump dump = { .options = &options };
	struct reel_error *error;
	struct session session;
	int status;

	options_parse(&parser, argc, argv, 0, &options);
	error = session_try_open(&session, &options.common);
	if (error)
		status = report_unreadable(error, &options);
	else
		status = dump_records(&session, &dump);
	session_close(&session);
	options_free(&options.common);
	return status;
}
