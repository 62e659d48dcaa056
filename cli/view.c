/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel view: a capture as a page, in a browser. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/page/web_browser.h"
#include "cli/page/page_file.h"
#include "cli/page/page_make.h"
#include "cli/page/page_server.h"
#include "cli/print/text.h"

enum {
	KEY_SERVE = OPTION_KEY_OWN,
};

struct view_options {
	struct options common;
	struct page_request page;
	bool is_firefox; /* for profiler.firefox.com */
	bool serves;
	const char *address; /* NULL: any free port */
	struct page_server server;
	struct web_browser browser;
	/* Without -o: a private folder, and the page in it. */
	char *folder, *path;
	bool is_written; /* the page: also of a capture that is readable in part */
};

/* ---- options ------------------------------------------------------------------------------ */

static error_t parse_view_option(int key, char *arg, struct argp_state *state)
{
	struct view_options *options = state->input;

	switch (key) {
	case KEY_SERVE:
		options->serves = true;
		options->address = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->serves && options->common.output)
			options_error(state, "--serve and -o exclude each other");
		page_request_check(&options->page, state);
		if (options->is_firefox &&
		    (options->page.files.by.groups.n || options->page.has_code ||
		     options->common.shown_values.count ||
		     page_request_is_comparison(&options->page)))
			options_error(
				state,
				"--firefox shows one capture, without --by, --values and --source");
		return 0;
	default:
		return page_request_take(&options->page, key, arg, state);
	}
}

static const struct argp_option own_options[] = {
	{ "serve", KEY_SERVE, "[HOST:]PORT", OPTION_ARG_OPTIONAL,
	  "Serve the page on this host's loopback interface until Ctrl-C (default: any free port), "
	  "for ssh -L PORT:localhost:PORT",
	  0 },
	{ "firefox", OPTION_FLAG(struct view_options, is_firefox), NULL, 0,
	  "Write a page that opens the capture in profiler.firefox.com, within the browser", 0 },
	PAGE_REQUEST_OPTIONS,
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_view_option,
	.args_doc = "[FILE]\nOLD NEW\nOLD... --new NEW...",
	.doc = "Show a capture in a browser: a timeline, flame graphs, call trees and functions; "
	       "of several captures, also the changes between them.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input; a profile of 'stackreel aggregate' or folded text is "
	       "allowed as "
	       "well. "
	       "Changes are those of 'stackreel diff'; everything else on the page is of the last "
	       "capture. Without -o, the page is written to a temporary folder that only you can "
	       "read, and a browser opens it. The page is one file that works offline, in any "
	       "browser.",
	.children = options_of_traces,
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
	_cleanup_free_ char *name = page_name(page_request_file(&options->page));
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

static bool write_page(struct view_options *options, const char *packed)
{
	enum page_file page = options->is_firefox ? PAGE_FIREFOX : PAGE_VIEW;
	struct output output;

	if (options->serves) {
		page_file_write(page, packed, options->server.page);
		return true;
	}
	if (!output_open(&output, options->common.output))
		return false;
	page_file_write(page, packed, output.file);
	return output_close(&output, STATUS_OK) == STATUS_OK;
}

static bool prepare(struct view_options *options)
{
	if (options->serves)
		return page_server_start(&options->server, options->address);
	return options->common.output || make_folder(options);
}

static int view(struct view_options *options)
{
	_cleanup_free_ char *packed = NULL;
	int status;

	if (!prepare(options))
		return STATUS_ERROR;
	packed = options->is_firefox ? page_firefox_make(&options->common, &status)
				     : page_make(&options->page, &status);
	options->is_written = packed && write_page(options, packed);
	if (options->serves && options->is_written)
		return page_server_run(&options->server);
	if (options->folder && options->is_written)
		show_page(options);
	else if (options->folder)
		remove_folder(options);
	return options->is_written ? status : STATUS_ERROR;
}

int command_view(int argc, char **argv)
{
	struct view_options options = {
		.page = { PAGE_REQUEST_DEFAULTS, .common = &options.common },
		.browser = { .fd = -1 },
	};
	int status;

	options_parse(&parser, argc, argv, ARGP_IN_ORDER, &options);
	status = view(&options);
	web_browser_close(&options.browser);
	page_server_stop(&options.server);
	free(options.path);
	free(options.folder);
	page_request_free(&options.page);
	options_free(&options.common);
	return status;
}
