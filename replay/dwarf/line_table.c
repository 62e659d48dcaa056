/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/dwarf_cursor.h"
#include "replay/dwarf/line_program.h"
#include "replay/dwarf/line_table.h"
#include "base/range_map.h"

struct file_entry {
	const char *name;
	uint64_t directory;
	char *path; /* NULL until needed */
};

/*
 * Rows are made again when needed, from the nearest checkpoint on: keeping them takes several times
 * the memory of the table's bytes.
 */
#define ROWS_A_CHECKPOINT 32

/* A row made by the program, and the program after it. */
struct checkpoint {
	struct reel_line_state state;
	const uint8_t *next;
};

/* For the addresses from here to the next row (or the sequence's end). */
struct row {
	uint32_t offset; /* from the sequence's begin */
	uint32_t line;
	uint32_t file;
	uint32_t discriminator;
	uint16_t column;
};

struct sequence {
	uint64_t begin;
	bool in_order; /* by address: it has checkpoints; else it has rows */
	size_t first, n;
};

struct reel_line_table {
	struct reel_line_input input;
	unsigned version;
	const char **directories;
	size_t n_directories, directories_capacity;
	struct file_entry *files;
	size_t n_files, files_capacity;
	struct reel_line_program program;
	const uint8_t *program_end;
	struct checkpoint *checkpoints;
	size_t n_checkpoints, checkpoints_capacity;
	struct row *rows; /* of sequences out of order */
	size_t n_rows, rows_capacity;
	struct sequence *sequences;
	size_t n_sequences, sequences_capacity;
	struct reel_range_map ranges; /* values are indexes of `sequences` */
};

/* The header's fields that its tables need (6.2.4). */
struct header {
	unsigned offset_size;
	const uint8_t *program; /* its start, from header_length */
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
	free(table->checkpoints);
	free(table->rows);
	free(table->sequences);
	free(table);
}

/* Room for one more item. */
#define GROW(items, n, capacity) reel_array_reserve(&(items), n, &(capacity), sizeof(*(items)))

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

/* Lists before version 5; directory 0 and file 0 are the unit's own, unnamed here. */
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

/* A value of version 5's tables: a number or a string, depending on the form. */
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

/* Version 5: the format of entries, followed by the entries (6.2.4.1). */
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
	/* An entry without bytes has no name, and could be repeated 2^64 times. */
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

/* Adds a row; the last one at an address is used.  False: out of memory. */
static bool add_row(struct reel_line_table *table, struct sequence *sequence,
		    const struct reel_line_state *state)
{
	uint64_t offset = state->address - sequence->begin;
	struct row row = { 0 }, *last;

	if (offset > UINT32_MAX || state->file > UINT32_MAX)
		return true; /* before the beginning, or absurdly far after it */
	row.offset = (uint32_t)offset;
	row.line = state->line;
	row.file = (uint32_t)state->file;
	row.discriminator = state->discriminator;
	row.column = state->column > UINT16_MAX ? 0 : (uint16_t)state->column;
	if (sequence->n) {
		last = &table->rows[table->n_rows - 1];
		if (last->offset == row.offset) {
			*last = row;
			return true;
		}
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

static enum reel_line_event run(const struct reel_line_table *table, struct reel_cursor *cursor,
				struct reel_line_state *state)
{
	enum reel_line_event event;
	uint64_t directory;
	const char *name;

	do
		event = reel_line_program_run(&table->program, cursor, state, 1, &name, &directory);
	while (event == REEL_LINE_DEFINE_FILE); /* done in the first pass */
	return event;
}

/* Makes and sorts the rows of a sequence out of order. */
static bool read_rows(struct reel_line_table *table, struct sequence *sequence,
		      const struct checkpoint *first)
{
	struct reel_cursor cursor =
		reel_cursor(first->next, (size_t)(table->program_end - first->next));
	struct reel_line_state state = first->state;

	sequence->first = table->n_rows;
	sequence->n = 0;
	do {
		if (!add_row(table, sequence, &state))
			return false;
	} while (run(table, &cursor, &state) == REEL_LINE_ROW);
	if (sequence->n)
		qsort(&table->rows[sequence->first], sequence->n, sizeof(*table->rows),
		      compare_rows);
	return true;
}

/* False: out of memory. */
static bool add_checkpoint(struct reel_line_table *table, struct sequence *sequence,
			   const struct reel_line_state *state, const uint8_t *next)
{
	if (!GROW(table->checkpoints, table->n_checkpoints, table->checkpoints_capacity))
		return false;
	table->checkpoints[table->n_checkpoints++] = (struct checkpoint){ *state, next };
	sequence->n++;
	return true;
}

/* `last` is the state at the end.  False: out of memory. */
static bool finish_sequence(struct reel_line_table *table, struct sequence sequence,
			    const struct reel_line_state *last)
{
	const struct reel_line_input *input = &table->input;
	uint64_t end = last->address;
	struct checkpoint first;

	if (!sequence.n)
		return true;
	first = table->checkpoints[sequence.first];
	if (sequence.begin < input->text_begin || sequence.begin >= input->text_end) {
		table->n_checkpoints = sequence.first;
		return true;
	}
	sequence.in_order = !last->out_of_order && end - sequence.begin <= UINT32_MAX;
	if (!sequence.in_order) {
		table->n_checkpoints = sequence.first;
		if (!read_rows(table, &sequence, &first))
			return false;
	}
	if (!sequence.n)
		return true;
	if (table->n_sequences >= UINT32_MAX ||
	    !GROW(table->sequences, table->n_sequences, table->sequences_capacity) ||
	    !reel_range_map_add(&table->ranges, sequence.begin, end, (uint32_t)table->n_sequences,
				(uint32_t)table->n_sequences))
		return false;
	table->sequences[table->n_sequences++] = sequence;
	return true;
}

/* Goes through the program once. False: out of memory. */
static bool run_program(struct reel_line_table *table, struct reel_cursor *cursor)
{
	struct reel_line_state state = REEL_LINE_STATE_INITIAL;
	struct sequence sequence = { 0 };

	for (;;) {
		/* A sequence's first row is its first checkpoint. */
		unsigned rows = sequence.n ? ROWS_A_CHECKPOINT : 1;
		uint64_t directory;
		const char *name;

		switch (reel_line_program_run(&table->program, cursor, &state, rows, &name,
					      &directory)) {
		case REEL_LINE_ROW:
			if (!sequence.n) {
				sequence.begin = state.address;
				sequence.first = table->n_checkpoints;
			}
			if (!add_checkpoint(table, &sequence, &state, cursor->at))
				return false;
			break;
		case REEL_LINE_END_SEQUENCE:
			if (!finish_sequence(table, sequence, &state))
				return false;
			sequence = (struct sequence){ 0 };
			state = REEL_LINE_STATE_INITIAL;
			break;
		case REEL_LINE_DEFINE_FILE:
			if (!add_file(table, name, directory))
				return false;
			/* The event before was not a row: treat the sequence as out of order. */
			state.out_of_order = true;
			break;
		default: /* A sequence without an end has no addresses. */
			return true;
		}
	}
}

/* False: the table is invalid or of an unknown version. */
static bool read_header(struct reel_line_table *table, struct reel_cursor *cursor,
			struct header *header)
{
	struct reel_line_program *program = &table->program;
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
	program->big_endian = table->input.big_endian;
	program->min_instruction = reel_cursor_u8(cursor);
	program->max_operations = table->version >= 4 ? reel_cursor_u8(cursor) : 1;
	reel_cursor_u8(cursor); /* default of is_stmt */
	program->line_base = (int8_t)reel_cursor_u8(cursor);
	program->line_range = reel_cursor_u8(cursor);
	program->opcode_base = reel_cursor_u8(cursor);
	if (!program->line_range || !program->opcode_base || !program->max_operations)
		return false;
	program->operand_counts = reel_cursor_take(cursor, program->opcode_base - 1);
	reel_line_program_prepare(program);
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
	table->program_end = cursor.end;
	if (table->version >= 5)
		fine = read_table(table, &header, &tables, true) &&
		       read_table(table, &header, &tables, false);
	else
		fine = read_old_tables(table, &tables);
	if (fine)
		fine = run_program(table, &cursor);
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

/* The last of a sorted sequence's rows at or before an address. */
static bool find_row(const struct reel_line_table *table, const struct sequence *sequence,
		     uint64_t address, struct reel_line *ret)
{
	const struct row *rows = &table->rows[sequence->first];
	size_t low =
		REEL_PARTITION_POINT(sequence->n, i, rows[i].offset <= address - sequence->begin);

	if (!low)
		return false;
	*ret = (struct reel_line){
		.file = rows[low - 1].file,
		.line = rows[low - 1].line,
		.column = rows[low - 1].column,
		.discriminator = rows[low - 1].discriminator,
	};
	return true;
}

/* The same if rows are in order: makes them again from the last earlier checkpoint. */
static bool make_row(const struct reel_line_table *table, const struct sequence *sequence,
		     uint64_t address, struct reel_line *ret)
{
	const struct checkpoint *checkpoints = &table->checkpoints[sequence->first];
	size_t low;
	struct reel_line_state state;
	struct reel_cursor cursor;

	low = REEL_PARTITION_POINT(sequence->n, i, checkpoints[i].state.address <= address);
	if (!low)
		return false;
	state = checkpoints[low - 1].state;
	cursor = reel_cursor(checkpoints[low - 1].next,
			     (size_t)(table->program_end - checkpoints[low - 1].next));
	do
		*ret = (struct reel_line){
			.file = state.file,
			.line = state.line,
			.column = state.column > UINT16_MAX ? 0 : (uint32_t)state.column,
			.discriminator = state.discriminator,
		};
	while (run(table, &cursor, &state) == REEL_LINE_ROW && state.address <= address);
	ret->work = reel_cursor_offset(&cursor);
	return true;
}

bool reel_line_table_find(const struct reel_line_table *table, uint64_t address,
			  struct reel_line *ret)
{
	const struct reel_range_entry *entry = reel_range_map_find(&table->ranges, address);
	const struct sequence *sequence;

	if (!entry)
		return false;
	sequence = &table->sequences[entry->value];
	return sequence->in_order ? make_row(table, sequence, address, ret)
				  : find_row(table, sequence, address, ret);
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
		/* Directory 0 of version 5 is the unit's own and not relative to anything (6.2.4,
		 * 11), even if it is relative: builds with -ffile-prefix-map=$PWD=. have that. */
		if (directory[0] != '/' && table->input.directory &&
		    !(table->version >= 5 && !entry->directory && directory[0]))
			root = table->input.directory;
	}
	if (asprintf(&entry->path, "%s%s%s%s%s", root, *root ? "/" : "", directory,
		     *directory ? "/" : "", entry->name) < 0)
		entry->path = NULL;
	return entry->path;
}
