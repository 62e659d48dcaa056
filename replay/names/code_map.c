/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "replay/names/code_map.h"

/* Entries are found by page: mappings begin and end at multiples of 4 KiB. */
#define CACHE_PAGE_BITS 12

/* SPEC.md 5, MAP. */
#define PROTECTION_EXECUTE 4

void reel_code_map_set_space(struct reel_code_map *map, struct reel_space_view view,
			     const struct reel_arch *arch)
{
	map->view = view;
	map->arch = arch;
	if (map->jit_rows)
		reel_jit_rows_trim(map->jit_rows);
}

/* Keeps the first error. */
static void note_error(struct reel_code_map *map, struct reel_error *error)
{
	if (map->error)
		reel_error_destroy(error);
	else
		map->error = error;
}

struct reel_error *reel_code_map_problem(struct reel_code_map *map)
{
	struct reel_error *error = map->error;

	map->error = NULL;
	if (!error && map->jit_rows)
		error = reel_jit_rows_problem(map->jit_rows);
	return error;
}

static bool open_module(struct reel_code_map *map, uint64_t id, struct reel_module **ret)
{
	struct reel_error *error = reel_modules_open(map->modules, id, map->arch, ret);

	if (!error)
		return true;
	note_error(map, error);
	return false;
}

/*
 * Text copied onto huge pages is an anonymous mapping between mappings of its original file: it
 * belongs to an adjacent neighbour whose file has code there.
 */
static bool neighbour_owns(struct reel_code_map *map, const struct reel_mapping *anonymous,
			   const struct reel_mapping *neighbour, struct reel_code_range *range)
{
	struct reel_module *module;
	uint8_t byte;
	uint64_t bias;

	if (neighbour->address + neighbour->size != anonymous->address &&
	    anonymous->address + anonymous->size != neighbour->address)
		return false;
	if (!open_module(map, neighbour->module, &module) || !module ||
	    module->record->kind != REEL_MODULE_FILE || !reel_module_bias(module, neighbour, &bias))
		return false;
	if (!reel_elf_file_read(module->files.file, anonymous->address - bias, 1, &byte) ||
	    !reel_elf_file_read(module->files.file, anonymous->address + anonymous->size - 1 - bias,
				1, &byte))
		return false;
	range->module = module;
	range->bias = bias;
	range->found = REEL_CODE_FOUND;
	return true;
}

static void look_at_neighbours(struct reel_code_map *map, const struct reel_mapping *anonymous,
			       struct reel_code_range *range)
{
	struct reel_mapping neighbour;

	if (reel_space_view_below(&map->view, anonymous->address, &neighbour) &&
	    neighbour_owns(map, anonymous, &neighbour, range))
		return;
	if (reel_space_view_above(&map->view, anonymous->address, &neighbour))
		neighbour_owns(map, anonymous, &neighbour, range);
}

static void fill(struct reel_code_map *map, const struct reel_mapping *mapping,
		 struct reel_code_range *range)
{
	struct reel_module *module;

	range->begin = mapping->address;
	range->end = mapping->address + mapping->size;
	range->found = REEL_CODE_MODULE_MISSING;
	range->module = NULL;
	/* Without the file, addresses are still offsets from its start. */
	range->bias = mapping->address - mapping->offset;
	if (!open_module(map, mapping->module, &module) || !module)
		return;
	range->module = module;
	if (module->record->kind == REEL_MODULE_ANONYMOUS) {
		range->found = REEL_CODE_ANONYMOUS;
		look_at_neighbours(map, mapping, range);
		return;
	}
	if (reel_module_bias(module, mapping, &range->bias) && reel_module_rows(module, map->arch))
		range->found = REEL_CODE_FOUND;
}

const struct reel_code_range *reel_code_map_find(struct reel_code_map *map, uint64_t address)
{
	static const struct reel_code_range nothing = { .found = REEL_CODE_NO_MAPPING };
	uint64_t hash = (address >> CACHE_PAGE_BITS ^ map->view.generation * 0x9e3779b97f4a7c15) *
			0x9e3779b97f4a7c15;
	struct reel_code_range *entry = &map->cache[hash >> 54];
	struct reel_mapping mapping;

	_Static_assert(REEL_CODE_CACHE_SIZE == 1u << (64 - 54), "the hash's upper bits index it");
	if (entry->generation == map->view.generation && address >= entry->begin &&
	    address < entry->end)
		return entry;
	/* Data is not executed, but a bad pointer, or a stack that changed while it was copied, may
	 * lead there. */
	if (!map->view.generation || !reel_space_view_find(&map->view, address, &mapping) ||
	    !(mapping.protection & PROTECTION_EXECUTE))
		return &nothing;
	fill(map, &mapping, entry);
	entry->generation = map->view.generation;
	return entry;
}

static bool is_deleted(struct reel_bytes path)
{
	static const char end[] = " (deleted)";
	const size_t size = sizeof(end) - 1;

	return path.size > size && !memcmp(path.data + path.size - size, end, size);
}

bool reel_code_range_may_be_jit(const struct reel_code_range *range)
{
	const struct reel_module *module = range->module;

	return (range->found == REEL_CODE_ANONYMOUS || range->found == REEL_CODE_MODULE_MISSING) &&
	       (!module || module->record->kind != REEL_MODULE_FILE ||
		is_deleted(module->record->path));
}

static const struct reel_record_module *find_program(const struct reel_space_view *view)
{
	const struct reel_record_module *module;
	struct reel_mapping mapping;
	bool any =
		reel_space_view_find(view, 0, &mapping) || reel_space_view_above(view, 0, &mapping);

	while (any) {
		module = reel_timeline_module(view->timeline, mapping.module);
		if (module && module->kind == REEL_MODULE_FILE &&
		    mapping.protection & PROTECTION_EXECUTE)
			return module;
		any = reel_space_view_above(view, mapping.address, &mapping);
	}
	return NULL;
}

const struct reel_record_module *reel_code_map_jit_program(struct reel_code_map *map,
							   const struct reel_code_range *range)
{
	uint64_t generation = map->view.generation;

	if (range->found != REEL_CODE_ANONYMOUS || !generation)
		return NULL;
	if (map->program_generation != generation) {
		map->program = find_program(&map->view);
		map->program_generation = generation;
	}
	return map->program;
}

/* Reads recorded bytes at a runtime address. */
static bool read_recorded(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	const struct reel_code_map *map = context;

	while (size) {
		const uint8_t *bytes;
		size_t n = reel_space_view_code(&map->view, address, &bytes);

		if (!n)
			return false;
		n = n < size ? n : size;
		memcpy(bytes_ret, bytes, n);
		address += n;
		bytes_ret += n;
		size -= n;
	}
	return true;
}

static bool read_code(void *context, uint64_t elf_address, size_t size, uint8_t *bytes_ret)
{
	const struct reel_module *module = context;

	return reel_elf_file_read(module->files.file, elf_address, size, bytes_ret);
}

void reel_code_map_free(struct reel_code_map *map)
{
	for (size_t i = 0; i < 2; i++)
		reel_synthesis_destroy(map->recorded[i].synthesis);
	reel_jit_rows_destroy(map->jit_rows);
	reel_error_destroy(map->error);
}

/* Finds the row of any file with CFI for a runtime address. */
static enum reel_cfi_found find_row(void *context, uint64_t address, struct reel_cfi_row *ret)
{
	struct reel_code_map *map = context;
	const struct reel_code_range *range = reel_code_map_find(map, address);
	uint64_t bias = range->bias;
	enum reel_cfi_found found;

	if (range->found != REEL_CODE_FOUND || range->module->arch != map->arch ||
	    !range->module->cfi)
		return REEL_CFI_NONE;
	found = reel_cfi_row_at(range->module->cfi, address - bias, ret, NULL);
	ret->fde_begin += bias;
	ret->fde_end += bias;
	return found;
}

/* Rows of the recorded code in its present state.  Code changes (CODE records), but rarely between
 * successive samples. */
static struct reel_synthesis *recorded_synthesis(struct reel_code_map *map)
{
	/* The code may also jump into files. */
	struct reel_synthesis_input input = { .arch = map->arch,
					      .read_code = reel_code_map_read,
					      .module = map,
					      .find_row = find_row,
					      .rows = map };
	struct reel_recorded_rows *rows;
	struct reel_error *error;

	for (unsigned i = 0; i < 2; i++) {
		rows = &map->recorded[i];
		if (rows->code == map->view.code && rows->arch == map->arch &&
		    rows->generation == map->view.generation) {
			map->last_recorded = i;
			return rows->synthesis;
		}
	}
	map->last_recorded ^= 1;
	rows = &map->recorded[map->last_recorded];
	if (rows->synthesis && rows->arch == map->arch) {
		reel_synthesis_forget(rows->synthesis);
	} else {
		reel_synthesis_destroy(rows->synthesis);
		rows->synthesis = NULL;
		error = reel_synthesis_create(&input, &rows->synthesis);
		if (error)
			note_error(map, error);
	}
	rows->arch = map->arch;
	rows->code = map->view.code;
	rows->generation = map->view.generation;
	return rows->synthesis;
}

/* Rows from a JIT's unwind information for its code; NULL if none. */
static struct reel_rows *jit_rows_at(struct reel_code_map *map, uint64_t address)
{
	const struct reel_record_jit_unwind *record =
		reel_space_view_jit_unwind(&map->view, address);
	struct reel_error *error = NULL;
	struct reel_rows *rows = NULL;

	if (!record || !map->arch)
		return NULL;
	if (!map->jit_rows)
		error = reel_jit_rows_create(&map->jit_rows);
	if (!error)
		error = reel_jit_rows_get(map->jit_rows, record, map->arch, map->big_endian, &rows);
	if (error)
		note_error(map, error);
	return rows;
}

enum reel_code_found reel_code_map_find_code(void *context, uint64_t address, struct reel_code *ret)
{
	struct reel_code_map *map = context;
	const struct reel_code_range *range = reel_code_map_find(context, address);

	if (range->found == REEL_CODE_FOUND)
		*ret = (struct reel_code){
			.rows = reel_module_rows(range->module, map->arch),
			.synthesis =
				range->module->arch == map->arch ? range->module->synthesis : NULL,
			.bias = range->bias,
			.read_code = read_code,
			.module = range->module,
			.begin = range->begin,
			.size = range->end - range->begin,
			.id = range->module->index + 1,
		};
	if (range->found == REEL_CODE_FOUND || range->found == REEL_CODE_NO_MAPPING)
		return range->found;
	map->has_used_recorded = true;
	if (map->view.code || map->view.moment)
		*ret = (struct reel_code){
			.synthesis = map->arch && map->view.code ? recorded_synthesis(map) : NULL,
			.jit_rows = reel_code_range_may_be_jit(range) ? jit_rows_at(map, address)
								      : NULL,
			.read_code = map->view.code ? read_recorded : NULL,
			.module = map,
			.begin = range->begin,
			.size = range->end - range->begin,
		};
	return range->found;
}

bool reel_code_map_read(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	struct reel_code_map *map = context;
	const struct reel_code_range *range = reel_code_map_find(map, address);

	if (range->found == REEL_CODE_FOUND)
		return reel_elf_file_read(range->module->files.file, address - range->bias, size,
					  bytes_ret);
	map->has_used_recorded = true;
	return range->found != REEL_CODE_NO_MAPPING &&
	       read_recorded(context, address, size, bytes_ret);
}
