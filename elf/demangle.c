/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles C++ (Itanium ABI), Rust (legacy and v0) and D names with the copy of libiberty in
 * elf/libiberty/, and procedures of Fortran's modules; and Ada's (GNAT) where the language is known.
 * Names are hostile: a short one can produce gigabytes of text, or take years without any output.
 */
#include <string.h>

#include "base/bytes.h"
#include "elf/demangle.h"
#include "elf/libiberty/demangle.h"

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

/* Also gdc's thunks, by which an interface calls its object's function: `_DTi16_D…'. */
static int demangle_dlang(const char *name, int options, demangle_callbackref take, void *context,
			  struct demangle_budget *budget)
{
	static const char thunk[] = "_DTi", text[] = "non-virtual thunk to ";
	const char *function = name;

	if (!strncmp(name, thunk, strlen(thunk))) {
		function += strlen(thunk);
		function += strspn(function, "0123456789");
		take(text, strlen(text), context);
	}
	return reel_demangle_dlang(function, options, take, context, budget);
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
	/* `_R…` is Rust, as is `_ZN…17h<16 hex digits>E`, whose hash is cut; other `_Z…` are C++,
	 * `_D…` is D. */
	known = run(reel_demangle_rust, name, &output) || run(reel_demangle_cplus, name, &output) ||
		run(demangle_dlang, name, &output) || run(demangle_fortran, name, &output);
	*steps = output.budget.steps;
	if (known)
		reel_buffer_u8(&output.text, 0);
	if (!known || output.text.failed) {
		reel_buffer_free(&output.text);
		return NULL;
	}
	return (char *)output.text.bytes;
}

/* ---- Ada -------------------------------------------------------------------------------- */

static bool ends_at(const char *at)
{
	return !*at || *at == '.';
}

/* The length of an operator's name at `name` (GNAT's exp_dbug.ads), 0 if none. */
static size_t operator_at(const char *name, const char **ret)
{
	static const char *const operators[][2] = {
		{ "Oabs", "abs" },  { "Oand", "and" },	  { "Omod", "mod" },	{ "Onot", "not" },
		{ "Oor", "or" },    { "Orem", "rem" },	  { "Oxor", "xor" },	{ "Oeq", "=" },
		{ "One", "/=" },    { "Olt", "<" },	  { "Ole", "<=" },	{ "Ogt", ">" },
		{ "Oge", ">=" },    { "Oadd", "+" },	  { "Osubtract", "-" }, { "Oconcat", "&" },
		{ "Oexpon", "**" }, { "Omultiply", "*" }, { "Odivide", "/" },
	};

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		size_t size = strlen(operators[i][0]);

		*ret = operators[i][1];
		if (!strncmp(name, operators[i][0], size) &&
		    (name[size] == '_' || ends_at(name + size)))
			return size;
	}
	return 0;
}

static size_t digits_at(const char *text)
{
	return strspn(text, "0123456789");
}

/* What follows a part of a name and is not shown: "TK" or, at the end, "TB" and "TKB" (a task's
 * body), "N" (without a protected object's lock) and "_E6s" (its entry), "X" (declared in a body),
 * and "__2" (overloaded). */
static size_t unshown_at(const char *at)
{
	const char *begin = at;

	if (!strncmp(at, "TKB", 3) && ends_at(at + 3))
		at += 3;
	else if (!strncmp(at, "TB", 2) && ends_at(at + 2))
		at += 2;
	else if (*at == 'N' && ends_at(at + 1))
		at++;
	else if (!strncmp(at, "_E", 2) && digits_at(at + 2))
		at += 2 + digits_at(at + 2) + strspn(at + 2 + digits_at(at + 2), "bs");
	else if (!strncmp(at, "TK__", 4))
		at += 2;
	if (*at == 'X')
		at += 1 + strspn(at + 1, "bn");
	if (!strncmp(at, "__", 2) && digits_at(at + 2))
		at += 2 + digits_at(at + 2);
	return (size_t)(at - begin);
}

/* Appends a name's parts, separated by "__", and gcc's suffix; false if there are others. */
static bool append_ada(struct reel_buffer *text, const char *at)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (;;) {
		const char *begin = at, *operator;
		size_t size = operator_at(at, &operator);

		if (size) {
			reel_buffer_append(text, "\"", 1);
			reel_buffer_append(text, operator, strlen(operator));
			reel_buffer_append(text, "\"", 1);
			at += size;
		} else {
			while (*at && (strchr(characters, *at) ||
				       (*at == '_' && at[1] && strchr(characters, at[1]))))
				at++;
			if (at == begin || *begin == '_')
				return false;
			reel_buffer_append(text, begin, (size_t)(at - begin));
		}
		at += unshown_at(at);
		if (strncmp(at, "__", 2) != 0)
			break;
		reel_buffer_append(text, ".", 1);
		at += 2;
		/* Blocks have no name. */
		if (!strncmp(at, "B_", 2) && digits_at(at + 2) &&
		    !strncmp(at + 2 + digits_at(at + 2), "__", 2))
			at += 2 + digits_at(at + 2) + 2;
	}
	/* A nested function's number; others are parts that gcc makes. */
	if (!ends_at(at))
		return false;
	if (*at == '.' && digits_at(at + 1))
		at += 1 + digits_at(at + 1);
	reel_buffer_append(text, at, strlen(at));
	return true;
}

char *reel_demangle_ada(const char *name)
{
	_cleanup_buffer_ struct reel_buffer text = { 0 };
	static const char main_program[] = "_ada_";
	const char *at = name;
	char *result;

	if (strnlen(name, NAME_MAX_SIZE + 1) > NAME_MAX_SIZE)
		return NULL;
	if (!strncmp(name, main_program, strlen(main_program)))
		at += strlen(main_program);
	if (!append_ada(&text, at))
		return NULL;
	reel_buffer_u8(&text, 0);
	if (text.failed || !strcmp((const char *)text.bytes, name))
		return NULL;
	result = (char *)text.bytes;
	text = (struct reel_buffer){ 0 };
	return result;
}
