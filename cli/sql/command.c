/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel sql: query captures, loaded into a database in an unnamed file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/export/formats.h"
#include "cli/session/options.h"
#include "cli/print/text.h"
#include "cli/session/sandbox.h"
#include "cli/sql/query.h"
#include "cli/sql/sqlite.h"

/* SQLite's default limit. */
#define QUERY_MAX 1000000

enum {
	KEY_TABLE = OPTION_KEY_OWN,
	KEY_TSV,
	KEY_CSV,
	KEY_JSON,
};

struct sql_options {
	struct options common;
	struct string_list arguments;
	struct string_list files;
	const char *query; /* NULL: from standard input */
	int format;	   /* enum query_format; -1: depends on the output */
	bool no_header;
};

/* The last of several arguments is the query. */
static void divide_arguments(struct sql_options *options, struct argp_state *state)
{
	struct string_list *arguments = &options->arguments;
	bool named = strcmp(options->common.file, DEFAULT_CAPTURE) != 0;
	size_t n = arguments->count;

	if (n > 1 || (n && named))
		options->query = arguments->items[--n];
	for (size_t i = 0; i < n; i++)
		string_list_add(&options->files, arguments->items[i]);
	if (!n && !named)
		argp_error(
			state,
			"no capture (use FILE 'QUERY', or FILE with the query on standard input)");
	inputs_check(&options->files, &options->common, state);
	if (options->query && !strcmp(options->query, "-"))
		options->query = NULL;
	if (!options->query && !strcmp(options->files.items[options->files.count - 1], "-"))
		argp_error(state, "standard input cannot be both the capture and the query");
}

static error_t parse_sql_option(int key, char *arg, struct argp_state *state)
{
	struct sql_options *options = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		string_list_add(&options->arguments, arg);
		return 0;
	case KEY_TABLE:
	case KEY_TSV:
	case KEY_CSV:
	case KEY_JSON:
		options->format = QUERY_TABLE + (key - KEY_TABLE);
		return 0;
	case ARGP_KEY_END:
		divide_arguments(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "table", KEY_TABLE, NULL, 0, "Align columns (default on a terminal)", 0 },
	{ "tsv", KEY_TSV, NULL, 0, "Separate columns by tabs (default elsewhere)", 0 },
	{ "csv", KEY_CSV, NULL, 0, "Separate columns by commas", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print a JSON array with an object for each row", 0 },
	{ "no-header", OPTION_FLAG(struct sql_options, no_header), NULL, 0,
	  "Do not print column names", 0 },
	{ "values", OPTION_KEY_VALUES, "FUNC[:EXPR]", 0,
	  "Limit the table frame_values to this variable, or to this function's; EXPR may be a "
	  "part of a variable (repeatable)",
	  0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_sql_option,
	.args_doc = "FILE... QUERY\nFILE",
	.doc = "Run an SQL query on captures, in the database that 'stackreel export "
	       "--format=sqlite' writes.\v"
	       "Without QUERY, or if it is '-', the query is read from standard input. Queries can "
	       "only read. 'select sql from sqlite_schema' shows the tables; docs/sql.md describes "
	       "them. The exit status is 1 if the query is invalid; nothing is printed then.",
	.children = options_of_traces,
};

/* The caller frees it; NULL after an error, which was reported. */
static char *read_query(void)
{
	char *text = memory_get(QUERY_MAX + 1);
	size_t n = fread(text, 1, QUERY_MAX + 1, stdin);

	if (!ferror(stdin) && n <= QUERY_MAX && !memchr(text, '\0', n)) {
		text[n] = '\0';
		return text;
	}
	if (ferror(stdin))
		complain("cannot read the query from standard input: %s", strerror(errno));
	else
		complain("invalid query on standard input: %s",
			 n > QUERY_MAX ? "more than 1,000,000 bytes" : "NUL character");
	free(text);
	return NULL;
}

/* A file for data that does not fit into memory; NULL after an error. */
static FILE *temporary_file(void)
{
	FILE *file;
	int fd;

	if (!no_error(reel_temporary_file(&fd)))
		return NULL;
	file = fdopen(fd, "w+");
	memory_check(file);
	return file;
}

/* `status` is the status of loading. */
static int print_result(const struct sql_options *options, const char *query, FILE *cells,
			struct sqlite_export *export, int status)
{
	struct query_result result;
	struct output output;

	if (!query_run(&export->database, query, cells, &result) ||
	    !output_open(&output, options->common.output)) {
		status = STATUS_ERROR;
	} else {
		int format = options->format >= 0 ? options->format
			     : output.terminal	  ? QUERY_TABLE
						  : QUERY_TSV;

		if (!query_print(&result, format, !options->no_header, &output))
			status = STATUS_ERROR;
		status = output_close(&output, status);
	}
	query_result_free(&result);
	return status;
}

static int run_query(struct sql_options *options, const char *query, FILE *database_file,
		     FILE *cells)
{
	const struct string_list *files = &options->files;
	struct export_target target = { .fd = fileno(database_file) };
	struct sqlite_export *export;
	bool reads_values = false, ok;
	int status = STATUS_OK;

	options->common.file = files->items[files->count - 1];
	target.sandboxed = sandbox_is_wanted(&options->common);
	export = export_sqlite.open(&target);
	/* Report errors in the query now, not after minutes. */
	ok = export && sqlite_export_check(export, query, &reads_values);
	/* Values take time, so they are only made for queries that read them. */
	if (ok && reads_values && !options->common.shown_values.count)
		value_list_add(&options->common.shown_values,
			       (struct reel_value_request){ .locals = true });
	for (size_t i = 0; i < files->count && ok; i++) {
		int one;

		options->common.file = files->items[i];
		one = export_capture(&export_sqlite, export, &options->common, &ok);
		if (one > status || one == STATUS_ERROR)
			status = one;
	}
	ok = ok && sqlite_export_finish(export);
	if (ok)
		status = print_result(options, query, cells, export, status);
	if (export && !export_sqlite.close(export, ok))
		status = STATUS_ERROR;
	return ok ? status : STATUS_ERROR;
}

static int sql(struct sql_options *options)
{
	_cleanup_free_ char *read = options->query ? NULL : read_query();
	const char *query = options->query ? options->query : read;
	FILE *database_file = query ? temporary_file() : NULL;
	FILE *cells = database_file ? temporary_file() : NULL;
	int status = STATUS_ERROR;

	if (cells)
		status = run_query(options, query, database_file, cells);
	if (cells)
		fclose(cells);
	if (database_file)
		fclose(database_file);
	return status;
}

int command_sql(int argc, char **argv)
{
	struct sql_options options = { .format = -1 };
	int status;

	options_parse(&parser, argc, argv, 0, &options);
	status = sql(&options);
	free(options.arguments.items);
	free(options.files.items);
	options_free(&options.common);
	return status;
}
