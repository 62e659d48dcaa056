/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/dwarf_cursor.h"
#include "elf/file_search.h"
#include "replay/dwarf/die_scopes.h"
#include "replay/dwarf/inline_chain.h"
#include "replay/dwarf/split_units.h"

/* ---- packages ------------------------------------------------------------------------ */

/* A .dwp: the concatenated sections of many .dwo files, and an index of their parts
 * (DWARF 5, 7.3.5; version 2 is GNU's for DWARF 4, https://gcc.gnu.org/wiki/DebugFissionDWP). */

/* DW_SECT_* of the sections read: the same in both versions, except the last. */
enum { SECT_INFO = 1, SECT_ABBREV = 3, SECT_LOC = 5, SECT_STR_OFFSETS = 6, SECT_RNGLISTS = 8 };

#define HEADER_SIZE 16
/* Units do not share parts: their sum is limited to this multiple of the sections. */
#define TIMES_TAKEN 2
/* Exceeds the kinds of sections, and the probes in a table that is two thirds full. */
#define COLUMNS_MAX 16
#define PROBES_MAX  1024

struct reel_package {
	struct reel_elf_file *file;
	struct reel_section info, abbreviations, str, str_offsets, range_lists, old_locations,
		location_lists;
	struct reel_loaded_bytes index;
	uint64_t left; /* bytes of parts */
	uint32_t version, n_columns, n_units, n_slots;
	/* In the index: ids, rows of slots, kinds of columns, offsets, sizes. */
	uint64_t rows, kinds, offsets, sizes;
};

static uint64_t load(const struct reel_package *package, uint64_t at, unsigned size)
{
	return reel_load_target(package->index.bytes + at, size,
				reel_elf_file_big_endian(package->file));
}

static bool read_header(struct reel_package *package)
{
	uint64_t cells;

	if (package->index.size < HEADER_SIZE)
		return false;
	/* Four bytes in version 2, two and padding in version 5. */
	package->version = (uint32_t)load(package, 0, 4);
	if (package->version != 2)
		package->version = (uint32_t)load(package, 0, 2);
	package->n_columns = (uint32_t)load(package, 4, 4);
	package->n_units = (uint32_t)load(package, 8, 4);
	package->n_slots = (uint32_t)load(package, 12, 4);
	cells = (uint64_t)package->n_columns * package->n_units;
	package->rows = HEADER_SIZE + 8 * (uint64_t)package->n_slots;
	package->kinds = package->rows + 4 * (uint64_t)package->n_slots;
	package->offsets = package->kinds + 4 * (uint64_t)package->n_columns;
	/* So that later sums do not overflow. */
	if (cells > package->index.size || package->n_columns > COLUMNS_MAX)
		return false;
	package->sizes = package->offsets + 4 * cells;
	return (package->version == 2 || package->version == 5) &&
	       !(package->n_slots & (package->n_slots - 1)) &&
	       package->sizes + 4 * cells <= package->index.size;
}

static struct reel_error *open_sections(struct reel_package *package)
{
	const struct {
		const char *name;
		struct reel_section *section;
	} wanted[] = {
		{ ".debug_info.dwo", &package->info },
		{ ".debug_abbrev.dwo", &package->abbreviations },
		{ ".debug_str.dwo", &package->str },
		{ ".debug_str_offsets.dwo", &package->str_offsets },
		{ ".debug_rnglists.dwo", &package->range_lists },
		{ ".debug_loc.dwo", &package->old_locations },
		{ ".debug_loclists.dwo", &package->location_lists },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		TRY(reel_elf_file_open_section(package->file, wanted[i].name, wanted[i].section));
		package->left += TIMES_TAKEN * wanted[i].section->size;
	}
	if (!reel_elf_file_section(package->file, ".debug_cu_index", &package->index))
		TRY(reel_elf_file_memory_error(package->file));
	return reel_elf_file_section_error(package->file);
}

static void package_close(struct reel_package *package)
{
	if (!package)
		return;
	reel_section_close(&package->info);
	reel_section_close(&package->abbreviations);
	reel_section_close(&package->str);
	reel_section_close(&package->str_offsets);
	reel_section_close(&package->range_lists);
	reel_section_close(&package->old_locations);
	reel_section_close(&package->location_lists);
	reel_elf_file_close(package->file);
	free(package);
}

static struct reel_error *package_open(const char *path, const struct reel_elf_file *of,
				       struct reel_package **ret)
{
	struct reel_package *package = calloc(1, sizeof(*package));
	struct reel_error *error;

	if (!package)
		return reel_error_no_memory();
	error = reel_elf_file_open(path, &package->file);
	if (!error)
		error = open_sections(package);
	if (!error && (!read_header(package) ||
		       reel_elf_file_machine(package->file) != reel_elf_file_machine(of)))
		error = reel_error_create(REEL_ERROR_CORRUPT,
					  "%s: .debug_cu_index is damaged, has an unknown version, "
					  "or is for a different CPU",
					  path);
	if (error) {
		package_close(package);
		return error;
	}
	*ret = package;
	return NULL;
}

static const char *package_path(const struct reel_package *package)
{
	return reel_elf_file_path(package->file);
}

/* The row of an id, from 1 on; 0: none. */
static uint32_t row_of(const struct reel_package *package, uint64_t id)
{
	uint32_t mask = package->n_slots - 1, slot = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < package->n_slots && i < PROBES_MAX; i++) {
		uint32_t row = (uint32_t)load(package, package->rows + 4 * (uint64_t)slot, 4);

		if (!row)
			break;
		if (load(package, HEADER_SIZE + 8 * (uint64_t)slot, 8) == id)
			return row <= package->n_units ? row : 0;
		slot = (slot + step) & mask;
	}
	return 0;
}

static bool take_part(struct reel_package *package, const struct reel_section *of, uint64_t offset,
		      uint64_t size, struct reel_section *ret)
{
	const uint8_t *bytes;

	if (size > package->left)
		return false;
	package->left -= size;
	bytes = reel_section_need(of, offset, size);
	*ret = (struct reel_section){ bytes, bytes ? size : 0, NULL };
	return bytes;
}

static bool package_find(struct reel_package *package, uint64_t id, struct reel_dwarf *ret)
{
	const struct {
		uint32_t kind;
		const struct reel_section *of;
		struct reel_section *to;
	} parts[] = {
		{ SECT_INFO, &package->info, &ret->info },
		{ SECT_ABBREV, &package->abbreviations, &ret->abbreviations },
		{ SECT_STR_OFFSETS, &package->str_offsets, &ret->str_offsets },
		/* In version 2 it is .debug_macro. */
		{ SECT_RNGLISTS, &package->range_lists, &ret->range_lists },
		/* Of version 2 and 5; a package has one of both. */
		{ SECT_LOC, &package->old_locations, &ret->old_locations },
		{ SECT_LOC, &package->location_lists, &ret->location_lists },
	};
	uint32_t row = row_of(package, id);

	if (!row)
		return false;
	ret->str = package->str;
	for (uint32_t column = 0; column < package->n_columns; column++) {
		uint64_t kind = load(package, package->kinds + 4 * (uint64_t)column, 4);
		uint64_t cell = 4 * ((uint64_t)(row - 1) * package->n_columns + column);

		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			if (parts[i].kind == kind && parts[i].of->size && !parts[i].to->size &&
			    !take_part(package, parts[i].of,
				       load(package, package->offsets + cell, 4),
				       load(package, package->sizes + cell, 4), parts[i].to))
				return false;
		}
	}
	return ret->info.size && ret->abbreviations.size;
}

/* ---- split units --------------------------------------------------------------------- */

/* Limit of opening files of a different build: any number of skeletons may name one of any size. */
#define OTHERS_MAX 64

struct reel_split_file {
	struct reel_split_file *next;
	struct reel_elf_file *file; /* NULL: a part of the package */
	struct reel_dwarf *dwarf;
	struct reel_split_unit units[];
};

static void close_file(struct reel_split_file *file)
{
	for (size_t i = 0; i < file->dwarf->n_units; i++) {
		reel_functions_destroy(file->dwarf->units[i].functions);
		reel_scopes_destroy(file->dwarf->units[i].scopes);
	}
	reel_dwarf_close(file->dwarf);
	reel_elf_file_close(file->file);
	free(file);
}

void reel_split_units_free(struct reel_split_units *units)
{
	while (units->files) {
		struct reel_split_file *file = units->files;

		units->files = file->next;
		close_file(file);
	}
	reel_id_table_free(&units->by_id);
	package_close(units->package);
	free(units->problem);
	*units = (struct reel_split_units){ 0 };
}

/* ---- opened files ------------------------------------------------------------------ */

/* Registers its units by their ids; takes ownership of `file`, even after an error. */
static struct reel_error *add_units(struct reel_split_units *units, struct reel_dwarf *dwarf,
				    struct reel_elf_file *elf)
{
	struct reel_split_file *file =
		calloc(1, sizeof(*file) + dwarf->n_units * sizeof(*file->units));

	if (!file) {
		reel_dwarf_close(dwarf);
		reel_elf_file_close(elf);
		return reel_error_no_memory();
	}
	file->file = elf;
	file->dwarf = dwarf;
	file->next = units->files;
	units->files = file;
	for (size_t i = 0; i < dwarf->n_units; i++) {
		struct reel_unit *unit = &dwarf->units[i];
		struct reel_split_unit *it = &file->units[i];

		if (unit->tag != DW_TAG_compile_unit || !unit->dwo_id ||
		    reel_id_table_find(&units->by_id, unit->dwo_id))
			continue;
		*it = (struct reel_split_unit){ { NULL, unit->dwo_id }, dwarf, unit };
		if (!reel_id_table_insert(&units->by_id, &it->by_id))
			return reel_error_no_memory();
	}
	return NULL;
}

static struct reel_split_unit *find_by_id(const struct reel_split_units *units, uint64_t id)
{
	return (struct reel_split_unit *)reel_id_table_find(&units->by_id, id);
}

/* ---- the package ---------------------------------------------------------------------- */

static struct reel_error *try_package(struct reel_split_units *units, char *path)
{
	_cleanup_free_ char *owned = path;
	struct reel_error *error;

	if (units->package)
		return NULL;
	error = owned ? package_open(owned, units->file, &units->package) : reel_error_no_memory();
	if (!error || reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	/* Report a package that exists but is damaged. */
	if (reel_error_code(error) != REEL_ERROR_OS && !units->problem)
		units->problem = strdup(reel_error_message(error));
	reel_error_destroy(error);
	return NULL;
}

/* Next to the file with the skeletons, or that with the code. */
static struct reel_error *open_package(struct reel_split_units *units)
{
	const char *path = reel_elf_file_path(units->file), *code = reel_elf_file_path(units->code);
	struct reel_error *error = try_package(units, reel_text_print("%s.dwp", path));

	units->package_tried = true;
	return error ? error : try_package(units, reel_text_print("%s.dwp", code));
}

static struct reel_error *look_into_package(struct reel_split_units *units, uint64_t id)
{
	struct reel_error *error = units->package_tried ? NULL : open_package(units);
	struct reel_dwarf parts = { 0 }, *dwarf;

	if (error || !units->package || !package_find(units->package, id, &parts))
		return error;
	TRY(reel_dwarf_open_split(units->skeletons, &parts, &dwarf));
	return add_units(units, dwarf, NULL);
}

/* ---- files of their own ------------------------------------------------------------- */

/* Whether a section has units other than types (DWARF 5, 7.5.1). */
static bool has_code(const struct reel_loaded_bytes *bytes, bool big_endian)
{
	struct reel_cursor cursor = reel_cursor(bytes->bytes, bytes->size);

	while (reel_cursor_left(&cursor)) {
		uint64_t size = reel_cursor_target(&cursor, 4, big_endian);
		struct reel_cursor unit;
		const uint8_t *begin;

		if (size == UINT32_MAX)
			size = reel_cursor_target(&cursor, 8, big_endian);
		begin = reel_cursor_take(&cursor, size);
		if (!begin)
			break;
		unit = reel_cursor(begin, (size_t)size);
		if (reel_cursor_target(&unit, 2, big_endian) < 5 ||
		    reel_cursor_u8(&unit) != DW_UT_split_type)
			return true;
	}
	return false;
}

static struct reel_error *open_parts(struct reel_elf_file *file, struct reel_dwarf *ret)
{
	const struct {
		const char *name;
		struct reel_section *section;
	} wanted[] = {
		{ ".debug_abbrev.dwo", &ret->abbreviations },
		{ ".debug_str.dwo", &ret->str },
		{ ".debug_str_offsets.dwo", &ret->str_offsets },
		{ ".debug_rnglists.dwo", &ret->range_lists },
		{ ".debug_loc.dwo", &ret->old_locations },
		{ ".debug_loclists.dwo", &ret->location_lists },
	};

	struct reel_loaded_bytes bytes;
	Elf_Scn *section = NULL;

	/* GCC puts each type of -fdebug-types-section into a section of that name. */
	while (!ret->info.size &&
	       reel_elf_file_next_section(file, &section, ".debug_info.dwo", &bytes)) {
		if (has_code(&bytes, reel_elf_file_big_endian(file)))
			ret->info = (struct reel_section){ bytes.bytes, bytes.size, NULL };
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (reel_elf_file_section(file, wanted[i].name, &bytes))
			*wanted[i].section = (struct reel_section){ bytes.bytes, bytes.size, NULL };
	}
	return reel_elf_file_memory_error(file);
}

/* There may be thousands: their sections are read completely, and no file stays open. */
static struct reel_error *open_file(struct reel_split_units *units, const char *path)
{
	struct reel_dwarf sections = { 0 }, *dwarf = NULL;
	struct reel_elf_file *file;
	struct reel_error *error;

	TRY(reel_elf_file_open(path, &file));
	error = open_parts(file, &sections);
	if (!error && (!sections.info.size || !sections.abbreviations.size))
		error = reel_elf_file_section_error(file);
	if (!error && (!sections.info.size || !sections.abbreviations.size ||
		       reel_elf_file_machine(file) != reel_elf_file_machine(units->file)))
		error = reel_error_create(REEL_ERROR_CORRUPT,
					  "%s does not contain this debug information", path);
	if (!error)
		error = reel_dwarf_open_split(units->skeletons, &sections, &dwarf);
	if (error) {
		reel_elf_file_close(file);
		return error;
	}
	reel_elf_file_let_go(file);
	return add_units(units, dwarf, file);
}

static struct reel_error *try_file(struct reel_split_units *units, const char *path, uint64_t id,
				   struct reel_candidates *candidates)
{
	struct reel_error *error = open_file(units, path);

	if (error)
		return reel_candidates_note_error(candidates, error);
	if (find_by_id(units, id))
		return NULL;
	units->n_others++;
	reel_candidates_note(candidates, "%s is from a different build", path);
	return NULL;
}

static struct reel_error *describe_problem(struct reel_split_units *units, const char *name,
					   struct reel_candidates *candidates)
{
	const char *seen;

	if (units->problem)
		return NULL;
	if (units->package)
		reel_candidates_note(candidates, "%s does not contain it",
				     package_path(units->package));
	TRY(reel_candidates_text(candidates, &seen));
	units->problem =
		reel_text_print("debug information is in %s (-gsplit-dwarf), which was not found "
				"(%s): such code has lines, but no inlined functions",
				name, *seen ? seen : "no file to search");
	return units->problem ? NULL : reel_error_no_memory();
}

static struct reel_error *try_files(struct reel_split_units *units, const char *directory,
				    const char *name, uint64_t id)
{
	struct reel_candidates candidates = { 0 };
	struct reel_strings paths = { 0 };
	struct reel_error *error = reel_module_search_split_files(
		units->search, reel_elf_file_path(units->file), directory, name, &paths);

	for (size_t i = 0; !error && !find_by_id(units, id) && i < paths.n; i++) {
		if (units->n_others < OTHERS_MAX)
			error = try_file(units, paths.all[i], id, &candidates);
	}
	if (!error && !find_by_id(units, id))
		error = describe_problem(units, name, &candidates);
	reel_candidates_free(&candidates);
	reel_strings_free(&paths);
	return error;
}

static struct reel_error *find(struct reel_split_units *units, struct reel_unit *skeleton,
			       const struct reel_die_values *values)
{
	struct reel_dwarf *dwarf = units->skeletons;
	const char *name = reel_dwarf_string(dwarf, skeleton, &values->at[REEL_AT_DWO_NAME]);
	const char *directory = reel_dwarf_string(dwarf, skeleton, &values->at[REEL_AT_COMP_DIR]);
	uint64_t id = skeleton->dwo_id;

	if (units->search && !find_by_id(units, id))
		TRY(look_into_package(units, id));
	return find_by_id(units, id) ? NULL
				     : try_files(units, directory ? directory : "",
						 name && *name ? name : "a .dwo file", id);
}

/* Copies what the unit needs from its skeleton (DWARF 5, 3.1.3). */
static void join(const struct reel_unit *skeleton, struct reel_unit *unit)
{
	unit->addresses_base = skeleton->addresses_base;
	unit->old_ranges_base = skeleton->old_ranges_base;
	unit->base_address = skeleton->base_address;
}

struct reel_error *reel_split_units_find(struct reel_split_units *units, struct reel_unit *skeleton,
					 struct reel_split_unit **ret)
{
	struct reel_die_values values;
	struct reel_error *error = NULL;

	if (!skeleton->split_tried && skeleton->dwo_id &&
	    reel_dwarf_die(units->skeletons, skeleton, skeleton->die_offset, &values) &&
	    values.at[REEL_AT_DWO_NAME].form) {
		error = find(units, skeleton, &values);
		skeleton->split = error ? NULL : find_by_id(units, skeleton->dwo_id);
		if (skeleton->split)
			join(skeleton, skeleton->split->unit);
	}
	skeleton->split_tried = true;
	*ret = skeleton->split;
	return error;
}
