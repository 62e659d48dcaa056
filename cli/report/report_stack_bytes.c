/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/report/name_column.h"
#include "cli/report/report_stack_bytes.h"

/* Columns before the names, without OF LIMIT. */
#define THREAD_WIDTH   47
#define LIMIT_WIDTH    11
#define FUNCTION_WIDTH 67

/* A stack this full is near its limit. */
#define NEAR (80 * PERCENT)

bool report_stack_bytes_exist(const struct stack_bytes *stacks, const struct session *session)
{
	if (stacks->samples)
		return true;
	complain("%s: no selected sample has a stack to measure: kernel threads, walks by frame "
		 "pointers, and captures made by 'stackreel resolve' have none",
		 session->options->file);
	return false;
}

static void print_hidden(size_t n, uint64_t percent_limit, const struct output *output)
{
	if (n)
		fprintf(output->file, "# %s more below --percent-limit %s of the deepest stack\n",
			format_count(n).text, format_limit(percent_limit).text);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void print_thread(const struct stack_thread *thread, uint64_t limit,
			 const struct name_column *names, const struct output *output)
{
	uint64_t share = percent_of(thread->most, limit);
	bool is_near = limit && share >= NEAR;

	fprintf(output->file, "%2s%11s  ", thread->is_minimum ? ">=" : "",
		format_count(thread->most).text);
	if (limit)
		fprintf(output->file, "%s%8s %%%s ", is_near ? color_bold(output) : "",
			format_percent(thread->most, limit).text, is_near ? color_end(output) : "");
	fprintf(output->file, "%11s  %9s  %9" PRIu64 "  ",
		format_count(size_list_median(&thread->depths)).text,
		format_count(size_list_count(&thread->depths)).text, thread->sample);
	name_column_print(names, thread->symbol->name,
			  symbol_shown(thread->leaf, output->short_names), output);
}

static void print_threads(const struct stack_bytes *stacks, uint64_t limit, uint64_t least,
			  uint64_t percent_limit, const struct output *output)
{
	struct name_column names = { .head = "THREAD", .module_head = "LEAF THERE" };
	size_t n = 0, n_near = 0;

	while (n < stacks->n_threads && stacks->threads[n]->most >= least) {
		const struct stack_thread *thread = stacks->threads[n++];

		name_column_add(&names, thread->symbol->name,
				symbol_shown(thread->leaf, output->short_names));
		n_near += limit && percent_of(thread->most, limit) >= NEAR;
	}
	name_column_fit(&names, THREAD_WIDTH + (limit ? LIMIT_WIDTH : 0), output);
	fprintf(output->file, "\n%s%13s  ", color_bold(output), "DEEPEST");
	if (limit)
		fprintf(output->file, "%10s ", "OF LIMIT");
	fprintf(output->file, "%11s  %9s  %9s  ", "MEDIAN", "SAMPLES", "AT SAMPLE");
	name_column_print_head(&names, output);
	for (size_t i = 0; i < n; i++)
		print_thread(stacks->threads[i], limit, &names, output);
	print_hidden(stacks->n_threads - n, percent_limit, output);
	if (limit)
		fprintf(output->file, "# %s used 80 %% or more of %s bytes\n",
			format_plural(n_near, "thread").text, format_count(limit).text);
	else
		fputs("# captures do not have the limits of stacks: --stack-bytes=8M shows shares "
		      "of 8 MiB\n",
		      output->file);
}

/* ---- functions ------------------------------------------------------------------------------ */

static void print_function(const struct stack_bytes *stacks, const struct stack_function *function,
			   const struct name_column *names, const struct output *output)
{
	fprintf(output->file, "%11s %11s %11s %7s %7s %%  %9s  ", format_count(function->most).text,
		format_count(size_list_max(&function->frames)).text,
		format_count(size_list_median(&function->frames)).text,
		format_count(function->most_calls).text,
		format_percent(function->bytes, stacks->bytes).text,
		format_count(function->samples).text);
	name_column_print(names, symbol_shown(function->symbol, output->short_names),
			  function->symbol->module, output);
}

static void print_functions(const struct stack_bytes *stacks, uint64_t least,
			    uint64_t percent_limit, const struct output *output)
{
	struct name_column names = { .head = NAME_HEAD, .module_head = NAME_MODULE_HEAD };
	size_t n = 0;

	while (n < stacks->n_functions && stacks->functions[n]->most >= least) {
		const struct symbol *symbol = stacks->functions[n++]->symbol;

		name_column_add(&names, symbol_shown(symbol, output->short_names), symbol->module);
	}
	name_column_fit(&names, FUNCTION_WIDTH, output);
	fprintf(output->file, "\n%s%11s %11s %11s %7s %9s  %9s  ", color_bold(output), "MOST",
		"FRAME", "MEDIAN", "CALLS", "SHARE", "SAMPLES");
	name_column_print_head(&names, output);
	for (size_t i = 0; i < n; i++)
		print_function(stacks, stacks->functions[i], &names, output);
	print_hidden(stacks->n_functions - n, percent_limit, output);
}

/* ---- all ------------------------------------------------------------------------------------ */

void report_stack_bytes_print(const struct stack_bytes *stacks, uint64_t limit,
			      uint64_t percent_limit, const struct output *output)
{
	uint64_t deepest = stacks->n_threads ? stacks->threads[0]->most : 0, least;

	if (!deepest && stacks->n_functions)
		deepest = stacks->functions[0]->most;
	/* In a double: sizes of stacks are far below 2^53. */
	least = (uint64_t)((double)deepest * (double)percent_limit / (double)(100 * PERCENT));
	fprintf(output->file, "# stacks of %s", format_plural(stacks->samples, "sample").text);
	if (stacks->without_stack)
		fprintf(output->file, ", and %s without a stack to measure",
			format_count(stacks->without_stack).text);
	fprintf(output->file, "; %s of frames have a known size\n",
		format_share(stacks->frames - stacks->unmeasured, stacks->frames).text);
	fputs("# in bytes, as sampled: stacks may have been deeper between samples\n",
	      output->file);
	print_threads(stacks, limit, least, percent_limit, output);
	print_functions(stacks, least, percent_limit, output);
}
