/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/line_values.h"
#include "cli/print/memory.h"

void line_values_init(struct line_values *values, const struct functions *functions,
		      const struct function *function, const struct string_list *expressions)
{
	*values = (struct line_values){ .functions = functions, .function = function };
	values->have_names = memory_get((expressions->count + 1) * sizeof(*values->have_names));
	for (size_t i = 0; i < expressions->count; i++) {
		const char *text = expressions->items[i];
		bool are_all = *text == '+';

		value_list_add(&values->requests,
			       (struct reel_value_request){ function->frame->function,
							    are_all ? NULL : text,
							    are_all && !strcmp(text, "+locals") });
	}
}

static void free_line(struct value_line *line)
{
	for (size_t i = 0; i < line->n; i++)
		value_counts_free(&line->variables[i]);
	free(line->variables);
}

void line_values_free(struct line_values *values)
{
	for (size_t i = 0; i < values->n; i++)
		free_line(&values->lines[i]);
	free(values->lines);
	free(values->requests.items);
	free(values->have_names);
}

static struct value_line *find_line(struct line_values *values, const struct reel_frame *leaf)
{
	for (size_t i = 0; i < values->n; i++) {
		if (values->lines[i].number == leaf->line &&
		    !strcmp(values->lines[i].file, leaf->file))
			return &values->lines[i];
	}
	values->lines =
		memory_reserve(values->lines, &values->capacity, values->n, sizeof(*values->lines));
	values->lines[values->n] = (struct value_line){ .file = leaf->file, .number = leaf->line };
	return &values->lines[values->n++];
}

static struct value_counts *find_variable(struct value_line *line, const char *name)
{
	for (size_t i = 0; i < line->n; i++) {
		if (!strcmp(line->variables[i].name, name))
			return &line->variables[i];
	}
	line->variables = memory_resize(line->variables, line->n + 1, sizeof(*line->variables));
	line->variables[line->n] = (struct value_counts){ .name = memory_print("%s", name) };
	return &line->variables[line->n++];
}

/* Of variables of one name, the innermost block's is last; a name may be asked for twice. */
static bool is_hidden(const struct reel_trace *trace, size_t index)
{
	const struct reel_frame_value *value = &trace->values[index];

	for (size_t i = 0; i < trace->n_values; i++) {
		const struct reel_frame_value *other = &trace->values[i];

		if (other->frame == value->frame && !strcmp(other->name, value->name) &&
		    (other->request == value->request ? i > index
						      : other->request < value->request))
			return true;
	}
	return false;
}

bool line_values_add(void *context, const struct reel_trace *trace,
		     const struct reel_event_info *event)
{
	struct line_values *values = context;
	const struct function *function = values->function;
	size_t host = 0; /* what the leaf's code is inlined into */
	const struct reel_frame *frame;
	uint64_t weight = values->functions->has_weights ? trace->weight : 1;
	struct value_line *line;

	(void)event;
	while (host < trace->n_frames && trace->frames[host]->inlined)
		host++;
	if (host == trace->n_frames)
		return true;
	frame = trace->frames[host];
	if (frame->function_id != function->frame->function_id ||
	    frame->module_address - frame->function_offset != function->begin)
		return true;
	line = find_line(values, trace->frames[0]);
	amount_add(&line->self, (struct amount){ weight, 1 });
	values->has_values |= trace->n_values != 0;
	for (size_t i = 0; i < trace->n_values; i++) {
		values->have_names[trace->values[i].request] |=
			value_has_variable(&trace->values[i]);
		if (trace->values[i].frame == host && !is_hidden(trace, i))
			value_counts_add(find_variable(line, trace->values[i].name),
					 &trace->values[i], weight, NULL);
	}
	return true;
}

bool line_values_have_names(const struct line_values *values)
{
	for (size_t i = 0; i < values->requests.count; i++) {
		const struct reel_value_request *request = &values->requests.items[i];

		if (!values->have_names[i] && request->expression)
			return session_explain_variable(request->function, request->expression);
	}
	return true;
}

static int compare_lines(const void *a, const void *b)
{
	const struct value_line *x = a, *y = b;
	int order;

	if (x->self.weight != y->self.weight)
		return x->self.weight < y->self.weight ? 1 : -1;
	order = strcmp(x->file, y->file);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

void line_values_finish(struct line_values *values)
{
	if (values->n)
		qsort(values->lines, values->n, sizeof(*values->lines), compare_lines);
	for (size_t i = 0; i < values->n; i++) {
		for (size_t j = 0; j < values->lines[i].n; j++) {
			struct value_counts *variable = &values->lines[i].variables[j];

			if (value_counts_have_ranges(variable))
				value_counts_make_ranges(variable);
			value_counts_sort(variable);
		}
	}
}
