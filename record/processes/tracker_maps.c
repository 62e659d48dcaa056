/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings and their overlaps, and the vDSO, which is in no file. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "include/commands.h"
#include "record/proc/maps_reader.h"
#include "base/quantity.h"
#include "record/processes/tracker_internal.h"
#include "format/timeline/module_set.h"

/* Limits for a process: as many mappings as the kernel allows by default, with 64 bytes per
 * path. */
#define MAPPINGS_MAX   65536
#define PATH_BYTES_MAX (4u << 20)

/* ---- the vDSO ----------------------------------------------------------------------- */

static struct reel_record_module vdso_of_unknown_image(void)
{
	return (struct reel_record_module){ .kind = REEL_MODULE_VDSO,
					    .path = reel_bytes_of_string("[vdso]") };
}

static struct reel_error *vdso_module(struct reel_tracker *tracker, const uint8_t *image,
				      size_t size, uint64_t *ret)
{
	struct reel_record_module identity = vdso_of_unknown_image();
	struct reel_build_id build_id;

	if (reel_build_id_of_image(image, size, &build_id))
		identity.build_id = reel_build_id_bytes(&build_id);
	TRY(reel_module_table_add(tracker->options.modules, &identity, ret));
	return reel_module_table_set_image(tracker->options.modules, *ret, image, size);
}

/* Finds one of the two vDSOs that all processes share, using our own (target.h). */
static struct reel_error *find_vdso(struct reel_tracker *tracker, bool compat, uint64_t *ret)
{
	const struct reel_target *target = tracker->options.target;
	const struct reel_record_module unknown = vdso_of_unknown_image();
	const uint8_t *image = compat ? target->compat_vdso : target->vdso;
	size_t size = compat ? target->compat_vdso_size : target->vdso_size;
	uint64_t *known = compat ? &tracker->compat_vdso : &tracker->vdso;
	struct reel_error *error = NULL;

	if (!*known)
		error = image ? vdso_module(tracker, image, size, known)
			      : reel_module_table_add(tracker->options.modules, &unknown, known);
	*ret = *known;
	return error;
}

/*
 * Between an exec's first mapping and its end, when BPF reports the kind of program, the address
 * has to do: ADDR_LIMIT_3GB puts 64-bit programs there as well.
 */
static bool is_compat(const struct reel_tracker *tracker, const struct process *process,
		      const struct reel_proc_map *map)
{
	if (tracker->options.target->elf.word_bits == 32)
		return false;
	return process->vdso_kind == VDSO_UNKNOWN ? map->address + map->size <= UINT64_C(1) << 32
						  : process->vdso_kind == VDSO_COMPAT;
}

struct vdso_search {
	uint64_t address;
	struct reel_mapping found;
};

static void find_at_start(void *context, const struct reel_mapping *mapping)
{
	struct vdso_search *search = context;

	if (mapping->address == search->address)
		search->found = *mapping;
}

struct reel_error *tracker_vdso_told(struct reel_tracker *tracker, struct process *process,
				     uint64_t time, enum vdso_kind kind)
{
	struct vdso_search search = { .address = process->space.vdso };
	struct reel_proc_map map;

	process->vdso_kind = kind;
	if (!search.address)
		return NULL;
	reel_timeline_visit(tracker->timeline, process->space.id, REEL_TIME_NOW, search.address, 1,
			    find_at_start, &search);
	/* Replace a wrong guess; a right one needs no change. */
	if (!search.found.module ||
	    (search.found.module != tracker->vdso && search.found.module != tracker->compat_vdso))
		return NULL;
	map = (struct reel_proc_map){
		.address = search.found.address,
		.size = search.found.size,
		.offset = search.found.offset,
		.protection = search.found.protection,
		.flags = search.found.flags,
		.path = "[vdso]",
	};
	return tracker_map(tracker, process, time, &map, NULL, 0);
}

/* ---- mappings ----------------------------------------------------------------------- */

struct overlaps {
	struct reel_mapping *mappings;
	size_t count, capacity;
	bool failed;
};

static void collect(void *context, const struct reel_mapping *mapping)
{
	struct overlaps *overlaps = context;

	if (!reel_array_reserve(&overlaps->mappings, overlaps->count, &overlaps->capacity,
				sizeof(*overlaps->mappings))) {
		overlaps->failed = true;
		return;
	}
	overlaps->mappings[overlaps->count++] = *mapping;
}

static bool is_same(const struct reel_mapping *mapping, const struct reel_record_map *map)
{
	return mapping->address == map->address && mapping->size == map->size &&
	       mapping->offset == map->offset && mapping->protection == map->protection &&
	       mapping->flags == map->flags && mapping->module == map->module;
}

static struct reel_error *unmap(struct reel_tracker *tracker, const struct process *process,
				uint64_t time, uint64_t address, uint64_t size,
				enum reel_unmap_how how)
{
	struct reel_record record = { .id = REEL_RECORD_UNMAP };

	record.unmap = (struct reel_record_unmap){ time, process->space.id, address, size, how };
	return tracker_put(tracker, process, &record);
}

static bool is_without_file(const struct reel_tracker *tracker, const struct reel_record_map *map)
{
	const struct reel_record_module *module =
		reel_module_table_find(tracker->options.modules, map->module);

	return module && map->protection & PROT_EXEC &&
	       (module->kind == REEL_MODULE_ANONYMOUS || reel_path_is_deleted(module->path));
}

/*
 * A process is written with its first sample, and its mappings as if they had been there from its
 * start.  But that sample may be older than this mapping, in a ring that is read later: replay would
 * find the new code there.  So a process is written before its code is replaced.
 */
static bool replaces_code(const struct overlaps *overlaps, const struct reel_record_map *map)
{
	for (size_t i = 0; i < overlaps->count; i++) {
		if (overlaps->mappings[i].protection & PROT_EXEC &&
		    overlaps->mappings[i].module != map->module)
			return true;
	}
	return false;
}

/* Reports the mappings that the new one replaces, since the kernel does not report munmap. */
static struct reel_error *replace_overlaps(struct reel_tracker *tracker, struct process *process,
					   const struct reel_record_map *map, bool *is_there_ret)
{
	struct overlaps overlaps = { 0 };
	struct reel_error *error = NULL;

	reel_timeline_visit(tracker->timeline, process->space.id, REEL_TIME_NOW, map->address,
			    map->size, collect, &overlaps);
	if (overlaps.failed)
		error = reel_error_no_memory();
	*is_there_ret = overlaps.count == 1 && is_same(&overlaps.mappings[0], map);
	/* No sample bounds how many such processes there are, so the budget does. */
	if (!error && !process->written && process->followed && replaces_code(&overlaps, map) &&
	    reel_budget_charge_bytes(tracker->options.budget, REEL_BUDGET_PLACE_BYTES,
				     (uint32_t)process->entry.id, 4 * REEL_BUDGET_RECORD))
		error = tracker_write_process(tracker, process);
	for (size_t i = 0; i < overlaps.count && !error && !*is_there_ret; i++) {
		const struct reel_mapping *old = &overlaps.mappings[i];
		uint64_t first = old->address > map->address ? old->address : map->address;
		uint64_t old_last = old->address + (old->size - 1);
		uint64_t map_last = map->address + (map->size - 1);
		uint64_t last = old_last < map_last ? old_last : map_last;

		/* A copy of text?  Only /proc has the file's data next to it. */
		if (is_without_file(tracker, map) && old->module != map->module)
			tracker_is_outdated(tracker, process);
		process->n_mappings -= first == old->address && last == old_last;
		process->n_mappings += first > old->address && last < old_last;
		error = unmap(tracker, process, map->time, first, last - first + 1,
			      REEL_UNMAP_INFERRED_OVERLAP);
	}
	free(overlaps.mappings);
	return error;
}

static struct reel_error *map_module(struct reel_tracker *tracker, const struct process *process,
				     uint64_t time, const struct reel_proc_map *map,
				     const struct reel_build_id *build_id, uint64_t generation,
				     struct reel_file_hints *hints_ret, uint64_t *ret)
{
	*hints_ret = (struct reel_file_hints){ 0 };
	if (!strcmp(map->path, "[vdso]"))
		return find_vdso(tracker, is_compat(tracker, process, map), ret);
	return reel_module_table_add_mapped(tracker->options.modules,
					    tracker->proc_is_ours ? (uint32_t)process->entry.id : 0,
					    map, build_id, generation, time, hints_ret, ret);
}

/* The mapped file has a variable that BPF reads.  Of several, the executable's variable counts,
 * which all use. */
static void publish(struct reel_tracker *tracker, struct process *process,
		    const struct reel_proc_map *map, struct reel_bpf_publisher publisher)
{
	if (!publisher.kind || publisher.kind >= REEL_BPF_PUBLISHER_KINDS ||
	    process->publisher.kind == REEL_BPF_PUBLISHER_OFFSET)
		return;
	if (publisher.kind != REEL_BPF_PUBLISHER_OFFSET)
		publisher.at += map->address - map->offset;
	tracker_publish(tracker, process, publisher);
}

/* Of anonymous memory, events have the address, but /proc has 0.  A memfd, which counts as anonymous
 * without a build-id, has a path. */
static uint64_t offset_of(const struct reel_proc_map *map)
{
	bool has_path = map->path[0] == '/' && map->path[1] != '/';

	return !map->inode && !has_path &&
			       reel_module_kind_of_name(map->path) == REEL_MODULE_ANONYMOUS
		       ? map->address
		       : map->offset;
}

static struct reel_record record_of(const struct process *process, uint64_t time,
				    const struct reel_proc_map *map)
{
	struct reel_record record = { .id = REEL_RECORD_MAP };

	record.map = (struct reel_record_map){
		.time = time,
		.space = process->space.id,
		.address = map->address,
		.size = map->size,
		.offset = offset_of(map),
		.protection = map->protection,
		.flags = map->flags,
	};
	return record;
}

static bool is_valid(const struct reel_proc_map *map)
{
	return map->size && map->address <= UINT64_MAX - (map->size - 1);
}

struct reel_error *tracker_map_leave_out(struct reel_tracker *tracker, struct process *process,
					 uint64_t time, const struct reel_proc_map *map)
{
	struct reel_record record = record_of(process, time, map);
	bool is_there;

	tracker_leave_out(tracker, process);
	return is_valid(map) ? replace_overlaps(tracker, process, &record.map, &is_there) : NULL;
}

/* Whether it replaces a mapping, or the process may have one more. */
static bool has_room(const struct reel_tracker *tracker, const struct process *process,
		     const struct reel_proc_map *map)
{
	struct reel_mapping old;

	return process->n_mappings < tracker_allowance(tracker) ||
	       (reel_timeline_find(tracker->timeline, process->space.id, REEL_TIME_NOW,
				   map->address, &old) &&
		old.address == map->address && old.size == map->size);
}

struct reel_error *tracker_map(struct reel_tracker *tracker, struct process *process, uint64_t time,
			       const struct reel_proc_map *map,
			       const struct reel_build_id *build_id, uint64_t generation)
{
	struct reel_record record = record_of(process, time, map);
	struct reel_file_hints hints;
	bool is_there = false;

	if (!is_valid(map))
		return NULL;
	if (!has_room(tracker, process, map))
		return tracker_map_leave_out(tracker, process, time, map);
	TRY(map_module(tracker, process, time, map, build_id, generation, &hints,
		       &record.map.module));
	publish(tracker, process, map, hints.publisher);
	hints.runtime.at += map->address - map->offset;
	tracker_set_interpreter(tracker, process, hints.runtime);
	TRY(replace_overlaps(tracker, process, &record.map, &is_there));
	if (is_there)
		return NULL;
	if (process->written && !tracker_may_write(tracker, process, record.map.module)) {
		tracker_leave_out(tracker, process);
		return NULL;
	}
	process->n_mappings++;
	TRY(tracker_put(tracker, process, &record));
	if (strcmp(map->path, "[vdso]") || process->space.vdso == map->address)
		return NULL;
	process->space.vdso = map->address;
	return tracker_space_update(tracker, process);
}

/* ---- lists of mappings -------------------------------------------------------------- */

void map_list_free(struct map_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)list->maps[i].path);
	free(list->maps);
	*list = (struct map_list){ 0 };
}

static void add_to_list(void *context, const struct reel_proc_map *map)
{
	struct map_list *list = context;
	char *path;

	if (!reel_array_reserve(&list->maps, list->count, &list->capacity, sizeof(*list->maps))) {
		list->failed = true;
		return;
	}
	path = strdup(map->path);
	if (!path) {
		list->failed = true;
		return;
	}
	list->maps[list->count] = *map;
	list->maps[list->count++].path = path;
}

enum reel_answer map_list_read(const struct reel_tracker *tracker, uint32_t pid, uint64_t deadline,
			       struct map_list *ret)
{
	const struct reel_maps_limits limits = { MAPPINGS_MAX, PATH_BYTES_MAX, deadline };

	*ret = (struct map_list){ 0 };
	ret->answer = reel_inspector_process(tracker->options.inspector, pid, &limits,
					     &ret->process, add_to_list, ret);
	/* A kernel thread; or the first thread has ended, while others may live. */
	if (ret->answer == REEL_ANSWER_WHOLE && !ret->count)
		ret->answer = REEL_ANSWER_NONE;
	return ret->answer;
}

uint64_t map_list_vdso(const struct map_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->maps[i].path, "[vdso]"))
			return list->maps[i].address;
	}
	return 0;
}

static int by_address(const void *key, const void *element)
{
	uint64_t address = *(const uint64_t *)key;
	const struct reel_proc_map *map = element;

	return address < map->address ? -1 : address > map->address;
}

/* The kernel lists mappings by ascending addresses, however many reads that takes. */
static bool is_in_list(const struct map_list *list, const struct reel_mapping *mapping)
{
	const struct reel_proc_map *map = NULL;

	if (list->count)
		map = bsearch(&mapping->address, list->maps, list->count, sizeof(*list->maps),
			      by_address);
	return map && map->size == mapping->size && offset_of(map) == mapping->offset;
}

struct reel_error *tracker_maps_replace(struct reel_tracker *tracker, struct process *process,
					uint64_t time, uint64_t deadline, struct map_list *list)
{
	const struct reel_proc_map *last = list->count ? &list->maps[list->count - 1] : NULL;
	uint64_t end = list->answer == REEL_ANSWER_WHOLE ? UINT64_MAX
		       : last				 ? last->address + last->size
							 : 0;
	struct overlaps old = { 0 };
	struct reel_error *error = NULL;

	reel_timeline_visit(tracker->timeline, process->space.id, REEL_TIME_NOW, 0, end, collect,
			    &old);
	if (old.failed)
		error = reel_error_no_memory();
	for (size_t i = 0; i < old.count && !error; i++) {
		if (is_in_list(list, &old.mappings[i]))
			continue;
		process->n_mappings--;
		error = unmap(tracker, process, time, old.mappings[i].address, old.mappings[i].size,
			      REEL_UNMAP_INFERRED_ABSENT);
	}
	for (size_t i = 0; i < list->count && !error; i++) {
		/* Their files may have to be opened. */
		if (reel_now() > deadline) {
			list->answer = REEL_ANSWER_PART;
			break;
		}
		error = tracker_map(tracker, process, time, &list->maps[i], NULL, 0);
	}
	free(old.mappings);
	return error;
}
