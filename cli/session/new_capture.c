/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/session/new_capture.h"
#include "cli/session/selection.h"

/* ---- options -------------------------------------------------------------------------------- */

const struct argp_child new_capture_children[] = {
	{ &options_recipients, 0, NULL, 0 },
	{ &options_rewrite, 0, NULL, 0 },
	{ &options_keys, 0, "Other options:", 1 },
	{ &options_file, 0, NULL, 1 },
	{ 0 },
};

static error_t parse_files(int key, char *arg, struct argp_state *state)
{
	struct new_capture *command = state->input;

	if (!command->verb->takes_many)
		return ARGP_ERR_UNKNOWN;
	if (key == ARGP_KEY_ARG) {
		string_list_add(&command->files, arg);
		return 0;
	}
	/* -i */
	if (command->common.file != command->common.default_file)
		string_list_add(&command->files, command->common.file);
	if (!command->files.count)
		argp_error(state, "no captures; name at least one");
	return 0;
}

static void add_kept(struct new_capture *command, const char *arg, struct argp_state *state)
{
	struct reel_value_request request;
	_cleanup_free_ char *problem = value_request_parse(arg, false, &request);

	if (problem)
		options_error(state, "--keep: %s", problem);
	for (const char *at = arg; *at; at++) {
		if ((unsigned char)*at < ' ')
			options_error(state, "--keep: '%s' has a control character", arg);
	}
	value_list_add(&command->keep, request);
}

static error_t parse_new_capture_option(int key, char *arg, struct argp_state *state)
{
	struct new_capture *command = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
	case ARGP_KEY_END:
		return parse_files(key, arg, state);
	case NEW_CAPTURE_KEEP:
		add_kept(command, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Its wording differs from the capture's own problems, since these concern files on this host. */
static void print_problem(void *context, const char *path, const char *why)
{
	const struct new_capture *command = context;
	_cleanup_free_ char *escaped = text_escape(path, ""), *reason = text_escape(why, "");

	if (!command->common.quiet)
		fprintf(stderr, "stackreel: warning: %s: %s\n", escaped, reason);
}

void new_capture_parse(const struct new_capture_verb *verb, int argc, char **argv,
		       struct new_capture *ret)
{
	const struct argp parser = {
		.options = verb->options,
		.parser = parse_new_capture_option,
		.args_doc = verb->takes_many ? "FILE..." : "[FILE]",
		.doc = verb->doc,
		.children = verb->children,
	};
	const REEL_SIZED(reel_rewrite_options, rewrite, .problem = print_problem, .context = ret);

	*ret = (struct new_capture){ .verb = verb, .rewrite = rewrite };
	if (verb->takes_many)
		ret->common.default_file = "";
	options_parse(&parser, argc, argv, 0, ret);
	ret->rewrite.keep = ret->keep.items;
	ret->rewrite.n_keep = ret->keep.count;
	ret->rewrite.recipients = ret->common.recipients.items;
	ret->rewrite.decrypt = ret->common.decrypt;
	ret->rewrite.event = ret->common.event;
	ret->rewrite.identities = ret->common.identities.items;
}

void new_capture_free(struct new_capture *command)
{
	free(command->files.items);
	free(command->keep.items);
	free(command->samples);
	options_free(&command->common);
}

/* ---- summaries ------------------------------------------------------------------------------ */

void new_capture_print(const struct options *options, const char *output,
		       const struct reel_rewrite_counts *counts, const char *samples_are,
		       const char *remark)
{
	_cleanup_free_ char *escaped = text_escape(output, "");
	uint64_t samples = counts->samples ? counts->samples : 1;

	if (options->quiet || !strcmp(output, "-"))
		return;
	fprintf(stderr, "stackreel: %s: %s%s, %s (%s a sample, of %s", escaped,
		format_plural(counts->samples, "sample").text, samples_are ? samples_are : "",
		format_bytes(counts->bytes_written).text,
		format_bytes(counts->bytes_written / samples).text,
		format_bytes(counts->bytes_read / samples).text);
	if (remark)
		fprintf(stderr, "; %s", remark);
	fputs(")\n", stderr);
}

bool new_capture_left_out(const struct options *options, const struct reel_rewrite_counts *counts)
{
	if (counts->unknown && !options->quiet)
		complain("warning: %s: left out %s records, labels, fields or blocks of a newer version",
			 options->output, format_count(counts->unknown).text);
	return counts->unknown;
}

int new_capture_failed(struct reel_error *error)
{
	int status = reel_error_code(error) == REEL_ERROR_INVALID ? STATUS_USAGE : STATUS_ERROR;

	no_error(error);
	return status;
}

/* ---- commands ------------------------------------------------------------------------------- */

static bool add_sample(void *context, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct new_capture *command = context;
	struct reel_rewrite_options *rewrite = &command->rewrite;

	(void)event;
	command->samples = memory_reserve(command->samples, &command->samples_capacity,
					  rewrite->n_samples, sizeof(*command->samples));
	command->samples[rewrite->n_samples++] = trace->id;
	return true;
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Finds the samples that --where selects; false after an error, which was reported. */
static bool find_samples(struct new_capture *command, struct session *session)
{
	struct reel_rewrite_options *rewrite = &command->rewrite;

	if (!command->common.wheres.count)
		return true;
	if (!session_visit(session, add_sample, command))
		return false;
	qsort(command->samples, rewrite->n_samples, sizeof(*command->samples), compare_ids);
	rewrite->samples = command->samples;
	return true;
}

static bool is_idle(struct session *session)
{
	/* Otherwise reported already. */
	return session->options->wheres.count ? session->is_idle
					      : selection_has_idle_module(session);
}

static int make(struct new_capture *command)
{
	const struct new_capture_verb *verb = command->verb;
	const struct options *options = &command->common;
	struct reel_walk_options walk;
	REEL_SIZED(reel_rewrite_counts, counts);
	_cleanup_free_ char *remark = NULL;
	struct session session;
	struct reel_error *error;
	size_t n_problems;
	int status;

	if (!session_open(&session, options))
		return STATUS_ERROR;
	walk = options_of_walk(session.options, session.info);
	command->rewrite.filter = &walk;
	if (!find_samples(command, &session)) {
		session_close(&session);
		return STATUS_ERROR;
	}
	error = verb->make(session.capture, options->output, &command->rewrite, &counts);
	progress_end(&session.progress);
	if (error) {
		/* No samples match: report which options are to blame and the values that exist. */
		if (reel_error_code(error) == REEL_ERROR_NOT_FOUND)
			selection_explain(&session, false);
		status = new_capture_failed(error);
	} else {
		session_warn(&session);
		reel_capture_problems(session.capture, &n_problems);
		status = new_capture_left_out(options, &counts) || is_idle(&session) || n_problems
				 ? STATUS_ERROR
				 : STATUS_OK;
		if (verb->remark)
			remark = verb->remark(&command->rewrite, &counts);
		new_capture_print(options, options->output, &counts, verb->samples_are, remark);
	}
	session_close(&session);
	return status;
}

int new_capture_command(const struct new_capture_verb *verb, int argc, char **argv)
{
	struct new_capture command;
	int status;

	new_capture_parse(verb, argc, argv, &command);
	status = make(&command);
	new_capture_free(&command);
	return status;
}
