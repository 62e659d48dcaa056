/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/traces/runtime_order.h"

#define NONE SIZE_MAX
/* Native addresses that belong to no frame, before looking for others is given up: each takes a
 * search of the whole stack. */
#define STRAYS_MAX 16

/* ---- the native functions of interpreters ------------------------------------------------- */

/* Native functions that run the program's functions. */
enum native {
	REEL_NATIVE_OTHER = 0,
	REEL_NATIVE_EVALUATION, /* runs the frames of an entry */
	REEL_NATIVE_PART,	/* a part of it that is a function of its own: its callee */
	REEL_NATIVE_ENTRY,	/* a part of a call of the program's function: its caller */
};

/* Compilers split functions and add suffixes: .cold, .part.3, .constprop.0, .localalias. */
static bool is_name(const char *function, const char *name)
{
	size_t size = strlen(name);

	return !strncmp(function, name, size) && (!function[size] || function[size] == '.');
}

#define NAMES_MAX 8

/* Names that begin with `prefix`; the lists end with NULL. */
static const struct natives {
	uint64_t runtime;
	const char *evaluation[NAMES_MAX];
	const char *parts[NAMES_MAX], *part_prefix;
	/* What calls the evaluation function for the program's, and does no more. */
	const char *entries[NAMES_MAX];
} natives[] = {
	{
		.runtime = REEL_RUNTIME_PYTHON,
		.evaluation = { "_PyEval_EvalFrameDefault" },
		/* CPython 3.14 built with clang: each instruction is a function that ends with a
		 * tail call of the next one's (Python/ceval_macros.h). */
		.part_prefix = "_TAIL_CALL_",
		.entries = { "_PyEval_EvalFrame", "_PyEval_Vector", "_PyFunction_Vectorcall",
			     "_PyEval_EvalCodeWithName", "_PyFunction_FastCallDict",
			     "_PyFunction_FastCallKeywords" },
	},
	{
		.runtime = REEL_RUNTIME_RUBY,
		.evaluation = { "rb_vm_exec", "vm_exec" },
		.parts = { "vm_exec_core", "vm_exec_loop", "jit_exec", "mjit_exec" },
		.entries = { "invoke_iseq_block_from_c", "invoke_block_from_c_bh", "vm_yield",
			     "vm_yield_with_cref", "vm_call0_body", "rb_iseq_eval" },
	},
};

static bool is_among(const char *function, const char *const names[NAMES_MAX])
{
	for (size_t i = 0; i < NAMES_MAX && names[i]; i++) {
		if (is_name(function, names[i]))
			return true;
	}
	return false;
}

static enum native kind_of(uint64_t runtime, const struct reel_frame *frame)
{
	for (size_t i = 0; i < sizeof(natives) / sizeof(*natives); i++) {
		const struct natives *of = &natives[i];

		if (of->runtime != runtime)
			continue;
		if (is_among(frame->function, of->evaluation))
			return REEL_NATIVE_EVALUATION;
		if (is_among(frame->function, of->entries))
			return REEL_NATIVE_ENTRY;
		if (is_among(frame->function, of->parts) ||
		    (of->part_prefix &&
		     !strncmp(frame->function, of->part_prefix, strlen(of->part_prefix))))
			return REEL_NATIVE_PART;
	}
	return REEL_NATIVE_OTHER;
}

/* ---- the order ---------------------------------------------------------------------------- */

void reel_runtime_order_free(struct reel_runtime_order *order)
{
	free(order->frames);
}

/* The native function that runs the frame's code, not what is inlined into it. */
static enum native native_of(const struct reel_sample *sample,
			     const struct reel_address_frames *names)
{
	return names->n ? kind_of(sample->runtime, names->frames[names->n - 1]) : REEL_NATIVE_OTHER;
}

static bool has_name(const struct reel_address_frames *names)
{
	return names->n && *names->frames[names->n - 1]->function;
}

/* The interpreter's frames after the segment that begins with this one. */
static size_t segment_end(const struct reel_sample *sample, size_t begin)
{
	size_t i = begin;

	while (i < sample->n_runtime_frames && !sample->runtime_frames[i].is_entry)
		i++;
	return i < sample->n_runtime_frames ? i + 1 : i;
}

static size_t find_native(const struct reel_sample *sample,
			  const struct reel_unwind_frames *unwound, size_t from, uint64_t native)
{
	/* A number of a resolved frame, from 1, the outermost. */
	if (sample->flags & REEL_SAMPLE_RESOLVED)
		return native <= unwound->n && unwound->n - native >= from ? unwound->n - native
									   : NONE;
	return reel_unwind_frames_find(unwound, from, native);
}

/* By the addresses of native frames; false if none is known. */
static bool find_owners(struct reel_runtime_order *order, const struct reel_sample *sample,
			const struct reel_unwind_frames *unwound)
{
	unsigned int strays = 0;
	bool is_known = false;
	size_t from = 0;

	order->n_owners = 0;
	for (size_t at = 0; at < sample->n_runtime_frames;) {
		size_t end = segment_end(sample, at), owner = NONE;
		const struct reel_runtime_frame *entry = &sample->runtime_frames[end - 1];

		if (entry->native && strays < STRAYS_MAX)
			owner = find_native(sample, unwound, from, entry->native);
		is_known |= entry->native > 0;
		strays += entry->native && owner == NONE;
		if (owner != NONE)
			from = owner + 1;
		order->owners[order->n_owners++] = owner;
		at = end;
	}
	return is_known;
}

/*
 * Without addresses, by the order of calls.  A complete stack begins with the outermost call; the
 * innermost one may not have its frame yet, or no more.  Of another stack, the outermost calls are
 * missing.  If the numbers do not fit (greenlets), all frames are the innermost call's.
 */
static void count_owners(struct reel_runtime_order *order, const struct reel_sample *sample,
			 const struct reel_unwind_frames *unwound,
			 const struct reel_address_frames *names, bool is_complete)
{
	size_t calls = 0, n = order->n_owners, skipped, innermost = NONE, at = 0;
	bool fits;

	/* C functions may run without a call of the interpreter's. */
	if (n && !sample->runtime_cut &&
	    !sample->runtime_frames[sample->n_runtime_frames - 1].is_entry)
		order->owners[--n] = NONE;
	for (size_t i = unwound->n; i-- > 0;) {
		if (native_of(sample, &names[i]) != REEL_NATIVE_EVALUATION)
			continue;
		calls++;
		innermost = i;
	}
	is_complete = is_complete && !sample->runtime_cut;
	fits = is_complete ? calls == n || calls == n + 1 : calls <= n || sample->runtime_cut;
	skipped = is_complete ? calls - n : 0;
	for (size_t i = 0; i < n; i++)
		order->owners[i] = fits ? NONE : innermost;
	for (size_t i = 0; fits && i < unwound->n && at < n; i++) {
		if (native_of(sample, &names[i]) != REEL_NATIVE_EVALUATION)
			continue;
		if (skipped)
			skipped--;
		else
			order->owners[at++] = i;
	}
}

/* Whether a frame is a part of the interpreter's native function, its caller. */
static bool is_part(const struct reel_sample *sample, const struct reel_address_frames *names,
		    const struct reel_address_frames *caller)
{
	if (native_of(sample, names) == REEL_NATIVE_PART)
		return true;
	/* In a file without symbols, as Debian has Ruby: what the evaluation function calls is mostly
	 * a part of it. */
	return sample->runtime == REEL_RUNTIME_RUBY && !has_name(names) && names->n && caller->n &&
	       names->frames[0]->module_path == caller->frames[0]->module_path;
}

static void add_frame(struct reel_runtime_order *order, size_t index, bool is_runtime)
{
	order->frames[order->n++] = (struct reel_ordered_frame){ (uint32_t)index, is_runtime };
}

/* Adds segments up to the one before `end`. */
static void add_segments(struct reel_runtime_order *order, const struct reel_sample *sample,
			 size_t *segment, size_t *at, size_t end)
{
	for (; *segment < end; ++*segment) {
		for (size_t next = segment_end(sample, *at); *at < next; ++*at)
			add_frame(order, *at, true);
	}
}

/* The first segment, from `segment` on, with a known owner. */
static size_t next_owned(const struct reel_runtime_order *order, size_t segment)
{
	while (segment < order->n_owners && order->owners[segment] == NONE)
		segment++;
	return segment;
}

static size_t owner_of(const struct reel_runtime_order *order, size_t segment)
{
	return segment < order->n_owners ? order->owners[segment] : NONE;
}

static void interleave(struct reel_runtime_order *order, const struct reel_sample *sample,
		       const struct reel_unwind_frames *unwound,
		       const struct reel_address_frames *names)
{
	size_t segment = 0, at = 0;
	bool is_call = false; /* of the last frame, the program's function */

	for (size_t i = 0; i < unwound->n; i++) {
		size_t owned = next_owned(order, segment);
		enum native native = native_of(sample, &names[i]);

		if (owner_of(order, owned) != i) {
			is_call = is_call && native == REEL_NATIVE_ENTRY;
			if (is_call)
				continue;
			if (owner_of(order, owned) != i + 1 || i + 1 >= unwound->n ||
			    !is_part(sample, &names[i], &names[i + 1]))
				add_frame(order, i, false);
			continue;
		}
		/* A function of another name is not the interpreter's: a wrong step led there. */
		if (native == REEL_NATIVE_OTHER && has_name(&names[i]))
			add_frame(order, i, false);
		while (owner_of(order, owned) == i)
			owned++;
		is_call = true;
		add_segments(order, sample, &segment, &at, owned);
	}
	/* The native frames of these were not recorded. */
	add_segments(order, sample, &segment, &at, order->n_owners);
}

struct reel_error *reel_runtime_order_make(struct reel_runtime_order *order,
					   const struct reel_sample *sample,
					   const struct reel_unwind_frames *unwound,
					   const struct reel_address_frames *names,
					   bool is_complete, bool only)
{
	size_t n = unwound->n + sample->n_runtime_frames, segment = 0, at = 0;

	TRY(REEL_FIT(order->frames, n, order->capacity));
	order->n = 0;
	if (!find_owners(order, sample, unwound))
		count_owners(order, sample, unwound, names, is_complete);
	if (only)
		add_segments(order, sample, &segment, &at, order->n_owners);
	else
		interleave(order, sample, unwound, names);
	return NULL;
}
