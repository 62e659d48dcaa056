/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/session/debuginfod.h"
#include "cli/session/folder.h"
#include "cli/session/sandbox.h"
#include "cli/session/session.h"
#include "cli/session/wall_time.h"
#include "cli/print/text.h"

bool trace_is_cut(const struct reel_trace *trace)
{
	/* A task past its end has registers, but no stack. */
	if (trace->stop == REEL_STOP_NO_USER_STATE)
		return trace->n_frames > trace->n_kernel_frames;
	return trace->stop != REEL_STOP_ROOT;
}

const char *comm_alone(const struct reel_trace *trace)
{
	return trace->host_id ? trace->comm + strlen(trace->host) + 1 : trace->comm;
}

const char *event_name(const struct reel_event_info *event)
{
	return event && *event->name ? event->name : "unknown";
}

/* ---- quality -------------------------------------------------------------------- */

static void count_frames(struct quality *quality, const struct reel_trace *trace)
{
	bool by_code = false, by_frame_pointer = false, by_calls = false, with_runtime = false;

	for (size_t i = 0; i < trace->n_frames; i++) {
		quality->frames += !trace->frames[i]->inlined;
		quality->nameless += !trace->frames[i]->inlined && !*trace->frames[i]->function;
		by_code |= trace->steps[i] == REEL_STEP_SYNTHESIZED;
		by_frame_pointer |= trace->steps[i] == REEL_STEP_FRAME_POINTER ||
				    trace->steps[i] == REEL_STEP_LINK_REGISTER;
		by_calls |= trace->steps[i] == REEL_STEP_RECORDED_CALL;
		if (trace->steps[i] == REEL_STEP_RUNTIME) {
			with_runtime = true;
			quality->runtimes |= 1u << trace->frames[i]->runtime;
			quality->runtime_frames++;
			quality->runtime_nameless += !*trace->frames[i]->file;
		}
	}
	quality->with_runtime += with_runtime;
	quality->by_code += by_code;
	quality->by_frame_pointer += by_frame_pointer;
	quality->by_calls += by_calls;
}

void quality_join(struct quality *quality, const struct quality *more)
{
	quality->traces += more->traces;
	quality->without_stack += more->without_stack;
	for (int stop = 0; stop < REEL_STOP_COUNT; stop++)
		quality->stops[stop] += more->stops[stop];
	quality->by_code += more->by_code;
	quality->by_frame_pointer += more->by_frame_pointer;
	quality->by_calls += more->by_calls;
	quality->stack_cut += more->stack_cut;
	quality->frames += more->frames;
	quality->nameless += more->nameless;
	quality->with_runtime += more->with_runtime;
	quality->runtimes |= more->runtimes;
	quality->runtime_frames += more->runtime_frames;
	quality->runtime_nameless += more->runtime_nameless;
}

void quality_add(struct quality *quality, const struct reel_trace *trace)
{
	/* Samples of several CPUs are not in order of time. */
	if (!quality->traces || trace->time < quality->first_time)
		quality->first_time = trace->time;
	if (trace->time > quality->last_time)
		quality->last_time = trace->time;
	quality->traces++;
	quality->stack_cut += trace->stack_cut;
	count_frames(quality, trace);
	if (trace->stop == REEL_STOP_NO_USER_STATE)
		quality->without_stack++;
	else if ((unsigned int)trace->stop < REEL_STOP_COUNT)
		quality->stops[trace->stop]++;
}

uint64_t quality_unwound(const struct quality *quality)
{
	return quality->traces - quality->without_stack;
}

void quality_print(const struct quality *quality, FILE *file)
{
	uint64_t unwound = quality_unwound(quality);
	const char *separator = " (";

	fprintf(file, "complete traces: %s",
		format_share(quality->stops[REEL_STOP_ROOT], unwound).text);
	/* Largest first. */
	for (uint64_t limit = UINT64_MAX; limit;) {
		uint64_t next = 0;

		for (int stop = REEL_STOP_ROOT + 1; stop < REEL_STOP_COUNT; stop++) {
			uint64_t count = quality->stops[stop];

			if (count == limit) {
				fprintf(file, "%s%s %s", separator, reel_stop_name(stop),
					format_share(count, unwound).text);
				separator = ", ";
			} else if (count < limit && count > next) {
				next = count;
			}
		}
		limit = next;
	}
	if (*separator == ',')
		fputc(')', file);
}

void quality_print_steps(const struct quality *quality, FILE *file)
{
	uint64_t unwound = quality_unwound(quality);

	fputs("without unwind information: ", file);
	if (quality->by_code)
		fprintf(file, "%s of the traces have frames found by following the code",
			format_share(quality->by_code, unwound).text);
	if (quality->by_frame_pointer)
		fprintf(file, "%s%s %s by the frame pointer", quality->by_code ? ", " : "",
			format_share(quality->by_frame_pointer, unwound).text,
			quality->by_code ? "have some" : "of the traces have frames found");
}

/* ---- sessions --------------------------------------------------------------------- */

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct session *session = context;

	progress_show(&session->progress, done, total, session->quality.traces);
}

/* Of several events with one id, use the first. */
static int compare_ids(const void *a, const void *b)
{
	const struct reel_event_info *const *x = a, *const *y = b;

	if ((*x)->id != (*y)->id)
		return (*x)->id < (*y)->id ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static void sort_events(struct session *session)
{
	session->events_by_id =
		memory_resize(NULL, session->n_events + 1, sizeof(*session->events_by_id));
	for (size_t i = 0; i < session->n_events; i++)
		session->events_by_id[i] = &session->events[i];
	qsort(session->events_by_id, session->n_events, sizeof(*session->events_by_id),
	      compare_ids);
}

/* The last chance to open output files. */
static void enter_sandbox(const struct options *options)
{
	if (!output_reserve(options->output) || !sandbox_enter(options))
		exit(STATUS_ERROR);
}

/* The capture file is open, but not parsed yet. */
static void prepare_to_read(void *context)
{
	struct session *session = context;
	const struct options *options = session->options;
	bool wanted = sandbox_is_wanted(options);

	session->scout = debuginfod_fetch(options);
	if (session->scout >= 0 && wanted && !sandbox_enter(options))
		_exit(STATUS_ERROR);
	if (session->scout < 0 && wanted)
		enter_sandbox(options);
}

/* The options' times of the wall clock, since the first sample. */
static struct reel_error *convert_times(struct session *session)
{
	const struct reel_capture_info *info = session->info;
	const struct wall_range *wall = &session->own.wall;
	uint64_t first = info->first_sample_time - info->start_time + info->start_wall_time;
	uint64_t last = info->last_sample_time - info->start_time + info->start_wall_time;

	if (!info->start_wall_time)
		return reel_error_create(REEL_ERROR_INVALID, "%s: its wall-clock time is unknown",
					 info->path);
	if ((wall->to && wall->to <= first) || wall->from > last)
		return reel_error_create(
			REEL_ERROR_NOT_FOUND,
			"%s: no samples in the selected time; the capture is from %s to %s",
			info->path, format_local_time(first).text, format_local_time(last).text);
	session->own.from = wall->from > first ? wall->from - first : 0;
	session->own.to = wall->to ? wall->to - first : 0;
	if (!session->own.quiet)
		complain("%s: selected from %s to %s", info->path,
			 format_local_time(first + session->own.from).text,
			 format_local_time(wall->to ? wall->to : last).text);
	return NULL;
}

static struct reel_error *open_capture(struct session *session)
{
	const struct options *options = session->options;
	_cleanup_free_ char *joined = NULL;
	struct reel_open_options capture_options;
	struct reel_error *error;
	int fd = -1;

	if (folder_is(options->file)) {
		TRY(folder_join(&session->own, &session->parts_damaged, &fd));
		joined = memory_print("/proc/self/fd/%d", fd);
	}
	capture_options = options_of_capture(options);
	capture_options.progress = show_progress;
	capture_options.progress_context = session;
	capture_options.opened = prepare_to_read;
	capture_options.opened_context = session;
	error = reel_capture_open_with(joined ? joined : options->file, &capture_options,
				       &session->capture);
	if (session->scout >= 0)
		debuginfod_scout(error ? NULL : session->capture, options, session->scout);
	if (fd >= 0)
		close(fd);
	if (error)
		return error;
	session->info = reel_capture_info(session->capture);
	session->name = joined ? options->file : session->info->path;
	return !joined && (options->wall.from || options->wall.to) ? convert_times(session) : NULL;
}

struct reel_error *session_try_open(struct session *session, const struct options *options)
{
	struct reel_error *error;

	*session = (struct session){ .options = options, .scout = -1 };
	if (folder_is(options->file) || options->wall.from || options->wall.to) {
		session->own = *options;
		session->options = &session->own;
	}
	progress_start(&session->progress, !options->quiet);
	error = open_capture(session);
	if (error) {
		progress_end(&session->progress);
		reel_capture_close(session->capture);
		session->capture = NULL;
		return error;
	}
	session->events = reel_capture_events(session->capture, &session->n_events);
	sort_events(session);
	return NULL;
}

static void list_fields(const struct session *session, struct sample_counts *ret)
{
	for (size_t i = 0; i < session->n_events; i++) {
		const char *const *keys =
			reel_capture_value_keys(session->capture, session->events[i].id);

		for (size_t j = 0; keys && j < REEL_EVENT_VALUES; j++) {
			if (keys[j])
				sample_counts_add(ret, 0, keys[j]);
		}
	}
}

/* Whether the capture has the fields in the options; reports it otherwise. */
static bool has_fields(const struct session *session)
{
	const struct field_list *wanted = &session->options->fields;
	struct sample_counts fields = { .by_name = true };
	_cleanup_free_ char *list = NULL;
	size_t i = 0;

	list_fields(session, &fields);
	while (i < wanted->count && sample_counts_find(&fields, 0, wanted->items[i].name))
		i++;
	if (i < wanted->count && fields.n)
		list = sample_counts_list(&fields, SIZE_MAX);
	if (i < wanted->count)
		complain("%s%s%s", wanted->items[i].complaint,
			 list ? "; fields of this capture: " : "", list ? list : "");
	sample_counts_free(&fields);
	return i == wanted->count;
}

bool session_open(struct session *session, const struct options *options)
{
	if (!no_error(session_try_open(session, options)))
		return false;
	if (has_fields(session))
		return true;
	session_close(session);
	*session = (struct session){ .options = options, .scout = -1 };
	return false;
}

bool session_trusts_paths(const struct session *session)
{
	uid_t owner = reel_capture_owner(session->capture);

	return !owner || owner == geteuid() || sandbox_is_wanted(session->options);
}

void session_close(struct session *session)
{
	progress_end(&session->progress);
	reel_capture_close(session->capture);
	free(session->events_by_id);
	free(session->comms_seen);
	free(session->where_counts);
	sample_counts_free(&session->missing);
}

static const struct reel_event_info *event_of(const struct session *session, uint32_t id)
{
	const struct reel_event_info *const *events = session->events_by_id;
	size_t at = REEL_PARTITION_POINT(session->n_events, i, events[i]->id < id);

	return at < session->n_events && events[at]->id == id ? events[at] : NULL;
}

bool session_walk(struct session *session, const struct reel_walk_options *options,
		  bool (*visit)(void *context, const struct reel_trace *trace,
				const struct reel_event_info *event),
		  void *context, bool *ended_ret)
{
	struct reel_traces *traces;
	bool ok = no_error(reel_traces_create_with(session->capture, options, &traces));

	*ended_ret = false;
	if (!ok)
		return false;
	while (!*ended_ret) {
		const struct reel_trace *trace;
		struct reel_error *error = reel_traces_next(traces, &trace);

		if (error)
			progress_end(&session->progress);
		ok = no_error(error);
		if (!ok || !trace)
			break;
		*ended_ret = !visit(context, trace, event_of(session, trace->event));
	}
	reel_traces_destroy(traces);
	progress_end(&session->progress);
	return ok;
}

static bool count_labels(void *context, const struct reel_trace *trace,
			 const struct reel_event_info *event)
{
	struct sample_counts *keys = context;

	(void)event;
	for (size_t i = 0; i < trace->n_labels; i++)
		sample_counts_add(keys, 0, trace->labels[i].key);
	return true;
}

bool session_explain_label(struct session *session, const char *key)
{
	struct sample_counts keys = { .by_name = true };
	const char *file = session->options->file;
	bool ended;

	if (!session_walk(session, NULL, count_labels, &keys, &ended))
		return false;
	if (sample_counts_find(&keys, 0, key)) {
		complain("%s: no selected sample has the label '%s'", file, key);
	} else if (!keys.n) {
		complain("%s: no sample has the label '%s', or any other", file, key);
	} else {
		_cleanup_free_ char *list = sample_counts_list(&keys, SIZE_MAX);

		complain("%s: no sample has the label '%s'; labels of this capture: %s", file, key,
			 list);
	}
	sample_counts_free(&keys);
	return false;
}

bool session_explain_values(const struct session *session, const char *function)
{
	_cleanup_free_ char *shown = function ? text_escape(function, "") : NULL;

	if (reel_capture_info(session->capture)->scrubbed)
		complain("the capture is scrubbed: it has no values of '%s'; record with "
			 "--raw-stacks, and keep them with scrub --keep",
			 shown);
	else
		complain("no sample has a function '%s' with raw stacks and variables", shown);
	return false;
}

bool session_explain_variable(const char *function, const char *expression)
{
	complain("%s has no variable '%.*s', or no debug information (see 'stackreel values "
		 "--locals %s')",
		 function, (int)strcspn(expression, ".-["), expression, function);
	return false;
}

bool session_explain_labels(const struct session *session, const struct value_labels *labels)
{
	const struct options *options = session->options;
	bool ok = true;

	for (size_t i = options->n_values; i < labels->n; i++) {
		const struct reel_value_request *request =
			&options->shown_values.items[i - options->n_values];

		if (labels->are_seen[i] || options_are_of_part(options))
			continue;
		/* Without a function, these are the values of all. */
		if (request->function || session->info->scrubbed)
			session_explain_values(session, request->function);
		ok &= !request->function;
	}
	return ok;
}

void session_warn(const struct session *session)
{
	/* Ask again: walking finds more problems. */
	size_t n;
	const struct reel_capture_problem *problems = reel_capture_problems(session->capture, &n);

	if (session->options->quiet)
		return;
	for (size_t i = 0; i < n; i++)
		complain("%s", problems[i].message);
	/* Otherwise reported already, with more detail. */
	for (size_t i = 0;
	     session->where_counts && !session->is_idle && i < session->options->wheres.count;
	     i++) {
		_cleanup_free_ char *note =
			where_note(&session->options->wheres.items[i], &session->where_counts[i]);

		if (note)
			complain("%s: %s", session->options->file, note);
	}
}

/* A damaged encrypted capture may have been tampered with, and nobody may read a warning, so the
 * command fails. */
static bool is_as_it_was_encrypted(const struct session *session)
{
	size_t n;
	const struct reel_capture_problem *problems = reel_capture_problems(session->capture, &n);

	if (!session->info->encrypted || !n)
		return true;
	complain("the encrypted capture is damaged or was tampered with: %s%s", problems[0].message,
		 n > 1 ? " (and more; see 'stackreel info')" : "");
	return false;
}

int quality_status(const struct quality *quality, const struct options *options)
{
	uint64_t unwound = quality_unwound(quality);
	uint64_t complete = quality->stops[REEL_STOP_ROOT];
	uint64_t wanted = options->min_complete;

	/* Kernel threads alone cannot be incomplete. A capture without samples fails the check,
	 * unless only a part was read. */
	if (!wanted || ((quality->without_stack || options_are_of_part(options)) && !unwound) ||
	    percent_of(complete, unwound) >= wanted)
		return STATUS_OK;
	complain("%s: %s %% of %s traces are complete, less than --min-complete %s", options->file,
		 format_percent(complete, unwound).text, format_count(unwound).text,
		 format_limit(wanted).text);
	return STATUS_INCOMPLETE;
}

bool session_is_sound(const struct session *session)
{
	return !session->is_idle && is_as_it_was_encrypted(session);
}

static bool is_whole(const struct session *session)
{
	size_t n, damaged = 0;
	const struct reel_capture_problem *problems = reel_capture_problems(session->capture, &n);

	/* A missing key or a CPU that cannot be unwound says nothing of the file. */
	for (size_t i = 0; i < n; i++)
		damaged += problems[i].code != REEL_ERROR_KEY &&
			   problems[i].code != REEL_ERROR_UNSUPPORTED;
	if (!damaged && !session->parts_damaged)
		return true;
	complain("%s: the capture is not whole: only what could be read was used; run "
		 "'stackreel verify' for what is missing",
		 session->options->file);
	return false;
}

int session_status(const struct session *session)
{
	bool ok = session_is_sound(session) && is_whole(session);

	return ok ? quality_status(&session->quality, session->options) : STATUS_ERROR;
}
