/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of stacks that functions and threads use, from the stack pointers of samples' frames. */
#ifndef CLI_REPORT_STACK_BYTES_H
#define CLI_REPORT_STACK_BYTES_H

#include "cli/profile/groups.h"

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

void stack_bytes_init(struct stack_bytes *stacks);
void stack_bytes_free(struct stack_bytes *stacks);
/* For session_visit; `context` is the stacks. */
bool stack_bytes_add(void *context, const struct reel_trace *trace,
		     const struct reel_event_info *event);
/* Sorts both lists, the largest first, and names the threads. */
void stack_bytes_finish(struct stack_bytes *stacks);

/* After stack_bytes_finish: the median (of an even number, the larger one in the middle), and the
 * largest size; 0 of an empty list. */
uint64_t size_list_median(const struct size_list *list);
uint64_t size_list_max(const struct size_list *list);
uint64_t size_list_count(const struct size_list *list);

#endif
