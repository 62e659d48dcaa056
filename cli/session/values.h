/* SPDX-License-Identifier: Apache-2.0 */
/* Values of variables that a user asks for: FUNC:EXPR, and these values as labels of samples. */
#ifndef CLI_SESSION_VALUES_H
#define CLI_SESSION_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "include/commands.h"

/* Labels that --values may add to a sample. */
#define VALUE_LABELS_MAX 8

struct value_list {
	struct reel_value_request *items;
	size_t count;
};

/* The expression of FUNC:EXPR, whose FUNC may have scopes with two colons, or NULL. */
const char *value_expression(const char *text);
/* The same text, as a string that lives as long as the program; there are as many as a user types. */
const char *value_text_keep(const char *text);
/*
 * Parses FUNC:EXPR; with `may_be_all` also FUNC, which is all its variables.  Returns NULL, or what
 * is wrong, which the caller frees.  The request's strings live as long as the program.
 */
char *value_request_parse(const char *text, bool may_be_all, struct reel_value_request *ret);
void value_list_add(struct value_list *list, struct reel_value_request request);

/* The value is a decimal number, which histograms can show, and no address or name. */
bool value_is_decimal(const struct reel_frame_value *value);
/* Its variable exists; otherwise no variable at that address has the name. */
bool value_has_variable(const struct reel_frame_value *value);
/* The trace's first value for the request: from the function's innermost call. NULL: none. */
const struct reel_frame_value *value_of_trace(const struct reel_trace *trace, size_t request);

/* Traces with labels FUNC:EXPR for the values of requests. */
struct value_labels {
	size_t n;		   /* requests */
	const char **keys;	   /* FUNC:EXPR; NULL: not a label */
	bool *are_seen;		   /* a trace has a value, known or not */
	struct reel_label *labels; /* of the last trace */
	size_t capacity;
	struct reel_trace trace;
};

/* The requests of all keys of --by, then those of --values. */
void value_labels_init(struct value_labels *labels, const struct reel_value_request *by,
		       size_t n_by, const struct value_list *shown);
void value_labels_free(struct value_labels *labels);
/* The trace with more labels, until the next call; the keys live as long as the program. */
const struct reel_trace *value_labels_add(struct value_labels *labels,
					  const struct reel_trace *trace);

#endif
