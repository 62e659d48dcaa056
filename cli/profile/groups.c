/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/profile/groups.h"
#include "cli/print/text.h"

#define FIRST_SLOTS 64

void groups_init(struct groups *groups, enum grouping grouping)
{
	*groups = (struct groups){ .grouping = grouping, .n_slots = FIRST_SLOTS };
	groups->slots = memory_get(FIRST_SLOTS * sizeof(*groups->slots));
}

void groups_free(struct groups *groups)
{
	free(groups->slots);
	pointer_map_free(&groups->comms);
}

static struct group *slot_of(const struct groups *groups, uint64_t id)
{
	size_t i = (size_t)(id * 0x9e3779b97f4a7c15 >> 32) & (groups->n_slots - 1);

	while (groups->slots[i].symbol && groups->slots[i].id != id)
		i = (i + 1) & (groups->n_slots - 1);
	return &groups->slots[i];
}

static void grow(struct groups *groups)
{
	struct group *old = groups->slots;
	size_t n = groups->n_slots;

	groups->n_slots *= 2;
	groups->slots = memory_get(groups->n_slots * sizeof(*groups->slots));
	for (size_t i = 0; i < n; i++) {
		if (old[i].symbol)
			*slot_of(groups, old[i].id) = old[i];
	}
	free(old);
}

/* A group of id `id`; its symbol has a unique name. */
static struct group *group_get(struct groups *groups, struct symbol_table *table, uint64_t id)
{
	struct group *group = slot_of(groups, id);
	struct short_text name;

	if (group->symbol)
		return group;
	if (groups->count * 2 >= groups->n_slots) {
		grow(groups);
		group = slot_of(groups, id);
	}
	groups->count++;
	snprintf(name.text, sizeof(name.text), "%" PRIu64, id);
	*group = (struct group){ .id = id, .symbol = symbol_of_group(table, name.text) };
	return group;
}

static struct symbol *comm_symbol(struct groups *groups, struct symbol_table *table,
				  const char *comm)
{
	struct symbol *symbol = pointer_map_get(&groups->comms, comm);

	if (!symbol) {
		symbol = symbol_of_group(table, comm);
		pointer_map_put(&groups->comms, comm, symbol);
	}
	return symbol;
}

struct symbol *groups_find(struct groups *groups, struct symbol_table *table,
			   const struct reel_trace *trace)
{
	bool by_thread = groups->grouping == GROUP_THREAD;
	bool is_main = trace->pid == trace->tid;
	struct group *group;
	uint64_t id;

	if (groups->grouping == GROUP_COMM)
		return comm_symbol(groups, table, trace->comm);
	if (groups->grouping == GROUP_HOST)
		return comm_symbol(groups, table, trace->host);
	if (groups->grouping == GROUP_STATE)
		return comm_symbol(groups, table, reel_state_name(trace->state));
	/* Processes of several hosts may share a pid. */
	id = (uint64_t)trace->host_id << 32 | trace->pid;
	/* A thread unknown to the capture only has its tid. */
	if (by_thread)
		id = trace->thread ? trace->thread
				   : UINT64_MAX - ((uint64_t)trace->host_id << 32 | trace->tid);
	group = group_get(groups, table, id);
	group->number = by_thread ? trace->tid : trace->pid;
	if (by_thread || !group->comm || is_main || !group->of_main_thread) {
		if (*trace->comm || !group->comm)
			group->comm = trace->comm;
		group->of_main_thread |= is_main;
	}
	return group->symbol;
}

void groups_name(struct groups *groups)
{
	for (size_t i = 0; i < groups->n_slots; i++) {
		struct group *group = &groups->slots[i];
		_cleanup_free_ char *comm = NULL;

		if (!group->symbol)
			continue;
		comm = text_escape(*group->comm ? group->comm : "[unknown]", "");
		free(group->symbol->name);
		group->symbol->name = memory_print("%s (%" PRIu32 ")", comm, group->number);
	}
}
