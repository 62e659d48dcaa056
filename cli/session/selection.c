/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/session/sample_counts.h"
#include "cli/session/selection.h"

/* List at most this many values, and count the rest. */
#define NAMED_MAX 8

struct label_census {
	struct sample_counts values;
	bool is_found;
};

struct census {
	const struct session *session;
	struct sample_counts pids, tids, cpus, comms, events;
	/* For each label option: the values of its key, and whether it selects a sample. */
	struct label_census *labels;
	uint64_t in_time;
};

bool selection_is_filtered(const struct options *options)
{
	return options->pids.count || options->tids.count || options->cpus.count ||
	       options->comms.count || options->labels.count || options->from || options->to ||
	       options->event;
}

/* ---- available values ------------------------------------------------------------------------ */

static void count_label(struct label_census *census, const struct reel_label_match *match,
			const struct reel_trace *trace)
{
	census->is_found |= reel_label_match_passes(match, trace);
	for (size_t i = 0; i < trace->n_labels; i++) {
		const char *text = trace->labels[i].text;
		const struct sample_count *known;

		if (strcmp(trace->labels[i].key, match->key) != 0)
			continue;
		known = sample_counts_find(&census->values, 0, text);
		/* Texts only live as long as the trace. */
		sample_counts_add(&census->values, 0,
				  known ? known->name : memory_print("%s", text));
	}
}

static bool take_census(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct census *census = context;
	const struct options *options = census->session->options;
	uint64_t time = trace->time - census->session->info->first_sample_time;

	sample_counts_add(&census->pids, trace->pid, trace->comm);
	sample_counts_add(&census->tids, trace->tid, trace->comm);
	sample_counts_add(&census->cpus, trace->cpu, "");
	sample_counts_add(&census->comms, 0, trace->comm);
	if (trace->host_id)
		sample_counts_add(&census->comms, 0, comm_alone(trace));
	sample_counts_add(&census->events, 0, event_name(event));
	for (size_t i = 0; i < options->labels.count; i++)
		count_label(&census->labels[i], &options->labels.items[i], trace);
	census->in_time += time >= options->from && (!options->to || time < options->to);
	return true;
}

/* ---- options that select nothing ------------------------------------------------------------- */

static bool blame(const struct session *session, const char *option, struct sample_counts *counts)
{
	_cleanup_free_ char *list = sample_counts_list(counts, NAMED_MAX);

	complain("%s: %s selects no samples; available: %s", session->options->file, option, list);
	return true;
}

static bool check_numbers(struct census *census, const char *option, const struct number_list *list,
			  struct sample_counts *counts)
{
	for (size_t i = 0; i < list->count; i++) {
		if (sample_counts_find(counts, list->items[i], NULL))
			return false;
	}
	return list->count && blame(census->session, option, counts);
}

/* The kernel cuts names at 15 bytes (TASK_COMM_LEN), so the wanted name may be longer. */
static bool check_name(struct census *census, const char *option, const char *name,
		       struct sample_counts *counts)
{
	_cleanup_free_ char *text = memory_print("%s %s", option, name);

	if (sample_counts_find(counts, 0, name))
		return false;
	for (size_t i = 0; i < counts->n; i++) {
		struct sample_count *value = counts->values[i];

		value->is_near = *value->name && *name &&
				 (strcasestr(value->name, name) || strcasestr(name, value->name));
	}
	return blame(census->session, text, counts);
}

static bool check_label(struct census *census, size_t i)
{
	const struct reel_label_match *match = &census->session->options->labels.items[i];
	struct sample_counts *values = &census->labels[i].values;
	_cleanup_free_ char *text = memory_print("--label %s=%s", match->key, match->value);

	if (census->labels[i].is_found)
		return false;
	if (values->n)
		return blame(census->session, text, values);
	complain("%s: %s selects no samples; no sample has the label '%s'",
		 census->session->options->file, text, match->key);
	return true;
}

static void free_labels(struct census *census)
{
	for (size_t i = 0; i < census->session->options->labels.count; i++) {
		struct sample_counts *values = &census->labels[i].values;

		for (size_t j = 0; j < values->n; j++)
			free((char *)values->values[j]->name);
		sample_counts_free(values);
	}
	free(census->labels);
}

static bool check_time(struct census *census)
{
	const struct reel_capture_info *info = census->session->info;

	if (census->in_time)
		return false;
	complain("%s: --time selects no samples; the last one is %s after the first",
		 census->session->options->file,
		 format_nanoseconds(info->last_sample_time - info->first_sample_time).text);
	return true;
}

static bool check_all(struct census *census)
{
	const struct options *options = census->session->options;
	bool blamed = check_numbers(census, "--pid", &options->pids, &census->pids);

	blamed |= check_numbers(census, "--tid", &options->tids, &census->tids);
	blamed |= check_numbers(census, "--cpu", &options->cpus, &census->cpus);
	for (size_t i = 0; i < options->comms.count; i++)
		blamed |= check_name(census, "--comm", options->comms.items[i], &census->comms);
	for (size_t i = 0; i < options->labels.count; i++)
		blamed |= check_label(census, i);
	if (options->event)
		blamed |= check_name(census, "--event", options->event, &census->events);
	if (options->from || options->to)
		blamed |= check_time(census);
	return blamed;
}

bool selection_explain(struct session *session, bool nothing)
{
	struct census census = {
		.session = session,
		.comms.by_name = true,
		.events.by_name = true,
	};
	size_t n_labels = session->options->labels.count;
	bool ended, blamed;

	census.labels = memory_get((n_labels + 1) * sizeof(*census.labels));
	for (size_t i = 0; i < n_labels; i++)
		census.labels[i].values.by_name = true;
	blamed = session_walk(session, NULL, take_census, &census, &ended);
	if (blamed && !census.pids.n)
		complain("%s: the capture has no samples", session->options->file);
	else if (blamed)
		blamed = check_all(&census);
	if (!blamed && nothing)
		complain("%s: no samples match all filters, although each filter matches some",
			 session->options->file);
	free_labels(&census);
	sample_counts_free(&census.pids);
	sample_counts_free(&census.tids);
	sample_counts_free(&census.cpus);
	sample_counts_free(&census.comms);
	sample_counts_free(&census.events);
	return blamed || nothing;
}

/* ---- --module ------------------------------------------------------------------------------- */

bool selection_has_idle_module(struct session *session)
{
	const struct string_list *files = &session->options->module_files;
	bool idle = false;

	for (size_t i = 0; i < files->count; i++) {
		if (reel_capture_has_module_file(session->capture, files->items[i]))
			continue;
		complain("%s: --module %s: no module in this capture matches (see 'stackreel info "
			 "--all-modules')",
			 session->options->file, files->items[i]);
		idle = true;
	}
	return idle;
}

/* ---- selected traces -------------------------------------------------------------------------- */

/* The event that --event names exists; true without --event. */
static bool has_wanted_event(const struct session *session)
{
	const char *wanted = session->options->event;

	if (session->options->may_be_idle)
		return true;
	for (size_t i = 0; wanted && i < session->n_events; i++) {
		if (!strcmp(session->events[i].name, wanted))
			return true;
	}
	if (wanted)
		complain("%s: no event '%s' was recorded (see 'stackreel info')",
			 session->options->file, wanted);
	return !wanted;
}

struct visitor {
	struct session *session;
	bool (*visit)(void *context, const struct reel_trace *trace,
		      const struct reel_event_info *event);
	void *context;
};

static void see_comm(struct session *session, const struct reel_trace *trace)
{
	const struct string_list *comms = &session->options->comms;

	if (trace->comm == session->last_comm)
		return;
	session->last_comm = trace->comm;
	for (size_t i = 0; i < comms->count; i++)
		session->comms_seen[i] |= !strcmp(comms->items[i], trace->comm) ||
					  !strcmp(comms->items[i], comm_alone(trace));
}

static bool visit_wanted(void *context, const struct reel_trace *trace,
			 const struct reel_event_info *event)
{
	struct visitor *visitor = context;
	struct session *session = visitor->session;
	const char *wanted = session->options->event;

	if (wanted && (!event || strcmp(event->name, wanted) != 0))
		return true;
	see_comm(session, trace);
	quality_add(&session->quality, trace);
	if (trace->stop == REEL_STOP_MODULE_MISSING && trace->n_frames)
		sample_counts_add(&session->missing, trace->frames[trace->n_frames - 1]->module_id,
				  "");
	return visitor->visit(visitor->context, trace, event);
}

/* Reports options that match nothing; true if there are any. */
static bool options_are_idle(struct session *session)
{
	bool nothing = !session->quality.traces && selection_is_filtered(session->options);
	bool idle = nothing;

	for (size_t i = 0; i < session->options->comms.count; i++)
		idle |= !session->comms_seen[i];
	idle = idle && selection_explain(session, nothing);
	return selection_has_idle_module(session) || idle;
}

bool session_visit(struct session *session,
		   bool (*visit)(void *context, const struct reel_trace *trace,
				 const struct reel_event_info *event),
		   void *context)
{
	struct reel_filter filter = options_of_filter(session->options);
	struct visitor visitor = { session, visit, context };
	bool ended;

	free(session->comms_seen);
	session->comms_seen = memory_get(session->options->comms.count * sizeof(bool));
	if (!has_wanted_event(session) ||
	    !session_walk(session, &filter, visit_wanted, &visitor, &ended))
		return false;
	session->is_idle =
		!ended && !options_are_of_part(session->options) && options_are_idle(session);
	return !session->is_idle || session->quality.traces;
}
