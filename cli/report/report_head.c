/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/report/report_head.h"
#include "cli/session/summary.h"

/* Of all parts of a rotated recording, each with the same. */
static void print_notes(const struct session *session, FILE *file)
{
	size_t n;
	const struct reel_mark_info *marks = reel_capture_marks(session->capture, &n);
	const char *last = "";

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = NULL;

		if (marks[i].kind != REEL_MARK_NOTE || !strcmp(marks[i].text, last))
			continue;
		last = marks[i].text;
		text = text_escape(last, "");
		fprintf(file, "# note: %s\n", text);
	}
}

void report_head_print(const struct session *session, FILE *file)
{
	size_t n;
	const struct reel_capture_problem *problems = reel_capture_problems(session->capture, &n);
	uint64_t duration = session->quality.last_time - session->quality.first_time;

	fputs("# ", file);
	summary_print_origin(session, file);
	fprintf(file, "\n# %s of ", format_plural(session->quality.traces, "sample").text);
	summary_print_events(session, file);
	fprintf(file, " in %s\n", format_nanoseconds(duration).text);
	if (session->options->shard.count > 1)
		fprintf(file, "# only part %" PRIu32 " of %" PRIu32 " of the capture (--shard)\n",
			session->options->shard.number + 1, session->options->shard.count);
	summary_print_quality(&session->quality, file);
	summary_print_missing(session, "# ", file);
	summary_print_nameless(session, file);
	fputs("# lost: ", file);
	summary_print_losses(session, file);
	fputc('\n', file);
	print_notes(session, file);
	summary_print_unchecked(session, file);
	summary_print_unread(session, file);
	for (size_t i = 0; i < session->options->wheres.count; i++) {
		_cleanup_free_ char *note =
			where_note(&session->options->wheres.items[i], &session->where_counts[i]);
		_cleanup_free_ char *escaped = note ? text_escape(note, "") : NULL;

		if (note)
			fprintf(file, "# %s\n", escaped);
	}
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *escaped = text_escape(problems[i].message, "");

		fprintf(file, "# problem: %s\n", escaped);
	}
}
