/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "include/commands.h"
#include "base/array.h"
#include "record/processes/families.h"

struct member {
	struct reel_id_entry entry; /* pid */
	size_t family;
	bool has_exec;
};

/* A program that started families, and is in none. */
struct parent {
	struct reel_id_entry entry; /* pid */
	size_t child;		    /* the last family */
};

void families_clear(struct families *families)
{
	reel_id_table_free_all(&families->members);
	reel_id_table_free_all(&families->parents);
	free(families->items);
	*families = (struct families){ 0 };
}

static struct member *find(const struct families *families, uint32_t pid)
{
	struct member *member = (struct member *)reel_id_table_find(&families->members, pid);

	return member && !families->items[member->family - 1].is_gone ? member : NULL;
}

size_t families_find(const struct families *families, uint32_t pid)
{
	const struct member *member = find(families, pid);

	return member ? member->family : 0;
}

static bool is_full(const struct families *families)
{
	return families->members.count >= FAMILY_MEMBERS_MAX;
}

static size_t find_child(struct families *families, uint32_t pid)
{
	struct parent *parent = (struct parent *)reel_id_table_find(&families->parents, pid);

	while (parent && parent->child && families->items[parent->child - 1].is_gone)
		parent->child = families->items[parent->child - 1].sibling;
	return parent ? parent->child : 0;
}

size_t families_disturbed(struct families *families, const struct family_event *event)
{
	const struct member *member = find(families, event->pid);
	bool begins = event->kind == FAMILY_FORK && event->pid != event->parent_pid;

	/* Its exit was lost; or its children take part. */
	if (begins)
		return member		   ? member->family
		       : is_full(families) ? families_find(families, event->parent_pid)
					   : 0;
	if (member)
		/* Until it executes a program, its memory may be its parent's. */
		return event->kind == FAMILY_MAP && !member->has_exec ? member->family : 0;
	if (event->kind == FAMILY_MAP || event->kind == FAMILY_EXEC ||
	    (event->kind == FAMILY_EXIT && event->tid == event->pid))
		return find_child(families, event->pid);
	return 0;
}

static struct reel_error *begin_family(struct families *families, uint32_t parent_pid,
				       size_t number, size_t *ret)
{
	struct parent *parent = (struct parent *)reel_id_table_find(&families->parents, parent_pid);

	if (!reel_array_reserve(&families->items, families->n, &families->capacity,
				sizeof(*families->items)))
		return reel_error_no_memory();
	if (!parent)
		parent = reel_id_table_add(&families->parents, parent_pid, sizeof(*parent));
	if (!parent)
		return reel_error_no_memory();
	families->items[families->n++] =
		(struct family){ .first = number, .last = number, .sibling = parent->child };
	*ret = parent->child = families->n;
	return NULL;
}

/* A new program; NULL in *ret if the table is full. */
static struct reel_error *begin(struct families *families, const struct family_event *event,
				size_t number, struct member **ret)
{
	size_t family = families_find(families, event->parent_pid);
	struct member *member = (struct member *)reel_id_table_find(&families->members, event->pid);

	*ret = NULL;
	if (!member && is_full(families))
		return NULL;
	if (!family)
		TRY(begin_family(families, event->parent_pid, number, &family));
	if (!member)
		member = reel_id_table_add(&families->members, event->pid, sizeof(*member));
	if (!member)
		return reel_error_no_memory();
	member->family = family;
	member->has_exec = false;
	*ret = member;
	return NULL;
}

struct reel_error *families_take(struct families *families, const struct family_event *event,
				 size_t number, size_t *family_ret)
{
	struct member *member = find(families, event->pid);
	struct family *family;

	*family_ret = 0;
	if (event->kind == FAMILY_FORK && event->pid != event->parent_pid)
		TRY(begin(families, event, number, &member));
	if (!member)
		return NULL;
	family = &families->items[member->family - 1];
	family->end = event->time;
	if (event->kind == FAMILY_FORK)
		family->n_threads++;
	else if (event->kind == FAMILY_EXEC)
		member->has_exec = true;
	else if (event->kind == FAMILY_EXIT && family->n_threads)
		family->n_threads--;
	*family_ret = member->family;
	return NULL;
}
