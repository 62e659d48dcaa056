/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/profile.h"
#include "cli/summary.h"
#include "cli/text.h"

void summary_print_origin(const struct session *session, FILE *file)
{
	const struct reel_capture_info *info = session->info;
	_cleanup_free_ char *path = text_escape(session->options->file, "");
	_cleanup_free_ char *host = text_escape(info->hostname, "");
	_cleanup_free_ char *kernel = text_escape(info->kernel_release, "");

	fprintf(file, "%s: %s, Linux %s %s", path, *host ? host : "unknown host",
		*kernel ? kernel : "of unknown release", info->arch);
	if (info->start_wall_time)
		fprintf(file, ", %s", format_wall_time(info->start_wall_time).text);
}

void summary_print_events(const struct session *session, FILE *file)
{
	for (size_t i = 0; i < session->n_events; i++) {
		const struct reel_event_info *event = &session->events[i];
		_cleanup_free_ char *name = text_escape(event_name(event), "");

		fprintf(file, "%s%s", i ? ", " : "", name);
		if (event->frequency)
			fprintf(file, " (%s Hz)", format_count(event->frequency).text);
		else if (event->period)
			fprintf(file, " (every %s)", format_count(event->period).text);
	}
	if (!session->n_events)
		fputs("none", file);
}

void summary_print_losses(const struct session *session, FILE *file)
{
	uint64_t counts[REEL_LOSS_COUNT] = { 0 };
	const char *separator = "";
	size_t n;
	const struct reel_loss_info *losses = reel_capture_losses(session->capture, &n);

	for (size_t i = 0; i < n; i++) {
		if ((unsigned int)losses[i].cause < REEL_LOSS_COUNT)
			counts[losses[i].cause] += losses[i].count;
	}
	for (int cause = 0; cause < REEL_LOSS_COUNT; cause++) {
		if (!counts[cause])
			continue;
		fprintf(file, "%s%s %s", separator, reel_loss_name(cause),
			format_count(counts[cause]).text);
		separator = ", ";
	}
	if (!*separator)
		fputs("none", file);
}
