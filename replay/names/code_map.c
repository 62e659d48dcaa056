/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "replay/names/code_map.h"

/* Entries are found by page: mappings begin and end at multiples of 4 KiB. */
#define CACHE_PAGE_BITS 12

/* SPEC.md 5, MAP. */
#define PROTECTION_WRITE   2
#define PROTECTION_EXECUTE 4

#define PAGE 4096
/* Recorded code is compared with a file's in pieces, or units if the file has only some bytes. */
#define PIECE 256
#define UNIT  4
/* Mappings next to copied text in which its file is looked for, on either side. */
#define NEIGHBOURS 8

void reel_code_map_set_space(struct reel_code_map *map, struct reel_space_view view,
			     const struct reel_arch *arch)
{
	map->view = view;
	map->arch = arch;
	if (map->jit_rows)
		reel_jit_rows_trim(map->jit_rows);
}

/* Keeps the first error. */
static void keep_error(struct reel_code_map *map, struct reel_error *error)
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
	keep_error(map, error);
	return false;
}

/* Reads recorded bytes at a runtime address. */
static bool read_view(const struct reel_space_view *view, uint64_t address, size_t size,
		      uint8_t *bytes_ret)
{
	while (size) {
		const uint8_t *bytes;
		size_t n = reel_space_view_code(view, address, &bytes);

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

bool reel_code_range_may_be_jit(const struct reel_code_range *range)
{
	const struct reel_module *module = range->module;

	return (range->found == REEL_CODE_ANONYMOUS || range->found == REEL_CODE_MODULE_MISSING) &&
	       (!module || module->record->kind != REEL_MODULE_FILE ||
		reel_path_is_deleted(module->record->path));
}

static bool read_recorded(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	const struct reel_code_map *map = context;

	return read_view(&map->view, address, size, bytes_ret);
}

/* Code is copied and made in pages. */
static void narrow(uint64_t address, struct reel_code_range *range)
{
	uint64_t page = address & ~(uint64_t)(PAGE - 1);

	range->begin = page > range->begin ? page : range->begin;
	range->end = range->end - page > PAGE ? page + PAGE : range->end;
}

/* Whether the file has code in the page; it may begin or end there. */
static bool has_text(const struct reel_code_range *range, const struct reel_module *module,
		     uint64_t bias, uint64_t address, struct reel_segment *ret)
{
	const struct reel_elf_file *file = module->files.file;

	return reel_elf_file_code_segment(file, address - bias, ret) ||
	       reel_elf_file_code_segment(file, range->begin - bias, ret) ||
	       reel_elf_file_code_segment(file, range->end - 1 - bias, ret);
}

/* Limits the range around `address` to the segment's pages; a damaged file's segment may pass the
 * ends of the address space. */
static void limit(uint64_t address, const struct reel_segment *segment,
		  struct reel_code_range *range)
{
	uint64_t begin = range->bias + segment->address, end = begin + segment->size + PAGE - 1;

	begin &= ~(uint64_t)(PAGE - 1);
	end &= ~(uint64_t)(PAGE - 1);
	if (begin <= address && begin > range->begin)
		range->begin = begin;
	if (end > address && end < range->end)
		range->end = end;
}

/* The number of recorded bytes that the file also has there; -1 if one differs. */
static int count_equal(const struct reel_space_view *view, const struct reel_module *module,
		       uint64_t address, uint64_t bias, size_t size)
{
	uint8_t recorded[PIECE], of_file[PIECE];
	int n = 0;

	if (!read_view(view, address, size, recorded))
		return 0;
	if (reel_elf_file_read(module->files.file, address - bias, size, of_file))
		return memcmp(recorded, of_file, size) ? -1 : (int)size;
	/* An image has only some bytes around the sampled ones. */
	for (size_t at = 0; at < size && size > UNIT && n >= 0; at += UNIT) {
		int equal = count_equal(view, module, address + at, bias, UNIT);

		n = equal < 0 ? -1 : n + equal;
	}
	return n;
}

/* Whether the recorded bytes of the page are the file's.  If code was never recorded, it may be. */
static bool agrees(struct reel_code_map *map, const struct reel_mapping *mapping,
		   struct reel_code_range *range, const struct reel_module *module, uint64_t bias)
{
	struct reel_space_view next = map->view;
	bool any = !reel_timeline_has_code(next.timeline, mapping->module);

	range->is_compared = true;
	next.code = next.next_code;
	for (uint64_t at = range->begin; at < range->end; at += PIECE) {
		int equal = count_equal(&map->view, module, at, bias, PIECE);

		/* Found soon after. */
		if (!equal)
			equal = count_equal(&next, module, at, bias, PIECE);

		if (equal < 0)
			return false;
		any |= equal > 0;
	}
	return any;
}

/*
 * Text that a program copied to other memory at its own address, for huge pages, belongs to a file
 * that is mapped next to it and has code there, unless the copy was changed.
 */
static bool neighbour_owns(struct reel_code_map *map, uint64_t address,
			   const struct reel_mapping *copy, const struct reel_mapping *neighbour,
			   struct reel_code_range *range)
{
	struct reel_segment segment;
	struct reel_module *module;
	uint64_t bias;

	if (!open_module(map, neighbour->module, &module) || !module ||
	    module->record->kind != REEL_MODULE_FILE ||
	    !reel_module_bias(module, neighbour, &bias) ||
	    !has_text(range, module, bias, address, &segment) ||
	    !reel_module_rows(module, map->arch) || !agrees(map, copy, range, module, bias))
		return false;
	range->module = module;
	range->bias = bias;
	range->found = REEL_CODE_FOUND;
	return true;
}

/* Copies may be in several mappings, one next to the other. */
static void try_neighbours(struct reel_code_map *map, uint64_t address,
			   const struct reel_mapping *copy, struct reel_code_range *range)
{
	struct reel_mapping at = *copy, next;

	for (unsigned i = 0; i < NEIGHBOURS && reel_space_view_below(&map->view, at.address, &next);
	     i++, at = next)
		if (next.address + next.size != at.address)
			break;
		else if (neighbour_owns(map, address, copy, &next, range))
			return;
	at = *copy;
	for (unsigned i = 0; i < NEIGHBOURS && reel_space_view_above(&map->view, at.address, &next);
	     i++, at = next)
		if (at.address + at.size != next.address ||
		    neighbour_owns(map, address, copy, &next, range))
			return;
}

/* In a file's memory that became executable, or can be written, there may be other code. */
static void find_other_code(struct reel_code_map *map, uint64_t address,
			    const struct reel_mapping *mapping, struct reel_code_range *range)
{
	const struct reel_module *module = range->module;
	struct reel_code_range page = *range;
	struct reel_segment segment;
	bool is_text;

	if (reel_elf_file_is_debug_only(module->files.file) &&
	    !reel_elf_file_is_embedded(module->files.file))
		return;
	narrow(address, &page);
	is_text = has_text(&page, module, range->bias, address, &segment);
	if (is_text && !(mapping->protection & PROTECTION_WRITE)) {
		/* Data may have been mapped over the end later, which is not recorded. */
		limit(address, &segment, range);
		return;
	}
	*range = page;
	if (is_text && agrees(map, mapping, range, module, range->bias))
		return;
	range->found = REEL_CODE_ANONYMOUS;
	/* Where none was recorded, there is perhaps no code at all. */
	if (reel_timeline_has_code(map->view.timeline, mapping->module))
		range->module = NULL;
}

static void fill(struct reel_code_map *map, uint64_t address, const struct reel_mapping *mapping,
		 struct reel_code_range *range)
{
	struct reel_module *module;

	range->begin = mapping->address;
	range->end = mapping->address + mapping->size;
	range->found = REEL_CODE_MODULE_MISSING;
	range->module = NULL;
	range->code = map->view.code;
	range->next_code = map->view.next_code;
	range->is_compared = false;
	/* Without the file, addresses are still offsets from its start. */
	range->bias = mapping->address - mapping->offset;
	if (!open_module(map, mapping->module, &module) || !module)
		return;
	range->module = module;
	if (module->record->kind == REEL_MODULE_ANONYMOUS)
		range->found = REEL_CODE_ANONYMOUS;
	else if (reel_module_bias(module, mapping, &range->bias) &&
		 reel_module_rows(module, map->arch)) {
		range->found = REEL_CODE_FOUND;
		find_other_code(map, address, mapping, range);
		return;
	}
	if (reel_code_range_may_be_jit(range)) {
		narrow(address, range);
		try_neighbours(map, address, mapping, range);
	}
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
	    address < entry->end &&
	    (!entry->is_compared ||
	     (entry->code == map->view.code && entry->next_code == map->view.next_code)))
		return entry;
	/* Data is not executed, but a bad pointer, or a stack that changed while it was copied, may
	 * lead there. */
	if (!map->view.generation || !reel_space_view_find(&map->view, address, &mapping) ||
	    !(mapping.protection & PROTECTION_EXECUTE))
		return &nothing;
	fill(map, address, &mapping, entry);
	entry->generation = map->view.generation;
	return entry;
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

static bool read_code(void *context, uint64_t elf_address, size_t size, uint8_t *bytes_ret)
{
	const struct reel_module *module = context;

	return reel_elf_file_read(module->files.file, elf_address, size, bytes_ret);
}

void reel_code_map_free(struct reel_code_map *map)
{
	for (size_t i = 0; i < 2 * REEL_RECORDED_SPACES; i++)
		reel_synthesis_destroy(map->recorded[i % 2][i / 2].synthesis);
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

/* A file, and its place; 0 outside files. */
static uint64_t find_source(void *context, uint64_t address)
{
	const struct reel_code_range *range = reel_code_map_find(context, address);

	if (range->found != REEL_CODE_FOUND)
		return 0;
	return (range->module->index ^ range->bias * 0x9e3779b97f4a7c15) * 2 + 1;
}

/* Rows of the recorded code in its present state.  Most of it stays when some of it changes (CODE
 * records). */
static struct reel_synthesis *recorded_synthesis(struct reel_code_map *map)
{
	/* The code may also jump into files. */
	struct reel_synthesis_input input = { .arch = map->arch,
					      .read_code = reel_code_map_read,
					      .module = map,
					      .find_row = find_row,
					      .rows = map,
					      .find_source = find_source };
	const struct reel_space_view *view = &map->view;
	/* A sample of code that changed meanwhile is tried with both states, and samples of several
	 * processes alternate. */
	struct reel_recorded_rows *rows =
		&map->recorded[view->code == view->next_code][view->space % REEL_RECORDED_SPACES];
	struct reel_error *error;

	if (rows->arch != map->arch) {
		reel_synthesis_destroy(rows->synthesis);
		rows->synthesis = NULL;
		error = reel_synthesis_create(&input, &rows->synthesis);
		if (error)
			keep_error(map, error);
	} else if (rows->synthesis &&
		   (rows->code != view->code || rows->generation != view->generation)) {
		reel_synthesis_changed(rows->synthesis);
	}
	rows->arch = map->arch;
	rows->code = view->code;
	rows->generation = view->generation;
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
		keep_error(map, error);
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
			/* Recorded code may differ without a change of mappings. */
			.id = range->is_compared ? 0 : range->module->index + 1,
		};
	map->has_used_recorded |= range->is_compared;
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
