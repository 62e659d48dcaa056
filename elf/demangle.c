/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles C++ (Itanium ABI) and Rust (legacy and v0) names with the copy of libiberty in vendor/,
 * and procedures of Fortran's modules.
 * Names are hostile: a short one can produce gigabytes of text, or take years without any output.
 */
#include <string.h>

#include "base/bytes.h"
#include "elf/demangle.h"
#include "vendor/libiberty/demangle.h"

/* libiberty's own limit for names. */
#define NAME_MAX_SIZE 1024
#define OUTPUT_MAX    65536

struct output {
	struct reel_buffer text;
	struct demangle_budget budget;
};

static void take_output(const char *text, size_t size, void *context)
{
	struct output *output = context;

	if (output->text.size + size > OUTPUT_MAX)
		output->budget.steps = 0;
	else
		reel_buffer_append(&output->text, text, size);
}

/* gfortran's `__MODULE_MOD_PROCEDURE', all names in lower case, as gdb shows it. A submodule's name
 * follows its ancestor's and a dot. */
static int demangle_fortran(const char *name, int options, demangle_callbackref take, void *context,
			    struct demangle_budget *budget)
{
	static const char module_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
	static const char mark[] = "_MOD_";
	const char *procedure;
	size_t size;

	(void)options;
	if (strncmp(name, "__", 2) != 0)
		return 0;
	name += 2;
	/* Includes the mark's first underscore. */
	size = strspn(name, module_characters);
	if (size < 2 || strncmp(name + size - 1, mark, strlen(mark)) != 0)
		return 0;
	procedure = name + size - 1 + strlen(mark);
	if (!*procedure || !demangle_spend(budget, (long)strlen(name)))
		return 0;
	take(name, size - 1, context);
	take("::", 2, context);
	take(procedure, strlen(procedure), context);
	return 1;
}

/* False: not mangled this way, or too expensive. */
static bool run(int (*demangle)(const char *, int, demangle_callbackref, void *,
				struct demangle_budget *),
		const char *name, struct output *output)
{
	output->text.size = 0;
	return demangle(name, DMGL_PARAMS | DMGL_ANSI, take_output, output, &output->budget) &&
	       output->budget.steps && output->text.size;
}

char *reel_demangle(const char *name)
{
	long steps = REEL_DEMANGLE_STEPS;

	return reel_demangle_within(name, &steps);
}

char *reel_demangle_within(const char *name, long *steps)
{
	struct output output = { .budget.steps = *steps };
	bool known;

	if (strnlen(name, NAME_MAX_SIZE + 1) > NAME_MAX_SIZE)
		return NULL;
	/* `_R…` is Rust, as is `_ZN…17h<16 hex digits>E`, whose hash is cut; other `_Z…` are C++. */
	known = run(reel_demangle_rust, name, &output) || run(reel_demangle_cplus, name, &output) ||
		run(demangle_fortran, name, &output);
	*steps = output.budget.steps;
	if (known)
		reel_buffer_u8(&output.text, 0);
	if (!known || output.text.failed) {
		reel_buffer_free(&output.text);
		return NULL;
	}
	return (char *)output.text.bytes;
}
