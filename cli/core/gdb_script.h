/* SPDX-License-Identifier: Apache-2.0 */
/* The script that has gdb read a core file with the files that were mapped. */
#ifndef CLI_CORE_GDB_SCRIPT_H
#define CLI_CORE_GDB_SCRIPT_H

#include "cli/session/session.h"

struct gdb_script {
	const struct options *options;
	struct reel_capture *capture;
	uint64_t sample;
	const struct reel_core *core;
	const char *core_path;
	const char *images; /* a folder with images by reel_capture_unpack */
};

/* Whether a script can have gdb open this core file; otherwise reports why not. */
bool gdb_script_can_name(const char *core_path);
/* False after an error, which was reported. */
bool gdb_script_print(const struct gdb_script *script, FILE *file);

#endif
