/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/new_capture.h"
#include "cli/selection.h"
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
		/* No sample is selected: by which of the options, and what there would be. */
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
