/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/print/memory.h"
#include "cli/report/stack_bytes.h"

void stack_bytes_init(struct stack_bytes *stacks)
{
	*stacks = (struct stack_bytes){ 0 };
	symbol_table_init(&stacks->symbols, SYMBOLS_BY_FUNCTION);
	groups_init(&stacks->by_thread, (struct group_key){ GROUP_THREAD, "thread", 0 });
}

void stack_bytes_free(struct stack_bytes *stacks)
{
	for (size_t i = 0; i < stacks->n_functions; i++) {
		free(stacks->functions[i]->frames.items);
		free(stacks->functions[i]);
	}
	for (size_t i = 0; i < stacks->n_threads; i++) {
		free(stacks->threads[i]->depths.items);
		free(stacks->threads[i]);
	}
	free(stacks->functions);
	free(stacks->threads);
	pointer_map_free(&stacks->by_symbol);
	groups_free(&stacks->by_thread);
	symbol_table_free(&stacks->symbols);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const struct size_count *x = a, *y = b;

	return (x->size > y->size) - (x->size < y->size);
}

static void size_list_sort(struct size_list *list)
{
	size_t n = 0;

	if (list->n == list->n_sorted)
		return;
	qsort(list->items, list->n, sizeof(*list->items), by_size);
	for (size_t i = 0; i < list->n; i++) {
		if (n && list->items[n - 1].size == list->items[i].size)
			list->items[n - 1].count += list->items[i].count;
		else
			list->items[n++] = list->items[i];
	}
	list->n = list->n_sorted = n;
}

/* Frames of a function mostly have one of a few sizes: a full list is merged, then grows. */
static void size_list_add(struct size_list *list, uint64_t size)
{
	if (list->n && list->items[list->n - 1].size == size) {
		list->items[list->n - 1].count++;
		return;
	}
	if (list->n == list->capacity) {
		size_list_sort(list);
		if (list->n > list->capacity / 2 || !list->capacity) {
			list->capacity = 2 * list->capacity + 8;
			list->items =
				memory_resize(list->items, list->capacity, sizeof(*list->items));
		}
	}
	list->items[list->n++] = (struct size_count){ size, 1 };
}

uint64_t size_list_count(const struct size_list *list)
{
	uint64_t count = 0;

	for (size_t i = 0; i < list->n; i++)
		count += list->items[i].count;
	return count;
}

uint64_t size_list_max(const struct size_list *list)
{
	return list->n ? list->items[list->n - 1].size : 0;
}

uint64_t size_list_median(const struct size_list *list)
{
	uint64_t left = size_list_count(list) / 2;

	for (size_t i = 0; i < list->n; i++) {
		if (left < list->items[i].count)
			return list->items[i].size;
		left -= list->items[i].count;
	}
	return 0;
}

/* ---- adding up ------------------------------------------------------------------------------ */

static struct stack_function *function_of(struct stack_bytes *stacks,
					  const struct reel_frame *frame)
{
	const struct symbol *symbol = symbol_of_frame(&stacks->symbols, frame);
	struct stack_function *function = pointer_map_get(&stacks->by_symbol, symbol);

	if (function)
		return function;
	function = memory_get(sizeof(*function));
	function->symbol = symbol;
	stacks->functions = memory_reserve(stacks->functions, &stacks->functions_capacity,
					   stacks->n_functions, sizeof(struct stack_function *));
	stacks->functions[stacks->n_functions++] = function;
	pointer_map_put(&stacks->by_symbol, symbol, function);
	return function;
}

static struct stack_thread *thread_of(struct stack_bytes *stacks, const struct reel_trace *trace)
{
	struct symbol *symbol = groups_find(&stacks->by_thread, &stacks->symbols, trace, NULL);
	struct stack_thread *thread = pointer_map_get(&stacks->by_symbol, symbol);

	if (thread)
		return thread;
	thread = memory_get(sizeof(*thread));
	thread->symbol = symbol;
	stacks->threads = memory_reserve(stacks->threads, &stacks->threads_capacity,
					 stacks->n_threads, sizeof(struct stack_thread *));
	stacks->threads[stacks->n_threads++] = thread;
	pointer_map_put(&stacks->by_symbol, symbol, thread);
	return thread;
}

/*
 * The bytes of frame `i`, down from its caller's stack pointer.  False if the caller is on another
 * stack: a signal's handler may be, and nothing shows whether it is.
 */
static bool measure_frame(const struct reel_trace *trace, size_t i, uint64_t *ret)
{
	uint64_t sp = trace->stack_pointers[i], caller = trace->stack_pointers[i + 1];

	*ret = caller - sp;
	switch (trace->steps[i + 1]) {
	case REEL_STEP_SIGNAL:
	case REEL_STEP_GAP:
	case REEL_STEP_BEYOND_GAP:
	case REEL_STEP_OTHER_STACK:
		return false;
	default:
		return sp && caller >= sp;
	}
}

static void add_frame(struct stack_bytes *stacks, const struct reel_frame *frame, uint64_t size)
{
	struct stack_function *function = function_of(stacks, frame);

	if (function->sample != stacks->samples) {
		function->sample = stacks->samples;
		function->samples++;
		function->sample_bytes = function->sample_calls = 0;
	}
	size_list_add(&function->frames, size);
	function->bytes += size;
	function->sample_bytes += size;
	function->sample_calls++;
	if (function->sample_bytes > function->most)
		function->most = function->sample_bytes;
	if (function->sample_calls > function->most_calls)
		function->most_calls = function->sample_calls;
	stacks->bytes += size;
}

static void add_thread(struct stack_bytes *stacks, const struct reel_trace *trace)
{
	struct stack_thread *thread = thread_of(stacks, trace);
	size_t leaf = trace->n_kernel_frames;

	size_list_add(&thread->depths, trace->stack_size);
	if (thread->leaf && trace->stack_size <= thread->most)
		return;
	while (leaf + 1 < trace->n_frames && trace->frames[leaf]->inlined)
		leaf++;
	thread->most = trace->stack_size;
	thread->is_minimum = trace->stack_size_is_minimum;
	thread->sample = trace->id;
	thread->leaf = symbol_of_frame(&stacks->symbols, trace->frames[leaf]);
}

bool stack_bytes_add(void *context, const struct reel_trace *trace,
		     const struct reel_event_info *event)
{
	struct stack_bytes *stacks = context;

	(void)event;
	if (!trace->stack_pointers) {
		stacks->without_stack++;
		return true;
	}
	stacks->samples++;
	for (size_t i = trace->n_kernel_frames; i + 1 < trace->n_frames; i++) {
		uint64_t size;

		if (trace->frames[i]->inlined || trace->steps[i] == REEL_STEP_GAP)
			continue;
		stacks->frames++;
		if (measure_frame(trace, i, &size))
			add_frame(stacks, trace->frames[i], size);
		else
			stacks->unmeasured++;
	}
	if (trace->stack_size)
		add_thread(stacks, trace);
	return true;
}

/* ---- the end -------------------------------------------------------------------------------- */

static int by_most(const void *a, const void *b)
{
	const struct stack_function *x = *(struct stack_function *const *)a,
				    *y = *(struct stack_function *const *)b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return symbol_compare(x->symbol, y->symbol);
}

static int by_depth(const void *a, const void *b)
{
	const struct stack_thread *x = *(struct stack_thread *const *)a,
				  *y = *(struct stack_thread *const *)b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

void stack_bytes_finish(struct stack_bytes *stacks)
{
	groups_name(&stacks->by_thread, &stacks->symbols);
	for (size_t i = 0; i < stacks->n_functions; i++)
		size_list_sort(&stacks->functions[i]->frames);
	for (size_t i = 0; i < stacks->n_threads; i++)
		size_list_sort(&stacks->threads[i]->depths);
	if (stacks->n_functions)
		qsort(stacks->functions, stacks->n_functions, sizeof(struct stack_function *),
		      by_most);
	if (stacks->n_threads)
		qsort(stacks->threads, stacks->n_threads, sizeof(struct stack_thread *), by_depth);
}
