/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/functions.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"
#include "cli/profile/symbols.h"

/* List at most this many functions if the name is ambiguous. */
#define NAMED_MAX 12

/* Represents any function that does not match. */
static struct function none;

/* ---- the wanted function ------------------------------------------------------------------ */

/* MODULE+0xADDRESS, as report --by address prints it; false if not of this form. */
static bool parse_address(struct functions *functions, const char *wanted)
{
	const char *plus = strrchr(wanted, '+');
	char *end;

	if (!plus || plus == wanted || plus[1] != '0' || plus[2] != 'x')
		return false;
	errno = 0;
	functions->address = strtoull(plus + 1, &end, 16);
	if (*end || errno)
		return false;
	functions->module = memory_print("%.*s", (int)(plus - wanted), wanted);
	functions->has_address = true;
	return true;
}

void functions_init(struct functions *functions, const char *wanted)
{
	const char *colon = strchr(wanted, ':');

	*functions = (struct functions){ .wanted = wanted };
	if (parse_address(functions, wanted) || !colon || colon == wanted || colon[1] == ':')
		return;
	functions->module = memory_print("%.*s", (int)(colon - wanted), wanted);
	functions->in_module = colon + 1;
}

static void free_function(struct function *function)
{
	free(function->name);
	free(function->sampled);
	free(function);
}

void functions_free(struct functions *functions)
{
	for (size_t i = 0; i < functions->n; i++)
		free_function(functions->all[i]);
	free(functions->all);
	free(functions->by_number);
	pointer_map_free(&functions->by_frame);
	pointer_map_free(&functions->by_leaf);
	free(functions->module);
	free(functions->hosts);
}

static enum fit fit_name(const char *name, const char *text)
{
	size_t length = strlen(text);

	if (!strncmp(name, text, length) && (!name[length] || name[length] == '('))
		return FIT_WHOLE;
	if (strstr(name, text))
		return FIT_PART;
	return strcasestr(name, text) ? FIT_NEAR : FIT_NONE;
}

static bool is_module(const char *path, const char *text)
{
	return !strcmp(path, text) || !strcmp(path_base(path), text) ||
	       !strcmp(module_name(path), text);
}

static enum fit fit_frame(const struct functions *functions, const struct reel_frame *frame,
			  const char *name)
{
	_cleanup_free_ char *shown = text_escape(name, "");
	enum fit fit = fit_name(name, functions->wanted);

	/* The name as copied from a report. */
	if (fit_name(shown, functions->wanted) > fit)
		fit = fit_name(shown, functions->wanted);
	if (fit == FIT_WHOLE || !functions->module ||
	    !is_module(frame->module_path, functions->module))
		return fit;
	if (!functions->has_address)
		return fit_name(name, functions->in_module);
	if (functions->address == frame->module_address - frame->function_offset)
		return FIT_WHOLE;
	if (functions->address == frame->module_address)
		return frame->exact ? FIT_WHOLE : FIT_RETURN;
	return fit ? fit : FIT_NEAR;
}

/* ---- adding ------------------------------------------------------------------------------- */

/* The slot of the first function of the number. */
static struct function **number_slot(struct functions *functions, uint32_t number)
{
	functions->by_number = memory_reserve_zeroed(functions->by_number, &functions->n_numbers,
						     number, sizeof(struct function *));
	return &functions->by_number[number];
}

/* The same function in an earlier capture, or NULL. Only matching ones are listed: a few. */
static struct function *function_of_before(const struct functions *functions,
					   const struct reel_frame *frame, uint64_t begin,
					   const char *name)
{
	for (size_t i = 0; i < functions->n; i++) {
		struct function *function = functions->all[i];

		if (function->capture != functions->capture && function->begin == begin &&
		    function->frame->module_id == frame->module_id && !strcmp(function->name, name))
			return function;
	}
	return NULL;
}

static struct function *function_make(struct functions *functions, const struct reel_frame *frame)
{
	_cleanup_free_ char *name = frame_name(frame);
	enum fit fit = fit_frame(functions, frame, name);
	uint64_t begin = frame->module_address - frame->function_offset;
	struct function *function, **slot;

	if (fit == FIT_NONE)
		return &none;
	slot = number_slot(functions, frame->function_id);
	for (function = *slot; function && function->begin != begin;)
		function = function->next;
	if (function) {
		if (fit > function->fit)
			function->fit = fit;
		return function;
	}
	function = function_of_before(functions, frame, begin, name);
	if (!function) {
		functions->all = memory_reserve(functions->all, &functions->capacity, functions->n,
						sizeof(*functions->all));
		function = memory_get(sizeof(*function));
		*function = (struct function){ .begin = begin, .name = memory_print("%s", name) };
		functions->all[functions->n++] = function;
	}
	function->frame = frame;
	function->capture = functions->capture;
	if (fit > function->fit)
		function->fit = fit;
	function->next = *slot;
	*slot = function;
	return function;
}

/* `frame` must not be inlined. */
static struct function *function_of(struct functions *functions, const struct reel_frame *frame,
				    const struct reel_trace *trace)
{
	struct function *function = pointer_map_get(&functions->by_frame, frame);

	if (!function) {
		function = function_make(functions, frame);
		pointer_map_put(&functions->by_frame, frame, function);
	}
	if (function != &none) {
		function->thread = trace->thread;
		function->time = trace->time;
	}
	return function;
}

/* An inlined function is part of another function's code; the user must ask for that one. */
static void record_host(struct functions *functions, const struct reel_frame *inlined,
			const struct reel_frame *host)
{
	_cleanup_free_ char *before = NULL, *name = NULL, *escaped = NULL, *quoted = NULL;

	if (pointer_map_get(&functions->by_frame, inlined))
		return;
	pointer_map_put(&functions->by_frame, inlined, &none);
	if (fit_name(inlined->function, functions->wanted) != FIT_WHOLE)
		return;
	name = frame_name(host);
	escaped = text_escape(name, "");
	quoted = memory_print("'%s'", escaped);
	if ((functions->hosts && strstr(functions->hosts, quoted)) ||
	    functions->n_hosts++ >= NAMED_MAX)
		return;
	before = functions->hosts;
	functions->hosts = memory_print("%s%s%s", before ? before : "", before ? ", " : "", quoted);
}

static void add_self(struct functions *functions, struct function *function,
		     const struct reel_frame *leaf, struct amount amount)
{
	/* Frames are unique, so the leaf belongs to this function only. */
	size_t index = (size_t)(uintptr_t)pointer_map_get(&functions->by_leaf, leaf);

	if (!index) {
		function->sampled = memory_reserve(function->sampled, &function->capacity,
						   function->n_sampled, sizeof(*function->sampled));
		function->sampled[function->n_sampled++] = (struct sampled){
			.address = leaf->runtime ? leaf->line : leaf->module_address - !leaf->exact,
			.exact = leaf->exact,
			.inlined = leaf->inlined,
		};
		index = function->n_sampled;
		pointer_map_put(&functions->by_leaf, leaf, (void *)(uintptr_t)index);
	}
	amount_add(&function->sampled[index - 1].amount, amount);
}

void functions_begin_capture(struct functions *functions)
{
	functions->capture++;
	if (functions->n_numbers)
		memset(functions->by_number, 0,
		       functions->n_numbers * sizeof(*functions->by_number));
	pointer_map_free(&functions->by_frame);
	pointer_map_free(&functions->by_leaf);
}

bool functions_add(void *context, const struct reel_trace *trace,
		   const struct reel_event_info *event)
{
	struct functions *functions = context;
	struct amount amount = { trace->weight, 1 };
	size_t first = 0; /* not inlined into the function of the leaf */

	if (!functions->whole.samples)
		functions->event = event;
	else if (event != functions->event &&
		 strcmp(event_name(event), event_name(functions->event)))
		functions->other_event = event;
	amount_add(&functions->whole, amount);
	functions->has_weights |= trace->weight != 0;
	for (size_t i = trace->n_frames, host = i; i--;) {
		const struct reel_frame *frame = trace->frames[i];

		if (frame->inlined && host < trace->n_frames) {
			record_host(functions, frame, trace->frames[host]);
		} else if (!frame->inlined) {
			host = first = i;
			function_of(functions, frame, trace);
		}
	}
	if (trace->n_frames && !trace->frames[first]->inlined) {
		struct function *function = function_of(functions, trace->frames[first], trace);

		if (function != &none)
			add_self(functions, function, trace->frames[0], amount);
	}
	return true;
}

/* ---- choosing ----------------------------------------------------------------------------- */

static int compare_sampled(const void *a, const void *b)
{
	const struct sampled *x = a, *y = b;

	if (x->address != y->address)
		return x->address > y->address ? 1 : -1;
	return x->exact != y->exact ? x->exact - y->exact : x->inlined - y->inlined;
}

/* Sorts them; several captures may have the same. */
static void merge_sampled(struct function *function)
{
	size_t n = 0;

	if (function->n_sampled)
		qsort(function->sampled, function->n_sampled, sizeof(*function->sampled),
		      compare_sampled);
	for (size_t i = 0; i < function->n_sampled; i++) {
		if (n && !compare_sampled(&function->sampled[n - 1], &function->sampled[i]))
			amount_add(&function->sampled[n - 1].amount, function->sampled[i].amount);
		else
			function->sampled[n++] = function->sampled[i];
	}
	function->n_sampled = n;
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = *(struct function *const *)a, *y = *(struct function *const *)b;
	int order;

	if (x->fit != y->fit)
		return x->fit > y->fit ? -1 : 1;
	if (x->self.weight != y->self.weight)
		return x->self.weight > y->self.weight ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order ? order : (x->begin > y->begin) - (x->begin < y->begin);
}

void functions_finish(struct functions *functions)
{
	/* If no sample has a weight, all count the same. */
	if (!functions->has_weights)
		functions->whole.weight = functions->whole.samples;
	for (size_t i = 0; i < functions->n; i++) {
		struct function *function = functions->all[i];

		for (size_t j = 0; j < function->n_sampled; j++) {
			struct sampled *sampled = &function->sampled[j];

			if (!functions->has_weights)
				sampled->amount.weight = sampled->amount.samples;
			amount_add(&function->self, sampled->amount);
			if (sampled->inlined)
				amount_add(&function->inlined, sampled->amount);
		}
		merge_sampled(function);
	}
	if (functions->n)
		qsort(functions->all, functions->n, sizeof(*functions->all), compare_functions);
}

/* "`libc.so.6:malloc' (libc.so.6+0x9a1b0)" and others, in the form the command accepts. */
static char *name_some(const struct functions *functions, size_t n)
{
	char *text = memory_print("%s", "");

	for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
		const struct function *function = functions->all[i];
		const char *module = path_base(module_name(function->frame->module_path));
		_cleanup_free_ char *before = text, *part = NULL;

		part = memory_print(
			"%s (%s+0x%" PRIx64 ", %s of the samples)", function->name, module,
			function->begin,
			format_share(function->self.weight, functions->whole.weight).text);
		text = memory_print("%s%s%s", before, *before ? "; " : "", part);
	}
	return text;
}

static void complain_of_none(const struct functions *functions)
{
	_cleanup_free_ char *similar = name_some(functions, functions->n);

	if (functions->hosts)
		complain("'%s' is always inlined; annotate its caller: %s%s", functions->wanted,
			 functions->hosts, functions->n_hosts > NAMED_MAX ? " and others" : "");
	else if (*similar)
		complain("no function name with samples matches '%s'; similar names: %s%s",
			 functions->wanted, similar, functions->n > NAMED_MAX ? " and more" : "");
	else
		complain("no function name with samples matches '%s' (see 'stackreel report')",
			 functions->wanted);
}

struct function *functions_choose(struct functions *functions)
{
	_cleanup_free_ char *several = NULL;
	enum fit fit = functions->n ? functions->all[0]->fit : FIT_NONE;
	size_t n = 0;

	if (fit < FIT_PART || (fit == FIT_PART && functions->hosts)) {
		complain_of_none(functions);
		return NULL;
	}
	while (n < functions->n && functions->all[n]->fit == fit)
		n++;
	if (n == 1)
		return functions->all[0];
	several = name_some(functions, n);
	complain("'%s' matches %s functions: %s%s; use MODULE:FUNCTION or MODULE+0xADDRESS",
		 functions->wanted, format_count(n).text, several,
		 n > NAMED_MAX ? " and more" : "");
	return NULL;
}
