/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel values: which values a function's variables had, and the time of each. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

enum {
	KEY_LOCALS = OPTION_KEY_OWN,
	KEY_EXACT,
	KEY_LIMIT,
};

/* More different numbers are shown as ranges. */
#define EXACT_MAX     16
#define LIMIT_DEFAULT 20

struct values_options {
	struct options common;
	char *function;
	const char *expression; /* NULL: all parameters */
	bool locals, exact;
	uint64_t limit; /* values of each variable */
};

/* A value with its samples. */
struct seen_value {
	char *text;
	bool is_number, is_signed;
	uint64_t number;
	uint64_t samples, weight;
	/* The caller of most samples so far (a majority vote, exact if it has more than half). */
	const struct reel_frame *caller;
	uint64_t caller_lead;
};

/* A variable's values, and those that are unknown. */
struct seen_variable {
	char *name;
	struct seen_value *values;
	size_t n, capacity;
	uint64_t samples[REEL_VALUE_NOT_CAPTURED + 1], weight[REEL_VALUE_NOT_CAPTURED + 1];
};

struct values {
	const struct values_options *options;
	struct output output;
	struct seen_variable *variables;
	size_t n, capacity;
	uint64_t samples, weight; /* of all traces */
	uint64_t function_samples, function_weight;
};

/* ---- options ---------------------------------------------------------------------------- */

/* "FUNC", "FUNC:EXPR". */
static void take_function(struct values_options *options, char *arg)
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

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct values_options *options = state->input;
	char *end;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case ARGP_KEY_ARG:
		if (options->function)
			return ARGP_ERR_UNKNOWN;
		take_function(options, arg);
		return 0;
	case KEY_LOCALS:
		options->locals = true;
		return 0;
	case KEY_EXACT:
		options->exact = true;
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
	{ "locals", KEY_LOCALS, NULL, 0, "Also show local variables", 0 },
	{ "exact", KEY_EXACT, NULL, 0, "Show every value, and no ranges", 0 },
	{ "limit", KEY_LIMIT, "N", 0, "Show at most N values of each variable (20)", 0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"FUNC[:EXPR] [FILE]",
	"Show which values a function's variables had, with the time of each.\v"
	"EXPR is a variable, or a part of one: 'length', 'request->length', 'this->size_', "
	"'items[2]'; without it, all parameters are shown. FILE defaults to " DEFAULT_CAPTURE
	". The capture needs raw stacks (record --raw-stacks), and the program debug information. "
	"Many different numbers are shown as ranges between powers of two.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- counting --------------------------------------------------------------------------- */

static struct seen_variable *find_variable(struct values *values, const char *name)
{
	for (size_t i = 0; i < values->n; i++) {
		if (!strcmp(values->variables[i].name, name))
			return &values->variables[i];
	}
	if (values->n == values->capacity) {
		values->capacity = 2 * values->capacity + 8;
		values->variables = memory_resize(values->variables, values->capacity,
						  sizeof(*values->variables));
	}
	values->variables[values->n] = (struct seen_variable){ .name = memory_print("%s", name) };
	return &values->variables[values->n++];
}

/* Values are in the order of their texts. */
static struct seen_value *find_value(struct seen_variable *variable,
				     const struct reel_frame_value *value)
{
	size_t low = 0, high = variable->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(variable->values[middle].text, value->text);

		if (!order)
			return &variable->values[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (variable->n == variable->capacity) {
		variable->capacity = 2 * variable->capacity + 8;
		variable->values = memory_resize(variable->values, variable->capacity,
						 sizeof(*variable->values));
	}
	memmove(&variable->values[low + 1], &variable->values[low],
		(variable->n - low) * sizeof(*variable->values));
	variable->n++;
	variable->values[low] = (struct seen_value){
		.text = memory_print("%s", value->text),
		.is_number = value->is_number,
		.is_signed = value->is_signed,
		.number = value->number,
	};
	return &variable->values[low];
}

static void vote(struct seen_value *value, const struct reel_frame *caller, uint64_t lead)
{
	if (!value->caller_lead ||
	    (value->caller && caller && value->caller->function_id == caller->function_id)) {
		value->caller = caller;
		value->caller_lead += lead;
	} else if (lead > value->caller_lead) {
		value->caller = caller;
		value->caller_lead = lead - value->caller_lead;
	} else {
		value->caller_lead -= lead;
	}
}

static void count_value(struct values *values, const struct reel_trace *trace,
			const struct reel_frame_value *value)
{
	struct seen_variable *variable = find_variable(values, value->name);
	struct seen_value *seen;

	variable->samples[value->state]++;
	variable->weight[value->state] += trace->weight;
	if (value->state != REEL_VALUE_KNOWN)
		return;
	seen = find_value(variable, value);
	seen->samples++;
	seen->weight += trace->weight;
	vote(seen, value->frame + 1 < trace->n_frames ? trace->frames[value->frame + 1] : NULL, 1);
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

/* ---- ranges ----------------------------------------------------------------------------- */

/* The sign and the bits of a number: equal for all of a range. */
static int range_of(const struct seen_value *value)
{
	uint64_t number = value->number;
	int sign = 1;

	if (value->is_signed && (int64_t)number < 0) {
		number = 0 - number;
		sign = -1;
	}
	return number ? sign * (64 - __builtin_clzll(number)) : 0;
}

static char *range_text(int range)
{
	int bits = range < 0 ? -range : range;
	uint64_t low = (uint64_t)1 << (bits - 1), high = low + (low - 1);

	if (range < 0)
		return memory_print("-%" PRIu64 " to -%" PRIu64, high, low);
	return memory_print("%" PRIu64 " to %" PRIu64, low, high);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct seen_value *x = a, *y = b;

	if (x->is_signed)
		return ((int64_t)x->number > (int64_t)y->number) -
		       ((int64_t)x->number < (int64_t)y->number);
	return (x->number > y->number) - (x->number < y->number);
}

/* Pointers are not ranged: their text is an address. */
static bool has_ranges(const struct seen_variable *variable)
{
	for (size_t i = 0; i < variable->n; i++) {
		char *end;

		if (!variable->values[i].is_number)
			return false;
		strtoll(variable->values[i].text, &end, 10);
		if (*end)
			return false;
	}
	return variable->n > EXACT_MAX;
}

/* Replaces values by their ranges, in order. */
static void make_ranges(struct seen_variable *variable)
{
	size_t n = 0;

	qsort(variable->values, variable->n, sizeof(*variable->values), compare_numbers);
	for (size_t i = 0; i < variable->n; i++) {
		struct seen_value *value = &variable->values[i],
				  *last = n ? &variable->values[n - 1] : NULL;

		if (last && range_of(last) == range_of(value)) {
			last->samples += value->samples;
			last->weight += value->weight;
			vote(last, value->caller, value->caller_lead);
			free(value->text);
			continue;
		}
		if (range_of(value) > 1 || range_of(value) < -1) {
			free(value->text);
			value->text = range_text(range_of(value));
		}
		variable->values[n++] = *value;
	}
	variable->n = n;
}

/* ---- printing --------------------------------------------------------------------------- */

static int compare_weights(const void *a, const void *b)
{
	const struct seen_value *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->text, y->text);
}

static void print_row(FILE *file, uint64_t weight, uint64_t whole, uint64_t samples,
		      const char *text, const struct reel_frame *caller)
{
	_cleanup_free_ char *shown = text_escape(text, "");
	_cleanup_free_ char *from = caller ? text_escape(caller->function, "") : NULL;

	fprintf(file, "%7s %9" PRIu64 "  %s%s%s\n", format_share(weight, whole).text, samples,
		shown, from && *from ? "  < " : "", from ? from : "");
}

static void print_variable(const struct values *values, struct seen_variable *variable)
{
	_cleanup_free_ char *name = text_escape(variable->name, "");
	FILE *file = values->output.file;
	bool ranged = !values->options->exact && has_ranges(variable);
	uint64_t rest_weight = 0, rest_samples = 0;

	if (ranged)
		make_ranges(variable);
	else if (variable->n)
		qsort(variable->values, variable->n, sizeof(*variable->values), compare_weights);
	fprintf(file, "\n%s\n%7s %9s  %s\n", name, "time", "samples", "value  < caller");
	for (size_t i = 0; i < variable->n; i++) {
		const struct seen_value *value = &variable->values[i];

		if (ranged || i < values->options->limit) {
			print_row(file, value->weight, values->function_weight, value->samples,
				  value->text, value->caller);
		} else {
			rest_weight += value->weight;
			rest_samples += value->samples;
		}
	}
	if (rest_samples)
		print_row(file, rest_weight, values->function_weight, rest_samples,
			  "(other values)", NULL);
	for (int state = REEL_VALUE_OPTIMIZED_OUT; state <= REEL_VALUE_NOT_CAPTURED; state++) {
		_cleanup_free_ char *text =
			memory_print("<%s>", reel_value_state_name((enum reel_value_state)state));

		if (variable->samples[state])
			print_row(file, variable->weight[state], values->function_weight,
				  variable->samples[state], text, NULL);
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
	for (size_t i = 0; i < values->n; i++) {
		for (size_t j = 0; j < values->variables[i].n; j++)
			free(values->variables[i].values[j].text);
		free(values->variables[i].values);
		free(values->variables[i].name);
	}
	free(values->variables);
}

int command_values(int argc, char **argv)
{
	struct values_options options = { .limit = LIMIT_DEFAULT };
	struct values values = { .options = &options };
	struct reel_value_request request;
	struct session session;
	int status = STATUS_ERROR;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	request =
		(struct reel_value_request){ options.function, options.expression, options.locals };
	options.common.values = &request;
	options.common.n_values = 1;
	if (session_open(&session, &options.common) &&
	    output_open(&values.output, options.common.output)) {
		bool ok = session_visit(&session, visit_trace, &values);

		session_warn(&session);
		status = ok ? session_status(&session) : STATUS_ERROR;
		if (ok && values.n)
			print_values(&values);
		else if (ok && !session_explain_values(&session, options.function))
			status = STATUS_ERROR;
		status = output_close(&values.output, status);
	}
	values_free(&values);
	session_close(&session);
	options_free(&options.common);
	return status;
}
