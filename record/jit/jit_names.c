/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/jit/jit_names_internal.h"

/* Addresses that samples lead to: in all, and of one process. */
#define HITS_MAX       (256u << 10)
#define SPACE_HITS_MAX (64u << 10)
/* Bytes of names in a file at most. */
#define FILE_BYTES_MAX (64u << 20)

struct reel_error *reel_jit_names_create(const struct reel_jit_names_options *options,
					 struct reel_jit_names **ret)
{
	struct reel_jit_names *names = calloc(1, sizeof(*names));

	if (!names)
		return reel_error_no_memory();
	names->options = *options;
	names->said_max =
		options->memory && options->memory < SAID_MAX ? options->memory : SAID_MAX;
	names->bytes_left = FILE_BYTES_MAX;
	*ret = names;
	return NULL;
}

static void release_book(struct reel_jit_names *names, struct shelf *shelf)
{
	struct book *book = shelf->book;

	if (book && !--book->n_users) {
		names->said_bytes -= book->bytes.size + book->count * sizeof(*book->functions);
		free(book->functions);
		reel_buffer_free(&book->bytes);
		free(book);
	}
	free(shelf->written);
	*shelf = (struct shelf){ 0 };
}

static void forget_hits(struct reel_jit_names *names, struct space *space)
{
	names->n_hits -= space->hits.count;
	reel_id_table_free_all(&space->hits);
}

void reel_jit_names_free_space(struct reel_jit_names *names, struct space *space)
{
	forget_hits(names, space);
	release_book(names, &space->own);
	release_book(names, &space->inherited);
	reel_id_table_free_all(&space->list.entries);
	if (names->last == space)
		names->last = NULL;
	free(space);
}

static void free_space(void *names, struct reel_id_entry *entry)
{
	reel_jit_names_free_space(names, (struct space *)entry);
}

void reel_jit_names_destroy(struct reel_jit_names *names)
{
	if (!names)
		return;
	reel_id_table_visit(&names->spaces, free_space, names);
	reel_id_table_free(&names->spaces);
	free(names);
}

static void restart_space(void *context, struct reel_id_entry *entry)
{
	struct space *space = (struct space *)entry;
	struct shelf *shelves[] = { &space->own, &space->inherited };

	forget_hits(context, space);
	for (size_t i = 0; i < 2; i++) {
		if (shelves[i]->written)
			memset(shelves[i]->written, 0, shelves[i]->capacity);
	}
}

void reel_jit_names_restart(struct reel_jit_names *names)
{
	names->bytes_left = FILE_BYTES_MAX;
	names->deadline = 0;
	reel_id_table_visit(&names->spaces, restart_space, names);
}

struct visit {
	void (*visit)(void *context, uint32_t pid);
	void *context;
};

static void visit_space(void *context, struct reel_id_entry *entry)
{
	const struct space *space = (const struct space *)entry;
	const struct visit *visit = context;

	if (!space->ended && space->hits.count)
		visit->visit(visit->context, (uint32_t)space->pid);
}

void reel_jit_names_visit(struct reel_jit_names *names, void (*visit)(void *context, uint32_t pid),
			  void *context)
{
	reel_id_table_visit(&names->spaces, visit_space, &(struct visit){ visit, context });
}

uint64_t reel_jit_names_left_out(const struct reel_jit_names *names)
{
	return names->left_out;
}

bool reel_jit_names_may(const struct reel_jit_names *names, const struct space *space)
{
	return names->deadline ||
	       reel_budget_allows(names->options.budget, REEL_BUDGET_NAMES, (uint32_t)space->pid);
}

struct function *reel_jit_names_append(struct reel_jit_names *names,
				       const struct function *function)
{
	struct book *book = names->asked->own.book;

	/* An end is small, and without it, a name would stay. */
	if ((names->said_bytes + sizeof(*function) > names->said_max && !function->is_end) ||
	    !reel_array_reserve(&book->functions, book->count, &book->capacity,
				sizeof(*book->functions))) {
		names->left_out++;
		return NULL;
	}
	names->said_bytes += sizeof(*function);
	book->functions[book->count] = *function;
	return &book->functions[book->count++];
}

/* ---- processes and hits ----------------------------------------------------------------- */

static struct space *space_find(const struct reel_jit_names *names, uint64_t id)
{
	return (struct space *)reel_id_table_find(&names->spaces, id);
}

/* NULL if out of memory, or the space is gone. */
static struct space *space_add(struct reel_jit_names *names, uint64_t id)
{
	const struct reel_space_state *state = reel_timeline_space(names->timeline, id);
	struct book *book = state ? calloc(1, sizeof(*book)) : NULL;
	struct space *space = book ? reel_id_table_add(&names->spaces, id, sizeof(*space)) : NULL;

	if (!space) {
		free(book);
		return NULL;
	}
	space->pid = state->pid;
	space->namespace_pid = state->namespace_pid;
	space->start = state->start;
	space->read_after = reel_now() + READ_FIRST;
	space->look_interval = READ_INTERVAL;
	book->n_users = 1;
	space->own.book = book;
	space->own.until = UINT64_MAX;
	return space;
}

/* Names from the process that this one was forked from also apply to it, up to the fork. */
static void inherit(struct reel_jit_names *names, struct space *space)
{
	const struct reel_space_state *state =
		reel_timeline_space(names->timeline, space->entry.id);
	uint64_t id = state ? state->parent : 0;
	struct space *parent = id ? space_find(names, id) : NULL;

	if (id && !parent)
		parent = space_add(names, id);
	/* The same pid means an exec. */
	if (!parent || parent->pid == space->pid)
		return;
	parent->is_inherited = true;
	space->inherited.book = parent->own.book;
	space->inherited.book->n_users++;
	space->inherited.until = space->start;
	/* Its own entries are newer or equally old. */
	for (size_t i = 0; i < REEL_JIT_FILES; i++)
		space->files[i].base = space->start;
	space->list.walked = space->start;
}

static struct space *space_of(struct reel_jit_names *names, uint64_t id)
{
	struct space *space = space_find(names, id);

	if (space)
		return space;
	space = space_add(names, id);
	if (space)
		inherit(names, space);
	return space;
}

void reel_jit_names_hit(void *context, const struct reel_timeline *timeline, uint64_t id,
			uint64_t time, uint64_t address)
{
	struct reel_jit_names *names = context;
	struct hit *hit = NULL;
	struct space *space;

	names->timeline = timeline;
	if (!names->last || names->last->entry.id != id)
		names->last = space_of(names, id);
	space = names->last;
	if (!space) {
		names->left_out++;
		return;
	}
	space->is_new = true;
	if (reel_id_table_find(&space->hits, address))
		return;
	if (names->n_hits < HITS_MAX && space->hits.count < SPACE_HITS_MAX)
		hit = reel_id_table_add(&space->hits, address, sizeof(*hit));
	if (!hit) {
		names->left_out++;
		return;
	}
	hit->time = time;
	names->n_hits++;
	space->has_changed = true;
}
