/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "replay/traces/sample_filter.h"

/* ---- labels ------------------------------------------------------------------------------ */

/* A shorter value has to be all of an id. */
#define ID_PREFIX_MIN 8

static bool is_number(const struct reel_label *label, const char *value)
{
	bool is_hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
	bool is_minus = value[0] == '-';
	uint64_t number;
	char *end;

	if (label->kind == REEL_LABEL_TEXT || !strchr("0123456789", value[is_minus]) ||
	    (is_minus && label->kind != REEL_LABEL_SIGNED))
		return false;
	errno = 0;
	number = strtoull(value, &end, is_hex ? 16 : 10);
	return !errno && !*end && number == label->number;
}

static bool is_below(const char *path, const char *value)
{
	size_t length;

	while (*path == '/')
		path++;
	while (*value == '/')
		value++;
	length = strlen(value);
	while (length && value[length - 1] == '/')
		length--;
	return !strncmp(path, value, length) && (!length || !path[length] || path[length] == '/');
}

static bool is_id(const struct reel_label *label, const char *value, const struct reel_trace *trace)
{
	size_t size = strlen(value);
	char key[32];
	const struct reel_label *name;

	snprintf(key, sizeof(key), "%s-name", label->key);
	name = reel_trace_label(trace, key);
	if ((name && !strcmp(name->text, value)) || !strcmp(label->text, value))
		return true;
	return size >= ID_PREFIX_MIN && strspn(value, "0123456789abcdef-") == size &&
	       !strncmp(label->text, value, size);
}

bool reel_label_match_passes(const struct reel_label_match *match, const struct reel_trace *trace)
{
	const struct reel_label *label = reel_trace_label(trace, match->key);

	if (!label || !*match->value)
		return !label && !*match->value;
	switch (match->kind) {
	case REEL_MATCH_PREFIX:
		return !strncmp(label->text, match->value, strlen(match->value));
	case REEL_MATCH_BELOW:
		return is_below(label->text, match->value);
	case REEL_MATCH_ID:
		return is_id(label, match->value, trace);
	case REEL_MATCH_VALUE:
		break;
	}
	return !strcmp(label->text, match->value) || is_number(label, match->value);
}

/* For each key, one of its matches does. */
static bool labels_pass(const struct reel_label_match *matches, size_t n,
			const struct reel_trace *trace)
{
	for (size_t i = 0; i < n; i++) {
		bool passes = false;

		for (size_t j = 0; j < n && !passes; j++)
			passes = !strcmp(matches[i].key, matches[j].key) &&
				 reel_label_match_passes(&matches[j], trace);
		if (!passes)
			return false;
	}
	return true;
}

/* ---- copies ------------------------------------------------------------------------------ */

static void *copy_array(const void *array, size_t count, size_t size, struct reel_error **error)
{
	void *copy;

	if (!count || *error)
		return NULL;
	copy = reallocarray(NULL, count, size);
	if (copy)
		memcpy(copy, array, count * size);
	else
		*error = reel_error_no_memory();
	return copy;
}

static void copy_strings(const char **strings, size_t count, struct reel_error **error)
{
	for (size_t i = 0; strings && i < count; i++) {
		/* After an error, store NULLs, which can be freed. */
		strings[i] = *error ? NULL : strdup(strings[i]);
		if (!strings[i] && !*error)
			*error = reel_error_no_memory();
	}
}

static void copy_string(const char **string, struct reel_error **error)
{
	if (*string)
		copy_strings(string, 1, error);
}

struct reel_error *reel_sample_filter_copy(const struct reel_walk_options *from,
					   struct reel_sample_filter *ret)
{
	struct reel_walk_options lists = from ? *from : (struct reel_walk_options){ 0 };
	struct reel_filter *filter = &lists.filter;
	struct reel_error *error = NULL;
	struct reel_label_match *labels;
	struct reel_value_request *values;
	const char **comms;

	if (lists.shards ? lists.shard >= lists.shards : lists.shard)
		error = reel_error_create(REEL_ERROR_INVALID, "no shard %" PRIu32 " of %" PRIu32,
					  lists.shard, lists.shards);
	else if (filter->stacks && lists.wakers)
		error = reel_error_create(REEL_ERROR_INVALID,
					  "stack pointers of traces joined with their wakers");
	filter->pids = copy_array(filter->pids, filter->n_pids, sizeof(*filter->pids), &error);
	filter->tids = copy_array(filter->tids, filter->n_tids, sizeof(*filter->tids), &error);
	filter->cpus = copy_array(filter->cpus, filter->n_cpus, sizeof(*filter->cpus), &error);
	comms = copy_array(filter->comms, filter->n_comms, sizeof(*filter->comms), &error);
	copy_strings(comms, filter->n_comms, &error);
	filter->comms = comms;
	values = copy_array(lists.values, lists.n_values, sizeof(*lists.values), &error);
	for (size_t i = 0; values && i < lists.n_values; i++) {
		copy_string(&values[i].function, &error);
		copy_string(&values[i].expression, &error);
	}
	lists.values = values;
	labels = copy_array(filter->labels, filter->n_labels, sizeof(*filter->labels), &error);
	for (size_t i = 0; labels && i < filter->n_labels; i++) {
		copy_string(&labels[i].key, &error);
		copy_string(&labels[i].value, &error);
	}
	filter->labels = labels;
	*ret = (struct reel_sample_filter){
		.lists = lists,
		.from = filter->from,
		.to = filter->to ? filter->to : UINT64_MAX,
	};
	return error;
}

void reel_sample_filter_free(struct reel_sample_filter *filter)
{
	struct reel_walk_options *walk = &filter->lists;
	struct reel_filter *lists = &walk->filter;

	for (size_t i = 0; lists->comms && i < lists->n_comms; i++)
		free((void *)lists->comms[i]);
	free((void *)lists->comms);
	for (size_t i = 0; walk->values && i < walk->n_values; i++) {
		free((void *)walk->values[i].function);
		free((void *)walk->values[i].expression);
	}
	free((void *)walk->values);
	for (size_t i = 0; lists->labels && i < lists->n_labels; i++) {
		free((void *)lists->labels[i].key);
		free((void *)lists->labels[i].value);
	}
	free((void *)lists->labels);
	free((void *)lists->pids);
	free((void *)lists->tids);
	free((void *)lists->cpus);
	*filter = (struct reel_sample_filter){ 0 };
}

/* ---- traces ------------------------------------------------------------------------------ */

static bool list_has(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return !n;
}

/* Comms are the timeline's strings, but a filter's are not: compare text. */
static bool comm_passes(const struct reel_filter *lists, const struct reel_trace *trace)
{
	/* For HOST:COMM, COMM alone also matches. */
	size_t prefix = trace->host_id ? strlen(trace->host) + 1 : 0;

	for (size_t i = 0; i < lists->n_comms; i++)
		if (reel_text_matches(trace->comm, lists->comms[i]) ||
		    reel_text_matches(trace->comm + prefix, lists->comms[i]))
			return true;
	return !lists->n_comms;
}

struct reel_error *reel_sample_describe(const struct reel_capture *capture,
					const struct reel_sample *sample,
					const struct reel_space_state *space,
					const struct reel_origin_capture *origin,
					struct reel_trace_labels *labels, struct reel_trace *ret)
{
	const struct reel_timeline *timeline = capture->timeline;
	const struct reel_thread_state *thread = reel_timeline_thread(timeline, sample->thread);
	const char *comm = reel_timeline_thread_comm(timeline, sample->thread, sample->time);
	const struct reel_value_keys *values = (const struct reel_value_keys *)reel_id_table_find(
		&capture->value_keys, sample->event);

	*ret = (struct reel_trace){
		.size = sizeof(*ret),
		.id = sample->id,
		.time = sample->time,
		.weight = sample->weight,
		.event = (uint32_t)sample->event,
		.cpu = (uint32_t)sample->cpu,
		.pid = space ? (uint32_t)space->pid : 0,
		.tid = thread ? (uint32_t)thread->tid : 0,
		.namespace_pid = space ? (uint32_t)space->namespace_pid : 0,
		.namespace_tid = thread ? (uint32_t)thread->namespace_tid : 0,
		.thread = sample->thread,
		.host = origin ? origin->hostname : capture->info.hostname,
		.host_id = origin ? origin->host_id : 0,
		.where = sample->where <= REEL_WHERE_KERNEL_THREAD ? (enum reel_where)sample->where
								   : REEL_WHERE_UNKNOWN,
		.state = (sample->flags & REEL_SAMPLE_STATE) >> REEL_SAMPLE_STATE_SHIFT,
		.stack_cut = sample->flags & REEL_SAMPLE_STACK_CUT,
	};
	if (space && space->main_thread)
		TRY(reel_origins_comm(
			capture->origins, origin,
			reel_timeline_thread_comm(timeline, space->main_thread, sample->time),
			&ret->process_comm));
	TRY(reel_trace_labels_make(
		labels, sample, values ? values->keys : NULL,
		space ? reel_timeline_cgroup(timeline, space->id, sample->time) : NULL, ret));
	return reel_origins_comm(capture->origins, origin, comm, &ret->comm);
}

bool reel_sample_filter_has_ids(const struct reel_sample_filter *filter)
{
	/* A waker belongs to any process. */
	return !filter->waker_event && (filter->lists.filter.n_pids || filter->lists.filter.n_tids);
}

bool reel_sample_filter_head_passes(const struct reel_sample_filter *filter, uint64_t time,
				    uint32_t cpu, uint32_t pid, uint32_t tid)
{
	const struct reel_filter *lists = &filter->lists.filter;

	return time >= filter->from && time <= filter->to &&
	       list_has(lists->cpus, lists->n_cpus, cpu) &&
	       list_has(lists->pids, lists->n_pids, pid) &&
	       list_has(lists->tids, lists->n_tids, tid);
}

bool reel_sample_filter_passes(const struct reel_sample_filter *filter,
			       const struct reel_trace *trace)
{
	const struct reel_filter *lists = &filter->lists.filter;

	return reel_sample_filter_head_passes(filter, trace->time, trace->cpu, trace->pid,
					      trace->tid) &&
	       comm_passes(lists, trace) && labels_pass(lists->labels, lists->n_labels, trace);
}
