/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "cli/print/complain.h"
#include "cli/print/text.h"

static FILE *earlier;

void complain_after(FILE *file)
{
	earlier = file;
}

void complain(const char *format, ...)
{
	_cleanup_free_ char *message = NULL, *escaped = NULL;
	va_list args;

	va_start(args, format);
	message = memory_vprint(format, args);
	va_end(args);
	escaped = text_escape(message, "");
	if (earlier)
		fflush(earlier);
	fprintf(stderr, "stackreel: %s\n", escaped);
}

bool no_error(struct reel_error *error)
{
	if (!error)
		return true;
	if (reel_error_code(error) == REEL_ERROR_NO_MEMORY) {
		_cleanup_free_ char *what = text_escape(reel_error_message(error), "");

		memory_complain(what);
	} else {
		complain("%s", reel_error_message(error));
	}
	reel_error_destroy(error);
	return false;
}
