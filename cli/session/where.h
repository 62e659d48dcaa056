/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on values of variables: --where 'FUNC:EXPR > 4096'. */
#ifndef CLI_SESSION_WHERE_H
#define CLI_SESSION_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/commands.h"

enum where_relation {
	WHERE_EQUAL,
	WHERE_NOT_EQUAL,
	WHERE_LESS,
	WHERE_AT_MOST,
	WHERE_MORE,
	WHERE_AT_LEAST,
	WHERE_IS, /* whether the value is known */
};

/* A number with a sign, or a fraction. */
struct where_number {
	bool is_negative, is_fraction;
	uint64_t magnitude;
	double fraction; /* the number, whether or not it is one */
};

struct where {
	const char *text; /* as given */
	char *function, *expression;
	enum where_relation relation;
	char *constant;	 /* without quotes */
	bool has_number; /* the constant is `number` */
	bool is_quoted;	 /* it is a text */
	struct where_number number;
	enum reel_value_state state; /* of WHERE_IS */
};

struct where_list {
	struct where *items;
	size_t count;
};

enum where_result {
	WHERE_NO,
	WHERE_YES,
	WHERE_UNKNOWN, /* `state_ret` says why */
	WHERE_INCOMPARABLE,
};

/* The samples that the conditions before, and other filters, let pass. */
struct where_counts {
	uint64_t in_function, known;
	/* Left out, although no condition is known not to hold. */
	uint64_t left_out[REEL_VALUE_NOT_CAPTURED + 1];
};

/* Appends a condition that borrows `text`; returns NULL, or the problem, which the caller frees. */
char *where_add(struct where_list *list, const char *text);
void where_free(struct where_list *list);
/*
 * Whether the condition holds for the value at the innermost call of its function: for the first of
 * the trace's values that answer request number `request`, or NO.
 */
enum where_result where_check(const struct where *where, const struct reel_trace *trace,
			      size_t request, enum reel_value_state *state_ret);
/*
 * Whether all conditions hold, whose values answer requests from number `request` on; `counts` has
 * an item for each.  INCOMPARABLE is reported.
 */
enum where_result where_check_all(const struct where_list *list, const struct reel_trace *trace,
				  size_t request, struct where_counts *counts);
/* How many samples were left out because the value is unknown; the caller frees it. NULL: none. */
char *where_note(const struct where *where, const struct where_counts *counts);

#endif
