/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/flamegraph/flame_profile.h"
#include "cli/print/text.h"

/* ---- spans ----------------------------------------------------------------------------------- */

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

/* ---- profiles -------------------------------------------------------------------------------- */

/* A century: later times are invalid. */
#define TIME_MAX (UINT64_C(100) * 366 * 86400 * 1000000000)

void flame_profile_init(struct flame_profile *profile, uint64_t start, bool by_line)
{
	*profile = (struct flame_profile){ .start = start };
	flame_frames_init(&profile->frames, by_line);
	groups_init(&profile->by_thread, (struct group_key){ GROUP_THREAD, "thread", 0 });
	groups_init(&profile->by_process, (struct group_key){ GROUP_PROCESS, "process", 0 });
	flame_spans_init(&profile->spans);
	flame_labels_init(&profile->labels);
}

void flame_profile_free(struct flame_profile *profile)
{
	for (size_t i = 0; i < profile->n_events; i++)
		call_tree_free(&profile->events[i].tree);
	free(profile->events);
	groups_free(&profile->by_thread);
	groups_free(&profile->by_process);
	for (size_t i = 0; i < profile->n_groups; i++)
		groups_free(&profile->groups[i]);
	pointer_map_free(&profile->thread_numbers);
	free(profile->threads);
	free(profile->path);
	flame_spans_free(&profile->spans);
	flame_labels_free(&profile->labels);
	flame_frames_free(&profile->frames);
}

void flame_profile_group(struct flame_profile *profile, const struct grouping *grouping)
{
	for (; profile->n_groups < grouping->n; profile->n_groups++)
		groups_init(&profile->groups[profile->n_groups], grouping->keys[profile->n_groups]);
}

/* ---- samples ------------------------------------------------------------------------------ */

static uint32_t add_event(struct flame_profile *profile, const struct reel_event_info *event,
			  bool is_time, uint64_t period)
{
	struct flame_event *added;

	profile->events =
		memory_resize(profile->events, profile->n_events + 1, sizeof(*profile->events));
	added = &profile->events[profile->n_events];
	*added = (struct flame_event){ .event = event, .is_time = is_time, .period = period };
	call_tree_init(&added->tree);
	added->tree.compare = flame_frame_compare;
	return (uint32_t)profile->n_events++;
}

static uint32_t event_number(struct flame_profile *profile, const struct reel_event_info *event,
			     uint64_t weight)
{
	for (size_t i = 0; i < profile->n_events; i++) {
		if (profile_is_same_event(profile->events[i].event, event))
			return (uint32_t)i;
	}
	return add_event(profile, event, event && !strcmp(event->weight_unit, "ns"), weight);
}

static uint32_t thread_number(struct flame_profile *profile, const struct reel_trace *trace)
{
	struct symbol_table *symbols = &profile->frames.symbols;
	struct symbol *thread = groups_find(&profile->by_thread, symbols, trace, NULL);
	struct symbol *process = groups_find(&profile->by_process, symbols, trace, NULL);
	uintptr_t number = (uintptr_t)pointer_map_get(&profile->thread_numbers, thread);

	if (number)
		return (uint32_t)number - 1;
	number = profile->n_threads++;
	/* Powers of two. */
	if (!(number & (number - 1)))
		profile->threads =
			memory_resize(profile->threads, 2 * number + 1, sizeof(*profile->threads));
	profile->threads[number] =
		(struct flame_thread){ thread, process, trace->pid, trace->tid, 1 };
	pointer_map_put(&profile->thread_numbers, thread, (void *)(number + 1));
	return (uint32_t)number;
}

/* The stack's groups and mark, or the root. */
static uint32_t start_of(struct flame_profile *profile, struct call_tree *tree,
			 const struct reel_trace *trace, const struct reel_event_info *event)
{
	struct symbol_table *symbols = &profile->frames.symbols;
	uint32_t node = CALL_TREE_ROOT;
	const struct symbol *mark;

	for (size_t i = 0; i < profile->n_groups; i++) {
		struct flame_frame *frame;

		mark = groups_find(&profile->groups[i], symbols, trace, event);
		frame = flame_frame_get(&profile->frames, mark, false);
		frame->is_group = true;
		node = call_tree_child(tree, node, frame);
	}

	if (trace_is_cut(trace))
		mark = symbol_of_stop(symbols, trace->stop);
	else if (!trace->n_frames)
		mark = symbol_of_group(symbols, "[no frames]");
	else
		return node;
	return call_tree_child(tree, node, flame_frame_get(&profile->frames, mark, false));
}

static size_t common_length(const struct flame_profile *profile, const struct reel_trace *trace)
{
	size_t n = trace->n_frames < profile->path_length ? trace->n_frames : profile->path_length;
	size_t i;

	for (i = 0; i < n; i++) {
		size_t at = trace->n_frames - 1 - i;

		if (profile->path[i].frame != trace->frames[at] ||
		    profile->path[i].step != trace->steps[at])
			break;
	}
	return i;
}

/* The node of the trace's leaf. */
static uint32_t add_stack(struct flame_profile *profile, uint32_t event,
			  const struct reel_trace *trace)
{
	struct call_tree *tree = &profile->events[event].tree;
	uint32_t node = start_of(profile, tree, trace, profile->events[event].event);
	bool is_alike = event == profile->path_event && node == profile->path_start;
	size_t common = is_alike ? common_length(profile, trace) : 0;

	profile->path_event = event;
	profile->path_start = node;
	profile->path = memory_reserve(profile->path, &profile->path_capacity, trace->n_frames,
				       sizeof(*profile->path));
	for (size_t i = 0; i < trace->n_frames; i++) {
		size_t at = trace->n_frames - 1 - i;
		struct flame_step *step = &profile->path[i];

		if (i >= common) {
			step->frame = trace->frames[at];
			step->step = trace->steps[at];
			step->place = flame_place_get(&profile->frames, step->frame, step->step);
			step->node = call_tree_child(tree, node, step->place->of);
		}
		step->place->samples++;
		node = step->node;
	}
	profile->path_length = trace->n_frames;
	return node;
}

bool flame_profile_add(void *context, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct flame_profile *profile = context;
	struct amount amount = { trace->weight, 1 };
	struct flame_span span = { .event = event_number(profile, event, trace->weight),
				   .state = (uint8_t)trace->state,
				   .amount = amount };

	span.thread = thread_number(profile, trace);
	span.node = add_stack(profile, span.event, trace);
	if (profile->keeps_labels)
		span.labels = flame_labels_add(&profile->labels, trace);
	span.bin = trace->time > profile->start ? trace->time - profile->start : 0;
	if (span.bin > TIME_MAX)
		span.bin = TIME_MAX;
	amount_add(&profile->events[span.event].tree.nodes[span.node].self, amount);
	flame_spans_add(&profile->spans, span);
	return true;
}

/* ---- profiles ----------------------------------------------------------------------------- */

static void add_tree(struct flame_profile *profile, uint32_t number, const struct call_tree *from)
{
	struct call_tree *tree = &profile->events[number].tree;
	_cleanup_free_ uint32_t *mapped = memory_resize(NULL, from->n_nodes, sizeof(*mapped));

	for (uint32_t i = 0; i < from->n_nodes; i++) {
		const struct call_tree_node *node = &from->nodes[i];
		struct flame_span span = { .event = number, .amount = node->self };

		mapped[i] = i == CALL_TREE_ROOT
				    ? CALL_TREE_ROOT
				    : call_tree_child(
					      tree, mapped[node->parent],
					      flame_frame_get(&profile->frames, node->key, false));
		span.node = mapped[i];
		amount_add(&tree->nodes[span.node].self, node->self);
		if (node->self.samples)
			flame_spans_add(&profile->spans, span);
	}
}

void flame_profile_add_all(struct flame_profile *profile, const struct profiles *profiles)
{
	for (size_t i = 0; i < profiles->count; i++) {
		const struct profile *of = &profiles->items[i];
		struct amount all = of->tree.nodes[CALL_TREE_ROOT].total;

		if (all.samples)
			add_tree(profile,
				 add_event(profile, of->event, of->is_time,
					   all.weight / all.samples),
				 &of->tree);
	}
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* If no sample has a weight, all count the same. */
static void weigh_by_samples(struct flame_profile *profile, uint32_t number)
{
	struct flame_event *event = &profile->events[number];
	struct call_tree *tree = &event->tree;

	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		if (tree->nodes[i].self.weight)
			return;
	}
	event->is_time = false;
	event->period = 1;
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		tree->nodes[i].self.weight = tree->nodes[i].self.samples;
	for (size_t i = 0; i < profile->spans.n; i++) {
		struct flame_span *span = &profile->spans.items[i];

		if (span->event == number)
			span->amount.weight = span->amount.samples;
	}
}

void flame_profile_finish(struct flame_profile *profile)
{
	groups_name(&profile->by_thread, &profile->frames.symbols);
	groups_name(&profile->by_process, &profile->frames.symbols);
	for (size_t i = 0; i < profile->n_groups; i++)
		groups_name(&profile->groups[i], &profile->frames.symbols);
	flame_frames_finish(&profile->frames);
	for (size_t i = 0; i < profile->n_events; i++) {
		weigh_by_samples(profile, (uint32_t)i);
		call_tree_finish(&profile->events[i].tree);
	}
}
