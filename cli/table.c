/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel table: print the unwind rules of an ELF file, a line for each address range. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session/sandbox.h"
#include "cli/session/session.h"
#include "cli/print/text.h"

/* Limit of messages on broken FDEs. */
#define PROBLEMS_MAX 10

static const struct argp_child children[] = {
	{ &options_file, 0, NULL, 0 },
	{ &options_sandbox, 0, NULL, 0 },
	{ 0 },
};

static error_t parse_table_option(int key, char *arg, struct argp_state *state)
{
	const struct options *options = state->input;

	(void)arg;
	if (key != ARGP_KEY_NO_ARGS)
		return ARGP_ERR_UNKNOWN;
	if (!options->file)
		argp_error(state, "no file");
	return 0;
}

static const struct argp parser = {
	.parser = parse_table_option,
	.args_doc = "FILE",
	.doc = "Print the unwind table of an ELF file, stripped or not.\v"
	       "Each line covers the addresses from BEGIN up to END, and shows how the CFA is "
	       "computed, and where the return address (RA), the frame pointer (FP) and, on "
	       "aarch64, the link register (LR) are. 'c-16' is memory at the CFA less 16, 'cfa-16' "
	       "that address itself, 'rsp+8' a register's value and an offset, 's' the same value, "
	       "'u' undefined (the outermost frame), '?' no rule, 'exp' a DWARF expression. The "
	       "function is named by the range of its unwind entry and the symbol at its start.",
	.children = children,
};

/* ---- printing ------------------------------------------------------------------------------- */

static struct short_text format_location(struct reel_table *table,
					 const struct reel_location *location)
{
	const char *reg = "";
	struct short_text ret = { "?" };

	if (location->kind == REEL_LOCATION_REGISTER || location->kind == REEL_LOCATION_VALUE)
		reg = reel_table_register_name(table, location->reg);
	switch (location->kind) {
	case REEL_LOCATION_UNKNOWN:
		break;
	case REEL_LOCATION_SAME:
		strcpy(ret.text, "s");
		break;
	case REEL_LOCATION_REGISTER:
		snprintf(ret.text, sizeof(ret.text), "%.16s", reg);
		break;
	case REEL_LOCATION_VALUE:
		snprintf(ret.text, sizeof(ret.text), "%.16s%+" PRId64, reg, location->offset);
		break;
	case REEL_LOCATION_MEMORY:
		snprintf(ret.text, sizeof(ret.text), "c%+" PRId64, location->offset);
		break;
	case REEL_LOCATION_EXPRESSION:
		strcpy(ret.text, "exp");
		break;
	case REEL_LOCATION_UNDEFINED:
		strcpy(ret.text, "u");
		break;
	case REEL_LOCATION_CFA:
		snprintf(ret.text, sizeof(ret.text), "cfa%+" PRId64, location->offset);
		break;
	}
	return ret;
}

static void print_row(struct reel_table *table, const struct reel_table_row *row, bool has_lr,
		      FILE *file)
{
	_cleanup_free_ char *function = text_escape(row->function, "");

	fprintf(file, "%016" PRIx64 " %016" PRIx64 " %-11s %-9s %-9s", row->begin, row->end,
		format_location(table, &row->cfa).text,
		format_location(table, &row->return_address).text,
		format_location(table, &row->frame_pointer).text);
	if (has_lr)
		fprintf(file, " %-9s", format_location(table, &row->link_register).text);
	fprintf(file, " %" PRIx64 "-%" PRIx64, row->function_begin, row->function_end);
	if (*function)
		fprintf(file, " %s", function);
	fputs(row->signal_frame ? " (signal frame)" : "", file);
	fputs(row->return_address_signed ? " (signed)" : "", file);
	fputc('\n', file);
}

static void print_header(const struct reel_table *table, const char *path, bool has_lr, FILE *file)
{
	_cleanup_free_ char *escaped = text_escape(path, "");

	fprintf(file, "# %s: %s\n# %-14s %-16s %-11s %-9s %-9s", escaped, reel_table_arch(table),
		"BEGIN", "END", "CFA", "RA", "FP");
	if (has_lr)
		fprintf(file, " %-9s", "LR");
	fputs(" FUNCTION\n", file);
}

/* Skips an unreadable FDE: the others are still readable. False for a worse error. */
static bool pass_over(const struct options *options, struct reel_error *error, size_t *n_problems)
{
	bool goes_on = reel_error_code(error) != REEL_ERROR_NO_MEMORY;

	if (!goes_on || (!options->quiet && ++*n_problems <= PROBLEMS_MAX))
		(void)no_error(error);
	else
		reel_error_destroy(error);
	return goes_on;
}

static bool print_rows(const struct options *options, struct reel_table *table,
		       const struct output *output)
{
	/* On aarch64 the return address is in the link register until it is saved. */
	bool has_lr = !strcmp(reel_table_arch(table), "aarch64");
	size_t n_problems = 0;
	bool ok = true;

	print_header(table, options->file, has_lr, output->file);
	while (ok && !output_is_broken(output)) {
		const struct reel_table_row *row;
		struct reel_error *error = reel_table_next(table, &row);

		if (error) {
			ok = pass_over(options, error, &n_problems);
			continue;
		}
		if (!row)
			break;
		print_row(table, row, has_lr, output->file);
	}
	if (n_problems > PROBLEMS_MAX)
		complain("%s: skipped %zu more unreadable unwind entries", options->file,
			 n_problems - PROBLEMS_MAX);
	return ok;
}

int command_table(int argc, char **argv)
{
	struct options options = { .no_host_files = true };
	struct reel_table *table = NULL;
	struct output output;
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &options);
	if (sandbox_is_wanted(&options) &&
	    (!output_reserve(options.output) || !sandbox_enter(&options))) {
		options_free(&options);
		return STATUS_ERROR;
	}
	if (no_error(reel_table_open(options.file, &table))) {
		if (output_open(&output, options.output)) {
			bool ok = print_rows(&options, table, &output);

			status = output_close(&output, ok ? STATUS_OK : STATUS_ERROR);
		}
		reel_table_close(table);
	}
	options_free(&options);
	return status;
}
