/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel core: writes a sample as a core file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/core_command.h"
#include "cli/print/text.h"

static const char doc[] =
	"Write a sample of a capture with raw stacks as an ELF core file of its thread, and "
	"scripts by which debuggers read it with the right files: 'gdb -x CORE.gdb', 'lldb -s "
	"CORE.lldb', 'drgn -c CORE CORE.py'.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. The core file is written to the file given by -o, or to "
	"sample-N.core, and the scripts beside it. If modules' files are missing here, the "
	"capture's images of them are written to CORE.images. 'stackreel gdb' does all this in one "
	"step.";

/* What the debugger will not see. */
static void report(const struct core_command *command, const struct reel_core *core,
		   const char *path)
{
	const struct reel_core_info *info = reel_core_get_info(core);
	_cleanup_free_ char *escaped = text_escape(path, ""), *comm = text_escape(info->comm, "");

	if (command->common.quiet)
		return;
	fprintf(stderr, "stackreel: %s: sample %" PRIu64 ", %s, %s of stack", escaped,
		command->sample, comm, format_bytes(info->stack_bytes).text);
	if (info->missing_bytes)
		fprintf(stderr, " (%s missing)", format_bytes(info->missing_bytes).text);
	if (info->stack_cut)
		fputs(", cut", stderr);
	if (info->scrubbed)
		fputs(", scrubbed", stderr);
	if (*info->unknown_registers)
		fprintf(stderr, ", unknown registers (0): %s", info->unknown_registers);
	fprintf(stderr, "; open it with: gdb -x %s.gdb\n", escaped);
}

static bool write_files(const struct core_command *command, struct session *session,
			const struct reel_core *core)
{
	_cleanup_free_ char *core_path =
		command->common.output ? memory_print("%s", command->common.output)
				       : memory_print("sample-%" PRIu64 ".core", command->sample);

	if (!strcmp(core_path, "-")) {
		complain("a core file cannot be written to standard output; use -o FILE");
		return false;
	}
	if (!core_command_write(command, session, core, core_path))
		return false;
	report(command, core, core_path);
	return true;
}

int command_core(int argc, char **argv)
{
	struct core_command command = { 0 };
	struct session session;
	struct reel_core *core;
	int status = STATUS_ERROR;

	core_command_parse(&command, "[FILE]", doc, argc, argv);
	if (core_command_open(&command, &session, &core) && write_files(&command, &session, core))
		status = session_status(&session);
	reel_core_close(core);
	session_close(&session);
	core_command_free(&command);
	return status;
}
