/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "replay/traces/python_frames.h"

/* Compilers split functions and add suffixes: .cold, .part.3, .constprop.0, .localalias. */
static bool is_name(const char *function, const char *name)
{
	size_t size = strlen(name);

	return !strncmp(function, name, size) && (!function[size] || function[size] == '.');
}

/* What calls the evaluation function for a Python function, and does no more. */
static const char *const entries[] = {
	"_PyEval_EvalFrame",	    "_PyEval_Vector",		"_PyFunction_Vectorcall",
	"_PyEval_EvalCodeWithName", "_PyFunction_FastCallDict", "_PyFunction_FastCallKeywords",
};

enum reel_python_native reel_python_native_of(const struct reel_frame *frame)
{
	if (frame->function[0] != '_')
		return REEL_PYTHON_OTHER;
	if (is_name(frame->function, "_PyEval_EvalFrameDefault"))
		return REEL_PYTHON_EVALUATION;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (is_name(frame->function, entries[i]))
			return REEL_PYTHON_ENTRY;
	}
	/* CPython 3.14 built with clang: each instruction is a function that ends with a tail call
	 * of the next one's (Python/ceval_macros.h). */
	return strncmp(frame->function, "_TAIL_CALL_", 11) ? REEL_PYTHON_OTHER
							   : REEL_PYTHON_TAIL_CALL;
}
