/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "replay/traces/runtime_natives.h"

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

enum reel_runtime_native reel_runtime_native_of(uint64_t runtime, const struct reel_frame *frame)
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

bool reel_runtime_native_has_part(uint64_t runtime)
{
	return runtime == REEL_RUNTIME_RUBY;
}
