/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ (Itanium ABI) and Rust (legacy and v0) names, by libiberty.
 *
 * A hostile name of a hundred bytes can stand for gigabytes: substitutions
 * refer to substitutions.  So the output comes through a callback which leaves
 * by longjmp when it has seen enough, and long names are left as they are.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "format/bytes.h"
#include "replay/symbolizer.h"

/*
 * libiberty refuses names over 1024 bytes unless told not to limit itself;
 * its stack use is then about 400 bytes for each byte of the name.
 */
#define NAME_MAX_LIMITED 1024
#define NAME_MAX_AT_ALL	 4096
#define OUTPUT_MAX	 65536

struct output {
	struct reel_buffer text;
	jmp_buf too_much;
};

static void take_output(const char *text, size_t size, void *context)
{
	struct output *output = context;

	if (output->text.size + size > OUTPUT_MAX)
		longjmp(output->too_much, 1);
	reel_buffer_append(&output->text, text, size);
}

/* False: not mangled so, or too much. */
static bool run(int (*demangle)(const char *, int, demangle_callbackref, void *), const char *name,
		int options, struct output *output)
{
	output->text.size = 0;
	/* The callback functions of libiberty keep their state on the stack; nothing leaks. */
	if (setjmp(output->too_much))
		return false;
	return demangle(name, options, take_output, output) && !output->text.failed &&
	       output->text.size;
}

char *reel_demangle(const char *name)
{
	struct output output = { 0 };
	int options = DMGL_PARAMS | DMGL_ANSI;
	size_t length = strnlen(name, NAME_MAX_AT_ALL + 1);

	if (length > NAME_MAX_AT_ALL)
		return NULL;
	if (length > NAME_MAX_LIMITED)
		options |= DMGL_NO_RECURSE_LIMIT;
	/* `_R…` is Rust's, and so is `_ZN…17h<16 hex digits>E`, whose hash it strips; the rest is
	 * C++. */
	if (strncmp(name, "_R", 2) != 0 && strncmp(name, "_Z", 2) != 0 &&
	    strncmp(name, "_GLOBAL_", 8) != 0)
		return NULL;
	if (!run(rust_demangle_callback, name, options, &output) &&
	    !run(cplus_demangle_v3_callback, name, options, &output)) {
		reel_buffer_free(&output.text);
		return NULL;
	}
	reel_buffer_u8(&output.text, 0);
	if (output.text.failed) {
		reel_buffer_free(&output.text);
		return NULL;
	}
	return (char *)output.text.bytes;
}
