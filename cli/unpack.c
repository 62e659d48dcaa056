/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel unpack: writes a capture's embedded module files where debuggers find them. */
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/session/session.h"

struct unpack {
	struct options common;
	bool force, full;
};

static const struct argp_child children[] = {
	{ &options_search, 0, "Modules (--full):", 1 },
	{ &options_keys, 0, "Encrypted captures:", 2 },
	{ &options_file, 0, "Input, output, limits:", 4 },
	{ 0 },
};

static const struct argp_option own_options[] = {
	{ "force", OPTION_FLAG(struct unpack, force), NULL, 0, "Replace existing files", 0 },
	{ "full", OPTION_FLAG(struct unpack, full), NULL, 0,
	  "Write the modules' files found here instead, whole, with their debug files, for "
	  "--debug-dir on another host, gdb and perf",
	  0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.args_doc = "[FILE]",
	.doc = "Extract the module files embedded in a capture (their symbols and unwind "
	       "information) as .build-id/xx/yyyy.debug below the directory given by -o, or the "
	       "current one. gdb (set debug-file-directory DIR) and perf read them as files with "
	       "debug symbols. Only stackreel can read their lines.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. A line is printed for each file, with its module. The "
	       "exit status is 1 if a file was not written.",
	.children = children,
};

static void print_file(void *context, const char *module_path, const char *path,
		       const char *problem)
{
	_cleanup_free_ char *module = text_escape(module_path, "");
	_cleanup_free_ char *reason = text_escape(problem ? problem : "", "");

	(void)context;
	if (problem)
		complain("%s: not written: %s", module, reason);
	else
		printf("%s  %s\n", path, module);
}

static int unpack_to(const struct unpack *unpack, struct session *session)
{
	const char *directory = unpack->common.output ? unpack->common.output : ".";
	const REEL_SIZED(reel_unpack_options, options, .force = unpack->force, .visit = print_file,
			 .full = unpack->full);
	REEL_SIZED(reel_unpack_counts, counts);
	size_t n_problems;

	if (!no_error(reel_capture_unpack(session->capture, directory, &options, &counts)))
		return STATUS_ERROR;
	session_warn(session);
	reel_capture_problems(session->capture, &n_problems);
	if (!counts.files && !counts.left_out && unpack->full)
		complain("no module files found (see 'stackreel doctor')");
	else if (!counts.files && !counts.left_out)
		complain("the capture has no embedded files; use 'stackreel pack' to embed them");
	return counts.left_out || !counts.files || n_problems ? STATUS_ERROR : STATUS_OK;
}

int command_unpack(int argc, char **argv)
{
	struct unpack unpack = { 0 };
	struct session session;
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &unpack);
	if (session_open(&session, &unpack.common)) {
		status = unpack_to(&unpack, &session);
		session_close(&session);
	}
	options_free(&unpack.common);
	return status;
}
