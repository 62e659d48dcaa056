/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel values: which values a function's variables had, and the time of each. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/profile/value_counts.h"
#include "cli/session/selection.h"

enum {
	KEY_LIMIT = OPTION_KEY_OWN,
};

#define LIMIT_DEFAULT 20

struct values_options {
	struct options common;
	char *function;
	const char *expression; /* NULL: all parameters */
	bool locals, exact;
	uint64_t limit; /* values of each variable */
};

struct values {
	const struct values_options *options;
	struct output output;
	struct value_counts *variables;
	size_t n, capacity;
	uint64_t samples, weight; /* of all traces */
	uint64_t function_samples, function_weight;
	bool has_variable;
};

/* ---- options ---------------------------------------------------------------------------- */

/* "FUNC", "FUNC:EXPR". */
static void parse_function(struct values_options *options, char *arg)
{
	options->function = arg;
	options->expression = value_expression(arg);
	if (options->expression)
		arg[options->expression - 1 - arg] = '\0';
}

static void check_options(struct values_options *options, struct argp_state *state)
{
	if (!options->function || !*options->function)
		argp_error(state, "no function; use stackreel values FUNC [FILE]");
	if (options->expression && !*options->expression)
		argp_error(state, "no expression after '%s:'", options->function);
	if (options->expression && options->locals)
		argp_error(state, "--locals cannot be combined with an expression");
}

static error_t parse_values_option(int key, char *arg, struct argp_state *state)
{
	struct values_options *options = state->input;
	char *end;

	switch (key) {
	case ARGP_KEY_ARG:
		if (options->function)
			return ARGP_ERR_UNKNOWN;
		parse_function(options, arg);
		return 0;
	case KEY_LIMIT:
		options->limit = strtoull(arg, &end, 10);
		if (*end || end == arg)
			options_error(state, "--limit: invalid number '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		check_options(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "locals", OPTION_FLAG(struct values_options, locals), NULL, 0,
	  "Also show local variables", 0 },
	{ "exact", OPTION_FLAG(struct values_options, exact), NULL, 0,
	  "Show every value, and no ranges", 0 },
	{ "limit", KEY_LIMIT, "N", 0, "Show at most N values of each variable (20)", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_values_option,
	.args_doc = "FUNC[:EXPR] [FILE]",
	.doc = "Show which values a function's variables had, with the time of each.\v"
	       "EXPR is a variable, or a part of one: 'length', 'request->length', 'this->size_', "
	       "'items[2]'; without it, all parameters are shown. FILE defaults to " DEFAULT_CAPTURE
	       ". The capture needs raw stacks (record --raw-stacks), and the program debug "
	       "information. Many different numbers are shown as ranges between powers of two.",
	.children = options_of_traces,
};

/* ---- counting --------------------------------------------------------------------------- */

static struct value_counts *find_variable(struct values *values, const char *name)
{
	for (size_t i = 0; i < values->n; i++) {
		if (!strcmp(values->variables[i].name, name))
			return &values->variables[i];
	}
	values->variables = memory_reserve(values->variables, &values->capacity, values->n,
					   sizeof(*values->variables));
	values->variables[values->n] = (struct value_counts){ .name = memory_print("%s", name) };
	return &values->variables[values->n++];
}

static void count_value(struct values *values, const struct reel_trace *trace,
			const struct reel_frame_value *value)
{
	size_t caller = value->frame + 1;

	value_counts_add(find_variable(values, value->name), value, trace->weight,
			 caller < trace->n_frames ? trace->frames[caller] : NULL);
}

/* A function that calls itself counts once in a sample, by its innermost call. */
static bool visit_trace(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct values *values = context;

	(void)event;
	values->samples++;
	values->weight += trace->weight;
	if (!trace->n_values)
		return true;
	values->function_samples++;
	for (size_t i = 0; i < trace->n_values; i++)
		values->has_variable |= value_has_variable(&trace->values[i]);
	values->function_weight += trace->weight;
	for (size_t i = 0; i < trace->n_values; i++) {
		bool again = trace->values[i].frame != trace->values[0].frame;

		/* Of variables of one name, the innermost block's is last. */
		for (size_t j = i + 1; !again && j < trace->n_values; j++)
			again = trace->values[j].frame == trace->values[i].frame &&
				!strcmp(trace->values[j].name, trace->values[i].name);
		if (!again)
			count_value(values, trace, &trace->values[i]);
	}
	return true;
}

/* ---- printing --------------------------------------------------------------------------- */

static void print_row(FILE *file, struct amount amount, uint64_t whole, const char *text,
		      const struct reel_frame *caller)
{
	_cleanup_free_ char *shown = text_escape(text, "");
	_cleanup_free_ char *from = caller ? text_escape(caller->function, "") : NULL;

	fprintf(file, "%7s %9" PRIu64 "  %s%s%s\n", format_share(amount.weight, whole).text,
		amount.samples, shown, from && *from ? "  < " : "", from ? from : "");
}

static void print_variable(const struct values *values, struct value_counts *variable)
{
	_cleanup_free_ char *name = text_escape(variable->name, "");
	FILE *file = values->output.file;
	bool ranged = !values->options->exact && value_counts_have_ranges(variable);
	struct amount rest = { 0 };

	if (ranged)
		value_counts_make_ranges(variable);
	else
		value_counts_sort(variable);
	fprintf(file, "\n%s\n%7s %9s  %s\n", name, "time", "samples", "value  < caller");
	for (size_t i = 0; i < variable->n; i++) {
		const struct value_count *value = &variable->values[i];

		if (ranged || i < values->options->limit) {
			print_row(file, value->amount, values->function_weight, value->text,
				  value->caller);
		} else {
			amount_add(&rest, value->amount);
		}
	}
	if (rest.samples)
		print_row(file, rest, values->function_weight, "(other values)", NULL);
	for (int state = REEL_VALUE_OPTIMIZED_OUT; state <= REEL_VALUE_NOT_CAPTURED; state++) {
		_cleanup_free_ char *text =
			memory_print("<%s>", reel_value_state_name((enum reel_value_state)state));

		if (variable->unknown[state].samples)
			print_row(file, variable->unknown[state], values->function_weight, text,
				  NULL);
	}
}

static void print_values(struct values *values)
{
	_cleanup_free_ char *function = text_escape(values->options->function, "");

	fprintf(values->output.file, "%s: in %" PRIu64 " of %" PRIu64 " samples, %s of the time\n",
		function, values->function_samples, values->samples,
		format_share(values->function_weight, values->weight).text);
	for (size_t i = 0; i < values->n; i++)
		print_variable(values, &values->variables[i]);
}

static void values_free(struct values *values)
{
	for (size_t i = 0; i < values->n; i++)
		value_counts_free(&values->variables[i]);
	free(values->variables);
}

int command_values(int argc, char **argv)
{
	struct values_options options = { .limit = LIMIT_DEFAULT };
	struct values values = { .options = &options };
	struct reel_value_request request;
	struct session session;
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &options);
	request =
		(struct reel_value_request){ options.function, options.expression, options.locals };
	options.common.values = &request;
	options.common.n_values = 1;
	if (session_open(&session, &options.common) &&
	    output_open(&values.output, options.common.output)) {
		bool ok = session_visit(&session, visit_trace, &values);

		session_warn(&session);
		status = ok ? session_status(&session) : STATUS_ERROR;
		if (ok && values.n && !values.has_variable && options.expression)
			ok = session_explain_variable(options.function, options.expression);
		if (!ok)
			status = STATUS_ERROR;
		else if (values.n)
			print_values(&values);
		else if (!session_explain_values(&session, options.function))
			status = STATUS_ERROR;
		status = output_close(&values.output, status);
	}
	values_free(&values);
	session_close(&session);
	options_free(&options.common);
	return status;
}
