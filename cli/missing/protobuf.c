/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces cli/protobuf/ in builds without protobuf-c. */
#include "cli/export/formats.h"

static void *no_format(const struct export_target *target)
{
	(void)target;
	complain("stackreel was built without protobuf-c and cannot write this format; 'stackreel "
		 "folded' and other formats have the same stacks");
	return NULL;
}

const struct export_format export_otlp = {
	.name = "otlp",
	.summary = "profiles in OpenTelemetry's protocol (not in this build)",
	.open = no_format,
};

const struct export_format export_perfetto = {
	.name = "perfetto",
	.summary = "a trace for Perfetto (not in this build)",
	.open = no_format,
};

const struct export_format export_pprof = {
	.name = "pprof",
	.summary = "a profile for 'go tool pprof' (not in this build)",
	.open = no_format,
};
