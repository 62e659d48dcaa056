/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/flamegraph/flame_spans.h"
#include "cli/print/text.h"

#define FIRST_SIZE 1024
/* Beyond this (80 MB), steps get wider while samples arrive. */
#define KEPT_MAX (1u << 21)

void flame_spans_init(struct flame_spans *spans)
{
	*spans = (struct flame_spans){ .step = FLAME_STEP_FIRST };
}

void flame_spans_free(struct flame_spans *spans)
{
	free(spans->items);
}

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

static bool is_same(const struct flame_span *x, const struct flame_span *y)
{
	return x->bin == y->bin && x->node == y->node && x->thread == y->thread &&
	       x->event == y->event && x->state == y->state && x->labels == y->labels;
}

static int compare(const void *a, const void *b)
{
	const struct flame_span *x = a, *y = b;
	int order = COMPARE(x->bin, y->bin);

	if (!order)
		order = COMPARE(x->event, y->event);
	if (!order)
		order = COMPARE(x->thread, y->thread);
	if (!order)
		order = COMPARE(x->node, y->node);
	if (!order)
		order = COMPARE(x->state, y->state);
	return order ? order : COMPARE(x->labels, y->labels);
}

void flame_spans_merge(struct flame_spans *spans)
{
	size_t n = 0;

	if (!spans->n)
		return;
	qsort(spans->items, spans->n, sizeof(*spans->items), compare);
	for (size_t i = 0; i < spans->n; i++) {
		struct flame_span *last = n ? &spans->items[n - 1] : NULL;

		if (last && is_same(last, &spans->items[i]))
			amount_add(&last->amount, spans->items[i].amount);
		else
			spans->items[n++] = spans->items[i];
	}
	spans->n = n;
}

bool flame_spans_widen(struct flame_spans *spans)
{
	if (!spans->n || !spans->items[spans->n - 1].bin)
		return false;
	for (size_t i = 0; i < spans->n; i++)
		spans->items[i].bin /= 2;
	spans->step *= 2;
	flame_spans_merge(spans);
	return true;
}

static void make_room(struct flame_spans *spans)
{
	if (spans->capacity >= KEPT_MAX) {
		flame_spans_merge(spans);
		while (spans->n > KEPT_MAX / 4 * 3 && flame_spans_widen(spans))
			;
		if (spans->n <= spans->capacity / 4 * 3)
			return;
	}
	spans->capacity = spans->capacity * 2 + FIRST_SIZE;
	spans->items = memory_resize(spans->items, spans->capacity, sizeof(*spans->items));
}

void flame_spans_add(struct flame_spans *spans, struct flame_span span)
{
	struct flame_span *last;

	if (spans->n == spans->capacity)
		make_room(spans);
	last = spans->n ? &spans->items[spans->n - 1] : NULL;
	span.bin /= spans->step;
	if (last && is_same(last, &span))
		amount_add(&last->amount, span.amount);
	else
		spans->items[spans->n++] = span;
}
