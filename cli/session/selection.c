/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/print/text.h"
#include "cli/session/sample_counts.h"
#include "cli/session/selection.h"

/* List at most this many values, and count the rest. */
#define NAMED_MAX 8

struct label_census {
	struct sample_counts values;
	bool is_found;
};

struct where_census {
	/* The values of its expression, the variables of its function, and the reasons of values that
	 * are not captured. */
	struct sample_counts values, variables, reasons;
	uint64_t states[REEL_VALUE_NOT_CAPTURED + 1];
	bool is_found; /* selects a sample */
};

struct census {
	const struct session *session;
	struct sample_counts pids, tids, cpus, comms, events;
	/* For each label option: the values of its key, and whether it selects a sample. */
	struct label_census *labels;
	struct where_census *wheres;
	uint64_t in_time;
};

bool selection_is_filtered(const struct options *options)
{
	return options->pids.count || options->tids.count || options->cpus.count ||
	       options->comms.count || options->labels.count || options->wheres.count ||
	       options->from || options->to || options->wall.from || options->wall.to ||
	       options->event;
}

/* ---- available values ------------------------------------------------------------------------ */

static void count_label(struct label_census *census, const struct reel_label_match *match,
			const struct reel_trace *trace)
{
	_cleanup_free_ char *name = memory_print("%s-name", match->key);
	const struct reel_label *label = NULL;

	census->is_found |= reel_label_match_passes(match, trace);
	if (match->kind == REEL_MATCH_ID)
		label = reel_trace_label(trace, name);
	if (!label)
		label = reel_trace_label(trace, match->key);
	if (label)
		sample_counts_add(&census->values, 0, label->text);
}

/* Values of the condition's expression answer request `request`, all variables the next one. */
static void count_where(struct where_census *census, const struct where *where, size_t request,
			const struct reel_trace *trace)
{
	const struct reel_frame_value *value = value_of_trace(trace, request);
	enum reel_value_state state;

	/* Each once, so that their order does not depend on the samples. */
	for (size_t i = 0; i < trace->n_values; i++) {
		if (trace->values[i].request == request + 1 &&
		    !sample_counts_find(&census->variables, 0, trace->values[i].name))
			sample_counts_add(&census->variables, 0, trace->values[i].name);
	}
	if (!value)
		return;
	census->is_found |= where_check(where, trace, request, &state) == WHERE_YES;
	census->states[value->state]++;
	if (value->state == REEL_VALUE_KNOWN)
		sample_counts_add(&census->values, 0, value->text);
	else if (value->state == REEL_VALUE_NOT_CAPTURED)
		sample_counts_add(&census->reasons, 0, value->reason);
}

static bool count_sample(void *context, const struct reel_trace *trace,
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
	for (size_t i = 0; i < options->wheres.count; i++)
		count_where(&census->wheres[i], &options->wheres.items[i], 2 * i, trace);
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

	for (size_t i = 0; i < counts->n; i++) {
		struct sample_count *value = counts->values[i];

		if (reel_text_matches(value->name, name))
			return false;

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

static bool has_variable(const struct where_census *census, const struct where *where)
{
	_cleanup_free_ char *name =
		memory_print("%.*s", (int)strcspn(where->expression, ".-["), where->expression);

	return sample_counts_find(&census->variables, 0, name);
}

/* A variable that exists, but whose value is never known. */
static void blame_unknown(struct census *census, const struct where *where,
			  const struct where_census *seen)
{
	const struct sample_counts *reasons = &seen->reasons;
	const char *reason = reasons->n == 1 ? reasons->values[0]->name : "";
	bool is_part = strpbrk(where->expression, ".-[");

	complain("%s: --where '%s': the value of '%s' is unknown in all samples of %s (optimized "
		 "out: %s, not captured: %s%s%s%s)",
		 census->session->options->file, where->text, where->expression, where->function,
		 format_count(seen->states[REEL_VALUE_OPTIMIZED_OUT]).text,
		 format_count(seen->states[REEL_VALUE_NOT_CAPTURED]).text, *reason ? ", " : "",
		 reason, *reason && is_part ? ", or no such member" : "");
}

static bool check_where(struct census *census, size_t i)
{
	const struct where *where = &census->session->options->wheres.items[i];
	struct where_census *seen = &census->wheres[i];
	uint64_t known = seen->states[REEL_VALUE_KNOWN];
	_cleanup_free_ char *text = memory_print("--where '%s'", where->text), *list = NULL;

	if (known && seen->is_found)
		return false;
	if (!known && !seen->states[REEL_VALUE_OPTIMIZED_OUT] &&
	    !seen->states[REEL_VALUE_NOT_CAPTURED])
		return !session_explain_values(census->session, where->function);
	if (!known && !has_variable(seen, where)) {
		list = sample_counts_list(&seen->variables, SIZE_MAX);
		complain("%s: %s: %s has no variable of this name%s%s",
			 census->session->options->file, text, where->function,
			 seen->variables.n ? "; available: " : ", or no debug information", list);
		return true;
	}
	if (seen->is_found)
		return false;
	if (known)
		return blame(census->session, text, &seen->values);
	blame_unknown(census, where, seen);
	return true;
}

static void free_census(struct census *census)
{
	for (size_t i = 0; i < census->session->options->labels.count; i++)
		sample_counts_free(&census->labels[i].values);
	free(census->labels);
	for (size_t i = 0; i < census->session->options->wheres.count; i++) {
		sample_counts_free(&census->wheres[i].values);
		sample_counts_free(&census->wheres[i].variables);
		sample_counts_free(&census->wheres[i].reasons);
	}
	free(census->wheres);
	sample_counts_free(&census->pids);
	sample_counts_free(&census->tids);
	sample_counts_free(&census->cpus);
	sample_counts_free(&census->comms);
	sample_counts_free(&census->events);
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
	for (size_t i = 0; i < options->wheres.count; i++)
		blamed |= check_where(census, i);
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
	const struct where_list *wheres = &session->options->wheres;
	size_t n_labels = session->options->labels.count;
	_cleanup_free_ struct reel_value_request *requests = NULL;
	struct reel_walk_options walk = { .n_values = 2 * wheres->count };
	bool ended, blamed;

	census.labels = memory_get((n_labels + 1) * sizeof(*census.labels));
	for (size_t i = 0; i < n_labels; i++)
		census.labels[i].values.by_name = true;
	census.wheres = memory_get((wheres->count + 1) * sizeof(*census.wheres));
	walk.values = requests = memory_get((walk.n_values + 1) * sizeof(*requests));
	for (size_t i = 0; i < wheres->count; i++) {
		const struct where *where = &wheres->items[i];

		census.wheres[i].values.by_name = census.wheres[i].variables.by_name =
			census.wheres[i].reasons.by_name = true;
		requests[2 * i].function = requests[2 * i + 1].function = where->function;
		requests[2 * i].expression = where->expression;
		requests[2 * i + 1].locals = true;
	}
	blamed = session_walk(session, &walk, count_sample, &census, &ended);
	if (blamed && !census.pids.n)
		complain("%s: the capture has no samples", session->options->file);
	else if (blamed)
		blamed = check_all(&census);
	if (!blamed && nothing)
		complain("%s: no samples match all filters, although each filter matches some",
			 session->options->file);
	free_census(&census);
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
		if (reel_text_matches(session->events[i].name, wanted))
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
	/* Of the conditions of --where: the number of the first one's request, and values of the trace
	 * that the command asked for. */
	size_t where_request;
	struct reel_frame_value *values;
	size_t values_capacity;
	bool failed;
};

static void see_comm(struct session *session, const struct reel_trace *trace)
{
	const struct string_list *comms = &session->options->comms;

	if (trace->comm == session->last_comm)
		return;
	session->last_comm = trace->comm;
	for (size_t i = 0; i < comms->count; i++)
		session->comms_seen[i] |= reel_text_matches(trace->comm, comms->items[i]) ||
					  reel_text_matches(comm_alone(trace), comms->items[i]);
}

/* Whether the conditions of --where hold; `ret` is the trace without their values. */
static bool passes_wheres(struct visitor *visitor, const struct reel_trace *trace,
			  struct reel_trace *ret)
{
	struct session *session = visitor->session;
	enum where_result result = where_check_all(&session->options->wheres, trace,
						   visitor->where_request, session->where_counts);

	*ret = *trace;
	ret->n_values = 0;
	visitor->failed |= result == WHERE_INCOMPARABLE;
	for (size_t i = 0; i < trace->n_values && visitor->where_request; i++) {
		if (trace->values[i].request >= visitor->where_request)
			continue;
		visitor->values = memory_reserve(visitor->values, &visitor->values_capacity,
						 ret->n_values, sizeof(*visitor->values));
		visitor->values[ret->n_values++] = trace->values[i];
	}
	ret->values = visitor->values;
	return result == WHERE_YES;
}

static bool visit_wanted(void *context, const struct reel_trace *trace,
			 const struct reel_event_info *event)
{
	struct visitor *visitor = context;
	struct session *session = visitor->session;
	const char *wanted = session->options->event;
	struct reel_trace own;

	if (wanted && (!event || !reel_text_matches(event->name, wanted)))
		return true;
	if (session->options->wheres.count) {
		if (!passes_wheres(visitor, trace, &own))
			return !visitor->failed;
		trace = &own;
	}
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
	/* A variable that does not exist is optimized out everywhere. */
	for (size_t i = 0; i < session->options->wheres.count; i++)
		idle |= !session->where_counts[i].known;
	idle = idle && selection_explain(session, nothing);
	return selection_has_idle_module(session) || idle;
}

/*
 * The requests of the command, of --values and of --where, for the filter; the caller frees them.
 * *where_ret: the number of the first one of --where.
 */
static struct reel_value_request *add_requests(struct reel_walk_options *walk,
					       const struct options *options, size_t *where_ret)
{
	const struct where_list *wheres = &options->wheres;
	size_t n = walk->n_values, n_all = n + options->shown_values.count + wheres->count;
	struct reel_value_request *requests = memory_get((n_all + 1) * sizeof(*requests));

	for (size_t i = 0; i < n; i++)
		requests[i] = walk->values[i];
	for (size_t i = 0; i < options->shown_values.count; i++)
		requests[n++] = options->shown_values.items[i];
	*where_ret = n;
	for (size_t i = 0; i < wheres->count; i++)
		requests[n++] = (struct reel_value_request){ wheres->items[i].function,
							     wheres->items[i].expression, false };
	walk->values = requests;
	walk->n_values = n;
	return requests;
}

bool session_visit(struct session *session,
		   bool (*visit)(void *context, const struct reel_trace *trace,
				 const struct reel_event_info *event),
		   void *context)
{
	struct reel_walk_options walk = options_of_walk(session->options, session->info);
	const struct where_list *wheres = &session->options->wheres;
	struct visitor visitor = { .session = session, .visit = visit, .context = context };
	_cleanup_free_ struct reel_value_request *requests = NULL;
	bool ended, ok;

	free(session->comms_seen);
	session->comms_seen = memory_get(session->options->comms.count * sizeof(bool));
	free(session->where_counts);
	session->where_counts = memory_get((wheres->count + 1) * sizeof(*session->where_counts));
	requests = add_requests(&walk, session->options, &visitor.where_request);
	ok = has_wanted_event(session) &&
	     session_walk(session, &walk, visit_wanted, &visitor, &ended) && !visitor.failed;
	free(visitor.values);
	if (!ok)
		return false;
	session->is_idle =
		!ended && !options_are_of_part(session->options) && options_are_idle(session);
	return !session->is_idle || session->quality.traces;
}
