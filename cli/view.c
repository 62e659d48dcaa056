/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel view: a capture as a page, in a browser. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/page/web_browser.h"
#include "cli/page/page_file.h"
#include "cli/page/page_fit.h"
#include "cli/page/page_server.h"
#include "cli/print/text.h"
#include "cli/profile/profile_view.h"
#include "cli/session/selection.h"

enum {
	KEY_SERVE = OPTION_KEY_OWN,
	KEY_BY,
};

struct view_options {
	struct options common;
	struct grouping groups;
	bool serves;
	const char *address; /* NULL: any free port */
	struct page_server server;
	struct web_browser browser;
	/* Without -o: a private folder, and the page in it. */
	char *folder, *path;
	bool is_written; /* the page: also of a capture that is readable in part */
};

/* ---- options ------------------------------------------------------------------------------ */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct view_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case KEY_SERVE:
		options->serves = true;
		options->address = arg;
		return 0;
	case KEY_BY:
		grouping_take(state, arg, &options->groups);
		return 0;
	case ARGP_KEY_END:
		if (options->serves && options->common.output)
			options_error(state, "--serve and -o exclude each other");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "by", KEY_BY, "KEY,...", 0,
	  "Begin each stack with its thread, process, comm, host, state, event, cpu, or a label "
	  "such as lock or container; or with several of these",
	  0 },
	{ "serve", KEY_SERVE, "[HOST:]PORT", OPTION_ARG_OPTIONAL,
	  "Serve the page on this host's loopback interface until Ctrl-C (default: any free port), "
	  "for ssh -L PORT:localhost:PORT",
	  0 },
	{ 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Show a capture in a browser: a timeline, flame graphs, call trees and functions.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input; a profile of 'stackreel aggregate' is allowed as well. Without "
	"-o, the page is written to a temporary folder that only you can read, and a browser "
	"opens it. The page is one file that works offline, in any browser.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- the temporary page --------------------------------------------------------------------- */

/* "a.html" for b/a.reel. */
static char *page_name(const char *capture)
{
	const char *name = path_base(strcmp(capture, "-") ? capture : DEFAULT_CAPTURE);
	const char *dot = strrchr(name, '.');
	size_t size = dot && dot > name ? (size_t)(dot - name) : strlen(name);

	return memory_print("%.*s.html", (int)size, name);
}

static bool make_folder(struct view_options *options)
{
	_cleanup_free_ char *name = page_name(options->common.file);
	const char *temporary = getenv("TMPDIR");

	options->folder =
		memory_print("%s/stackreel-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(options->folder)) {
		complain("%s: cannot create a folder: %s", options->folder, strerror(errno));
		return false;
	}
	options->path = memory_print("%s/%s", options->folder, name);
	options->common.output = options->path;
	output_make_private();
	web_browser_prepare(&options->browser);
	return true;
}

static void remove_folder(const struct view_options *options)
{
	unlink(options->path);
	rmdir(options->folder);
}

static void show_page(struct view_options *options)
{
	const char *missing = options->browser.missing;

	if (web_browser_show(&options->browser, options->path)) {
		if (!options->common.quiet)
			complain("wrote %s and opened it in a browser", options->path);
		return;
	}
	complain("wrote %s; open it in a browser (%s; --serve is another way)", options->path,
		 missing ? missing : "xdg-open failed");
}

/* ---- the command ---------------------------------------------------------------------------- */

/* Returns the exit status, which is `status` if all was written. */
static int write_output(struct view_options *options, struct flame_profile *profile,
			const struct page_source *source, int status)
{
	_cleanup_free_ char *packed = NULL;
	struct output output;

	if (!profile->n_events) {
		complain("%s: no samples to show", options->common.file);
		return STATUS_ERROR;
	}
	if (options->serves) {
		packed = page_fit(profile, source, !options->common.quiet);
		page_file_write(packed, options->server.page);
		options->is_written = true;
		return status;
	}
	if (!output_open(&output, options->common.output))
		return STATUS_ERROR;
	packed = page_fit(profile, source, !options->common.quiet);
	page_file_write(packed, output.file);
	options->is_written = output_close(&output, STATUS_OK) == STATUS_OK;
	return options->is_written ? status : STATUS_ERROR;
}

static int view_capture(struct view_options *options)
{
	struct flame_profile profile;
	struct session session;
	int status = STATUS_ERROR;

	if (session_open(&session, &options->common)) {
		flame_profile_init(&profile, session.info->first_sample_time, true);
		flame_profile_group(&profile, &options->groups);
		if (session_visit(&session, flame_profile_add, &profile) &&
		    groups_have_labels(profile.groups, profile.n_groups, &session)) {
			const struct page_source source = {
				.of = { .path = session.info->path,
					.quality = &session.quality,
					.info = session.info },
				.capture = session.capture,
			};

			flame_profile_finish(&profile);
			session_warn(&session);
			status = write_output(options, &profile, &source, session_status(&session));
		}
		flame_profile_free(&profile);
	}
	session_close(&session);
	return status;
}

/* The file is a profile from `stackreel aggregate`. */
static int view_profile(struct view_options *options)
{
	struct flame_profile profile;
	struct profiles profiles;
	struct profile_view view;
	int status = STATUS_ERROR;

	profiles_init(&profiles, &(struct by){ 0 }, true);
	flame_profile_init(&profile, 0, false);
	if (profile_view_open(&view, &options->common, &profiles)) {
		const struct page_source source = {
			.of = { .path = options->common.file,
				.quality = &view.quality,
				.captures = view.totals.captures },
		};

		flame_profile_add_all(&profile, &profiles);
		flame_profile_finish(&profile);
		status = write_output(options, &profile, &source,
				      quality_status(&view.quality, &options->common));
	}
	flame_profile_free(&profile);
	profiles_free(&profiles);
	return status;
}

static bool prepare(struct view_options *options)
{
	if (options->serves)
		return page_server_start(&options->server, options->address);
	return options->common.output || make_folder(options);
}

static int view(struct view_options *options)
{
	int status;

	if (options->groups.n && profile_file_is(options->common.file)) {
		complain("--by groups the samples of a capture, not of a profile of "
			 "'stackreel aggregate'");
		return STATUS_ERROR;
	}
	if (!prepare(options))
		return STATUS_ERROR;
	status = profile_file_is(options->common.file) ? view_profile(options)
						       : view_capture(options);
	if (options->serves && options->is_written)
		return page_server_run(&options->server);
	if (options->folder && options->is_written)
		show_page(options);
	else if (options->folder)
		remove_folder(options);
	return status;
}

int command_view(int argc, char **argv)
{
	struct view_options options = { .browser = { .fd = -1 } };
	int status;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	status = view(&options);
	web_browser_close(&options.browser);
	page_server_stop(&options.server);
	free(options.path);
	free(options.folder);
	options_free(&options.common);
	return status;
}
