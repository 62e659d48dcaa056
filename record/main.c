/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel-record: records registers and stack bytes with eBPF. */
#include <stdio.h>
#include <stdlib.h>

#include "include/stackreel.h"
#include "record/options.h"
#include "record/recording.h"

int main(int argc, char **argv)
{
	struct reel_options options;
	struct reel_error *error;
	int status;

	reel_options_parse(argc, argv, &options);
	error = reel_recording_run(&options, &status);
	if (error) {
		fprintf(stderr, "stackreel-record: %s\n", reel_error_message(error));
		reel_error_destroy(error);
		if (!status)
			status = EXIT_FAILURE;
	}
	reel_options_free(&options);
	return status;
}
