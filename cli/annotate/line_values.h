/* SPDX-License-Identifier: Apache-2.0 */
/* The values that a function's variables had at the samples of each of its lines. */
#ifndef CLI_ANNOTATE_LINE_VALUES_H
#define CLI_ANNOTATE_LINE_VALUES_H

#include "cli/annotate/listing.h"
#include "cli/annotate/source_files.h"
#include "cli/profile/value_counts.h"

struct value_line {
	const char *file; /* "": unknown */
	uint32_t number;
	struct amount self;
	struct value_counts *variables;
	size_t n;
};

struct line_values {
	const struct functions *functions;
	const struct function *function;
	struct value_list requests; /* with the function's name */
	struct value_line *lines;   /* the hottest first, once finished */
	size_t n, capacity;
	bool has_values;  /* known or not */
	bool *have_names; /* the variable of each request exists */
};

/* `expressions`: of the function's variables; "+args" and "+locals" are all of a kind. */
void line_values_init(struct line_values *values, const struct functions *functions,
		      const struct function *function, const struct string_list *expressions);
void line_values_free(struct line_values *values);
/* For session_visit; `context` is the values. The options ask for `requests`. */
bool line_values_add(void *context, const struct reel_trace *trace,
		     const struct reel_event_info *event);
void line_values_finish(struct line_values *values);
/* Otherwise reports the variable that no sample has. */
bool line_values_have_names(const struct line_values *values);

/* Values at the hottest lines, as text and as a member of an object. `sources`: NULL without code. */
void line_values_print(const struct line_values *values, const struct listing *listing,
		       struct source_files *sources, const struct output *output);
void line_values_print_json(const struct line_values *values, const struct output *output);

#endif
