/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/recording_internal.h"

void recording_say(struct recording *recording, const char *format, ...)
{
	va_list args;

	reel_progress_clear(&recording->progress);
	fputs("stackreel-record: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void recording_note(void *context, const char *line)
{
	struct recording *recording = context;

	if (recording->options->verbose)
		recording_say(recording, "%.*s", (int)strcspn(line, "\n"), line);
}
