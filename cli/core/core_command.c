/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/core/core_command.h"
#include "cli/print/text.h"

/* ---- options -------------------------------------------------------------------------------- */

#define KEY_SAMPLE OPTION_KEY_OWN

static const struct argp_option own_options[] = {
	{ "sample", KEY_SAMPLE, "N", 0,
	  "Take the sample with this number ('stackreel script -F +sample' prints them)", 0 },
	{ "force", OPTION_FLAG(struct core_command, force), NULL, 0,
	  "Accept a scrubbed sample, whose values are gone", 0 },
	{ 0 }
};

static const struct argp_child children[] = {
	{ &options_search, 0, "Modules:", 1 },
	{ &options_keys, 0, "Encrypted captures:", 2 },
	{ &options_file, 0, "Input, output, limits:", 4 },
	{ 0 },
};

static error_t parse_argument(struct core_command *command, char *arg,
			      const struct argp_state *state)
{
	/* `quoted` is the index of the first argument following `--'. */
	if (!command->takes_arguments || !state->quoted || state->next <= state->quoted)
		return ARGP_ERR_UNKNOWN;
	string_list_add(&command->arguments, arg);
	return 0;
}

static error_t parse_core_option(int key, char *arg, struct argp_state *state)
{
	struct core_command *command = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		return parse_argument(command, arg, state);
	case KEY_SAMPLE:
		options_check(state, "sample",
			      reel_quantity_number(arg, 0, UINT64_MAX - 1, &command->sample));
		return 0;
	case ARGP_KEY_END:
		if (command->sample == UINT64_MAX)
			argp_error(state, "no sample selected; use --sample N");
		if (command->takes_arguments && command->common.output)
			argp_error(state, "the files are temporary; -o requires 'stackreel core'");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void core_command_parse(struct core_command *command, const char *args_doc, const char *doc,
			int argc, char **argv)
{
	const struct argp parser = {
		.options = own_options,
		.parser = parse_core_option,
		.args_doc = args_doc,
		.doc = doc,
		.children = children,
	};

	command->sample = UINT64_MAX;
	/* In order: otherwise FILE would move behind `--'. */
	options_parse(&parser, argc, argv, ARGP_IN_ORDER, command);
}

void core_command_free(struct core_command *command)
{
	free(command->arguments.items);
	options_free(&command->common);
}

/* ---- files ---------------------------------------------------------------------------------- */

bool core_command_open(const struct core_command *command, struct session *session,
		       struct reel_core **ret)
{
	*ret = NULL;
	if (!session_open(session, &command->common))
		return false;
	if (!no_error(reel_core_open(session->capture, command->sample, ret)))
		return false;
	progress_end(&session->progress);
	session_warn(session);
	if (reel_core_get_info(*ret)->scrubbed && !command->force) {
		complain("sample %" PRIu64 " is scrubbed: its stack has addresses, but no values; "
			 "record with --raw-stacks, or use --force for a backtrace",
			 command->sample);
		return false;
	}
	return true;
}

/* For reel_capture_unpack: only failures are of interest. */
static void warn_of_image(void *context, const char *module_path, const char *path,
			  const char *problem)
{
	(void)context;
	(void)path;
	if (problem)
		complain("%s: not written: %s", module_path, problem);
}

/* Debuggers read the capture's images instead of files that are missing here. */
static bool write_images(struct session *session, const struct reel_core *core, const char *folder)
{
	const REEL_SIZED(reel_unpack_options, options, .force = true, .visit = warn_of_image);
	size_t n;
	const struct reel_core_module *modules = reel_core_modules(core, &n);

	for (size_t i = 0; i < n; i++) {
		REEL_SIZED(reel_module_info, info);

		if (!no_error(reel_capture_module(session->capture, modules[i].id, &info)))
			return false;
		if (info.embedded)
			return no_error(
				reel_capture_unpack(session->capture, folder, &options, NULL));
	}
	return true;
}

/* Images have no types that a debugger reads, even with values that pack stored. */
static bool warn_of_missing_files(struct session *session, const struct reel_core *core)
{
	size_t n, missing = 0;
	const struct reel_core_module *modules = reel_core_modules(core, &n);

	for (size_t i = 0; i < n; i++) {
		REEL_SIZED(reel_module_info, info);

		if (!no_error(reel_capture_module(session->capture, modules[i].id, &info)))
			return false;
		missing += !*info.local_path && *info.path == '/';
	}
	if (missing)
		complain("%zu of the mapped files not found: debuggers show no arguments or "
			 "variables of "
			 "their functions; 'stackreel script -F +locals' shows values that "
			 "'pack --values' stored",
			 missing);
	return true;
}

static bool write_script(const struct core_script *script, const struct core_debugger *debugger)
{
	_cleanup_free_ char *path = memory_print("%s%s", script->core_path, debugger->suffix);
	struct output output;
	bool ok;

	output_make_private();
	if (!output_open(&output, path))
		return false;
	ok = debugger->print(script, output.file);
	return output_close(&output, ok ? STATUS_OK : STATUS_ERROR) == STATUS_OK;
}

bool core_command_write(const struct core_command *command, struct session *session,
			const struct reel_core *core, const char *path)
{
	_cleanup_free_ char *images = memory_print("%s.images", path);
	const struct core_script script = {
		.options = &command->common,
		.capture = session->capture,
		.sample = command->sample,
		.core = core,
		.core_path = path,
		.images = images,
	};

	if (!core_script_can_name(path) || !no_error(reel_core_write(core, path)) ||
	    !write_images(session, core, images) ||
	    (!command->common.quiet && !warn_of_missing_files(session, core)))
		return false;
	for (size_t i = 0; i < CORE_DEBUGGERS; i++) {
		if (!write_script(&script, &core_debuggers[i]))
			return false;
	}
	return true;
}
