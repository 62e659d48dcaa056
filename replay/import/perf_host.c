/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/perf/perf_abi.h"
#include "replay/import/perf_host.h"

/* No command line has more bytes of arguments. */
#define ARGUMENTS_SIZE_MAX (1u << 20)

void reel_perf_host_free(struct perf_host *host)
{
	free(host->hostname);
	free(host->release);
	free(host->version);
	free(host->arch);
	reel_buffer_free(&host->command_line);
	*host = (struct perf_host){ 0 };
}

/* Later values replace earlier ones. */
static struct reel_error *set_text(char **text, struct perf_cursor *cursor)
{
	struct reel_bytes value = perf_cursor_padded(cursor);

	free(*text);
	*text = strndup((const char *)value.data, value.size);
	return *text ? NULL : reel_error_no_memory();
}

static struct reel_error *set_command_line(struct perf_host *host, struct perf_cursor *cursor)
{
	uint32_t count = perf_cursor_u32(cursor);

	host->command_line.size = 0;
	for (uint32_t i = 0; i < count && !cursor->bytes.failed; i++) {
		struct reel_bytes argument = perf_cursor_padded(cursor);

		if (host->command_line.size + argument.size >= ARGUMENTS_SIZE_MAX)
			break;
		reel_buffer_append(&host->command_line, argument.data, argument.size);
		reel_buffer_u8(&host->command_line, 0);
	}
	return host->command_line.failed ? reel_error_no_memory() : NULL;
}

bool reel_perf_host_wants(unsigned int feature)
{
	switch (feature) {
	case PERF_FEATURE_HOSTNAME:
	case PERF_FEATURE_OSRELEASE:
	case PERF_FEATURE_VERSION:
	case PERF_FEATURE_ARCH:
	case PERF_FEATURE_NRCPUS:
	case PERF_FEATURE_CMDLINE:
	case PERF_FEATURE_DIR_FORMAT:
	case PERF_FEATURE_CLOCK_DATA:
		return true;
	}
	return false;
}

struct reel_error *reel_perf_host_feature(struct perf_host *host, unsigned int feature,
					  struct perf_cursor cursor)
{
	struct reel_error *error = NULL;

	switch (feature) {
	case PERF_FEATURE_HOSTNAME:
		error = set_text(&host->hostname, &cursor);
		break;
	case PERF_FEATURE_OSRELEASE:
		error = set_text(&host->release, &cursor);
		break;
	case PERF_FEATURE_VERSION:
		error = set_text(&host->version, &cursor);
		break;
	case PERF_FEATURE_ARCH:
		error = set_text(&host->arch, &cursor);
		break;
	case PERF_FEATURE_NRCPUS:
		host->cpus_possible = perf_cursor_u32(&cursor);
		host->cpus_online = perf_cursor_u32(&cursor);
		break;
	case PERF_FEATURE_CMDLINE:
		error = set_command_line(host, &cursor);
		break;
	case PERF_FEATURE_DIR_FORMAT:
		host->is_directory = true;
		break;
	case PERF_FEATURE_CLOCK_DATA:
		(void)perf_cursor_u32(&cursor); /* version */
		(void)perf_cursor_u32(&cursor); /* clockid: the events also have it */
		host->wall_time = perf_cursor_u64(&cursor);
		host->clock_time = perf_cursor_u64(&cursor);
		break;
	}
	if (!error && cursor.bytes.failed)
		error = reel_error_create(REEL_ERROR_CORRUPT, "feature %u ends within a field",
					  feature);
	return error;
}
