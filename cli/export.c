/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel export: write samples with their stacks for other programs. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/output_file.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/export/formats.h"
#include "cli/session/options.h"
#include "cli/print/text.h"
#include "cli/push/push.h"
#include "cli/session/sandbox.h"
#include "host/system.h"

enum {
	KEY_FORMAT = OPTION_KEY_OWN,
	KEY_PUSH,
	KEY_PUSH_TIMEOUT,
};

/* ns */
#define PUSH_TIMEOUT 30000000000

struct export_options {
	struct options common;
	struct string_list files;
	const struct export_format *format;
	const char *output; /* NULL: standard output */
	bool is_partitioned;
	char *folder, *file_id; /* of the capture that is exported, if partitioned */
	bool pushes;		/* to a server instead of a file */
	struct push push;
};

/* ---- options ------------------------------------------------------------------------------ */

static void check_values(const struct export_options *options, struct argp_state *state)
{
	const struct value_list *values = &options->common.shown_values;

	for (size_t i = 0; i < values->count && !options->format->has_frame_values; i++) {
		if (!values->items[i].expression)
			options_error(state,
				      "--values: '%s' has no expression; only sqlite has "
				      "tables of all variables",
				      values->items[i].function);
	}
}

static void check_push(struct export_options *options, struct argp_state *state)
{
	const struct export_format *pprof = export_format_find("pprof");

	if (options->format && options->format != pprof)
		options_error(state, "--push sends pprof, not %s; remove --format",
			      options->format->name);
	if (options->common.output)
		options_error(state, "-o and --push exclude each other");
	options->format = pprof;
}

static void check(struct export_options *options, struct argp_state *state)
{
	_cleanup_free_ char *names = export_format_names();
	const char *output = options->common.output;

	if (options->pushes)
		check_push(options, state);
	if (!options->format)
		options_error(state, "no --format (expected %s)", names);
	options->output = output && strcmp(output, "-") != 0 ? output : NULL;
	if (options->format->needs_file && !output)
		options_error(state,
			      "no output file for the %s format; use -o FILE, or '-o -' for "
			      "standard output",
			      options->format->name);
	if (options->format->files && !options->output)
		options_error(state,
			      "no folder for the %s format, which has several files; use -o "
			      "DIR",
			      options->format->name);
	if (options->is_partitioned && !options->format->files)
		options_error(state, "--partition: the %s format has a single file",
			      options->format->name);
	if ((options->format->is_binary || options->format->needs_file) && !options->output &&
	    !options->pushes && isatty(STDOUT_FILENO))
		options_error(state, "the %s format is not for terminals; use -o FILE",
			      options->format->name);
	check_values(options, state);
	/* This command opens its output itself. */
	options->common.output = NULL;
	inputs_check(&options->files, &options->common, state);
}

static error_t parse_export_option(int key, char *arg, struct argp_state *state)
{
	struct export_options *options = state->input;
	_cleanup_free_ char *names = NULL;

	switch (key) {
	case ARGP_KEY_ARG:
		string_list_add(&options->files, arg);
		return 0;
	case KEY_FORMAT:
		options->format = export_format_find(arg);
		names = export_format_names();
		if (!options->format)
			options_error(state, "--format: invalid format '%s' (expected %s)", arg,
				      names);
		return 0;
	case KEY_PUSH:
		options->pushes = push_parse(arg, &options->push);
		if (!options->pushes)
			options_error(state,
				      "--push: invalid server '%s' (expected pyroscope:URL or "
				      "parca:URL, with http:// or https://)",
				      arg);
		return 0;
	case KEY_PUSH_TIMEOUT:
		options_check(state, "--push-timeout",
			      reel_quantity_duration(arg, &options->push.timeout));
		return 0;
	case ARGP_KEY_END:
		check(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0, "Write FORMAT, one of the formats below", 0 },
	{ "partition", OPTION_FLAG(struct export_options, is_partitioned), NULL, 0,
	  "With parquet, write each capture to files of its own in date=DATE/host=HOST below the "
	  "folder",
	  0 },
	{ "push", KEY_PUSH, "SERVER:URL", 0,
	  "Send a pprof profile to a server instead: pyroscope:URL or parca:URL", 0 },
	{ "push-name", OPTION_TEXT(struct export_options, push.name), "NAME", 0,
	  "Name the profiled application, for the server (stackreel)", 0 },
	{ "push-timeout", KEY_PUSH_TIMEOUT, "TIME", 0,
	  "Limit each of four attempts to TIME, e.g. 30s, 500ms (30s)", 0 },
	OPTION_VALUES(OPTION_KEY_VALUES),
	{ 0 }
};

/* The list of formats, below the options; argp frees it. */
static char *list_formats(int key, const char *text, void *input)
{
	char *list;
	size_t size;
	FILE *file;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	file = open_memstream(&list, &size);
	memory_check(file);
	fputs("Formats:\n", file);
	for (size_t i = 0; export_formats[i]; i++)
		fprintf(file, "  %-11s %s\n", export_formats[i]->name, export_formats[i]->summary);
	fprintf(file, "\n%s", text);
	fclose(file);
	memory_check(list);
	return list;
}

static const struct argp parser = {
	.options = own_options,
	.parser = parse_export_option,
	.args_doc = "[FILE...]",
	.doc = "Convert the samples of captures, with their stacks, to a file for other programs.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. The output appears under its name once it is complete. "
	       "docs/sql.md describes the tables and fields, docs/exports.md how to open the other "
	       "formats.",
	.children = options_of_shards,
	.help_filter = list_formats,
};

/* ---- the file that is made ------------------------------------------------------------------ */

struct destination {
	struct export_target target;
	struct output output;				 /* for standard output */
	struct reel_output_file files[EXPORT_FILES_MAX]; /* named when complete */
	int fds[EXPORT_FILES_MAX];
	size_t n_files;
	const char *path;
	int pushed; /* a file without a name, to push; -1: none */
	int kept;   /* a file to print when complete; -1: none */
};

/* The output must not replace an input. */
static bool is_input(const struct export_options *options, const char *path)
{
	struct stat output, input;

	if (stat(path, &output) || !S_ISREG(output.st_mode))
		return false;
	for (size_t i = 0; i < options->files.count; i++) {
		const char *file = options->files.items[i];
		int failed = strcmp(file, "-") != 0 ? stat(file, &input) : fstat(0, &input);

		if (!failed && input.st_dev == output.st_dev && input.st_ino == output.st_ino) {
			complain("%s: output file is also the input file", path);
			return true;
		}
	}
	return false;
}

static bool open_named(const struct export_options *options, const char *path,
		       struct destination *destination)
{
	struct reel_output_file *file = &destination->files[destination->n_files];

	if (is_input(options, path) ||
	    !no_error(reel_output_file_open(path, REEL_PLACE_SHARED, -1, file)))
		return false;
	destination->fds[destination->n_files++] = file->fd;
	return true;
}

/* "samples.parquet", or with a capture's id "samples-0123abcd.parquet". */
static bool open_folder(const struct export_options *options, struct destination *destination)
{
	const char *path = options->folder ? options->folder : options->output;
	_cleanup_fd_ int folder = -1;
	bool ok = no_error(reel_output_folder_open(path, &folder));

	for (const char *const *name = options->format->files; *name && ok; name++) {
		const char *type = strrchr(*name, '.');
		_cleanup_free_ char *file =
			memory_print("%s/%.*s%s%s%s", path, (int)(type - *name), *name,
				     options->file_id ? "-" : "",
				     options->file_id ? options->file_id : "", type);

		ok = open_named(options, file, destination);
	}
	destination->target.fds = destination->fds;
	return ok;
}

static bool open_file(const struct export_options *options, struct destination *destination)
{
	struct stat status;
	int fd;

	if (!open_named(options, options->output, destination))
		return false;
	fd = dup(destination->fds[0]);
	destination->target.fd = fd;
	if (options->format->needs_file && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		complain("%s: the format %s needs a regular file", options->output,
			 options->format->name);
		return false;
	}
	if (!options->format->needs_file) {
		destination->target.file = fdopen(fd, "w");
		memory_check(destination->target.file);
		setvbuf(destination->target.file, NULL, _IOFBF, 256 << 10);
	}
	return true;
}

/* Shared memory, since another process may read the captures. */
static bool open_pushed(struct destination *destination)
{
	struct export_target *target = &destination->target;

	if (!push_is_possible() || !no_error(reel_temporary_file(&destination->pushed)))
		return false;
	target->file = fdopen(dup(destination->pushed), "w");
	memory_check(target->file);
	target->span = mmap(NULL, sizeof(*target->span), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memory_check(target->span == MAP_FAILED ? NULL : target->span);
	destination->path = "the profile";
	return true;
}

/* For a format that seeks back in its file. */
static bool open_kept(struct destination *destination)
{
	if (!no_error(reel_temporary_file(&destination->kept)))
		return false;
	destination->target.fd = destination->kept;
	return true;
}

static bool open_destination(const struct export_options *options, struct destination *destination)
{
	struct options last = options->common;

	if (options->files.count)
		last.file = options->files.items[options->files.count - 1];
	*destination = (struct destination){ .path = options->output, .pushed = -1, .kept = -1 };
	destination->target.sandboxed = sandbox_is_wanted(&last);
	destination->target.fd = -1;
	if (options->pushes)
		return open_pushed(destination);
	if (options->format->files)
		return open_folder(options, destination);
	if (options->output)
		return open_file(options, destination);
	if (options->format->needs_file)
		return open_kept(destination);
	if (!output_open(&destination->output, NULL))
		return false;
	destination->target.file = destination->output.file;
	return true;
}

/* False, with the reason reported, if a write failed. */
static bool close_file(const struct destination *destination)
{
	const struct export_target *target = &destination->target;
	bool failed = target->file && ferror(target->file);
	int error = EIO;

	/* The errno of an earlier failure is gone; flushing the rest fails again with the same
	 * errno. */
	if (target->file && fflush(target->file)) {
		failed = true;
		error = errno;
	}
	if (target->file ? fclose(target->file) : target->fd >= 0 && close(target->fd)) {
		error = failed ? error : errno;
		failed = true;
	}
	if (failed)
		complain("%s: cannot write: %s", destination->path, strerror(error));
	return !failed;
}

/* Sends the profile, in the process outside the sandbox. Returns the exit status. */
static int push_destination(const struct export_options *options, struct destination *destination,
			    int status, bool ok)
{
	const struct export_span *span = destination->target.span;

	ok = destination->target.file && close_file(destination) && ok;
	if (ok && !span->from) {
		complain("the captures have no start time, which servers need; export them to a "
			 "file instead");
		ok = false;
	}
	ok = ok && push_profile(&options->push, destination->pushed, span->from, span->until);
	if (destination->pushed >= 0)
		close(destination->pushed);
	return ok ? status : STATUS_ERROR;
}

/* Copies a complete file to standard output; returns the exit status. */
static int print_kept(struct destination *destination, int status, bool ok)
{
	int errnum;

	ok = ok && destination->kept >= 0;
	errnum = ok ? reel_copy_all(destination->kept, STDOUT_FILENO) : 0;
	/* A reader may stop early. */
	if (errnum && errnum != EPIPE) {
		complain("standard output: cannot write: %s", strerror(errnum));
		ok = false;
	}
	if (destination->kept >= 0)
		close(destination->kept);
	return ok ? status : STATUS_ERROR;
}

/* Returns the exit status. */
static int close_destination(const struct export_options *options, struct destination *destination,
			     int status, bool ok)
{
	if (options->pushes)
		return push_destination(options, destination, status, ok);
	if (options->format->needs_file && !destination->path)
		return print_kept(destination, status, ok);
	if (!destination->path)
		return destination->target.file ? output_close(&destination->output, status)
						: STATUS_ERROR;
	ok = close_file(destination) && ok;
	for (size_t i = 0; i < destination->n_files; i++) {
		if (ok)
			ok = no_error(reel_output_file_close(&destination->files[i], NULL));
		else
			reel_output_file_abandon(&destination->files[i]);
	}
	return ok ? status : STATUS_ERROR;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int export_files(struct export_options *options, const struct export_target *target,
			bool *ok_ret)
{
	const struct export_format *format = options->format;
	void *state = format->open(target);
	int status = STATUS_OK;
	bool ok = state;

	for (size_t i = 0; i < options->files.count && ok; i++) {
		int one;

		options->common.file = options->files.items[i];
		one = export_capture(format, state, &options->common, &ok);
		/* An error is worse than incomplete traces. */
		if (one == STATUS_ERROR || status == STATUS_OK)
			status = one;
	}
	*ok_ret = state && format->close(state, ok) && ok;
	/* The function that closes the file judges the error: a reader may have stopped early. */
	if (target->file && ferror(target->file))
		return STATUS_OK;
	return *ok_ret ? status : STATUS_ERROR;
}

/*
 * The sandbox forbids naming files. So a child process reads the capture and ends when its file is
 * written, and this process names it.
 */
static int export_apart(struct export_options *options, struct destination *destination,
			bool *ok_ret)
{
	/* A bit outside enum status, so that no other exit has it. */
	const int whole = 0x40;
	pid_t child = fork();
	int status;

	if (!child) {
		/* --time-limit ends only this process. */
		reel_system_end_with_parent(SIGKILL);
		status = export_files(options, &destination->target, ok_ret);
		if (close_file(destination) && *ok_ret)
			status |= whole;
		exit(status);
	}
	*ok_ret = false;
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		complain("cannot start a process: %s", strerror(errno));
		return STATUS_ERROR;
	}
	if (!WIFEXITED(status)) {
		complain("the process that reads the capture was killed (signal %d)",
			 WTERMSIG(status));
		return STATUS_ERROR;
	}
	*ok_ret = WEXITSTATUS(status) & whole;
	return WEXITSTATUS(status) & ~whole;
}

static int export_whole(struct export_options *options)
{
	struct destination destination;
	int status = STATUS_ERROR;
	bool ok = false;

	if (!open_destination(options, &destination))
		ok = false;
	else if ((destination.n_files || options->pushes) && destination.target.sandboxed)
		status = export_apart(options, &destination, &ok);
	else
		status = export_files(options, &destination.target, &ok);
	return close_destination(options, &destination, status, ok);
}

/* ---- Hive's partitions ---------------------------------------------------------------------- */

/* Engines read this as null. */
#define UNKNOWN "__HIVE_DEFAULT_PARTITION__"

/* Adds a folder below options->folder. A value from a hostile capture makes a single name, which
 * begins with the key: it is not hidden, and not a path. */
static bool enter_partition(struct export_options *options, const char *key, const char *value)
{
	_cleanup_free_ char *escaped = text_escape(value, "");
	_cleanup_free_ char *name = text_percent_encode(escaped), *before = options->folder;
	_cleanup_fd_ int folder = -1;

	options->folder = memory_print("%s/%s=%s", before, key, *name ? name : UNKNOWN);
	return no_error(reel_output_folder_open(options->folder, &folder));
}

/* The day on which the capture began, in UTC. A whole capture is in one folder. */
static bool enter_partitions(struct export_options *options, const struct session *session)
{
	const struct reel_capture_info *info = session->info;
	struct short_text date = format_wall_time(info->start_wall_time);
	_cleanup_fd_ int folder = -1;
	size_t n_hosts;

	reel_capture_hosts(session->capture, &n_hosts);
	if (n_hosts) {
		complain("%s: --partition needs captures of one host, and this one is merged",
			 session->name);
		return false;
	}
	date.text[info->start_wall_time ? strlen("2026-11-29") : 0] = '\0';
	options->file_id = text_hex(info->file_id, sizeof(info->file_id));
	options->folder = memory_print("%s", options->output);
	return no_error(reel_output_folder_open(options->output, &folder)) &&
	       enter_partition(options, "date", date.text) &&
	       enter_partition(options, "host", info->hostname);
}

/* Opens it only to see where its files belong. */
static bool find_partition(struct export_options *options, const char *file)
{
	struct session session;
	bool ok;

	options->common.file = file;
	if (sandbox_is_wanted(&options->common)) {
		complain("--partition cannot read standard input, and not with --sandbox");
		return false;
	}
	ok = session_open(&session, &options->common) && enter_partitions(options, &session);
	session_close(&session);
	return ok;
}

static int export_partitions(struct export_options *options)
{
	const struct string_list all = options->files;
	int status = STATUS_OK;

	for (size_t i = 0; i < all.count && status != STATUS_ERROR; i++) {
		int one = STATUS_ERROR;

		options->files = (struct string_list){ &all.items[i], 1 };
		if (find_partition(options, all.items[i]))
			one = export_whole(options);
		/* An error is worse than incomplete traces. */
		if (one == STATUS_ERROR || status == STATUS_OK)
			status = one;
		free(options->folder);
		free(options->file_id);
		options->folder = options->file_id = NULL;
	}
	options->files = all;
	return status;
}

/* ---- the command's entry -------------------------------------------------------------------- */

int command_export(int argc, char **argv)
{
	struct export_options options = {
		.push = { .name = "stackreel", .timeout = PUSH_TIMEOUT },
	};
	int status;

	options_parse(&parser, argc, argv, 0, &options);
	status = options.is_partitioned ? export_partitions(&options) : export_whole(&options);
	free(options.files.items);
	options_free(&options.common);
	return status;
}
