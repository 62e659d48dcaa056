/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel top: show where the time goes, live from a recorder. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/browse/browse.h"
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/report/report_table.h"
#include "cli/session/priority.h"
#include "cli/session/selection.h"
#include "cli/session/summary.h"
#include "host/system.h"

/* If reading the newest samples takes longer, read fewer next time; if it takes less than half as
 * long, more. */
#define READ_TIME_MAX (150 * REEL_NS_PER_MS)
/* Bytes of the stream to read first, and the least to read. */
#define FIRST_SIZE (256u << 10)
#define LEAST_SIZE (32u << 10)

/* The longest time to read without a break. */
#define TAKE_MAX (100 * REEL_NS_PER_MS)

enum {
	KEY_DELAY = OPTION_KEY_OWN,
	KEY_WINDOW,
	KEY_COUNT,
	KEY_SORT,
	KEY_BY,
};

struct top_options {
	struct options common;
	uint64_t delay, window; /* ns */
	uint64_t count;		/* reports; 0: any number */
	bool stdio;
	enum table_sort sort;
	struct by by;
};

/* The view and its sources. */
struct top {
	const struct top_options *options;
	struct options session_options; /* of the newest capture, which has its own name */
	char *path;
	int file;      /* the samples set aside; -1: none */
	uint64_t size; /* bytes of the stream to read at once */
	struct reel_live *live;
	int input;
	pid_t recorder; /* 0: not started here */
	int messages;	/* a file with its messages */
	struct priority priority;
	bool came, ended, failed;
};

/* ---- options ------------------------------------------------------------------------------ */

static void parse_time(struct argp_state *state, const char *option, const char *arg, uint64_t *ret)
{
	options_check(state, option, reel_quantity_duration(arg, ret));
	if (*ret < REEL_NS_PER_MS)
		options_error(state, "%s: '%s' is too short (at least 1ms)", option, arg);
}

/* A stream has neither parts nor an end at which to judge it. */
static const struct argp_child children[] = {
	{ &options_filter, 0, "Sample selection:", 1 },
	{ &options_search, 0, "Modules and symbols:", 2 },
	{ &options_debuginfod, 0, "Debuginfod servers:", 3 },
	{ &options_work, 0, "Speed:", 5 },
	{ &options_file, 0, "Input, output, limits:", 8 },
	{ &options_keys, 0, "Encrypted captures:", 7 },
	{ 0 },
};

static error_t parse_top_option(int key, char *arg, struct argp_state *state)
{
	struct top_options *options = state->input;

	switch (key) {
	case KEY_DELAY:
		parse_time(state, "--delay", arg, &options->delay);
		return 0;
	case KEY_WINDOW:
		parse_time(state, "--window", arg, &options->window);
		return 0;
	case KEY_COUNT:
		options_check(state, "--count",
			      reel_quantity_number(arg, 1, UINT64_MAX, &options->count));
		return 0;
	case KEY_SORT:
		if (!table_sort_parse(arg, &options->sort))
			options_error(state,
				      "--sort: invalid column '%s' (expected self, total, samples, "
				      "symbol or module)",
				      arg);
		return 0;
	case KEY_BY:
		by_take(state, arg, &options->by, &options->common);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "delay", KEY_DELAY, "TIME", 0, "Update every TIME (1s)", 0 },
	{ "window", KEY_WINDOW, "TIME", 0, "Show the samples of the last TIME (10s)", 0 },
	{ "count", KEY_COUNT, "N", 0, "Exit after N reports (with --stdio)", 0 },
	{ "stdio", OPTION_FLAG(struct top_options, stdio), NULL, 0,
	  "Print a plain text report each time", 0 },
	{ "sort", KEY_SORT, "COLUMN", 0,
	  "Sort by COLUMN: self (default), total, samples, symbol or module", 0 },
	{ "by", KEY_BY, "KEY,...", 0, "Group by these keys, as 'stackreel report' does", 0 },
	OPTION_NAMES("short"),
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_top_option,
	.args_doc = "[FILE] [-- RECORDER'S OPTIONS]",
	.doc = "Show live where the time goes.\v"
	       "Without FILE, top runs stackreel-record for the whole system (-a), or with the "
	       "options after '--': 'stackreel top -- -p 4711'. FILE is the output of a recorder "
	       "elsewhere, '-' is standard input: 'ssh prod stackreel-record -a -o - | stackreel "
	       "top -'. Keys are those of stackreel report; p pauses and resumes.",
	.children = children,
};

/* ---- the recorder ------------------------------------------------------------------------- */

static _Noreturn void become_recorder(int output, int messages, char **arguments)
{
	size_t n = 0, given = 0;
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char **argv;

	while (arguments[given])
		given++;
	argv = memory_get((given + 8) * sizeof(*argv));
	argv[n++] = "record";
	argv[n++] = "--output=-";
	/* The files are on this host, and embedded ones would only arrive at the capture's end. */
	argv[n++] = "--embed=none";
	/* Blocks may be small where none are stored or sent. */
	argv[n++] = "--flush-interval=50ms";
	if (!given)
		argv[n++] = "-a";
	memcpy(argv + n, arguments, given * sizeof(*argv));
	/* Keys are for the view. */
	dup2(nothing, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(messages, STDERR_FILENO);
	command_record((int)(n + given), argv);
	_exit(STATUS_ERROR);
}

static bool start_recorder(struct top *top, char **arguments)
{
	int ends[2];

	/* Messages would disturb the screen. */
	top->messages = reel_system_memory_file("messages");
	if (top->messages < 0 || pipe2(ends, O_CLOEXEC)) {
		complain("cannot create a pipe: %s", strerror(errno));
		return false;
	}
	fflush(NULL);
	top->recorder = fork();
	if (!top->recorder)
		become_recorder(ends[1], top->messages, arguments);
	close(ends[1]);
	top->input = ends[0];
	if (top->recorder > 0)
		return true;
	complain("cannot start a process: %s", strerror(errno));
	top->recorder = 0;
	return false;
}

static bool open_input(struct top *top, const char *file)
{
	top->input = strcmp(file, "-") != 0 ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (top->input >= 0)
		return true;
	complain("%s: %s", file, strerror(errno));
	return false;
}

/* ---- the feed ----------------------------------------------------------------------------- */

/* Reads once if data arrives within that time; false if none did. */
static bool read_within(struct top *top, uint64_t ms)
{
	struct pollfd waiting = { .fd = top->input, .events = POLLIN };

	if (top->ended || poll(&waiting, 1, (int)ms) <= 0)
		return false;
	if (!no_error(reel_live_read(top->live, &top->ended)))
		top->ended = top->failed = true;
	/* The recorder may be behind a slow connection. */
	top->came = reel_live_has_begun(top->live);
	return true;
}

/* Endless data must not keep the user waiting. */
static bool read_available(void *context)
{
	struct top *top = context;
	uint64_t end = reel_now() + TAKE_MAX;

	while (reel_now() < end && read_within(top, 0))
		;
	return !top->ended;
}

static uint64_t next_block(void *context)
{
	const struct top *top = context;

	return reel_live_next_block(top->live);
}

static bool prepare_newest(void *context, uint64_t first_block, struct reel_live_part *ret)
{
	struct top *top = context;

	if (!top->came || !no_error(reel_live_capture(top->live, top->options->window, first_block,
						      top->size, ret)))
		return false;
	top->file = ret->fd;
	free(top->path);
	top->path = memory_print("/proc/self/fd/%d", top->file);
	top->session_options = top->options->common;
	top->session_options.file = top->path;
	/* Nothing may happen for a while. */
	top->session_options.may_be_idle = true;
	top->session_options.quiet = true;
	return true;
}

static bool open_newest(void *context, const struct session *previous, struct session *session)
{
	struct top *top = context;
	bool ok;

	top->session_options.previous = previous ? previous->capture : NULL;
	ok = session_open(session, &top->session_options);
	/* The library has it open. */
	close(top->file);
	top->file = -1;
	return ok;
}

/* A busy host has more samples, and less time to unwind them. */
static void fit_size(void *context, uint64_t ns)
{
	struct top *top = context;

	if (ns > READ_TIME_MAX)
		top->size = (uint64_t)((double)top->size * READ_TIME_MAX / (double)ns);
	else if (ns < READ_TIME_MAX / 2 && top->size < SIZE_MAX / 2)
		top->size *= 2;
	if (top->size < LEAST_SIZE)
		top->size = LEAST_SIZE;
}

/* ---- as text ------------------------------------------------------------------------------ */

static void print_head(const struct session *session, FILE *file)
{
	fprintf(file, "# %s of ", format_plural(session->quality.traces, "sample").text);
	summary_print_events(session, file);
	fprintf(file, " in %s\n",
		format_nanoseconds(session->quality.last_time - session->quality.first_time).text);
	summary_print_quality(&session->quality, file);
}

/* `previous` is closed once `session` is open; both may be without a capture. */
static bool print_newest(struct top *top, struct output *output, struct session *previous,
			 struct session *session)
{
	struct reel_live_part part;
	struct profiles profiles;
	bool ok = prepare_newest(top, 0, &part);

	if (!ok)
		return !top->came;
	ok = open_newest(top, previous->capture ? previous : NULL, session);
	session_close(previous);
	*previous = (struct session){ 0 };
	if (!ok)
		return false;
	profiles_init(&profiles, &top->options->by, false);
	ok = session_visit(session, profiles_add, &profiles);
	if (ok) {
		profiles_finish(&profiles);
		print_head(session, output->file);
		for (size_t i = 0; i < profiles.count; i++) {
			fputc('\n', output->file);
			report_table_print(&profiles, &profiles.items[i], top->options->sort,
					   PERCENT / 2, output);
		}
		fputc('\n', output->file);
		fflush(output->file);
	}
	profiles_free(&profiles);
	return ok;
}

static int print_reports(struct top *top)
{
	const struct top_options *options = top->options;
	struct session sessions[2] = { 0 };
	struct output output;
	bool ok = true;

	top->size = UINT64_MAX;
	if (!options_open_output(&options->common, &output))
		return STATUS_ERROR;
	for (uint64_t n = 0; ok && !output_is_broken(&output) && !top->ended &&
			     (!options->count || n < options->count);
	     n += top->came) {
		uint64_t now, due = reel_now() + options->delay;

		/* Read arriving data at once, or the recorder would have to wait. */
		while (!top->ended && (now = reel_now()) < due)
			read_within(top, (due - now) / REEL_NS_PER_MS + 1);
		ok = print_newest(top, &output, &sessions[(n + 1) % 2], &sessions[n % 2]);
	}
	session_close(&sessions[0]);
	session_close(&sessions[1]);
	return output_close(&output, ok ? STATUS_OK : STATUS_ERROR);
}

/* ---- the command -------------------------------------------------------------------------- */

static int show(struct top *top)
{
	const struct browse_start start = {
		.sort = top->options->sort,
		.by = top->options->by,
		.short_names = top->options->common.short_names,
	};
	const struct feed feed = {
		.context = top,
		.name = "top",
		.delay = top->options->delay,
		.window = top->options->window,
		.take = read_available,
		.next_block = next_block,
		.prepare = prepare_newest,
		.open = open_newest,
		.took = fit_size,
	};

	if (top->options->stdio || !browse_is_possible())
		return print_reports(top);
	return browse_feed(&feed, &start);
}

static void print_messages(int file)
{
	char text[4096];
	ssize_t size;

	lseek(file, 0, SEEK_SET);
	while ((size = read(file, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)size, stderr);
	close(file);
}

/*
 * Stops the recorder as a user does, and lets it write its remaining data. False if no data ever
 * arrived.
 */
static bool end_recorder(struct top *top)
{
	char bytes[1 << 16];

	if (!top->recorder)
		return true;
	kill(top->recorder, SIGINT);
	while (read(top->input, bytes, sizeof(bytes)) > 0)
		;
	waitpid(top->recorder, NULL, 0);
	print_messages(top->messages);
	return top->came;
}

static bool end(struct top *top)
{
	bool ok = end_recorder(top);

	priority_restore(&top->priority);
	reel_live_destroy(top->live);
	if (top->file >= 0)
		close(top->file);
	if (top->input > STDIN_FILENO)
		close(top->input);
	free(top->path);
	return ok;
}

int command_top(int argc, char **argv)
{
	struct top_options options = {
		.common = { .short_names = is_utf8_wanted(), .default_file = "" },
		.delay = 1000 * REEL_NS_PER_MS,
		.window = 10000 * REEL_NS_PER_MS,
	};
	struct top top = { .options = &options, .input = -1, .file = -1, .size = FIRST_SIZE };
	int status = STATUS_ERROR, own = 1;

	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	options_parse(&parser, own, argv, 0, &options);
	priority_raise(&top.priority);
	if (own < argc && *options.common.file)
		complain("%s and options for a recorder exclude each other", options.common.file);
	else if (*options.common.file ? open_input(&top, options.common.file)
				      : start_recorder(&top, argv + (own < argc ? own + 1 : own)))
		status = STATUS_OK;
	if (status == STATUS_OK && !no_error(reel_live_create(top.input, &top.live)))
		status = STATUS_ERROR;
	if (status == STATUS_OK)
		status = show(&top);
	if (!end(&top) || top.failed)
		status = STATUS_ERROR;
	options_free(&options.common);
	return status;
}
