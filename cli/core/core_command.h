/* SPDX-License-Identifier: Apache-2.0 */
/* What `stackreel core` and `stackreel gdb` share: their options, and the files of a sample. */
#ifndef CLI_CORE_CORE_COMMAND_H
#define CLI_CORE_CORE_COMMAND_H

#include "cli/session/session.h"

struct core_command {
	struct options common;
	uint64_t sample;
	bool force;	      /* accept a scrubbed sample */
	bool takes_arguments; /* for the debugger, following `--' */
	struct string_list arguments;
};

/* Parses the command line; errors are argp's. */
void core_command_parse(struct core_command *command, const char *args_doc, const char *doc,
			int argc, char **argv);
void core_command_free(struct core_command *command);

/*
 * Opens the capture and the sample's core; false after an error, which was reported.  Close the
 * core, if any, and the session in any case.
 */
bool core_command_open(const struct core_command *command, struct session *session,
		       struct reel_core **ret);
/* Writes the core file and, beside it, debuggers' scripts, replacing existing files, and
 * in PATH.images the capture's images if any are needed; false after an error, which was
 * reported. */
bool core_command_write(const struct core_command *command, struct session *session,
			const struct reel_core *core, const char *path);

/* What scripts need that have debuggers read a core file with the files that were mapped. */
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
