/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/session/new_capture.h"
#include "cli/session/selection.h"
#include "cli/print/text.h"

void new_capture_print(const struct options *options, const char *output,
		       const struct new_capture *capture)
{
	_cleanup_free_ char *escaped = text_escape(output, "");
	uint64_t samples = capture->samples ? capture->samples : 1;

	if (options->quiet || !strcmp(output, "-"))
		return;
	fprintf(stderr, "stackreel: %s: %s samples%s, %s (%s a sample, of %s", escaped,
		format_count(capture->samples).text, capture->samples_are,
		format_bytes(capture->bytes_written).text,
		format_bytes(capture->bytes_written / samples).text,
		format_bytes(capture->bytes_read / samples).text);
	if (capture->remark)
		fprintf(stderr, "; %s", capture->remark);
	fputs(")\n", stderr);
}

void new_capture_print_problem(void *context, const char *path, const char *why)
{
	const struct options *options = context;
	_cleanup_free_ char *escaped = text_escape(path, ""), *reason = text_escape(why, "");

	if (!options->quiet)
		fprintf(stderr, "stackreel: warning: %s: %s\n", escaped, reason);
}

char *new_capture_images(uint64_t modules, uint64_t missing, uint64_t left_out, uint64_t bytes)
{
	_cleanup_free_ char *without = NULL, *too_large = NULL;

	if (missing)
		without = memory_print(", %s missing here", format_count(missing).text);
	if (left_out)
		too_large = memory_print(", %s too large", format_count(left_out).text);
	return memory_print("%s modules embedded, %s%s%s", format_count(modules).text,
			    format_bytes(bytes).text, without ? without : "",
			    too_large ? too_large : "");
}

int new_capture_failed(struct reel_error *error)
{
	int status = reel_error_code(error) == REEL_ERROR_INVALID ? STATUS_USAGE : STATUS_ERROR;

	no_error(error);
	return status;
}

int new_capture_make(const struct options *options,
		     struct reel_error *(*make)(void *context, struct reel_capture *capture,
						const char *output, struct new_capture *ret),
		     void *context)
{
	struct new_capture made = { .samples_are = "" };
	struct session session;
	struct reel_error *error;
	size_t n_problems;
	int status;

	if (!session_open(&session, options))
		return STATUS_ERROR;
	error = make(context, session.capture, options->output, &made);
	progress_end(&session.progress);
	if (error) {
		/* No samples match: report which options are to blame and the values that exist. */
		if (reel_error_code(error) == REEL_ERROR_NOT_FOUND)
			selection_explain(&session, false);
		status = new_capture_failed(error);
	} else {
		session_warn(&session);
		reel_capture_problems(session.capture, &n_problems);
		status = selection_has_idle_module(&session) || n_problems ? STATUS_ERROR
									   : STATUS_OK;
		made.bytes_read = session.info->file_size;
		new_capture_print(options, options->output, &made);
	}
	free(made.remark);
	session_close(&session);
	return status;
}
