/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/memory.h"
#include "cli/print/text.h"
#include "cli/report/name_column.h"
#include "cli/profile/groups.h"
#include "cli/report/stack_bytes.h"
#include "cli/session/selection.h"
#include "cli/session/summary.h"

/* ---- counting -------------------------------------------------------------------------------- */

/* How often a size was seen. */
struct size_count {
	uint64_t size, count;
};

/* A list of sizes, sorted and without duplicates up to `n_sorted`. */
struct size_list {
	struct size_count *items;
	size_t n, n_sorted, capacity;
};

/* A function with frames of its own: inlined functions belong to the one they are inlined into. */
struct stack_function {
	const struct symbol *symbol;
	struct size_list frames;
	uint64_t samples;
	uint64_t bytes;	     /* of all frames */
	uint64_t most;	     /* bytes of its frames in one sample */
	uint64_t most_calls; /* frames in one sample */
	/* In the sample with this number. */
	uint64_t sample, sample_bytes, sample_calls;
};

struct stack_thread {
	struct symbol *symbol;
	struct size_list depths;
	/* The deepest stack: a lower bound if its top is unknown, the sample, its leaf's function. */
	uint64_t most, sample;
	bool is_minimum;
	const struct symbol *leaf;
};

struct stack_bytes {
	struct stack_function **functions;
	size_t n_functions, functions_capacity;
	struct stack_thread **threads;
	size_t n_threads, threads_capacity;
	uint64_t samples, without_stack; /* measured, and others */
	uint64_t frames, unmeasured;	 /* the outermost ones of stacks do not count */
	uint64_t bytes;
	struct symbol_table symbols;
	struct groups by_thread;
	struct pointer_map by_symbol;
};

static void init(struct stack_bytes *stacks)
{
	*stacks = (struct stack_bytes){ 0 };
	symbol_table_init(&stacks->symbols, SYMBOLS_BY_FUNCTION);
	groups_init(&stacks->by_thread, (struct group_key){ GROUP_THREAD, "thread", 0 });
}

static void free_all(struct stack_bytes *stacks)
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

static uint64_t size_list_count(const struct size_list *list)
{
	uint64_t count = 0;

	for (size_t i = 0; i < list->n; i++)
		count += list->items[i].count;
	return count;
}

static uint64_t size_list_max(const struct size_list *list)
{
	return list->n ? list->items[list->n - 1].size : 0;
}

static uint64_t size_list_median(const struct size_list *list)
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

static bool add_trace(void *context, const struct reel_trace *trace,
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

static void finish(struct stack_bytes *stacks)
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

/* ---- printing -------------------------------------------------------------------------------- */

/* Columns before the names, without OF LIMIT. */
#define THREAD_WIDTH   47
#define LIMIT_WIDTH    11
#define FUNCTION_WIDTH 67

/* A stack this full is near its limit. */
#define NEAR (80 * PERCENT)

static bool have_samples(const struct stack_bytes *stacks, const struct session *session)
{
	if (stacks->samples)
		return true;
	complain("%s: no selected sample has a stack to measure: kernel threads, walks by frame "
		 "pointers, and captures made by 'stackreel resolve' have none",
		 session->options->file);
	return false;
}

static void print_hidden(size_t n, uint64_t percent_limit, const struct output *output)
{
	if (n)
		fprintf(output->file, "# %s more below --percent-limit %s of the deepest stack\n",
			format_count(n).text, format_limit(percent_limit).text);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void print_thread(const struct stack_thread *thread, uint64_t limit,
			 const struct name_column *names, const struct output *output)
{
	uint64_t share = percent_of(thread->most, limit);
	bool is_near = limit && share >= NEAR;

	fprintf(output->file, "%2s%11s  ", thread->is_minimum ? ">=" : "",
		format_count(thread->most).text);
	if (limit)
		fprintf(output->file, "%s%8s %%%s ", is_near ? color_bold(output) : "",
			format_percent(thread->most, limit).text, is_near ? color_end(output) : "");
	fprintf(output->file, "%11s  %9s  %9" PRIu64 "  ",
		format_count(size_list_median(&thread->depths)).text,
		format_count(size_list_count(&thread->depths)).text, thread->sample);
	name_column_print(names, thread->symbol->name,
			  symbol_shown(thread->leaf, output->short_names), output);
}

static void print_threads(const struct stack_bytes *stacks, uint64_t limit, uint64_t least,
			  uint64_t percent_limit, const struct output *output)
{
	struct name_column names = { .head = "THREAD", .module_head = "LEAF THERE" };
	size_t n = 0, n_near = 0;

	while (n < stacks->n_threads && stacks->threads[n]->most >= least) {
		const struct stack_thread *thread = stacks->threads[n++];

		name_column_add(&names, thread->symbol->name,
				symbol_shown(thread->leaf, output->short_names));
		n_near += limit && percent_of(thread->most, limit) >= NEAR;
	}
	name_column_fit(&names, THREAD_WIDTH + (limit ? LIMIT_WIDTH : 0), output);
	fprintf(output->file, "\n%s%13s  ", color_bold(output), "DEEPEST");
	if (limit)
		fprintf(output->file, "%10s ", "OF LIMIT");
	fprintf(output->file, "%11s  %9s  %9s  ", "MEDIAN", "SAMPLES", "AT SAMPLE");
	name_column_print_head(&names, output);
	for (size_t i = 0; i < n; i++)
		print_thread(stacks->threads[i], limit, &names, output);
	print_hidden(stacks->n_threads - n, percent_limit, output);
	if (limit)
		fprintf(output->file, "# %s used 80 %% or more of %s bytes\n",
			format_plural(n_near, "thread").text, format_count(limit).text);
	else
		fputs("# captures do not have the limits of stacks: --stack-bytes=8M shows shares "
		      "of 8 MiB\n",
		      output->file);
}

/* ---- functions ------------------------------------------------------------------------------ */

static void print_function(const struct stack_bytes *stacks, const struct stack_function *function,
			   const struct name_column *names, const struct output *output)
{
	fprintf(output->file, "%11s %11s %11s %7s %7s %%  %9s  ", format_count(function->most).text,
		format_count(size_list_max(&function->frames)).text,
		format_count(size_list_median(&function->frames)).text,
		format_count(function->most_calls).text,
		format_percent(function->bytes, stacks->bytes).text,
		format_count(function->samples).text);
	name_column_print(names, symbol_shown(function->symbol, output->short_names),
			  function->symbol->module, output);
}

static void print_functions(const struct stack_bytes *stacks, uint64_t least,
			    uint64_t percent_limit, const struct output *output)
{
	struct name_column names = { .head = NAME_HEAD, .module_head = NAME_MODULE_HEAD };
	size_t n = 0;

	while (n < stacks->n_functions && stacks->functions[n]->most >= least) {
		const struct symbol *symbol = stacks->functions[n++]->symbol;

		name_column_add(&names, symbol_shown(symbol, output->short_names), symbol->module);
	}
	name_column_fit(&names, FUNCTION_WIDTH, output);
	fprintf(output->file, "\n%s%11s %11s %11s %7s %9s  %9s  ", color_bold(output), "MOST",
		"FRAME", "MEDIAN", "CALLS", "SHARE", "SAMPLES");
	name_column_print_head(&names, output);
	for (size_t i = 0; i < n; i++)
		print_function(stacks, stacks->functions[i], &names, output);
	print_hidden(stacks->n_functions - n, percent_limit, output);
}

/* ---- all ------------------------------------------------------------------------------------ */

static void print_report(const struct stack_bytes *stacks, uint64_t limit, uint64_t percent_limit,
			 const struct output *output)
{
	uint64_t deepest = stacks->n_threads ? stacks->threads[0]->most : 0, least;

	if (!deepest && stacks->n_functions)
		deepest = stacks->functions[0]->most;
	/* In a double: sizes of stacks are far below 2^53. */
	least = (uint64_t)((double)deepest * (double)percent_limit / (double)(100 * PERCENT));
	fprintf(output->file, "# stacks of %s", format_plural(stacks->samples, "sample").text);
	if (stacks->without_stack)
		fprintf(output->file, ", and %s without a stack to measure",
			format_count(stacks->without_stack).text);
	fprintf(output->file, "; %s of frames have a known size\n",
		format_share(stacks->frames - stacks->unmeasured, stacks->frames).text);
	fputs("# in bytes, as sampled: stacks may have been deeper between samples\n",
	      output->file);
	print_threads(stacks, limit, least, percent_limit, output);
	print_functions(stacks, least, percent_limit, output);
}

int stack_bytes_report(struct session *session, uint64_t limit, uint64_t percent_limit)
{
	struct stack_bytes stacks;
	struct output output;
	int status = STATUS_ERROR;

	init(&stacks);
	if (session_visit(session, add_trace, &stacks) && have_samples(&stacks, session) &&
	    options_open_output(session->options, &output)) {
		finish(&stacks);
		summary_print_head(session, output.file);
		print_report(&stacks, limit, percent_limit, &output);
		status = output_close(&output, session_status(session));
	}
	free_all(&stacks);
	return status;
}
