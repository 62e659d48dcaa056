/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files that JITs list for debuggers: which are new, and which are gone.
 *
 * A file is known to be there from the first walk that found it to the last one.  It may have been
 * there before, from the previous walk on, and after, until the next one.  So its functions have
 * all of this time, unless a walk found other code of that place gone: nothing is known of that
 * place between these two walks.
 */
#include <stdlib.h>
#include <string.h>

#include "record/jit/jit_names_internal.h"

/* A list can change although its descriptor does not: memory is reused.  A longer one than
 * WALK_ALWAYS is walked this often even so. */
#define WALK_INTERVAL REEL_NS_PER_SECOND
#define WALK_ALWAYS   64

/* What a walk found that was not completed. */
static void forget_found(struct list *list)
{
	while (list->found) {
		struct listed *listed = list->found;

		list->found = listed->next;
		reel_id_table_remove(&list->entries, listed->entry.id);
		free(listed);
	}
}

void reel_jit_names_ask_list(const struct reel_jit_names *names, struct list *list,
			     struct reel_jit_list_question *ret)
{
	struct listed *listed = list->unread;

	forget_found(list);
	for (; listed && ret->n_wanted < REEL_JIT_WANTED_MAX; listed = listed->next)
		ret->wanted[ret->n_wanted++] = listed->is;
	/* What a walk found gone is needed until all that it found was read. */
	if (!listed && !list->is_given_up)
		memcpy(ret->descriptors, list->descriptors, sizeof(ret->descriptors));
	ret->checksum = list->checksum;
	ret->must_walk =
		list->entries.count <= WALK_ALWAYS || names->now >= list->walked + WALK_INTERVAL;
	list->reading = NULL;
	list->walk++;
}

static uint64_t hash_of(const struct reel_jit_entry *entry)
{
	uint64_t hash = entry->address * UINT64_C(0x9e3779b97f4a7c15) ^ entry->file;

	hash = hash * UINT64_C(0x9e3779b97f4a7c15) ^ entry->size;
	return hash * UINT64_C(0x9e3779b97f4a7c15) ^ entry->checksum;
}

void reel_jit_names_apply_entry(struct reel_jit_names *names, enum reel_jit_said what,
				const struct reel_jit_entry *entry)
{
	struct list *list = &names->asked->list;
	uint64_t id = hash_of(entry);
	struct listed *listed = (struct listed *)reel_id_table_find(&list->entries, id);

	if (what == REEL_JIT_SAID_WANTED) {
		list->reading = listed;
		if (listed)
			listed->first = names->asked->own.book->count;
		return;
	}
	if (listed) {
		listed->walk = list->walk;
		return;
	}
	if (list->entries.count < REEL_JIT_ENTRIES_MAX)
		listed = reel_id_table_add(&list->entries, id, sizeof(*listed));
	if (!listed) {
		names->left_out++;
		return;
	}
	listed->is = *entry;
	listed->walk = list->walk;
	/* Later than what ended then. */
	listed->time = list->walked ? list->walked + 1 : REEL_TIME_START;
	listed->next = list->found;
	list->found = listed;
}

static bool was_gone(const struct list *list, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < list->n_gone && i < GONE_MAX; i++) {
		if (address <= list->gone[i].last && list->gone[i].first <= address + (size - 1))
			return true;
	}
	return list->n_gone > GONE_MAX;
}

uint64_t reel_jit_names_list_time(struct reel_jit_names *names,
				  const struct reel_jit_said_function *said, bool has_name)
{
	const struct list *list = &names->asked->list;
	struct function nothing = {
		.time = list->reading->time,
		.address = said->address,
		.size = said->size,
		.file = REEL_JIT_LIST,
		.is_end = true,
	};

	if (!was_gone(list, said->address, said->size))
		return nothing.time;
	if (!has_name)
		reel_jit_names_append(names, &nothing);
	return list->end + 1;
}

/* The sections of its code end. */
static void end_listed(struct reel_jit_names *names, const struct listed *listed)
{
	struct list *list = &names->asked->list;
	struct book *book = names->asked->own.book;

	for (size_t i = listed->first; i < listed->first + listed->count; i++) {
		struct function nothing = book->functions[i];

		if (nothing.name_size)
			continue;
		nothing.time = list->end;
		nothing.frames_size = 0;
		nothing.is_end = true;
		reel_jit_names_append(names, &nothing);
		if (list->n_gone < GONE_MAX)
			list->gone[list->n_gone] =
				(struct place){ nothing.address,
						nothing.address + (nothing.size - 1) };
		list->n_gone += list->n_gone <= GONE_MAX;
	}
}

static void check_listed(void *context, struct reel_id_entry *entry)
{
	struct listed *listed = (struct listed *)entry;
	struct reel_jit_names *names = context;
	struct list *list = &names->asked->list;

	if (listed->walk == list->walk)
		return;
	end_listed(names, listed);
	reel_id_table_remove(&list->entries, listed->entry.id);
	free(listed);
}

void reel_jit_names_apply_list(struct reel_jit_names *names)
{
	const struct reel_jit_list_state *state = &names->state.list;
	struct list *list = &names->asked->list;

	for (uint32_t i = 0; i < state->n_read && list->unread; i++)
		list->unread = list->unread->next;
	names->left_out += state->n_bad;
	if (state->is_refused) {
		names->left_out++;
		list->is_given_up = true;
		list->unread = NULL;
		forget_found(list);
		list->walk++; /* found nothing */
		list->end = list->walked + 1;
	} else if (state->is_walked && !list->unread) {
		list->walked = list->end = names->now;
		list->checksum = state->checksum;
		list->unread = list->found;
		list->found = NULL;
	} else {
		return;
	}
	list->n_gone = 0;
	reel_id_table_visit(&list->entries, check_listed, names);
}
