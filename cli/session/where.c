/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/print/output.h"
#include "cli/print/text.h"
#include "cli/session/values.h"
#include "cli/session/where.h"

#define BLANKS " \t"

/* ---- parsing ---------------------------------------------------------------------------- */

static const struct {
	const char *text;
	enum where_relation relation;
} relations[] = {
	/* Longer ones first. */
	{ "==", WHERE_EQUAL },	  { "!=", WHERE_NOT_EQUAL }, { "<=", WHERE_AT_MOST },
	{ ">=", WHERE_AT_LEAST }, { "<", WHERE_LESS },	     { ">", WHERE_MORE },
	{ "=", WHERE_EQUAL },	  { " is ", WHERE_IS },
};

/* The relation that `text` begins with; SIZE_MAX: none. */
static size_t relation_at(const char *text)
{
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++) {
		if (!strncmp(text, relations[i].text, strlen(relations[i].text)))
			return i;
	}
	return SIZE_MAX;
}

/* Without blanks at both ends; the caller frees it. */
static char *trimmed(const char *text, size_t size)
{
	size_t blanks = strspn(text, BLANKS);

	blanks = blanks < size ? blanks : size;
	text += blanks;
	size -= blanks;
	while (size && strchr(BLANKS, text[size - 1]))
		size--;
	return memory_print("%.*s", (int)size, text);
}

/* 4096, -3, 0x1f, 4K, 1.5 */
static bool parse_number(const char *text, struct where_number *ret)
{
	const char *digits = text + (*text == '-');
	bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	struct reel_error *error = NULL;
	char *end;

	*ret = (struct where_number){ .is_negative = *text == '-' };
	if (!strchr("0123456789.", *digits) || !*digits)
		return false;
	errno = 0;
	ret->magnitude = strtoull(digits, &end, is_hex ? 16 : 10);
	if (*end || errno)
		error = reel_quantity_size(digits, &ret->magnitude);
	ret->fraction = (double)ret->magnitude;
	if (strchr("0123456789.", digits[strlen(digits) - 1]) && strchr(digits, '.')) {
		ret->is_fraction = true;
		ret->fraction = strtod(digits, &end);
		reel_error_destroy(error);
		error = NULL;
		if (*end)
			return false;
	}
	if (error) {
		reel_error_destroy(error);
		return false;
	}
	if (ret->is_negative)
		ret->fraction = -ret->fraction;
	ret->is_negative = ret->is_negative && ret->fraction < 0;
	return true;
}

static void unquote(struct where *where)
{
	size_t size = strlen(where->constant);
	char quote = where->constant[0];

	if (size < 2 || (quote != '"' && quote != '\'') || where->constant[size - 1] != quote)
		return;
	memmove(where->constant, where->constant + 1, size - 2);
	where->constant[size - 2] = '\0';
	where->is_quoted = true;
}

static bool parse_state(const char *text, enum reel_value_state *ret)
{
	static const char *const names[] = {
		[REEL_VALUE_KNOWN] = "known",
		[REEL_VALUE_OPTIMIZED_OUT] = "optimized-out",
		[REEL_VALUE_NOT_CAPTURED] = "not-captured",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(text, names[i])) {
			*ret = (enum reel_value_state)i;
			return true;
		}
	}
	return false;
}

static char *parse_constant(struct where *where)
{
	if (where->relation == WHERE_IS)
		return parse_state(where->constant, &where->state)
			       ? NULL
			       : memory_print("invalid state '%s' (expected known, optimized-out "
					      "or not-captured)",
					      where->constant);
	unquote(where);
	if (!*where->constant && !where->is_quoted)
		return memory_print("nothing to compare with in '%s'", where->text);
	where->has_number = !where->is_quoted && parse_number(where->constant, &where->number);
	if (!where->has_number && where->relation != WHERE_EQUAL &&
	    where->relation != WHERE_NOT_EQUAL)
		return memory_print("'%s' is not a number, so it can only be compared by == and !=",
				    where->constant);
	return NULL;
}

static char *parse(struct where *where)
{
	const char *expression = value_expression(where->text), *end = expression;
	size_t found = SIZE_MAX;

	while (end && *end && found == SIZE_MAX) {
		/* The arrow of `request->length`. */
		if (!strncmp(end, "->", 2))
			end += 2;
		else if ((found = relation_at(end)) == SIZE_MAX)
			end++;
	}
	if (found == SIZE_MAX)
		return memory_print(
			"invalid condition '%s' (expected e.g. 'FUNC:EXPR > 4096', with "
			"==, !=, <, <=, >, >= or is)",
			where->text);
	where->relation = relations[found].relation;
	where->function = trimmed(where->text, (size_t)(expression - 1 - where->text));
	where->expression = trimmed(expression, (size_t)(end - expression));
	end += strlen(relations[found].text);
	where->constant = trimmed(end, strlen(end));
	if (!*where->function || !*where->expression)
		return memory_print("'%s' has no %s", where->text,
				    *where->function ? "expression" : "function");
	return parse_constant(where);
}

char *where_add(struct where_list *list, const char *text)
{
	list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count] = (struct where){ .text = text };
	return parse(&list->items[list->count++]);
}

void where_free(struct where_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].function);
		free(list->items[i].expression);
		free(list->items[i].constant);
	}
	free(list->items);
}

/* ---- comparison ------------------------------------------------------------------------- */

/* -1, 0 or 1. */
static int compare_numbers(const struct where_number *a, const struct where_number *b)
{
	if (a->is_fraction || b->is_fraction)
		return (a->fraction > b->fraction) - (a->fraction < b->fraction);
	if (a->is_negative != b->is_negative)
		return a->is_negative ? -1 : 1;
	return ((a->magnitude > b->magnitude) - (a->magnitude < b->magnitude)) *
	       (a->is_negative ? -1 : 1);
}

static bool number_of(const struct reel_frame_value *value, struct where_number *ret)
{
	char *end;

	*ret = (struct where_number){ .magnitude = value->number };
	if (value->is_number) {
		ret->is_negative = value->is_signed && (int64_t)value->number < 0;
		if (ret->is_negative)
			ret->magnitude = 0 - value->number;
		ret->fraction = (double)ret->magnitude * (ret->is_negative ? -1 : 1);
		return true;
	}
	ret->is_fraction = true;
	ret->fraction = strtod(value->text, &end);
	return end != value->text && !*end;
}

static enum where_result compare_number(const struct where *where,
					const struct reel_frame_value *value)
{
	struct where_number number;
	bool holds[] = { false, false, false, false, false, false };
	int order;

	if (!number_of(value, &number))
		return WHERE_INCOMPARABLE;
	if (isnan(number.fraction))
		return where->relation == WHERE_NOT_EQUAL ? WHERE_YES : WHERE_NO;
	order = compare_numbers(&number, &where->number);
	holds[WHERE_EQUAL] = order == 0;
	holds[WHERE_NOT_EQUAL] = order != 0;
	holds[WHERE_LESS] = order < 0;
	holds[WHERE_AT_MOST] = order <= 0;
	holds[WHERE_MORE] = order > 0;
	holds[WHERE_AT_LEAST] = order >= 0;
	return holds[where->relation] ? WHERE_YES : WHERE_NO;
}

/*
 * Of `120 'x'`, `0x4020f8 "a name"` and `"a name"...`, where a text was cut: whether the text
 * between the quotes is the constant.
 */
static enum where_result equals_quoted(const char *constant, const char *quoted)
{
	const char *end = strrchr(quoted, *quoted);
	size_t size = (size_t)(end - quoted - 1);
	bool is_cut = end[1] == '.';

	if (end == quoted || strncmp(constant, quoted + 1, size) != 0)
		return WHERE_NO;
	if (is_cut)
		return WHERE_UNKNOWN;
	return constant[size] ? WHERE_NO : WHERE_YES;
}

static enum where_result equals_text(const struct where *where,
				     const struct reel_frame_value *value)
{
	const char *quoted = strpbrk(value->text, "\"'");

	if (*value->text == '{')
		return WHERE_INCOMPARABLE;
	if (!where->is_quoted && !strcmp(value->text, where->constant))
		return WHERE_YES;
	if (quoted)
		return equals_quoted(where->constant, quoted);
	/* A pointer to a text that is not captured, unless it is null. */
	if (strstr(value->text, "0x") && value->number)
		return WHERE_UNKNOWN;
	return WHERE_NO;
}

static enum where_result compare_text(const struct where *where,
				      const struct reel_frame_value *value)
{
	enum where_result equal = equals_text(where, value);

	if (where->relation == WHERE_EQUAL || equal == WHERE_UNKNOWN || equal == WHERE_INCOMPARABLE)
		return equal;
	return equal == WHERE_YES ? WHERE_NO : WHERE_YES;
}

enum where_result where_check(const struct where *where, const struct reel_trace *trace,
			      size_t request, enum reel_value_state *state_ret)
{
	const struct reel_frame_value *value = value_of_trace(trace, request);
	enum where_result result;

	*state_ret = REEL_VALUE_KNOWN;
	if (!value)
		return WHERE_NO;
	*state_ret = value->state;
	if (where->relation == WHERE_IS)
		return value->state == where->state ? WHERE_YES : WHERE_NO;
	if (value->state != REEL_VALUE_KNOWN)
		return WHERE_UNKNOWN;
	result = where->has_number ? compare_number(where, value) : compare_text(where, value);
	if (result == WHERE_UNKNOWN)
		*state_ret = REEL_VALUE_NOT_CAPTURED;
	return result;
}

/* The trace ends the command. */
static void complain_of_type(const struct where *where, const struct reel_trace *trace,
			     size_t request)
{
	const struct reel_frame_value *value = value_of_trace(trace, request);

	complain("--where '%s': cannot compare '%s', a value of '%s', with %s '%s'", where->text,
		 value->text, where->expression, where->has_number ? "the number" : "the text",
		 where->constant);
}

enum where_result where_check_all(const struct where_list *list, const struct reel_trace *trace,
				  size_t request, struct where_counts *counts)
{
	enum where_result all = WHERE_YES;
	enum reel_value_state why = REEL_VALUE_KNOWN;
	size_t unknown = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct reel_frame_value *value = value_of_trace(trace, request + i);
		enum reel_value_state state;
		enum where_result result = where_check(&list->items[i], trace, request + i, &state);

		counts[i].in_function += value != NULL;
		counts[i].known += value && value->state == REEL_VALUE_KNOWN;
		if (result == WHERE_INCOMPARABLE)
			complain_of_type(&list->items[i], trace, request + i);
		if (result == WHERE_INCOMPARABLE || result == WHERE_NO)
			return result;
		if (result == WHERE_UNKNOWN && all == WHERE_YES) {
			all = result;
			unknown = i;
			why = state;
		}
	}
	if (all == WHERE_UNKNOWN)
		counts[unknown].left_out[why]++;
	return all;
}

char *where_note(const struct where *where, const struct where_counts *counts)
{
	uint64_t gone = counts->left_out[REEL_VALUE_OPTIMIZED_OUT],
		 lacking = counts->left_out[REEL_VALUE_NOT_CAPTURED];

	if (!gone && !lacking)
		return NULL;
	return memory_print("--where '%s' leaves out %s of %s whose value is unknown "
			    "(optimized out: %s, not captured: %s)",
			    where->text, format_plural(gone + lacking, "sample").text,
			    where->function, format_count(gone).text, format_count(lacking).text);
}
