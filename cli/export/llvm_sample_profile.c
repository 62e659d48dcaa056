/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLVM's sample profiles, as text, for clang's -fprofile-sample-use (docs/exports.md). After all
 * samples are counted, instructions are looked up function by function, including those without
 * samples.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/export/sample_profile.h"
#include "cli/export/stack_tree.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* A place in the code that occurs in stacks. */
struct place {
	const struct reel_frame *frame;
	uint64_t samples; /* with this innermost frame */
	bool is_certain;
};

struct edge {
	uint32_t parent, place;
	bool counts;	  /* a call outside recursion */
	uint64_t samples; /* of this edge; later including the edges below it */
};

/* A running call and its callee. */
struct call {
	const struct reel_frame *from, *to;
	uint64_t samples;
};

/* Why samples are not in the profile. */
struct left_out {
	uint64_t all, kernel, no_file, no_lines, no_file_of_lines, no_line;
};

struct llvm_profile {
	FILE *file;
	struct sample_profile profile;
	struct stack_tree stacks;
	/* Of the capture, by number; [0] is none. */
	struct place *places;
	size_t n_places, places_capacity;
	struct edge *edges;
	size_t n_edges, edges_capacity;
	char *event; /* the samples' event; NULL: none yet */
	struct left_out left_out;
	bool quiet;
	struct reel_capture *capture; /* when all its samples are counted */
};

/* ---- samples -------------------------------------------------------------------------------- */

static bool add_place(void *context, const struct reel_frame *frame, enum reel_step step,
		      uint32_t id, uint32_t *function_ret)
{
	struct llvm_profile *llvm = context;

	(void)id;
	llvm->places = memory_reserve(llvm->places, &llvm->places_capacity, llvm->n_places,
				      sizeof(*llvm->places));
	llvm->places[llvm->n_places++] = (struct place){
		.frame = frame,
		.is_certain = step == REEL_STEP_CFI || step == REEL_STEP_SAMPLE,
	};
	*function_ret = frame->function_id;
	return true;
}

static bool add_edge(void *context, const struct stack_node *node, const struct reel_trace *trace)
{
	struct llvm_profile *llvm = context;

	(void)trace;
	llvm->edges = memory_reserve(llvm->edges, &llvm->edges_capacity, llvm->n_edges,
				     sizeof(*llvm->edges));
	llvm->edges[llvm->n_edges++] = (struct edge){
		.parent = node->parent,
		.place = node->frame,
		.counts = node->parent && !node->is_recursive,
	};
	return true;
}

/* The first place and edge mean none. */
static void begin_stacks(struct llvm_profile *llvm)
{
	stack_tree_init(&llvm->stacks, (struct stack_visitor){ add_place, add_edge, llvm });
	add_edge(llvm, &(struct stack_node){ 0 }, NULL);
	llvm->places = memory_reserve(llvm->places, &llvm->places_capacity, llvm->n_places,
				      sizeof(*llvm->places));
	llvm->places[llvm->n_places++] = (struct place){ 0 };
}

static void end_stacks(struct llvm_profile *llvm)
{
	stack_tree_free(&llvm->stacks);
	llvm->n_places = llvm->n_edges = 0;
}

static void *llvm_open(const struct export_target *target)
{
	struct llvm_profile *llvm = memory_get(sizeof(*llvm));

	llvm->file = target->file;
	begin_stacks(llvm);
	return llvm;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct llvm_profile *llvm = state;

	if (session->options->no_inlines) {
		complain("%s: an LLVM profile needs inlined calls and lines; remove --no-inline",
			 path);
		return false;
	}
	llvm->quiet = session->options->quiet;
	return true;
}

/* Counts of different events cannot be separated later. */
static bool is_of_one_event(struct llvm_profile *llvm, const struct reel_event_info *event)
{
	_cleanup_free_ char *name = text_escape(event_name(event), "");

	if (!llvm->event) {
		llvm->event = name;
		name = NULL;
		return true;
	}
	if (!strcmp(llvm->event, name))
		return true;
	complain("an LLVM profile has a single event, but the samples are of %s and %s; choose one "
		 "with --event",
		 llvm->event, name);
	return false;
}

static bool llvm_add(void *state, const struct reel_trace *trace,
		     const struct reel_event_info *event)
{
	struct llvm_profile *llvm = state;
	uint32_t node;

	if (!is_of_one_event(llvm, event) || !stack_tree_add(&llvm->stacks, trace, &node))
		return false;
	llvm->edges[node].samples++;
	llvm->places[llvm->edges[node].place].samples++;
	llvm->left_out.all++;
	return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* The address for reel_function_open, shared by all frames of a function. */
static uint64_t begin_of(const struct reel_frame *frame)
{
	return frame->module_address - frame->function_offset;
}

/* An address within the running or calling instruction. */
static uint64_t address_of(const struct reel_frame *frame)
{
	return frame->module_address - (frame->exact ? 0 : 1);
}

static int compare_functions(const struct reel_frame *x, const struct reel_frame *y)
{
	if (x->module_id != y->module_id)
		return x->module_id < y->module_id ? -1 : 1;
	if (begin_of(x) != begin_of(y))
		return begin_of(x) < begin_of(y) ? -1 : 1;
	return 0;
}

static int compare_frames(const struct reel_frame *x, const struct reel_frame *y)
{
	int result = compare_functions(x, y);

	if (result)
		return result;
	return (address_of(x) > address_of(y)) - (address_of(x) < address_of(y));
}

static int compare_places(const void *a, const void *b)
{
	return compare_frames(((const struct place *)a)->frame, ((const struct place *)b)->frame);
}

static int compare_calls(const void *a, const void *b)
{
	return compare_frames(((const struct call *)a)->from, ((const struct call *)b)->from);
}

static bool is_in_file(const struct llvm_profile *llvm, const struct reel_frame *frame)
{
	REEL_SIZED(reel_module_info, module);

	return no_error(reel_capture_module(llvm->capture, frame->module_id, &module)) &&
	       module.id && module.kind == REEL_MODULE_FILE;
}

/* Whether the place has code in a file, with lines. */
static bool is_of_use(struct llvm_profile *llvm, const struct place *place)
{
	const struct reel_frame *frame = place->frame;
	struct left_out *left_out = &llvm->left_out;

	if (frame && frame->kernel)
		left_out->kernel += place->samples;
	else if (!frame || !is_in_file(llvm, frame))
		left_out->no_file += place->samples;
	else if (!*frame->file)
		left_out->no_lines += place->samples;
	else
		return true;
	return false;
}

/* Keeps the places that are innermost frames in files with lines, sorted by function. */
static size_t sort_places(struct llvm_profile *llvm)
{
	size_t n = 0;

	for (size_t i = 0; i < llvm->n_places; i++) {
		const struct place *place = &llvm->places[i];

		if (place->samples && is_of_use(llvm, place))
			llvm->places[n++] = *place;
	}
	if (n)
		qsort(llvm->places, n, sizeof(*llvm->places), compare_places);
	return n;
}

/* The calls in stacks, sorted by calling function. */
static struct call *list_calls(struct llvm_profile *llvm, size_t *n_ret)
{
	struct call *calls = memory_resize(NULL, llvm->n_edges, sizeof(*calls));
	size_t n = 0;

	/* Edges follow their parents. */
	for (size_t i = llvm->n_edges - 1; i; i--)
		llvm->edges[llvm->edges[i].parent].samples += llvm->edges[i].samples;
	for (size_t i = 1; i < llvm->n_edges; i++) {
		const struct edge *edge = &llvm->edges[i];
		const struct place *to = &llvm->places[edge->place],
				   *from = &llvm->places[llvm->edges[edge->parent].place];

		if (edge->counts && from->is_certain && !from->frame->exact &&
		    !to->frame->inlined && !to->frame->kernel)
			calls[n++] = (struct call){ from->frame, to->frame, edge->samples };
	}
	if (n)
		qsort(calls, n, sizeof(*calls), compare_calls);
	*n_ret = n;
	return calls;
}

/* ---- from instructions to the profile ---------------------------------------------------- */

/* The remaining places and calls of the capture, sorted by function and address. */
struct walk {
	struct llvm_profile *llvm;
	const struct place *place, *places_end;
	const struct call *call, *calls_end;
	const struct sample_line *entry; /* of the function */
};

static const char *linkage_name(const struct reel_frame *frame)
{
	return *frame->linkage_name ? frame->linkage_name : frame->function;
}

/* Whether the instruction, whose target may be known, can make the call. */
static bool leads_to(const struct reel_function_instruction *instruction,
		     const struct reel_frame *to)
{
	return instruction->bytes && instruction->flow == REEL_FUNCTION_CALL &&
	       (!instruction->has_target ||
		(*to->function && !strcmp(instruction->target_name, to->function)));
}

static void count_calls(struct walk *walk, const struct reel_function_instruction *instruction,
			bool is_named)
{
	uint64_t last = instruction->address + (instruction->size - 1);

	for (; walk->call < walk->calls_end && address_of(walk->call->from) <= last; walk->call++) {
		if (is_named && address_of(walk->call->from) >= instruction->address &&
		    leads_to(instruction, walk->call->to))
			sample_profile_add_target(
				&walk->llvm->profile, instruction->places, instruction->n_places,
				linkage_name(walk->call->to), walk->call->samples);
	}
}

/* The samples of instructions up to this address, which are passed. */
static uint64_t sum_samples(struct walk *walk, uint64_t last)
{
	uint64_t samples = 0;

	for (; walk->place < walk->places_end && address_of(walk->place->frame) <= last;
	     walk->place++)
		samples += walk->place->samples;
	return samples;
}

static void count_instruction(struct walk *walk, const struct reel_function_info *info,
			      const struct reel_function_instruction *instruction)
{
	struct left_out *left_out = &walk->llvm->left_out;
	struct sample_profile *profile = &walk->llvm->profile;
	const struct sample_line *line = NULL;
	bool is_named =
		sample_profile_can_name(profile, instruction->places, instruction->n_places);
	uint64_t samples = sum_samples(walk, instruction->address + (instruction->size - 1));

	if (!is_named)
		*(info->embedded ? &left_out->no_file_of_lines : &left_out->no_lines) += samples;
	else
		line = sample_profile_add(profile, instruction->places, instruction->n_places,
					  samples);
	if (is_named && !line)
		left_out->no_line += samples;
	if (instruction->address == info->begin)
		walk->entry = line;
	count_calls(walk, instruction, is_named);
}

/* Counts the next function with samples; its places and calls are next, up to the ends. */
static bool count_function(struct walk *walk)
{
	const struct reel_frame *frame = walk->place->frame;
	const struct place *end = walk->places_end;
	const struct call *calls_end = walk->calls_end;
	const struct reel_function_instruction *instruction;
	REEL_SIZED(reel_function_options, options);
	struct reel_function *function;
	uint64_t *starts;
	bool ok;

	while (walk->call < calls_end && compare_functions(walk->call->from, frame) < 0)
		walk->call++;
	for (walk->calls_end = walk->call;
	     walk->calls_end < calls_end && !compare_functions(walk->calls_end->from, frame);)
		walk->calls_end++;
	for (walk->places_end = walk->place;
	     walk->places_end < end && !compare_functions(walk->places_end->frame, frame);)
		walk->places_end++;
	options.n_starts = (size_t)(walk->places_end - walk->place);
	options.starts = starts = memory_resize(NULL, options.n_starts, sizeof(*starts));
	for (size_t i = 0; i < options.n_starts; i++)
		starts[i] = walk->place[i].frame->module_address;
	ok = no_error(reel_function_open(walk->llvm->capture, frame, &options, &function));
	free(starts);
	if (!ok)
		return false;
	walk->entry = NULL;
	while ((ok = no_error(reel_function_next(function, &instruction))) && instruction)
		count_instruction(walk, reel_function_get_info(function), instruction);
	reel_function_close(function);
	sample_profile_add_entry(&walk->llvm->profile, walk->entry);
	/* Apparently past the function's last instruction. */
	walk->llvm->left_out.no_lines += sum_samples(walk, UINT64_MAX);
	walk->call = walk->calls_end;
	walk->places_end = end;
	walk->calls_end = calls_end;
	return ok;
}

static bool end_capture(void *state, struct session *session)
{
	struct llvm_profile *llvm = state;
	uint64_t module = 0;
	size_t n_calls, n;
	struct call *calls;
	struct walk walk;
	bool ok = true;

	llvm->capture = session->capture;
	calls = list_calls(llvm, &n_calls);
	n = sort_places(llvm);
	walk = (struct walk){
		.llvm = llvm,
		.place = llvm->places,
		.places_end = llvm->places + n,
		.call = calls,
		.calls_end = calls + n_calls,
	};
	while (ok && walk.place < walk.places_end) {
		if (walk.place->frame->module_id != module)
			sample_profile_next_part(&llvm->profile);
		module = walk.place->frame->module_id;
		ok = count_function(&walk);
	}
	free(calls);
	end_stacks(llvm);
	begin_stacks(llvm);
	return ok;
}

/* ---- the end ----------------------------------------------------------------------------- */

static void report_left_out(uint64_t samples, uint64_t all, const char *why)
{
	if (samples)
		complain("%s of %s samples (%s) are not in the profile: %s",
			 format_count(samples).text, format_count(all).text,
			 format_share(samples, all).text, why);
}

static void report_all_left_out(const struct left_out *left_out)
{
	uint64_t all = left_out->all;

	report_left_out(left_out->kernel, all, "kernel code");
	report_left_out(left_out->no_file, all, "code without a file, such as JIT code");
	report_left_out(left_out->no_lines, all,
			"the first lines of their functions are unknown; build with -g, or with "
			"-gline-tables-only "
			"-fdebug-info-for-profiling (see 'stackreel doctor' for the files)");
	report_left_out(
		left_out->no_file_of_lines, all,
		"the capture has their lines, but not the first lines of their functions; add "
		"the program with --module or --symfs");
	if (left_out->no_line)
		complain("%s of %s samples (%s) count for their functions only: their instructions "
			 "have no line",
			 format_count(left_out->no_line).text, format_count(all).text,
			 format_share(left_out->no_line, all).text);
}

static bool llvm_close(void *state, bool ok)
{
	struct llvm_profile *llvm = state;

	bool has_functions = ok && sample_profile_print(&llvm->profile, llvm->file);

	if (ok && (!has_functions || !llvm->quiet))
		report_all_left_out(&llvm->left_out);
	if (ok && !has_functions)
		complain("no functions to write a profile of");
	sample_profile_free(&llvm->profile);
	end_stacks(llvm);
	free(llvm->places);
	free(llvm->edges);
	free(llvm->event);
	free(llvm);
	return has_functions;
}

const struct export_format export_llvm_sample_profile = {
	.name = "llvm-sample-profile",
	.summary = "text for clang's -fprofile-sample-use (AutoFDO)",
	.open = llvm_open,
	.begin_capture = begin_capture,
	.add = llvm_add,
	.end_capture = end_capture,
	.close = llvm_close,
};
