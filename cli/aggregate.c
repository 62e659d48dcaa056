/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel aggregate: the stacks of many captures, summed up in one small file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/print/text.h"
#include "cli/profile/profile_file.h"
#include "cli/session/options.h"
#include "cli/session/selection.h"
#include "cli/session/summary.h"

struct aggregate {
	struct options common;
	struct string_list files;
	const char *list; /* list of further files; NULL: none */
	char *list_text;
	bool keep_going;

	struct profiles profiles;
	struct profile_totals totals;
	bool overflowed;
};

/* ---- options --------------------------------------------------------------------------------- */

static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t capacity = 0;

	/* Read up to a NUL, which paths do not contain. */
	if (getdelim(&text, &capacity, '\0', file) < 0) {
		free(text);
		text = ferror(file) ? NULL : memory_print("%s", "");
	}
	return text;
}

/* One path per line. */
static void read_list(struct aggregate *aggregate)
{
	bool is_input = !strcmp(aggregate->list, "-");
	FILE *file = is_input ? stdin : fopen(aggregate->list, "re");
	char *rest, *line;

	aggregate->list_text = file ? read_all(file) : NULL;
	if (!aggregate->list_text) {
		complain("--files-from %s: %s", aggregate->list, strerror(errno));
		exit(STATUS_ERROR);
	}
	if (!is_input)
		fclose(file);
	rest = aggregate->list_text;
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			string_list_add(&aggregate->files, line);
	}
}

static void check(struct aggregate *aggregate, struct argp_state *state)
{
	struct options *common = &aggregate->common;

	if (aggregate->list)
		read_list(aggregate);
	if (common->file != common->default_file)
		string_list_add(&aggregate->files, common->file);
	/* An empty list gives an empty profile. */
	if (!aggregate->files.count && !aggregate->list)
		argp_error(state, "no captures; name at least one");
	for (size_t i = 0; i < aggregate->files.count; i++) {
		if (!strcmp(aggregate->files.items[i], "-"))
			argp_error(state, "captures to add up cannot come from standard input");
	}
	common->may_be_idle = aggregate->files.count > 1;
}

static error_t parse_aggregate_option(int key, char *arg, struct argp_state *state)
{
	struct aggregate *aggregate = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		string_list_add(&aggregate->files, arg);
		return 0;
	case ARGP_KEY_END:
		check(aggregate, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "files-from", OPTION_TEXT(struct aggregate, list), "LIST", 0,
	  "Also read the files listed in LIST, one path per line; '-' is standard input", 0 },
	{ "keep-going", OPTION_FLAG(struct aggregate, keep_going), NULL, 0,
	  "Skip captures that cannot be read, and record their number in the profile", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_aggregate_option,
	.args_doc = "FILE...",
	.doc = "Add up the stacks of many captures in a small file, a profile, which 'stackreel "
	       "report', 'folded' and 'flamegraph' show.\v"
	       "Each FILE is a capture or an earlier profile. The result is byte-identical, "
	       "whatever the order and number of steps. The output appears under its name once it "
	       "is complete. docs/fleet.md shows how several machines share the work.",
	.children = options_of_fleets,
};

/* ---- inputs ---------------------------------------------------------------------------------- */

struct input {
	dev_t device;
	ino_t inode;
	const char *path;
};

static int compare_inputs(const void *a, const void *b)
{
	const struct input *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* A file given twice would count twice. */
static bool are_distinct(const struct string_list *files)
{
	struct input *inputs = memory_resize(NULL, files->count + 1, sizeof(*inputs));
	bool distinct = true;
	size_t n = 0;

	for (size_t i = 0; i < files->count; i++) {
		struct stat status;

		/* A failure is reported when the file is opened. */
		if (!stat(files->items[i], &status) && S_ISREG(status.st_mode))
			inputs[n++] =
				(struct input){ status.st_dev, status.st_ino, files->items[i] };
	}
	qsort(inputs, n, sizeof(*inputs), compare_inputs);
	for (size_t i = 1; i < n && distinct; i++) {
		distinct = compare_inputs(&inputs[i - 1], &inputs[i]) != 0;
		if (!distinct)
			complain("%s and %s are the same file, which would count twice",
				 inputs[i - 1].path, inputs[i].path);
	}
	free(inputs);
	return distinct;
}

/* ---- captures -------------------------------------------------------------------------------- */

/* For samples whose event is undefined or unnamed. */
static const struct reel_event_info unknown_count = { .name = "unknown", .weight_unit = "" },
				    unknown_time = { .name = "unknown", .weight_unit = "ns" };

static bool add_trace(void *context, const struct reel_trace *trace,
		      const struct reel_event_info *event)
{
	struct aggregate *aggregate = context;
	struct profile *profile;

	if (!event || !*event->name)
		event = event && *event->weight_unit ? &unknown_time : &unknown_count;
	profile = profiles_get(&aggregate->profiles, event);
	aggregate->overflowed = !profile_add_sum(profile, (struct amount){ trace->weight, 1 });
	if (aggregate->overflowed)
		return false;
	quality_add(&profile->quality, trace);
	return profiles_add(&aggregate->profiles, trace, event);
}

static size_t count_problems(const struct session *session)
{
	size_t n;

	reel_capture_problems(session->capture, &n);
	return n;
}

/* Numbers of the whole capture count in its first part. */
static void add_totals(struct profile_totals *totals, const struct session *session,
		       size_t problems_before)
{
	bool is_first = !session->options->shard.number;

	totals->problems += count_problems(session) - (is_first ? 0 : problems_before);
	if (!is_first)
		return;
	totals->captures++;
	totals->recorded += session->info->samples;
	losses_count(session->capture, totals->lost);
}

static int add_capture(struct aggregate *aggregate, struct session *session)
{
	size_t problems = count_problems(session);

	if (!session_visit(session, add_trace, aggregate))
		return STATUS_ERROR;
	if (aggregate->overflowed) {
		complain("%s: sum of weights does not fit in 64 bits; add up fewer captures, e.g. "
			 "those of one hour",
			 session->options->file);
		return STATUS_ERROR;
	}
	add_totals(&aggregate->totals, session, problems);
	session_warn(session);
	return session_is_sound(session) ? STATUS_OK : STATUS_ERROR;
}

/* The file cannot be opened: returns whether to go on without it. */
static bool go_on_without(struct aggregate *aggregate, struct reel_error *error)
{
	bool is_left_out = aggregate->keep_going && reel_error_code(error) != REEL_ERROR_NO_MEMORY;

	no_error(error);
	aggregate->totals.unread += is_left_out;
	return is_left_out;
}

static int add_file(struct aggregate *aggregate, const char *path)
{
	struct session session;
	struct reel_error *error;
	int status = STATUS_ERROR;

	if (profile_file_is(path)) {
		if (!profile_file_read(path, &aggregate->profiles, &aggregate->totals))
			return STATUS_ERROR;
		if (!aggregate->totals.is_folded)
			return STATUS_OK;
		complain("%s: folded stacks are not a profile; concatenate such files instead",
			 path);
		return STATUS_ERROR;
	}
	aggregate->common.file = path;
	error = session_try_open(&session, &aggregate->common);
	if (error)
		status = go_on_without(aggregate, error) ? STATUS_OK : STATUS_ERROR;
	else
		status = add_capture(aggregate, &session);
	profiles_leave_capture(&aggregate->profiles);
	session_close(&session);
	return status;
}

static int add_files(struct aggregate *aggregate)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < aggregate->files.count && status == STATUS_OK; i++)
		status = add_file(aggregate, aggregate->files.items[i]);
	return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool write_to(struct aggregate *aggregate, FILE *file)
{
	setvbuf(file, NULL, _IOFBF, 256 << 10);
	profile_file_write(&aggregate->profiles, &aggregate->totals, file);
	return !fflush(file) && !ferror(file);
}

/* The file gets its name when complete: it may be one of the inputs. */
static int write_file(struct aggregate *aggregate, const char *path)
{
	struct reel_output_file output;
	struct reel_error *error = NULL;
	FILE *file;

	if (!no_error(reel_output_file_open(path, REEL_PLACE_SHARED, -1, &output)))
		return STATUS_ERROR;
	file = fdopen(dup(output.fd), "w");
	memory_check(file);
	if (!write_to(aggregate, file))
		error = reel_error_os(errno, "%s: cannot write", path);
	if (fclose(file) && !error)
		error = reel_error_os(errno, "%s: cannot write", path);
	return no_error(reel_output_file_close(&output, error)) ? STATUS_OK : STATUS_ERROR;
}

static int write_all(struct aggregate *aggregate)
{
	const char *path = aggregate->common.output;
	struct output output;

	if (path && strcmp(path, "-") != 0)
		return write_file(aggregate, path);
	if (!output_open(&output, NULL))
		return STATUS_ERROR;
	profile_file_write(&aggregate->profiles, &aggregate->totals, output.file);
	return output_close(&output, STATUS_OK);
}

static int run(struct aggregate *aggregate)
{
	struct options *common = &aggregate->common;
	const char *first = aggregate->files.count ? aggregate->files.items[0] : aggregate->list;
	struct quality quality;
	int status;

	if (!are_distinct(&aggregate->files))
		return STATUS_ERROR;
	inputs_select_shard(&aggregate->files, common);
	/* Treat a whole capture as part 1 of 1, to skip checks that parts cannot satisfy. The
	 * number of recorded samples in the profile shows whether all samples are present. */
	if (!common->shard.count)
		common->shard.count = 1;
	status = add_files(aggregate);
	if (status == STATUS_OK)
		status = write_all(aggregate);
	if (status != STATUS_OK)
		return status;
	common->file = first;
	quality = profiles_quality(&aggregate->profiles);
	return quality_status(&quality, common);
}

int command_aggregate(int argc, char **argv)
{
	/* No default capture. */
	struct aggregate aggregate = { .common.default_file = "" };
	int status;

	options_parse(&parser, argc, argv, 0, &aggregate);
	profiles_init(&aggregate.profiles, &(struct by){ 0 }, true);
	status = run(&aggregate);
	profiles_free(&aggregate.profiles);
	free(aggregate.files.items);
	free(aggregate.list_text);
	options_free(&aggregate.common);
	return status;
}
