/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "record/processes/code_spaces.h"

/*
 * Listing a space's ranges takes time for each mapping, and mappings may change with each sample: a
 * list is kept for at least this time per mapping.
 */
#define LIST_NS_PER_MAPPING 500

struct listing {
	const struct reel_code_spaces *spaces;
	struct reel_code_space *space;
	/* The previous mapping, if its module is wanted; or if it may be a copy of the next
	 * file's text. */
	struct reel_code_range last, copy;
};

static void add_range(struct reel_code_space *space, struct reel_code_range range)
{
	if (reel_array_reserve(&space->ranges, space->n_ranges, &space->capacity,
			       sizeof(*space->ranges)))
		space->ranges[space->n_ranges++] = range;
	else
		space->failed = true;
}

static bool may_be_copy(const struct listing *listing, const struct reel_record_module *module,
			const struct reel_mapping *mapping)
{
	return listing->spaces->with_copies && mapping->protection & PROT_EXEC &&
	       (module->kind == REEL_MODULE_ANONYMOUS || reel_path_is_deleted(module->path));
}

static void list_range(void *context, const struct reel_mapping *mapping)
{
	struct listing *listing = context;
	const struct reel_code_range last = listing->last, copy = listing->copy;
	const struct reel_record_module *module =
		reel_module_table_find(listing->spaces->modules, mapping->module);
	struct reel_code_range range = {
		.first = mapping->address,
		.last = mapping->address + (mapping->size - 1),
		.delta = mapping->offset - mapping->address,
		.module = mapping->module,
	};
	bool is_copy = module && may_be_copy(listing, module, mapping);
	bool is_wanted = module && listing->spaces->is_wanted(module, mapping);

	listing->space->n_mappings++;
	listing->last = listing->copy = (struct reel_code_range){ 0 };
	if (is_copy && last.module && last.last + 1 == range.first) {
		range.delta = last.delta;
		range.module = last.module;
	} else if (is_copy && !is_wanted) {
		listing->copy = range;
		return;
	} else if (!is_wanted) {
		return;
	}
	listing->last = range;
	if (copy.module && copy.last + 1 == range.first &&
	    mapping->offset > copy.last - copy.first) {
		range = copy;
		range.delta = listing->last.delta;
		range.module = listing->last.module;
		add_range(listing->space, range);
	}
	if (mapping->protection & PROT_EXEC)
		add_range(listing->space, listing->last);
}

static struct reel_error *list_ranges(struct reel_code_spaces *spaces,
				      const struct reel_space_view *view, uint64_t time,
				      struct reel_code_space *space)
{
	const struct reel_space_state *state = reel_timeline_space(view->timeline, view->space);
	struct listing listing = { .spaces = spaces, .space = space };

	space->n_mappings = space->n_ranges = 0;
	reel_timeline_visit(view->timeline, view->space, time, 0, UINT64_MAX, list_range, &listing);
	if (space->failed)
		return reel_error_no_memory();
	space->generation = view->generation;
	space->list = ++spaces->last_list;
	space->listed = time;
	space->kind = spaces->native;
	if (state && state->machine)
		space->kind = (struct reel_elf_kind){ .machine = (uint16_t)state->machine,
						      .word_bits = (uint8_t)state->word_bits };
	space->word_size = space->kind.word_bits == 32 ? 4 : 8;
	space->code_mask = state ? state->code_mask : 0;
	return NULL;
}

struct reel_error *reel_code_spaces_find(struct reel_code_spaces *spaces,
					 const struct reel_space_view *view, uint64_t time,
					 struct reel_code_space **ret)
{
	struct reel_code_space *space =
		(struct reel_code_space *)reel_id_table_find(&spaces->table, view->space);

	*ret = NULL;
	if (!view->generation)
		return NULL;
	if (!space) {
		space = reel_id_table_add(&spaces->table, view->space, spaces->space_size);
		if (!space)
			return reel_error_no_memory();
	}
	*ret = space;
	if (space->generation == view->generation ||
	    (space->generation && time < space->listed + space->n_mappings * LIST_NS_PER_MAPPING))
		return NULL;
	return list_ranges(spaces, view, time, space);
}

static void free_space(void *context, struct reel_id_entry *entry)
{
	const struct reel_code_spaces *spaces = context;
	struct reel_code_space *space = (struct reel_code_space *)entry;

	if (spaces->forget)
		spaces->forget(spaces->context, space);
	free(space->ranges);
	free(space);
}

const struct reel_space_state *reel_living_space(const struct reel_timeline *timeline, uint64_t id)
{
	const struct reel_space_state *state = timeline ? reel_timeline_space(timeline, id) : NULL;

	return state && state->end == UINT64_MAX ? state : NULL;
}

void reel_code_spaces_forget_ended(struct reel_code_spaces *spaces,
				   const struct reel_timeline *timeline)
{
	struct reel_id_entry **entries = reel_id_table_sorted(&spaces->table);

	for (size_t i = 0, n = spaces->table.count; entries && i < n; i++) {
		if (!reel_living_space(timeline, entries[i]->id))
			free_space(spaces, reel_id_table_remove(&spaces->table, entries[i]->id));
	}
	free(entries);
}

void reel_code_spaces_free(struct reel_code_spaces *spaces)
{
	reel_id_table_visit(&spaces->table, free_space, spaces);
	reel_id_table_free(&spaces->table);
}

struct reel_code_range *reel_code_range_of(const struct reel_code_space *space, uint64_t address)
{
	size_t low = REEL_PARTITION_POINT(space->n_ranges, i, space->ranges[i].last < address);

	return low < space->n_ranges && space->ranges[low].first <= address ? &space->ranges[low]
									    : NULL;
}
