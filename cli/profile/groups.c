/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/profile/groups.h"
#include "cli/print/text.h"

void groups_init(struct groups *groups, struct group_key key)
{
	*groups = (struct groups){ .key = key };
}

void groups_free(struct groups *groups)
{
	for (size_t i = 0; i < groups->n_values; i++)
		free(groups->values[i].text);
	free(groups->values);
	free(groups->tasks);
	pointer_map_free(&groups->comms);
	reel_hash_index_free(&groups->by_id);
	reel_hash_index_free(&groups->by_text);
}

/* ---- threads and processes -------------------------------------------------------------- */

static struct group *group_get(struct groups *groups, struct symbol_table *table, uint64_t id)
{
	uint32_t known = REEL_HASH_FIND(&groups->by_id, id, i, groups->tasks[i].id == id);

	if (known != REEL_HASH_NONE)
		return &groups->tasks[known];
	groups->tasks = memory_reserve(groups->tasks, &groups->tasks_capacity, groups->n_tasks,
				       sizeof(*groups->tasks));
	if (!reel_hash_index_add(&groups->by_id, id, (uint32_t)groups->n_tasks))
		memory_check(NULL);
	groups->tasks[groups->n_tasks] =
		(struct group){ .id = id, .symbol = symbol_of_task(table) };
	return &groups->tasks[groups->n_tasks++];
}

static struct symbol *find_task(struct groups *groups, struct symbol_table *table,
				const struct reel_trace *trace)
{
	bool by_thread = groups->key.kind == GROUP_THREAD;
	bool is_named = by_thread || trace->process_comm;
	const char *comm = !by_thread && trace->process_comm ? trace->process_comm : trace->comm;
	struct group *group;
	/* Processes of several hosts may share a pid. */
	uint64_t id = (uint64_t)trace->host_id << 32 | trace->pid;

	/* A thread unknown to the capture only has its tid. */
	if (by_thread)
		id = trace->thread ? trace->thread
				   : UINT64_MAX - ((uint64_t)trace->host_id << 32 | trace->tid);
	group = group_get(groups, table, id);
	group->number = by_thread ? trace->tid : trace->pid;
	if (!group->comm || (*comm && (is_named || !group->is_named)))
		group->comm = comm;
	group->is_named |= is_named;
	return group->symbol;
}

/* ---- values of other keys --------------------------------------------------------------- */

static struct symbol *of_lasting(struct groups *groups, struct symbol_table *table,
				 const char *text)
{
	struct symbol *symbol = pointer_map_get(&groups->comms, text);

	if (!symbol) {
		symbol = symbol_of_group(table, text);
		pointer_map_put(&groups->comms, text, symbol);
	}
	return symbol;
}

static struct symbol *of_value(struct groups *groups, struct symbol_table *table,
			       const struct reel_label *label)
{
	const char *text = label->text;
	uint64_t hash = reel_bytes_hash(REEL_HASH_BEGIN, reel_bytes_of_string(text));
	uint32_t known =
		REEL_HASH_FIND(&groups->by_text, hash, i, !strcmp(groups->values[i].text, text));
	_cleanup_free_ char *name = NULL;
	struct group_value *value;

	if (known != REEL_HASH_NONE)
		return groups->values[known].symbol;
	groups->values = memory_reserve(groups->values, &groups->values_capacity, groups->n_values,
					sizeof(*groups->values));
	if (!reel_hash_index_add(&groups->by_text, hash, (uint32_t)groups->n_values))
		memory_check(NULL);
	value = &groups->values[groups->n_values++];
	name = memory_print("%s=%s", groups->key.name, text);
	*value = (struct group_value){
		.text = memory_print("%s", text),
		.kind = label->kind,
		.number = label->number,
		.symbol = symbol_of_group(table, name),
	};
	return value->symbol;
}

const char *group_value_text(const struct group_key *key, const struct symbol *group)
{
	size_t length = strlen(key->name);
	bool has_key = (key->kind == GROUP_LABEL || key->kind == GROUP_VARIABLE ||
			key->kind == GROUP_CPU) &&
		       !strncmp(group->name, key->name, length) && group->name[length] == '=';

	return has_key ? group->name + length + 1 : group->name;
}

/* The group of what has no value, named by three texts, of which the second may go on. */
static struct symbol *of_nothing(struct symbol_table *table, const char *before, const char *text,
				 size_t size, const char *after, struct symbol **kept)
{
	if (!*kept) {
		_cleanup_free_ char *name =
			memory_print("%s%.*s%s", before, (int)size, text, after);

		*kept = symbol_of_group(table, name);
	}
	return *kept;
}

static struct symbol *of_label(struct groups *groups, struct symbol_table *table,
			       const struct reel_trace *trace)
{
	const struct reel_label *label = reel_trace_label(trace, groups->key.name);

	if (label)
		return of_value(groups, table, label);
	return of_nothing(table, "[no ", groups->key.name, strlen(groups->key.name), "]",
			  &groups->missing);
}

/* Of a function that calls itself, the innermost call counts: its frame is the first. */
static struct symbol *of_variable(struct groups *groups, struct symbol_table *table,
				  const struct reel_trace *trace)
{
	static const char *const unknown[] = {
		[REEL_VALUE_KNOWN] = "",
		[REEL_VALUE_OPTIMIZED_OUT] = "=<optimized out>",
		[REEL_VALUE_NOT_CAPTURED] = "=<not captured>",
	};
	const char *name = groups->key.name;
	const struct reel_frame_value *value = value_of_trace(trace, groups->key.request);

	if (value) {
		struct reel_label label = { .text = text_at_pointer(value->text),
					    .number = value->number };

		groups->has_variable |= value_has_variable(value);
		if (value->state != REEL_VALUE_KNOWN)
			return of_nothing(table, "", name, strlen(name), unknown[value->state],
					  &groups->unknown[value->state]);
		if (value_is_decimal(value))
			label.kind = value->is_signed ? REEL_LABEL_SIGNED : REEL_LABEL_UNSIGNED;
		return of_value(groups, table, &label);
	}
	return of_nothing(table, "[not in ", name, (size_t)(value_expression(name) - 1 - name), "]",
			  &groups->missing);
}

bool group_may_be_numbers(const struct group_key *key)
{
	return key->kind == GROUP_LABEL || key->kind == GROUP_VARIABLE;
}

static struct symbol *of_duration(struct groups *groups, struct symbol_table *table,
				  const struct reel_trace *trace,
				  const struct reel_event_info *event)
{
	bool is_latency = event && !strncmp(event->name, "latency:", strlen("latency:"));
	struct reel_label label = { .kind = REEL_LABEL_UNSIGNED, .number = trace->weight };
	struct short_text text;

	/* With -c N, a sample represents N calls. */
	if (is_latency && event->period)
		label.number /= event->period;
	if (label.number)
		label.number = UINT64_C(1) << (63 - __builtin_clzll(label.number));
	snprintf(text.text, sizeof(text.text), "%" PRIu64, label.number);
	label.text = text.text;
	return of_value(groups, table, &label);
}

static struct symbol *of_cpu(struct groups *groups, struct symbol_table *table, uint32_t cpu)
{
	const void *number = (const void *)((uintptr_t)cpu + 1);
	struct symbol *symbol = pointer_map_get(&groups->comms, number);
	struct short_text text;

	if (!symbol) {
		snprintf(text.text, sizeof(text.text), "cpu=%" PRIu32, cpu);
		symbol = symbol_of_group(table, text.text);
		pointer_map_put(&groups->comms, number, symbol);
	}
	return symbol;
}

struct symbol *groups_find(struct groups *groups, struct symbol_table *table,
			   const struct reel_trace *trace, const struct reel_event_info *event)
{
	switch (groups->key.kind) {
	case GROUP_COMM:
		return of_lasting(groups, table, trace->comm);
	case GROUP_HOST:
		return of_lasting(groups, table, trace->host);
	case GROUP_STATE:
		return of_lasting(groups, table, reel_state_name(trace->state));
	case GROUP_EVENT:
		return of_lasting(groups, table, event_name(event));
	case GROUP_CPU:
		return of_cpu(groups, table, trace->cpu);
	case GROUP_LABEL:
		return of_label(groups, table, trace);
	case GROUP_VARIABLE:
		return of_variable(groups, table, trace);
	case GROUP_DURATION:
		return of_duration(groups, table, trace, event);
	case GROUP_THREAD:
	case GROUP_PROCESS:
		break;
	}
	return find_task(groups, table, trace);
}

static bool explain_variable(const char *name)
{
	const char *expression = value_expression(name);
	_cleanup_free_ char *function = memory_print("%.*s", (int)(expression - 1 - name), name);

	return session_explain_variable(function, expression);
}

bool groups_have_labels(const struct groups *groups, size_t n, struct session *session)
{
	for (size_t i = 0; i < n; i++) {
		if (groups[i].key.kind == GROUP_VARIABLE && groups[i].missing &&
		    !groups[i].n_values && !groups[i].unknown[REEL_VALUE_OPTIMIZED_OUT] &&
		    !groups[i].unknown[REEL_VALUE_NOT_CAPTURED])
			return session_explain_values(
				session, session->options->values[groups[i].key.request].function);
		if (groups[i].key.kind == GROUP_VARIABLE && !groups[i].has_variable &&
		    groups[i].unknown[REEL_VALUE_OPTIMIZED_OUT])
			return explain_variable(groups[i].key.name);
		if (groups[i].key.kind == GROUP_LABEL && groups[i].missing && !groups[i].n_values)
			return session_explain_label(session, groups[i].key.name);
	}
	return true;
}

void groups_name(struct groups *groups, const struct symbol_table *table)
{
	for (size_t i = 0; i < groups->n_tasks; i++) {
		const struct group *group = &groups->tasks[i];
		_cleanup_free_ char *name =
			memory_print("%s (%" PRIu32 ")", *group->comm ? group->comm : "[unknown]",
				     group->number);

		symbol_name_task(table, group->symbol, name);
	}
}
