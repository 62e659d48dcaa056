/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/session/values.h"

/* ---- requests --------------------------------------------------------------------------- */

const char *value_expression(const char *text)
{
	const char *at = text;

	while ((at = strchr(at, ':')) && at[1] == ':')
		at += 2;
	return at ? at + 1 : NULL;
}

const char *value_text_keep(const char *text)
{
	static char **kept;
	static size_t n;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(kept[i], text))
			return kept[i];
	}
	kept = memory_resize(kept, n + 1, sizeof(*kept));
	kept[n] = memory_print("%s", text);
	return kept[n++];
}

char *value_request_parse(const char *text, bool may_be_all, struct reel_value_request *ret)
{
	const char *expression = value_expression(text);
	_cleanup_free_ char *function =
		expression ? memory_print("%.*s", (int)(expression - 1 - text), text)
			   : memory_print("%s", text);

	if (!*function)
		return memory_print("'%s' has no function", text);
	if (expression ? !*expression : !may_be_all)
		return memory_print("'%s' has no expression", text);
	*ret = (struct reel_value_request){ value_text_keep(function),
					    expression ? value_text_keep(expression) : NULL,
					    !expression };
	return NULL;
}

void value_list_add(struct value_list *list, struct reel_value_request request)
{
	list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = request;
}

/* ---- values ----------------------------------------------------------------------------- */

bool value_is_decimal(const struct reel_frame_value *value)
{
	return value->is_number &&
	       !value->text[strspn(value->text, value->is_signed ? "-0123456789" : "0123456789")];
}

/* Values that scrub --keep left do not state what they are of. */
bool value_has_variable(const struct reel_frame_value *value)
{
	return value->is_parameter || value->is_local || value->state != REEL_VALUE_OPTIMIZED_OUT;
}

const struct reel_frame_value *value_of_trace(const struct reel_trace *trace, size_t request)
{
	for (size_t i = 0; i < trace->n_values; i++) {
		if (trace->values[i].request == request)
			return &trace->values[i];
	}
	return NULL;
}

/* ---- labels ----------------------------------------------------------------------------- */

static const char *key_of(const struct value_labels *labels,
			  const struct reel_value_request *request)
{
	_cleanup_free_ char *text = NULL;
	const char *key;

	if (!request->expression)
		return NULL;
	text = memory_print("%s:%s", request->function, request->expression);
	key = value_text_keep(text);
	for (size_t i = 0; i < labels->n; i++) {
		if (labels->keys[i] == key)
			return NULL;
	}
	return key;
}

void value_labels_init(struct value_labels *labels, const struct reel_value_request *by,
		       size_t n_by, const struct value_list *shown)
{
	size_t n = n_by + shown->count;

	*labels = (struct value_labels){
		.keys = memory_get((n + 1) * sizeof(*labels->keys)),
		.are_seen = memory_get((n + 1) * sizeof(*labels->are_seen)),
	};
	for (; labels->n < n; labels->n++)
		labels->keys[labels->n] =
			key_of(labels,
			       labels->n < n_by ? &by[labels->n] : &shown->items[labels->n - n_by]);
}

void value_labels_free(struct value_labels *labels)
{
	free(labels->keys);
	free(labels->are_seen);
	free(labels->labels);
}

static struct reel_label label_of(const char *key, const struct reel_frame_value *value)
{
	static const char *const unknown[] = {
		[REEL_VALUE_KNOWN] = "",
		[REEL_VALUE_OPTIMIZED_OUT] = "<optimized out>",
		[REEL_VALUE_NOT_CAPTURED] = "<not captured>",
	};
	struct reel_label label = { .key = key, .text = text_at_pointer(value->text) };

	if (value->state != REEL_VALUE_KNOWN) {
		label.text = unknown[value->state];
	} else if (value_is_decimal(value)) {
		label.kind = value->is_signed ? REEL_LABEL_SIGNED : REEL_LABEL_UNSIGNED;
		label.number = value->number;
	}
	return label;
}

const struct reel_trace *value_labels_add(struct value_labels *labels,
					  const struct reel_trace *trace)
{
	size_t n = trace->n_labels;

	if (!labels->n)
		return trace;
	labels->labels = memory_reserve(labels->labels, &labels->capacity, n + labels->n,
					sizeof(*labels->labels));
	if (n)
		memcpy(labels->labels, trace->labels, n * sizeof(*labels->labels));
	for (size_t i = 0; i < labels->n; i++) {
		const struct reel_frame_value *value = value_of_trace(trace, i);

		labels->are_seen[i] |= value != NULL;
		if (value && labels->keys[i])
			labels->labels[n++] = label_of(labels->keys[i], value);
	}
	labels->trace = *trace;
	labels->trace.labels = labels->labels;
	labels->trace.n_labels = n;
	return &labels->trace;
}
