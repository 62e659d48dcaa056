/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts that have debuggers read a core file with the files that were mapped. */
#ifndef CLI_CORE_SCRIPTS_H
#define CLI_CORE_SCRIPTS_H

#include "cli/session/session.h"

struct core_script {
	const struct options *options;
	struct reel_capture *capture;
	uint64_t sample;
	const struct reel_core *core;
	const char *core_path;
	const char *images; /* a folder with images by reel_capture_unpack */
};

/* A debugger's script is the core file's name with a suffix. */
struct core_debugger {
	const char *suffix;
	/* False after an error, which was reported. */
	bool (*print)(const struct core_script *script, FILE *file);
};

extern const struct core_debugger core_debuggers[];
#define CORE_DEBUGGERS 3

/* Whether scripts can have gdb open this core file; otherwise reports why not. */
bool core_script_can_name(const char *core_path);

#endif
