/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/export/trace_facts.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"
#include "cli/protobuf/sample_sums.h"

void sample_sums_init(struct sample_sums *sums)
{
	*sums = (struct sample_sums){ 0 };
	profile_tables_init(&sums->tables);
	numbers_init(&sums->events);
	numbers_init(&sums->labels);
	numbers_init(&sums->samples);
	numbers_init(&sums->label_lists);
}

void sample_sums_free(struct sample_sums *sums)
{
	profile_tables_free(&sums->tables);
	numbers_free(&sums->events);
	numbers_free(&sums->labels);
	numbers_free(&sums->samples);
	numbers_free(&sums->label_lists);
	free(sums->sums);
	free(sums->event_sums);
}

void sample_sums_begin_capture(struct sample_sums *sums, struct session *session)
{
	profile_tables_begin_capture(&sums->tables, session);
}

/* ---- samples ----------------------------------------------------------------------------- */

static void add_to(struct sample_sum **items, size_t *capacity, uint32_t number,
		   const struct reel_trace *trace)
{
	*items = memory_reserve_zeroed(*items, capacity, number, sizeof(**items));
	(*items)[number].count++;
	(*items)[number].weight += trace->weight;
}

static uint32_t event_of(struct sample_sums *sums, const struct reel_event_info *info)
{
	struct sample_event event = {
		.name = profile_known_text(&sums->tables, event_name(info)),
	};

	if (info) {
		event.unit = profile_known_text(&sums->tables, info->weight_unit);
		event.frequency = info->frequency;
		event.period = info->period;
	}
	return numbers_put(&sums->events, &event, sizeof(event));
}

static bool has_guess(const struct reel_trace *trace)
{
	for (size_t i = 0; i < trace->n_frames; i++) {
		if (step_is_guess(trace->steps[i]))
			return true;
	}
	return false;
}

static uint32_t list_labels(struct sample_sums *sums, const struct reel_trace *trace)
{
	uint32_t list = 0;

	for (size_t i = 0; i < trace->n_labels; i++) {
		const struct reel_label *label = &trace->labels[i];
		bool is_number =
			label->kind == REEL_LABEL_UNSIGNED || label->kind == REEL_LABEL_SIGNED;
		struct sample_label item = { .previous = list };

		/* The number of a sample, which sums do not have. */
		if (!strcmp(label->key, "waker-sample"))
			continue;
		item.key = profile_text(&sums->tables, label->key);
		if (is_number)
			item.number = label->number;
		else
			item.text = profile_text(&sums->tables, label->text);
		list = numbers_put(&sums->label_lists, &item, sizeof(item));
	}
	return list;
}

static uint32_t labels_of(struct sample_sums *sums, const struct reel_trace *trace)
{
	struct profile_tables *tables = &sums->tables;
	const struct sample_labels labels = {
		.thread = trace->thread,
		.pid = trace->pid,
		.tid = trace->tid,
		.comm = profile_known_text(tables, comm_alone(trace)),
		.host = trace->host_id ? profile_known_text(tables, trace->host) : 0,
		.state = trace->state
				 ? profile_known_text(&sums->tables, reel_state_name(trace->state))
				 : 0,
		.stop = trace_is_cut(trace)
				? profile_known_text(tables, reel_stop_name(trace->stop))
				: 0,
		.guessed = has_guess(trace),
		.labels = list_labels(sums, trace),
	};

	return numbers_put(&sums->labels, &labels, sizeof(labels));
}

static void record_time(struct sample_sums *sums, const struct reel_trace *trace)
{
	uint64_t wall_time;

	if (!sums->any || trace->time < sums->first_time)
		sums->first_time = trace->time;
	if (!sums->any || trace->time > sums->last_time)
		sums->last_time = trace->time;
	sums->any = true;
	if (!wall_time_of(sums->tables.session->info, trace->time, &wall_time))
		return;
	if (!sums->first_wall_time || wall_time < sums->first_wall_time)
		sums->first_wall_time = wall_time;
	if (wall_time > sums->last_wall_time)
		sums->last_wall_time = wall_time;
}

void sample_sums_add(struct sample_sums *sums, const struct reel_trace *trace,
		     const struct reel_event_info *event)
{
	const struct sample_key key = {
		.event = event_of(sums, event),
		.stack = profile_stack(&sums->tables, trace),
		.labels = labels_of(sums, trace),
	};

	add_to(&sums->sums, &sums->sums_capacity, numbers_put(&sums->samples, &key, sizeof(key)),
	       trace);
	add_to(&sums->event_sums, &sums->event_sums_capacity, key.event, trace);
	record_time(sums, trace);
}

const struct sample_event *sample_event_of(const struct sample_sums *sums, uint32_t number)
{
	return numbers_get(&sums->events, number);
}

const struct sample_labels *sample_labels_of(const struct sample_sums *sums, uint32_t number)
{
	return numbers_get(&sums->labels, number);
}

const struct sample_label *sample_label_of(const struct sample_sums *sums, uint32_t number)
{
	return number ? numbers_get(&sums->label_lists, number) : NULL;
}

const struct sample_key *sample_key_of(const struct sample_sums *sums, uint32_t number)
{
	return numbers_get(&sums->samples, number);
}

/* ---- measured values ----------------------------------------------------------------- */

bool sample_event_is_time(const struct sample_sums *sums, uint32_t event)
{
	return !strcmp(profile_text_of(&sums->tables, sample_event_of(sums, event)->unit), "ns");
}

bool sample_event_has_weight(const struct sample_sums *sums, uint32_t event)
{
	const struct sample_sum *sum = &sums->event_sums[event];

	return sum->weight != 0 && (sum->weight != sum->count || sample_event_is_time(sums, event));
}

/* Ignore modifiers after the name: "cpu-clock:u". */
static bool is_clock(const char *name)
{
	size_t size = strcspn(name, ":");

	return (size == 9 && !strncmp(name, "cpu-clock", size)) ||
	       (size == 10 && !strncmp(name, "task-clock", size));
}

uint32_t sample_sums_main_event(const struct sample_sums *sums)
{
	uint32_t first_time = 0;

	for (uint32_t i = 1; i <= sums->events.count; i++) {
		if (!sample_event_is_time(sums, i))
			continue;
		if (is_clock(profile_text_of(&sums->tables, sample_event_of(sums, i)->name)))
			return i;
		first_time = first_time ? first_time : i;
	}
	return first_time ? first_time : sums->events.count != 0;
}

uint32_t sample_event_count_name(struct sample_sums *sums, uint32_t event)
{
	uint32_t number = sample_event_of(sums, event)->name;
	_cleanup_free_ char *name = NULL;

	if (!sample_event_has_weight(sums, event))
		return number;
	if (event == sample_sums_main_event(sums))
		return profile_text(&sums->tables, "samples");
	name = memory_print("%s-samples", profile_text_of(&sums->tables, number));
	return numbers_put(&sums->tables.texts, name, strlen(name) + 1);
}

uint32_t sample_event_weight_name(struct sample_sums *sums, uint32_t event)
{
	uint32_t number = sample_event_of(sums, event)->name;

	if (event == sample_sums_main_event(sums) && sample_event_is_time(sums, event) &&
	    is_clock(profile_text_of(&sums->tables, number)))
		return profile_text(&sums->tables, "cpu");
	return number;
}

uint64_t sample_event_period(const struct sample_sums *sums, uint32_t number)
{
	const struct sample_event *event = sample_event_of(sums, number);
	const struct sample_sum *sum = &sums->event_sums[number];
	uint64_t period = event->period;

	if (event->frequency && sample_event_is_time(sums, number))
		period = 1000000000 / event->frequency;
	else if (event->frequency && sum->count)
		period = sum->weight / sum->count;
	return period ? period : 1;
}

uint64_t sample_sums_duration(const struct sample_sums *sums)
{
	return sums->last_wall_time ? sums->last_wall_time - sums->first_wall_time
				    : sums->last_time - sums->first_time;
}
