/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces and their mappings over time. */
#include <stdlib.h>

#include "base/array.h"
#include "format/timeline/timeline.h"

/* SPEC.md 5, MAP. */
#define PROTECTION_EXECUTE 4

struct reel_space *reel_space_find(const struct reel_timeline *timeline, uint64_t id)
{
	return (struct reel_space *)reel_id_table_find(&timeline->spaces, id);
}

static void space_free(struct reel_timeline *timeline, struct reel_space *space)
{
	for (size_t i = 0; i < space->n_versions; i++)
		reel_mapping_tree_unref(&timeline->pool, space->versions[i].root);
	/* Without a past, code and JIT information are missing. */
	free(space->versions);
	free(space->cgroups);
	free(space);
}

struct reel_error *reel_space_get(struct reel_timeline *timeline, uint64_t id, uint64_t time,
				  struct reel_space **ret)
{
	struct reel_space *space = reel_space_find(timeline, id);

	if (!space) {
		space = reel_id_table_add(&timeline->spaces, id, sizeof(*space));
		if (!space)
			return reel_error_no_memory();
		space->state = (struct reel_space_state){
			.id = id,
			.start = time,
			.end = UINT64_MAX,
		};
	}
	*ret = space;
	return NULL;
}

/* The version at `time`, for changes: the last one, or a copy of it. */
static struct reel_error *space_edit(struct reel_timeline *timeline, struct reel_space *space,
				     uint64_t time, struct reel_space_version **ret)
{
	struct reel_space_version *last =
		space->n_versions ? &space->versions[space->n_versions - 1] : NULL;

	if (last && (!timeline->keep_past || last->time == time)) {
		last->time = time;
		*ret = last;
		return NULL;
	}
	if (!reel_array_reserve(&space->versions, space->n_versions, &space->capacity,
				sizeof(*space->versions)))
		return reel_error_no_memory();
	*ret = &space->versions[space->n_versions];
	**ret = (struct reel_space_version){ .time = time };
	if (space->n_versions) {
		(*ret)->root = reel_mapping_tree_ref((*ret)[-1].root);
		(*ret)->generation = (*ret)[-1].generation;
		(*ret)->code = reel_mapping_tree_ref((*ret)[-1].code);
		(*ret)->next = reel_mapping_tree_ref((*ret)[-1].next);
		(*ret)->n_next = (*ret)[-1].n_next;
	}
	space->n_versions++;
	return NULL;
}

/*
 * Generations reflect executable mappings and those of files, since text copied onto huge pages
 * belongs to an adjacent file.  A growing heap does not count.
 */
static bool is_code(const struct reel_timeline *timeline, const struct reel_mapping *mapping)
{
	const struct reel_record_module *module;

	if (mapping->protection & PROTECTION_EXECUTE)
		return true;
	module = reel_timeline_module(timeline, mapping->module);
	return module && module->kind == REEL_MODULE_FILE;
}

struct code_search {
	const struct reel_timeline *timeline;
	bool found;
};

static void look_for_code(void *context, const struct reel_mapping *mapping)
{
	struct code_search *search = context;

	search->found = search->found || is_code(search->timeline, mapping);
}

static bool has_code(const struct reel_timeline *timeline, const struct reel_mapping_node *root,
		     uint64_t address, uint64_t size)
{
	struct code_search search = { .timeline = timeline };

	reel_mapping_tree_visit(root, address, address + (size - 1), look_for_code, &search);
	return search.found;
}

static void version_changed(struct reel_timeline *timeline, struct reel_space_version *version,
			    bool code_changed)
{
	if (!version->root)
		version->generation = 0;
	else if (code_changed || !version->generation)
		version->generation = ++timeline->last_generation;
}

static const struct reel_mapping_node *latest(const struct reel_space *space)
{
	return space->n_versions ? space->versions[space->n_versions - 1].root : NULL;
}

/* Nothing changes, so no history is needed. */
static bool has_mapping(const struct reel_space *space, const struct reel_mapping *mapping)
{
	const struct reel_mapping *old = reel_mapping_tree_find(latest(space), mapping->address);

	return old && old->address == mapping->address && old->size == mapping->size &&
	       old->offset == mapping->offset && old->protection == mapping->protection &&
	       old->flags == mapping->flags && old->module == mapping->module;
}

static bool is_empty(const struct reel_space *space, uint64_t address, uint64_t size)
{
	const struct reel_mapping_node *root = latest(space);
	const struct reel_mapping *next;

	if (reel_mapping_tree_find(root, address))
		return false;
	next = reel_mapping_tree_above(root, address);
	return !next || next->address - address >= size;
}

struct reel_error *reel_space_map(struct reel_timeline *timeline,
				  const struct reel_record_map *record)
{
	struct reel_mapping mapping = {
		.address = record->address,
		.size = record->size,
		.offset = record->offset,
		.protection = (uint32_t)record->protection,
		.flags = (uint32_t)record->flags,
		.module = record->module,
	};
	struct reel_space_version *version;
	struct reel_space *space;
	bool code;

	if (!record->space)
		return NULL;
	TRY(reel_space_get(timeline, record->space, record->time, &space));
	if (has_mapping(space, &mapping))
		return NULL;
	code = is_code(timeline, &mapping) ||
	       has_code(timeline, latest(space), mapping.address, mapping.size);
	TRY(space_edit(timeline, space, record->time, &version));
	TRY(reel_mapping_tree_replace(&timeline->pool, &version->root, &mapping));
	version_changed(timeline, version, code);
	return NULL;
}

static struct reel_error *remove_code(struct reel_timeline *timeline,
				      struct reel_space_version *version, uint64_t address,
				      uint64_t size)
{
	TRY(reel_mapping_tree_remove(&timeline->code_pool, &version->code, address, size));
	return reel_mapping_tree_remove(&timeline->code_pool, &version->next, address, size);
}

struct reel_error *reel_space_unmap(struct reel_timeline *timeline,
				    const struct reel_record_unmap *record)
{
	struct reel_space *space = reel_space_find(timeline, record->space);
	struct reel_space_version *version;
	bool code;

	if (!space)
		return NULL;
	TRY(reel_jit_unmap(space, record));
	if (is_empty(space, record->address, record->size))
		return NULL;
	code = has_code(timeline, latest(space), record->address, record->size);
	TRY(space_edit(timeline, space, record->time, &version));
	TRY(reel_mapping_tree_remove(&timeline->pool, &version->root, record->address,
				     record->size));
	if (record->how != REEL_UNMAP_INFERRED_OVERLAP)
		TRY(remove_code(timeline, version, record->address, record->size));
	version_changed(timeline, version, code);
	return NULL;
}

static struct reel_error *put_piece(struct reel_timeline *timeline,
				    const struct reel_record_code *record, size_t piece,
				    struct reel_mapping_node **root)
{
	const struct reel_mapping bytes = {
		.address = record->address,
		.size = record->bytes.size,
		.module = piece,
	};

	return reel_mapping_tree_replace(&timeline->code_pool, root, &bytes);
}

struct reel_error *reel_space_expect_code(struct reel_timeline *timeline,
					  const struct reel_record_code *record, size_t *piece_ret)
{
	struct reel_space *space = reel_space_find(timeline, record->space);
	struct reel_space_version *version;

	/* A file's code (space 0); or the definition is lost, so nothing can be mapped there. */
	if (!space)
		return NULL;
	if (!reel_array_reserve(&timeline->pieces, timeline->n_pieces, &timeline->pieces_capacity,
				sizeof(*timeline->pieces)))
		return reel_error_no_memory();
	*piece_ret = timeline->n_pieces;
	timeline->pieces[timeline->n_pieces++] =
		(struct reel_code_piece){ .bytes = record->bytes.data };
	TRY(space_edit(timeline, space, record->since, &version));
	version->n_next++;
	return put_piece(timeline, record, *piece_ret, &version->next);
}

struct reel_error *reel_space_add_code(struct reel_timeline *timeline,
				       const struct reel_record_code *record, size_t piece)
{
	struct reel_space *space = reel_space_find(timeline, record->space);
	const struct reel_mapping *mapping;
	struct reel_space_version *version;

	if (piece == SIZE_MAX)
		return NULL;
	TRY(space_edit(timeline, space, record->time, &version));
	version->n_next--;
	mapping = reel_mapping_tree_find(latest(space), record->address);
	if (!mapping)
		return NULL;
	timeline->pieces[piece].module = mapping->module;
	TRY(put_piece(timeline, record, piece, &version->code));
	/* What is expected next stays. */
	return reel_mapping_tree_find(version->next, record->address)
		       ? NULL
		       : put_piece(timeline, record, piece, &version->next);
}

struct reel_error *reel_space_end_code(struct reel_timeline *timeline,
				       const struct reel_record_code_end *record)
{
	struct reel_space *space = reel_space_find(timeline, record->space);
	struct reel_space_version *version;

	if (!space || !timeline->keep_past)
		return NULL;
	TRY(space_edit(timeline, space, record->time, &version));
	return remove_code(timeline, version, record->address, record->size);
}

struct reel_error *reel_space_add_jit(struct reel_timeline *timeline,
				      const struct reel_record *record)
{
	bool is_symbol = record->id == REEL_RECORD_JIT_SYMBOL;
	uint64_t id = is_symbol ? record->jit_symbol.space : record->jit_unwind.space;
	struct reel_space *space;

	if (!id || !timeline->keep_past)
		return NULL;
	/* Records may name a space before its definition. */
	TRY(reel_space_get(timeline, id, 0, &space));
	return is_symbol ? reel_jit_add_symbol(timeline, space, &record->jit_symbol)
			 : reel_jit_add_unwind(timeline, space, &record->jit_unwind);
}

/* Starts with the parent's current state, unless the space already has mappings because its
 * definition was lost. */
static struct reel_error *space_fork(struct reel_timeline *timeline, struct reel_space *space,
				     uint64_t parent_id, uint64_t time)
{
	struct reel_space *parent = reel_space_find(timeline, parent_id);
	struct reel_space_version *version;

	if (!parent || parent == space)
		return NULL;
	TRY(reel_jit_fork(parent, space, time));
	if (!parent->n_versions || space->n_versions)
		return NULL;
	TRY(space_edit(timeline, space, time, &version));
	version->root = reel_mapping_tree_ref(parent->versions[parent->n_versions - 1].root);
	version->code = reel_mapping_tree_ref(parent->versions[parent->n_versions - 1].code);
	version->next = reel_mapping_tree_ref(parent->versions[parent->n_versions - 1].next);
	version->n_next = parent->versions[parent->n_versions - 1].n_next;
	version_changed(timeline, version, true);
	return NULL;
}

static void state_update(struct reel_space_state *state, const struct reel_record_space *record)
{
	state->namespace_pid = record->namespace_pid;
	state->machine = record->machine;
	state->word_bits = record->word_bits;
	state->byte_order = record->byte_order;
	state->code_mask = record->code_mask;
	state->data_mask = record->data_mask;
	state->vdso = record->vdso;
}

struct reel_error *reel_space_define(struct reel_timeline *timeline,
				     const struct reel_record_space *record)
{
	struct reel_space *space;

	TRY(reel_space_get(timeline, record->id, record->time, &space));
	state_update(&space->state, record);
	if (space->defined)
		return NULL;
	space->defined = true;
	space->state.start = record->time;
	space->state.parent = record->parent;
	space->state.pid = record->pid;
	space->state.forked = record->origin == REEL_ORIGIN_FORK;
	if (record->origin == REEL_ORIGIN_FORK)
		return space_fork(timeline, space, record->parent, record->time);
	return NULL;
}

void reel_space_end(struct reel_timeline *timeline, uint64_t id, uint64_t time)
{
	struct reel_space *space = reel_space_find(timeline, id);

	if (!space || space->state.end != UINT64_MAX)
		return;
	if (!timeline->keep_past && !timeline->keep_ended) {
		reel_id_table_remove(&timeline->spaces, id);
		space_free(timeline, space);
		return;
	}
	space->state.end = time;
	if (timeline->keep_past)
		return;
	*timeline->ended_last = space;
	timeline->ended_last = &space->next_ended;
}

void reel_timeline_keep_ended(struct reel_timeline *timeline)
{
	timeline->keep_ended = true;
	timeline->ended_last = &timeline->ended;
}

void reel_timeline_forget_ended(struct reel_timeline *timeline, uint64_t horizon)
{
	while (timeline->ended && timeline->ended->state.end < horizon) {
		struct reel_space *space = timeline->ended;

		timeline->ended = space->next_ended;
		if (!timeline->ended)
			timeline->ended_last = &timeline->ended;
		reel_id_table_remove(&timeline->spaces, space->entry.id);
		space_free(timeline, space);
	}
}

static void free_entry(void *context, struct reel_id_entry *entry)
{
	struct reel_space *space = (struct reel_space *)entry;

	(void)context; /* the trees go with the pool */
	free(space->versions);
	free(space->cgroups);
	free(space->jit_events);
	free(space);
}

void reel_spaces_free(struct reel_timeline *timeline)
{
	reel_id_table_visit(&timeline->spaces, free_entry, NULL);
	reel_id_table_free(&timeline->spaces);
}

/* ---- look-ups ------------------------------------------------------------------- */

const struct reel_space_state *reel_timeline_space(const struct reel_timeline *timeline,
						   uint64_t space)
{
	const struct reel_space *found = reel_space_find(timeline, space);

	return found && found->defined ? &found->state : NULL;
}

/* The last version that began at or before `time`; without a past, the only one. */
static const struct reel_space_version *version_at(const struct reel_timeline *timeline,
						   const struct reel_space *space, uint64_t time)
{
	size_t n = space->n_versions;

	if (timeline->keep_past)
		n = REEL_PARTITION_POINT(n, i, space->versions[i].time <= time);
	return n ? &space->versions[n - 1] : NULL;
}

struct reel_space_view reel_timeline_view(const struct reel_timeline *timeline, uint64_t space,
					  uint64_t time)
{
	struct reel_space_view view = { .timeline = timeline, .space = space };
	const struct reel_space *found = reel_space_find(timeline, space);
	const struct reel_space_version *version = found ? version_at(timeline, found, time) : NULL;

	if (found)
		view.moment = reel_jit_moment(found, time);
	if (version) {
		view.root = version->root;
		view.generation = version->generation;
		view.code = version->code;
		view.next_code = version->n_next ? version->next : version->code;
	}
	return view;
}

static bool give(const struct reel_mapping *mapping, struct reel_mapping *ret)
{
	if (mapping)
		*ret = *mapping;
	return mapping;
}

bool reel_space_view_find(const struct reel_space_view *view, uint64_t address,
			  struct reel_mapping *ret)
{
	return give(reel_mapping_tree_find(view->root, address), ret);
}

bool reel_space_view_below(const struct reel_space_view *view, uint64_t address,
			   struct reel_mapping *ret)
{
	return give(reel_mapping_tree_below(view->root, address), ret);
}

bool reel_space_view_above(const struct reel_space_view *view, uint64_t address,
			   struct reel_mapping *ret)
{
	return give(reel_mapping_tree_above(view->root, address), ret);
}

size_t reel_space_view_code(const struct reel_space_view *view, uint64_t address,
			    const uint8_t **ret)
{
	const struct reel_mapping *bytes = reel_mapping_tree_find(view->code, address), *mapping;
	const struct reel_code_piece *piece;
	uint64_t into;

	if (!bytes)
		return 0;
	piece = &view->timeline->pieces[bytes->module];
	mapping = reel_mapping_tree_find(view->root, address);
	/* When a mapping grows or its protection changes, a new mapping is reported in its
	 * place. */
	if (!mapping || mapping->module != piece->module)
		return 0;
	into = address - bytes->address;
	*ret = piece->bytes + bytes->offset + into;
	return (size_t)(bytes->size - into);
}

bool reel_timeline_has_code(const struct reel_timeline *timeline, uint64_t module)
{
	for (size_t i = 0; i < timeline->n_pieces; i++)
		if (timeline->pieces[i].module == module)
			return true;
	return false;
}

bool reel_timeline_find(const struct reel_timeline *timeline, uint64_t space, uint64_t time,
			uint64_t address, struct reel_mapping *ret)
{
	struct reel_space_view view = reel_timeline_view(timeline, space, time);

	return reel_space_view_find(&view, address, ret);
}

void reel_timeline_visit(const struct reel_timeline *timeline, uint64_t space, uint64_t time,
			 uint64_t address, uint64_t size,
			 void (*visit)(void *context, const struct reel_mapping *mapping),
			 void *context)
{
	struct reel_space_view view = reel_timeline_view(timeline, space, time);
	uint64_t room = UINT64_MAX - address;

	if (!size)
		return;
	reel_mapping_tree_visit(view.root, address, address + (size - 1 < room ? size - 1 : room),
				visit, context);
}

void reel_timeline_visit_all(const struct reel_timeline *timeline,
			     void (*visit)(void *context, const struct reel_mapping *mapping),
			     void *context)
{
	reel_mapping_pool_visit(&timeline->pool, visit, context);
}

size_t reel_timeline_mappings(const struct reel_timeline *timeline)
{
	return timeline->pool.n_nodes - timeline->pool.n_free;
}

void reel_timeline_trim(struct reel_timeline *timeline)
{
	reel_mapping_pool_trim(&timeline->pool);
}

struct reel_error *reel_timeline_visit_spaces(const struct reel_timeline *timeline,
					      void (*visit)(void *context,
							    const struct reel_space_state *space),
					      void *context)
{
	struct reel_id_entry **all = reel_id_table_sorted(&timeline->spaces);

	if (timeline->spaces.count && !all)
		return reel_error_no_memory();
	for (size_t i = 0; i < timeline->spaces.count; i++) {
		const struct reel_space *space = (struct reel_space *)all[i];

		if (space->defined)
			visit(context, &space->state);
	}
	free(all);
	return NULL;
}
