/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/probes/probe_values.h"

/* Of parentheses and !. */
#define DEPTH_MAX 32

struct parser {
	struct reel_sampler_event *event;
	const char *text, *at;
	unsigned depth;
};

/*
 * Where a part of the expression leaves for, not known yet: bit n for comparison n when it is true,
 * bit n + REEL_BPF_COMPARISONS_MAX when it is false.
 */
struct exits {
	uint32_t if_true, if_false;
};

static const struct {
	const char *text;
	uint8_t op, is_pattern, for_numbers, for_texts;
} ops[] = {
	{ "==", REEL_BPF_EQUAL, 0, 1, 1 },
	{ "!=", REEL_BPF_LESS | REEL_BPF_GREATER, 0, 1, 1 },
	{ "<=", REEL_BPF_LESS | REEL_BPF_EQUAL, 0, 1, 0 },
	{ ">=", REEL_BPF_GREATER | REEL_BPF_EQUAL, 0, 1, 0 },
	{ "<", REEL_BPF_LESS, 0, 1, 0 },
	{ ">", REEL_BPF_GREATER, 0, 1, 0 },
	{ "&", REEL_BPF_ANY_BIT, 0, 1, 0 },
	{ "~", REEL_BPF_EQUAL, 1, 0, 1 },
};

#define N_OPERATORS (sizeof(ops) / sizeof(*ops))

static struct reel_error *failure(const struct parser *parser, const char *problem)
{
	return reel_error_create(REEL_ERROR_INVALID, "--filter: %s, at character %zu: '%s'",
				 problem, (size_t)(parser->at - parser->text) + 1, parser->at);
}

static bool accept(struct parser *parser, const char *token)
{
	size_t size = strlen(token);

	parser->at += strspn(parser->at, " \t");
	if (strncmp(parser->at, token, size) != 0)
		return false;
	parser->at += size;
	return true;
}

static void exits_set(struct reel_sampler_event *event, uint32_t exits, uint8_t target)
{
	for (size_t i = 0; i < REEL_BPF_COMPARISONS_MAX; i++) {
		if (exits >> i & 1)
			event->filter[i].if_true = target;
		if (exits >> (i + REEL_BPF_COMPARISONS_MAX) & 1)
			event->filter[i].if_false = target;
	}
}

/* ---- comparisons ----------------------------------------------------------------------- */

static struct reel_error *parse_number(struct parser *parser, struct reel_bpf_comparison *to)
{
	unsigned unused = 64 - 8 * to->value.size;
	bool is_negative = *parser->at == '-';
	char *end;

	errno = 0;
	to->number = is_negative ? (uint64_t)strtoll(parser->at, &end, 0)
				 : strtoull(parser->at, &end, 0);
	if (!isdigit((unsigned char)parser->at[is_negative]) || errno ||
	    isalnum((unsigned char)*end))
		return failure(parser, "expected a number");
	/* As the field has it: -1 is 0xffffffff in 32 bits, and the other way round. */
	if (is_negative || to->number << unused >> unused == to->number)
		to->number = to->value.is_signed
				     ? (uint64_t)((int64_t)(to->number << unused) >> unused)
				     : to->number << unused >> unused;
	parser->at = end;
	return NULL;
}

/* "TEXT", 'TEXT', or a word. */
static struct reel_error *parse_text(struct parser *parser, bool is_pattern,
				     struct reel_bpf_comparison *to)
{
	char quote = *parser->at == '"' || *parser->at == '\'' ? *parser->at : '\0';
	const char *text = parser->at + (quote != '\0');
	size_t size = quote ? strcspn(text, (char[]){ quote, '\0' }) : strcspn(text, " \t()&|");

	if ((!size && !quote) || (quote && !text[size]))
		return failure(parser, "expected a text in quotes");
	if (size >= sizeof(to->pattern))
		return failure(parser, "this text is longer than 31 bytes");
	for (size_t i = 0; i < size; i++)
		to->pattern[i] = !is_pattern	  ? text[i]
				 : text[i] == '*' ? REEL_BPF_ANY_TEXT
				 : text[i] == '?' ? REEL_BPF_ANY_BYTE
						  : text[i];
	parser->at = text + size + (quote != '\0');
	return NULL;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct reel_error *parse_field(struct parser *parser, struct reel_bpf_value *ret)
{
	struct reel_tracepoint_field field;
	size_t size = 0;
	unsigned number;

	while (is_of_name(parser->at[size]))
		size++;
	TRY(reel_tracepoint_field_find(parser->event, parser->at, size, &field, &number));
	parser->at += size;
	*ret = field.value;
	return NULL;
}

/* Whether a text in quotes, or a pattern, follows. */
static bool has_text(const char *at)
{
	at += strspn(at, " \t");
	if (*at == '~')
		return true;
	at += strspn(at, "=!");
	at += strspn(at, " \t");
	return *at == '"' || *at == '\'';
}

/* argN or argN:TYPE; the type is that of --arg if there is none. */
static struct reel_error *parse_argument(struct parser *parser, struct reel_bpf_value *ret)
{
	char specification[16];
	size_t size = strlen("arg");
	bool has_type;
	unsigned number;

	if (strncmp(parser->at, "arg", size) != 0 || !isdigit((unsigned char)parser->at[size]))
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "expected arg1, arg2 … with an optional type, such as "
					 "arg1:s32, of this probe");
	while (is_of_name(parser->at[size]) || parser->at[size] == ':')
		size++;
	snprintf(specification, sizeof(specification), "%.*s", (int)size - 3, parser->at + 3);
	has_type = strchr(specification, ':');
	if (!has_type && has_text(parser->at + size) && strlen(specification) == 1)
		strcat(specification, ":string");
	TRY(reel_probe_value_parse(parser->event, specification, &number, ret));
	if (!has_type && parser->event->values[number - 1].kind)
		*ret = parser->event->values[number - 1];
	parser->at += size;
	return NULL;
}

/* FIELD OP VALUE */
static struct reel_error *parse_comparison(struct parser *parser, struct exits *ret)
{
	size_t index = parser->event->n_comparisons, op = 0;
	const char *field_at = parser->at, *op_at;
	struct reel_bpf_comparison *to;
	struct reel_error *error;
	bool is_number;

	if (!is_of_name(*parser->at) || isdigit((unsigned char)*parser->at))
		return failure(parser, "expected a field");
	if (index == REEL_BPF_COMPARISONS_MAX)
		return failure(parser, "more than 8 comparisons");
	to = &parser->event->filter[index];
	error = parser->event->folder ? parse_field(parser, &to->value)
				      : parse_argument(parser, &to->value);
	if (error)
		return reel_error_prefix(error, "--filter: at character %zu",
					 (size_t)(parser->at - parser->text) + 1);
	if (!to->value.kind) {
		parser->at = field_at;
		return failure(parser, "this field is not a number or a text");
	}
	is_number = to->value.kind == REEL_BPF_VALUE_NUMBER;
	accept(parser, "");
	op_at = parser->at;
	while (op < N_OPERATORS && !accept(parser, ops[op].text))
		op++;
	if (op == N_OPERATORS || (*ops[op].text == '&' && *parser->at == '&') ||
	    !(is_number ? ops[op].for_numbers : ops[op].for_texts)) {
		parser->at = op_at;
		return failure(parser, is_number ? "expected ==, !=, <, <=, >, >= or & of a number"
						 : "expected ==, != or ~ of a text");
	}
	to->op = ops[op].op;
	accept(parser, "");
	TRY(is_number ? parse_number(parser, to) : parse_text(parser, ops[op].is_pattern, to));
	parser->event->n_comparisons++;
	*ret = (struct exits){ 1u << index, 1u << (index + REEL_BPF_COMPARISONS_MAX) };
	return NULL;
}

/* ---- expressions ------------------------------------------------------------------------- */

static struct reel_error *parse_or(struct parser *parser, struct exits *ret);

static struct reel_error *parse_operand(struct parser *parser, struct exits *ret)
{
	struct reel_error *error;
	bool is_not = accept(parser, "!");

	if (!is_not && !accept(parser, "("))
		return parse_comparison(parser, ret);
	if (++parser->depth > DEPTH_MAX)
		return failure(parser, "too many parentheses");
	error = is_not ? parse_operand(parser, ret) : parse_or(parser, ret);
	parser->depth--;
	if (!error && is_not)
		*ret = (struct exits){ ret->if_false, ret->if_true };
	else if (!error && !accept(parser, ")"))
		error = failure(parser, "expected )");
	return error;
}

static struct reel_error *parse_and(struct parser *parser, struct exits *ret)
{
	TRY(parse_operand(parser, ret));
	while (accept(parser, "&&")) {
		struct exits right;

		exits_set(parser->event, ret->if_true, (uint8_t)parser->event->n_comparisons);
		TRY(parse_operand(parser, &right));
		*ret = (struct exits){ right.if_true, ret->if_false | right.if_false };
	}
	return NULL;
}

static struct reel_error *parse_or(struct parser *parser, struct exits *ret)
{
	TRY(parse_and(parser, ret));
	while (accept(parser, "||")) {
		struct exits right;

		exits_set(parser->event, ret->if_false, (uint8_t)parser->event->n_comparisons);
		TRY(parse_and(parser, &right));
		*ret = (struct exits){ ret->if_true | right.if_true, right.if_false };
	}
	return NULL;
}

struct reel_error *reel_filter_set(struct reel_sampler_event *event, const char *expression)
{
	struct parser parser = { .event = event, .text = expression, .at = expression };
	struct exits exits;

	if (!event->folder && !event->probe)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "--filter: only tracepoints and probes have filters, not "
					 "%s",
					 event->name);
	if (event->n_comparisons)
		return reel_error_create(REEL_ERROR_INVALID,
					 "--filter: %s has one already; combine them with &&",
					 event->name);
	TRY(parse_or(&parser, &exits));
	if (*parser.at)
		return failure(&parser, "expected && or ||");
	exits_set(event, exits.if_true, REEL_BPF_PASS);
	exits_set(event, exits.if_false, REEL_BPF_DROP);
	return NULL;
}
