/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "replay/dwarf_cursor.h"
#include "replay/line_table.h"
#include "replay/range_map.h"

struct file_entry {
	const char *name;
	uint64_t directory;
	char *path; /* NULL until asked for */
};

/* Of the addresses from here to the next row (or the sequence's end). */
struct row {
	uint32_t offset; /* from the sequence's begin */
	uint32_t line;
	uint32_t file;
	uint16_t column;
};

struct sequence {
	uint64_t begin;
	size_t first, n; /* rows */
};

struct reel_line_table {
	struct reel_line_input input;
	unsigned version;
	const char **directories;
	size_t n_directories, directories_capacity;
	struct file_entry *files;
	size_t n_files, files_capacity;
	struct row *rows;
	size_t n_rows, rows_capacity;
	struct sequence *sequences;
	size_t n_sequences, sequences_capacity;
	struct reel_range_map ranges; /* values are indexes of `sequences` */
};

/* The header's fields that the program needs (6.2.4). */
struct header {
	unsigned offset_size;
	const uint8_t *program; /* where header_length says that it starts */
	unsigned min_instruction, max_operations;
	int line_base;
	unsigned line_range, opcode_base;
	const uint8_t *operand_counts; /* of standard opcodes, from 1 on */
};

/* The state machine's registers (6.2.2), and the sequence that is being read. */
struct machine {
	uint64_t address, operation;
	uint64_t file, column;
	uint32_t line;
	bool in_sequence, sorted;
	struct sequence sequence;
};

void reel_line_table_destroy(struct reel_line_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_files; i++)
		free(table->files[i].path);
	reel_range_map_free(&table->ranges);
	free(table->directories);
	free(table->files);
	free(table->rows);
	free(table->sequences);
	free(table);
}

/* Makes room for one more item. */
static bool grow(void **items, size_t n, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *grown;

	if (n < *capacity)
		return true;
	grown = reallocarray(*items, wanted, size);
	if (!grown)
		return false;
	*items = grown;
	*capacity = wanted;
	return true;
}

#define GROW(items, n, capacity) grow((void **)&(items), n, &(capacity), sizeof(*(items)))

static uint64_t take_unsigned(const struct reel_line_table *table, struct reel_cursor *cursor,
			      unsigned size)
{
	return reel_cursor_target(cursor, size, table->input.big_endian);
}

static const char *take_string(struct reel_cursor *cursor)
{
	const uint8_t *string = cursor->at;
	const uint8_t *end = memchr(string, 0, reel_cursor_left(cursor));

	if (!end) {
		reel_cursor_fail(cursor);
		return "";
	}
	cursor->at = end + 1;
	return (const char *)string;
}

static const char *string_at(const struct reel_section *section, uint64_t offset)
{
	const char *string = reel_section_string(section, offset);

	return string ? string : "";
}

static bool add_directory(struct reel_line_table *table, const char *name)
{
	if (!GROW(table->directories, table->n_directories, table->directories_capacity))
		return false;
	table->directories[table->n_directories++] = name;
	return true;
}

static bool add_file(struct reel_line_table *table, const char *name, uint64_t directory)
{
	if (!GROW(table->files, table->n_files, table->files_capacity))
		return false;
	table->files[table->n_files++] = (struct file_entry){ name, directory, NULL };
	return true;
}

/* Lists as they were before version 5; directory 0 and file 0 are the unit's own, unnamed here. */
static bool read_old_tables(struct reel_line_table *table, struct reel_cursor *cursor)
{
	if (!add_directory(table, "") || !add_file(table, "", 0))
		return false;
	while (!cursor->failed) {
		const char *name = take_string(cursor);

		if (!*name)
			break;
		if (!add_directory(table, name))
			return false;
	}
	while (!cursor->failed) {
		const char *name = take_string(cursor);
		uint64_t directory;

		if (!*name)
			break;
		directory = reel_cursor_uleb(cursor);
		reel_cursor_uleb(cursor); /* time of modification */
		reel_cursor_uleb(cursor); /* size */
		if (!cursor->failed && !add_file(table, name, directory))
			return false;
	}
	return true;
}

/* A value of version 5's tables: a number or a string, whichever the form makes it. */
static void take_value(const struct reel_line_table *table, const struct header *header,
		       uint64_t form, struct reel_cursor *cursor, uint64_t *number,
		       const char **string)
{
	switch (form) {
	case DW_FORM_string:
		*string = take_string(cursor);
		break;
	case DW_FORM_line_strp:
		*string = string_at(&table->input.line_str,
				    take_unsigned(table, cursor, header->offset_size));
		break;
	case DW_FORM_strp:
		*string = string_at(&table->input.str,
				    take_unsigned(table, cursor, header->offset_size));
		break;
	case DW_FORM_udata:
		*number = reel_cursor_uleb(cursor);
		break;
	case DW_FORM_data1:
		*number = reel_cursor_u8(cursor);
		break;
	case DW_FORM_data2:
		*number = take_unsigned(table, cursor, 2);
		break;
	case DW_FORM_data4:
		*number = take_unsigned(table, cursor, 4);
		break;
	case DW_FORM_data8:
		*number = take_unsigned(table, cursor, 8);
		break;
	case DW_FORM_data16: /* MD5 */
		reel_cursor_take(cursor, 16);
		break;
	case DW_FORM_block:
		reel_cursor_take(cursor, reel_cursor_uleb(cursor));
		break;
	default:
		reel_cursor_fail(cursor);
	}
}

/* Version 5: what an entry consists of is said first, then come the entries (6.2.4.1). */
static bool read_table(struct reel_line_table *table, const struct header *header,
		       struct reel_cursor *cursor, bool directories)
{
	struct {
		uint64_t type, form;
	} formats[UINT8_MAX];
	unsigned n_formats = reel_cursor_u8(cursor);
	uint64_t n;

	for (unsigned i = 0; i < n_formats; i++) {
		formats[i].type = reel_cursor_uleb(cursor);
		formats[i].form = reel_cursor_uleb(cursor);
	}
	n = reel_cursor_uleb(cursor);
	/* An entry without bytes names nothing, and could be there 2^64 times. */
	for (uint64_t i = 0; i < n && !cursor->failed && reel_cursor_left(cursor); i++) {
		const uint8_t *before = cursor->at;
		const char *name = "";
		uint64_t directory = 0;

		for (unsigned j = 0; j < n_formats; j++) {
			const char *string = "";
			uint64_t number = 0;

			take_value(table, header, formats[j].form, cursor, &number, &string);
			if (formats[j].type == DW_LNCT_path)
				name = string;
			else if (formats[j].type == DW_LNCT_directory_index)
				directory = number;
		}
		if (cursor->at == before)
			break;
		if (!cursor->failed &&
		    !(directories ? add_directory(table, name) : add_file(table, name, directory)))
			return false;
	}
	return true;
}

/* A row of the matrix; the last one at an address counts. False: out of memory. */
static bool add_row(struct reel_line_table *table, struct machine *machine)
{
	struct sequence *sequence = &machine->sequence;
	struct row row = { 0 }, *last;
	uint64_t offset;

	if (!machine->in_sequence) {
		machine->in_sequence = machine->sorted = true;
		*sequence = (struct sequence){ machine->address, table->n_rows, 0 };
	}
	offset = machine->address - sequence->begin;
	if (offset > UINT32_MAX || machine->file > UINT32_MAX)
		return true; /* before the begin, or absurdly far behind */
	row.offset = (uint32_t)offset;
	row.line = machine->line;
	row.file = (uint32_t)machine->file;
	row.column = machine->column > UINT16_MAX ? 0 : (uint16_t)machine->column;
	if (sequence->n) {
		last = &table->rows[table->n_rows - 1];
		if (last->offset == row.offset) {
			*last = row;
			return true;
		}
		if (last->line == row.line && last->file == row.file &&
		    last->column == row.column && last->offset < row.offset)
			return true;
		if (last->offset > row.offset)
			machine->sorted = false;
	}
	if (!GROW(table->rows, table->n_rows, table->rows_capacity))
		return false;
	table->rows[table->n_rows++] = row;
	sequence->n++;
	return true;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool finish_sequence(struct reel_line_table *table, struct machine *machine)
{
	const struct reel_line_input *input = &table->input;
	struct sequence *sequence = &machine->sequence;

	if (machine->in_sequence && sequence->n) {
		if (sequence->begin < input->text_begin || sequence->begin >= input->text_end) {
			table->n_rows = sequence->first;
		} else {
			if (!machine->sorted)
				qsort(&table->rows[sequence->first], sequence->n,
				      sizeof(*table->rows), compare_rows);
			if (table->n_sequences >= UINT32_MAX ||
			    !GROW(table->sequences, table->n_sequences,
				  table->sequences_capacity) ||
			    !reel_range_map_add(&table->ranges, sequence->begin, machine->address,
						(uint32_t)table->n_sequences,
						(uint32_t)table->n_sequences))
				return false;
			table->sequences[table->n_sequences++] = *sequence;
		}
	}
	*machine = (struct machine){ .file = 1, .line = 1 };
	return true;
}

static void advance(const struct header *header, struct machine *machine, uint64_t operations)
{
	/* 6.2.5.1; on most CPUs an instruction is one operation. */
	uint64_t total = machine->operation + operations;

	if (header->max_operations == 1) {
		machine->address += header->min_instruction * operations;
		return;
	}
	machine->address += header->min_instruction * (total / header->max_operations);
	machine->operation = total % header->max_operations;
}

static bool run_extended(struct reel_line_table *table, struct reel_cursor *cursor,
			 struct machine *machine)
{
	uint64_t size = reel_cursor_uleb(cursor);
	const uint8_t *bytes = reel_cursor_take(cursor, size);
	struct reel_cursor inner;
	const char *name;

	if (!bytes || !size)
		return true;
	inner = reel_cursor(bytes, size);
	switch (reel_cursor_u8(&inner)) {
	case DW_LNE_end_sequence:
		return finish_sequence(table, machine);
	case DW_LNE_set_address:
		if (size - 1 <= 8)
			machine->address = take_unsigned(table, &inner, (unsigned)size - 1);
		machine->operation = 0;
		return true;
	case DW_LNE_define_file:
		name = take_string(&inner);
		return add_file(table, name, reel_cursor_uleb(&inner));
	default:
		return true;
	}
}

static bool run_standard(struct reel_line_table *table, const struct header *header,
			 struct reel_cursor *cursor, unsigned opcode, struct machine *machine)
{
	switch (opcode) {
	case DW_LNS_copy:
		return add_row(table, machine);
	case DW_LNS_advance_pc:
		advance(header, machine, reel_cursor_uleb(cursor));
		return true;
	case DW_LNS_advance_line:
		machine->line += (uint32_t)reel_cursor_sleb(cursor);
		return true;
	case DW_LNS_set_file:
		machine->file = reel_cursor_uleb(cursor);
		return true;
	case DW_LNS_set_column:
		machine->column = reel_cursor_uleb(cursor);
		return true;
	case DW_LNS_const_add_pc:
		advance(header, machine, (255 - header->opcode_base) / header->line_range);
		return true;
	case DW_LNS_fixed_advance_pc:
		machine->address += take_unsigned(table, cursor, 2);
		machine->operation = 0;
		return true;
	default:
		/* Statements, blocks, prologues, instruction sets, and what later versions add. */
		for (unsigned i = header->operand_counts[opcode - 1]; i; i--)
			reel_cursor_sleb(cursor);
		return true;
	}
}

/* False: out of memory. */
static bool run_program(struct reel_line_table *table, const struct header *header,
			struct reel_cursor *cursor)
{
	struct machine machine = { .file = 1, .line = 1 };

	while (reel_cursor_left(cursor)) {
		unsigned opcode = reel_cursor_u8(cursor);
		bool fine;

		if (opcode >= header->opcode_base) {
			unsigned adjusted = opcode - header->opcode_base;

			advance(header, &machine, adjusted / header->line_range);
			machine.line += (uint32_t)(header->line_base +
						   (int)(adjusted % header->line_range));
			fine = add_row(table, &machine);
		} else if (opcode) {
			fine = run_standard(table, header, cursor, opcode, &machine);
		} else {
			fine = run_extended(table, cursor, &machine);
		}
		if (!fine)
			return false;
	}
	return true;
}

/* False: the table makes no sense, or is of an unknown version. */
static bool read_header(struct reel_line_table *table, struct reel_cursor *cursor,
			struct header *header)
{
	uint64_t size, header_size;

	header->offset_size = 4;
	size = take_unsigned(table, cursor, 4);
	if (size == UINT32_MAX) {
		header->offset_size = 8;
		size = take_unsigned(table, cursor, 8);
	}
	if (cursor->failed || size > reel_cursor_left(cursor))
		return false;
	cursor->end = cursor->at + size;
	table->version = (unsigned)take_unsigned(table, cursor, 2);
	if (table->version < 2 || table->version > 5)
		return false;
	if (table->version == 5) {
		reel_cursor_u8(cursor); /* size of addresses */
		reel_cursor_u8(cursor); /* size of segment selectors */
	}
	header_size = take_unsigned(table, cursor, header->offset_size);
	if (cursor->failed || header_size > reel_cursor_left(cursor))
		return false;
	header->program = cursor->at + header_size;
	header->min_instruction = reel_cursor_u8(cursor);
	header->max_operations = table->version >= 4 ? reel_cursor_u8(cursor) : 1;
	reel_cursor_u8(cursor); /* default of is_stmt */
	header->line_base = (int8_t)reel_cursor_u8(cursor);
	header->line_range = reel_cursor_u8(cursor);
	header->opcode_base = reel_cursor_u8(cursor);
	if (!header->line_range || !header->opcode_base || !header->max_operations)
		return false;
	header->operand_counts = reel_cursor_take(cursor, header->opcode_base - 1);
	return !cursor->failed && cursor->at <= header->program;
}

static struct reel_error *read_all(struct reel_line_table *table)
{
	const struct reel_section *line = &table->input.line;
	struct reel_cursor cursor, tables;
	struct header header = { 0 };
	bool fine;

	if (!line->size)
		return NULL;
	cursor = reel_cursor(line->bytes, (size_t)line->size);
	if (!read_header(table, &cursor, &header))
		return NULL;
	tables = cursor;
	tables.end = header.program;
	cursor.at = header.program;
	if (table->version >= 5)
		fine = read_table(table, &header, &tables, true) &&
		       read_table(table, &header, &tables, false);
	else
		fine = read_old_tables(table, &tables);
	if (fine)
		fine = run_program(table, &header, &cursor);
	return fine ? NULL : reel_error_no_memory();
}

struct reel_error *reel_line_table_create(const struct reel_line_input *input,
					  struct reel_line_table **ret)
{
	struct reel_line_table *table = calloc(1, sizeof(*table));
	struct reel_error *error;

	if (!table)
		return reel_error_no_memory();
	table->input = *input;
	error = read_all(table);
	if (!error)
		error = reel_range_map_build(&table->ranges);
	if (error) {
		reel_line_table_destroy(table);
		return error;
	}
	*ret = table;
	return NULL;
}

bool reel_line_table_find(const struct reel_line_table *table, uint64_t address,
			  struct reel_line *ret)
{
	const struct reel_range_entry *entry = reel_range_map_find(&table->ranges, address);
	const struct sequence *sequence;
	const struct row *rows;
	size_t low = 0, high;

	if (!entry)
		return false;
	sequence = &table->sequences[entry->value];
	rows = &table->rows[sequence->first];
	high = sequence->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].offset <= address - sequence->begin)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*ret = (struct reel_line){ rows[low - 1].file, rows[low - 1].line, rows[low - 1].column };
	return true;
}

const char *reel_line_table_path(struct reel_line_table *table, uint64_t file)
{
	const char *directory = "", *root = "";
	struct file_entry *entry;

	if (file >= table->n_files)
		return "";
	entry = &table->files[file];
	if (entry->path)
		return entry->path;
	if (!entry->name[0])
		return "";
	if (entry->name[0] != '/') {
		if (entry->directory < table->n_directories)
			directory = table->directories[entry->directory];
		/* Directory 0 of version 5 is the unit's own, and relative to nothing else (6.2.4,
		 * 11), where it is relative too: builds with -ffile-prefix-map=$PWD=. have that. */
		if (directory[0] != '/' && table->input.directory &&
		    !(table->version >= 5 && !entry->directory && directory[0]))
			root = table->input.directory;
	}
	if (asprintf(&entry->path, "%s%s%s%s%s", root, *root ? "/" : "", directory,
		     *directory ? "/" : "", entry->name) < 0)
		entry->path = NULL;
	return entry->path;
}
