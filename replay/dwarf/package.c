/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "replay/dwarf/package.h"

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

struct reel_error *reel_package_open(const char *path, const struct reel_elf_file *of,
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
		reel_package_close(package);
		return error;
	}
	*ret = package;
	return NULL;
}

void reel_package_close(struct reel_package *package)
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

const char *reel_package_path(const struct reel_package *package)
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

bool reel_package_find(struct reel_package *package, uint64_t id, struct reel_dwarf *ret)
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
