/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel-record: records registers and stack bytes with eBPF. */
#include <stdio.h>
#include <stdlib.h>

#include "include/commands.h"
#include "record/options/options.h"
#include "record/probes/event_list.h"
#include "record/recording.h"
#include "record/status_report.h"
#include "record/supervisor.h"
#include "record/output/viewer.h"

static void note(const char *text)
{
	fprintf(stderr, "stackreel-record: %s\n", text);
}

static struct reel_error *list(const struct reel_options *options)
{
	const struct reel_probe_targets targets = reel_options_probe_targets(options);

	return reel_event_list_print(options->list_pattern, &targets, stdout, note);
}

static struct reel_error *record(const struct reel_options *options, struct reel_viewer *viewer,
				 int *status_ret)
{
	if (options->view)
		TRY(reel_viewer_start(viewer, options->output, options->quiet));
	return reel_recording_run(options, status_ret);
}

int main(int argc, char **argv)
{
	struct reel_viewer viewer = { 0 };
	struct reel_options options;
	struct reel_error *error;
	int status = 0;

	reel_options_parse(argc, argv, &options);
	if (reel_options_is_service(&options) &&
	    !reel_supervisor_fork(argc, argv, reel_options_may_overlap(&options),
				  &options.takeover)) {
		reel_options_free(&options);
		return EXIT_FAILURE;
	}
	if (options.status)
		error = reel_status_report(options.status_of, options.status);
	else if (options.dump)
		error = reel_recording_ask_dump((pid_t)options.dump);
	else
		error = options.list ? list(&options) : record(&options, &viewer, &status);
	reel_viewer_end(&viewer, !error);
	if (error) {
		fprintf(stderr, "stackreel-record: %s\n", reel_error_message(error));
		reel_error_destroy(error);
		if (!status)
			status = EXIT_FAILURE;
	}
	reel_options_free(&options);
	return status;
}
