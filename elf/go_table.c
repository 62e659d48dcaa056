/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/dwarf_cursor.h"
#include "elf/go_module.h"
#include "elf/go_table.h"

/* Bytes read from the tables for one function up to an address: usually some hundred. */
#define USUAL_WORK 4096
#define WORK_TIMES 16
#define WORK_FREE  (1u << 24)
/* The number of inline trees checked to verify their place, and the number of functions. */
#define TREES_CHECKED	  8
#define FUNCTIONS_CHECKED 65536

struct reel_go_table {
	struct reel_go_format format;
	struct reel_section trees; /* the section with the inline trees; size 0: none */
	uint64_t trees_address;	   /* of the section */
	uint64_t go_functions;	   /* go:func.*, the base of funcdata since 1.18 */
	uint64_t work_left;	   /* in bytes */
	struct reel_debug_frame *frames;
	size_t frames_capacity;
};

struct go_function {
	uint64_t begin, size;
	uint64_t offset; /* of its _func, in the table */
	uint64_t fixed;	 /* the end of the fixed fields */
	uint64_t n_pcdata;
	unsigned n_funcdata, flags;
};

void reel_go_table_close(struct reel_go_table *table)
{
	if (!table)
		return;
	reel_section_close(&table->trees);
	reel_go_format_close(&table->format);
	free(table->frames);
	free(table);
}

/* ---- functions ------------------------------------------------------------------------- */

/* The functab entry with that number: the function's address, and the offset of its _func. */
static bool functab_entry(const struct reel_go_format *format, uint64_t index, uint64_t *begin_ret,
			  uint64_t *offset_ret)
{
	unsigned size = format->functab_word;
	uint64_t at = format->functab + index * 2 * size;

	if (!reel_go_number(format, at, size, begin_ret))
		return false;
	*begin_ret += format->text;
	/* The last entry is the end of the code. */
	if (index == format->n_functions || !offset_ret)
		return true;
	if (!reel_go_number(format, at + size, size, offset_ret))
		return false;
	*offset_ret += format->functions;
	return true;
}

/* A 32-bit field of its _func; index 0 is the field after the entry. */
static bool field(const struct reel_go_format *format, const struct go_function *function,
		  unsigned index, uint64_t *ret)
{
	return reel_go_number(format, function->offset + format->functab_word + 4 * index, 4, ret);
}

enum {
	FIELD_NAME = 0,
	FIELD_PCSP = 3,
	FIELD_PCFILE = 4,
	FIELD_PCLN = 5,
	FIELD_NPCDATA = 6,
	FIELD_CU = 7, /* since 1.16 */
};

static bool read_function(const struct reel_go_format *format, uint64_t index,
			  struct go_function *ret)
{
	uint64_t end, n_funcdata, flags;

	if (!functab_entry(format, index, &ret->begin, &ret->offset) ||
	    !functab_entry(format, index + 1, &end, NULL) || end < ret->begin ||
	    !field(format, ret, FIELD_NPCDATA, &ret->n_pcdata))
		return false;
	ret->size = end - ret->begin;
	/* After npcdata: cuOffset since 1.16, startLine since 1.20; then four bytes, of which the
	 * last is nfuncdata (before 1.12 the highest byte of a small number), and the second has
	 * flags since 1.17 (0 before). */
	ret->fixed = ret->offset + format->functab_word + 4 * (7u + format->extra_fields) + 4;
	if (!reel_go_number(format, ret->fixed - 1, 1, &n_funcdata) ||
	    !reel_go_number(format, ret->fixed - 3, 1, &flags))
		return false;
	ret->n_funcdata = (unsigned)n_funcdata;
	ret->flags = format->version == REEL_GO_1_2 ? 0 : (unsigned)flags;
	return true;
}

/* The function that holds an address. */
static bool find_function(const struct reel_go_format *format, uint64_t address,
			  struct go_function *ret)
{
	uint64_t low = 0, high = format->n_functions, begin;

	/* Finds the first one that begins after it. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!functab_entry(format, middle, &begin, NULL))
			return false;
		if (begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && read_function(format, low - 1, ret) && address - ret->begin < ret->size;
}

/* ---- tables by pc ------------------------------------------------------------------------ */

static bool read_varint(const struct reel_go_format *format, uint64_t *at, uint32_t *ret)
{
	uint64_t byte;

	*ret = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		if (!reel_go_number(format, (*at)++, 1, &byte))
			return false;
		*ret |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool take_work(struct reel_go_table *table, uint64_t size)
{
	if (size <= USUAL_WORK)
		return true;
	if (size > table->work_left) {
		table->work_left = 0;
		return false;
	}
	table->work_left -= size;
	return true;
}

/* Walks a table at an offset of pctab: for each stretch of code a difference of values (zigzag) and
 * one of addresses; 0 ends it. */
struct pc_values {
	const struct reel_go_format *format;
	uint64_t begin, position; /* in the table */
	uint64_t pc;		  /* end of the stretch, from the function's start */
	uint32_t value;
};

static struct pc_values pc_values(const struct reel_go_format *format, uint64_t offset)
{
	uint64_t begin = format->pcs + offset;

	return (struct pc_values){ format, begin, begin, 0, UINT32_MAX };
}

static bool next_value(struct pc_values *values)
{
	uint32_t difference, code;

	if (!read_varint(values->format, &values->position, &difference) ||
	    (!difference && values->position > values->begin + 1) ||
	    !read_varint(values->format, &values->position, &code) || !code)
		return false;
	values->value += difference & 1 ? ~(difference >> 1) : difference >> 1;
	values->pc += (uint64_t)code * values->format->quantum;
	return true;
}

/* The value at `at` bytes after the start of the function; -1 if missing. */
static int64_t pc_value(struct reel_go_table *table, uint64_t offset, uint64_t at)
{
	struct pc_values values = pc_values(&table->format, offset);

	if (!offset)
		return -1;
	do {
		if (!next_value(&values))
			return -1;
	} while (values.pc <= at);
	return take_work(table, values.position - values.begin) ? (int32_t)values.value : -1;
}

/* ---- names and lines ----------------------------------------------------------------------- */

static const char *text_at(const struct reel_go_format *format, uint64_t offset)
{
	const char *text = offset < format->size
				   ? reel_section_string(&format->section, format->base + offset)
				   : NULL;

	return text ? text : "";
}

static const char *file_name(const struct reel_go_format *format,
			     const struct go_function *function, int64_t number)
{
	uint64_t offset, unit = 0;

	if (number < 0 || (format->extra_fields && !field(format, function, FIELD_CU, &unit)) ||
	    !reel_go_number(format, format->file_numbers + (unit + (uint64_t)number) * 4, 4,
			    &offset) ||
	    offset == UINT32_MAX)
		return "";
	return text_at(format, format->files + offset);
}

static void find_line(struct reel_go_table *table, const struct go_function *function, uint64_t at,
		      struct reel_debug_frame *ret)
{
	const struct reel_go_format *format = &table->format;
	uint64_t files, lines;
	int64_t line;

	*ret = (struct reel_debug_frame){ .function = "", .file = "" };
	if (!field(format, function, FIELD_PCFILE, &files) ||
	    !field(format, function, FIELD_PCLN, &lines))
		return;
	ret->file = file_name(format, function, pc_value(table, files, at));
	line = pc_value(table, lines, at);
	ret->line = line > 0 ? (uint32_t)line : 0;
}

/* ---- inlined calls --------------------------------------------------------------------------- */

/* The ELF address of its inline tree; 0 if it has none. */
static uint64_t inline_tree(const struct reel_go_table *table, const struct go_function *function)
{
	const struct reel_go_format *format = &table->format;
	uint64_t at = function->fixed + 4 * function->n_pcdata, word = format->funcdata_word, value;

	if (function->n_pcdata > UINT16_MAX || function->n_funcdata <= format->tree_funcdata)
		return 0;
	/* Pointers are aligned, as the table is. */
	at = (at + word - 1) / word * word + word * format->tree_funcdata;
	if (!reel_go_number(format, at, (unsigned)word, &value))
		return 0;
	if (!format->is_relative)
		return value;
	return value == UINT32_MAX ? 0 : table->go_functions + value;
}

struct inlined_call {
	const char *name;
	uint64_t parent_pc; /* where it was inlined, from the function's start */
};

/* runtime.inlinedCall: before 1.20  parent int16, funcID, pad, file, line, func_, parentPc int32;
 * since then  funcID, 3 of padding, nameOff, parentPc, startLine int32. */
static bool read_call(const struct reel_go_table *table, uint64_t tree, uint64_t index,
		      const struct go_function *function, struct inlined_call *ret)
{
	const struct reel_go_format *format = &table->format;
	bool is_new = format->version >= REEL_GO_1_20;
	uint64_t at = tree - table->trees_address + index * (is_new ? 16 : 20), name, before = 0;
	const uint8_t *bytes;

	if (tree < table->trees_address || at > table->trees.size)
		return false;
	bytes = reel_section_need(&table->trees, at, is_new ? 16 : 20);
	if (!bytes)
		return false;
	bytes += is_new ? 4 : 12;
	name = reel_load_target(bytes, 4, format->big_endian);
	ret->parent_pc = reel_load_target(bytes + 4, 4, format->big_endian);
	/* Data that is not a tree hardly ever has the start of a name there. */
	if ((name && !reel_go_number(format, format->names + name - 1, 1, &before)) || before ||
	    ret->parent_pc >= function->size)
		return false;
	ret->name = text_at(format, format->names + name);
	return ret->name[0];
}

/* ---- finding inline trees ------------------------------------------------------------------- */

static bool is_tree_base(struct reel_go_table *table, uint64_t base)
{
	const struct reel_go_format *format = &table->format;
	unsigned n_checked = 0;

	table->go_functions = base;
	for (uint64_t i = 0;
	     i < format->n_functions && i < FUNCTIONS_CHECKED && n_checked < TREES_CHECKED; i++) {
		struct go_function function;
		struct inlined_call call;
		uint64_t tree;

		if (!read_function(format, i, &function))
			return false;
		tree = inline_tree(table, &function);
		if (!tree)
			continue;
		if (!read_call(table, tree, 0, &function, &call))
			return false;
		n_checked++;
	}
	return n_checked;
}

/* Finds the section with the trees, and the base of their offsets; without both, inlined calls are
 * unknown. */
static struct reel_error *find_trees(struct reel_go_table *table, struct reel_elf_file *file,
				     const struct reel_go_module *module)
{
	/* The latter two since 1.27. */
	static const char *const names[] = { ".rodata", ".data.rel.ro", ".gopclntab",
					     ".data.rel.ro.gopclntab" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!reel_elf_file_section_address(file, names[i], &table->trees_address))
			continue;
		TRY(reel_elf_file_open_section(file, names[i], &table->trees));
		if (!table->format.is_relative && is_tree_base(table, 0))
			return NULL;
		for (size_t k = 0; table->format.is_relative && k < module->n; k++) {
			if (is_tree_base(table, module->words[k]))
				return NULL;
		}
		reel_section_close(&table->trees);
		table->trees = (struct reel_section){ 0 };
	}
	return NULL;
}

/* ---- opening
 * ------------------------------------------------------------------------------------- */

static struct reel_error *damaged(const struct reel_elf_file *file)
{
	return reel_error_create(
		REEL_ERROR_CORRUPT,
		"%s: .gopclntab: functions are not ascending, or not in the file's code: a "
		"position-independent program from Go before 1.18, or damaged",
		reel_elf_file_path(file));
}

/* Whether the first and the last function exist and are in the file's code. */
static bool is_sound(const struct reel_go_format *format, const struct reel_elf_file *file)
{
	uint64_t begin, end, text_begin, text_end;
	struct go_function first;

	reel_elf_file_text_range(file, &text_begin, &text_end);
	return read_function(format, 0, &first) && first.size &&
	       functab_entry(format, 0, &begin, NULL) &&
	       functab_entry(format, format->n_functions, &end, NULL) && begin < end &&
	       begin >= text_begin && end <= text_end;
}

static struct reel_error *open_table(struct reel_elf_file *file, struct reel_go_table *table)
{
	struct reel_go_format *format = &table->format;
	struct reel_go_module module = { 0 };

	if (format->is_relative)
		TRY(reel_go_module_find(file, format, &module));
	if (!is_sound(format, file))
		return damaged(file);
	table->work_left = WORK_FREE + WORK_TIMES * format->size;
	return find_trees(table, file, &module);
}

struct reel_error *reel_go_table_open(struct reel_elf_file *file, struct reel_go_table **ret)
{
	struct reel_go_table *table = calloc(1, sizeof(*table));
	struct reel_error *error;

	*ret = NULL;
	if (!table)
		return reel_error_no_memory();
	error = reel_go_format_find(file, &table->format);
	if (!error && table->format.n_functions)
		error = open_table(file, table);
	if (error || !table->format.n_functions) {
		reel_go_table_close(table);
		return error;
	}
	*ret = table;
	return NULL;
}

/* ---- looking up
 * -------------------------------------------------------------------------------------- */

static struct reel_error *add_frame(struct reel_go_table *table, size_t n,
				    const struct reel_debug_frame *frame)
{
	if (!reel_array_reserve(&table->frames, n, &table->frames_capacity, sizeof(*table->frames)))
		return reel_error_no_memory();
	table->frames[n] = *frame;
	return NULL;
}

struct reel_error *reel_go_table_look_up(struct reel_go_table *table, uint64_t address,
					 const struct reel_debug_frame **frames_ret, size_t *n_ret,
					 uint64_t *begin_ret)
{
	const struct reel_go_format *format = &table->format;
	uint64_t at, tree, indexes = 0, name = 0;
	struct reel_error *error = NULL;
	struct reel_debug_frame frame;
	struct go_function function;
	int64_t index = -1;
	size_t n = 0;

	*n_ret = 0;
	*begin_ret = 0;
	if (!find_function(format, address, &function) ||
	    !field(format, &function, FIELD_NAME, &name))
		return NULL;
	at = address - function.begin;
	find_line(table, &function, at, &frame);
	tree = table->trees.size ? inline_tree(table, &function) : 0;
	if (tree && function.n_pcdata > REEL_GO_TREE_PCDATA &&
	    reel_go_number(format, function.fixed + 4 * REEL_GO_TREE_PCDATA, 4, &indexes))
		index = pc_value(table, indexes, at);
	while (index >= 0 && !error) {
		struct inlined_call call;
		int64_t outer;

		if (!read_call(table, tree, (uint64_t)index, &function, &call))
			break;
		frame.function = call.name;
		error = add_frame(table, n++, &frame);
		find_line(table, &function, call.parent_pc, &frame);
		/* In trees, callers precede the calls inlined into them. */
		outer = pc_value(table, indexes, call.parent_pc);
		index = outer < index ? outer : -1;
	}
	frame.function = text_at(format, format->names + name);
	if (!error)
		error = add_frame(table, n++, &frame);
	if (!error && !table->work_left)
		/* As in replay/dwarf/debug_info.c: the results so far depend on the order of
		 * look-ups. */
		error = reel_error_create(
			REEL_ERROR_CORRUPT,
			".gopclntab takes far too much work for its size: not written by a "
			"compiler; select samples that do not need it (--pid, --comm)");
	if (error)
		return error;
	*frames_ret = table->frames;
	*n_ret = n;
	*begin_ret = function.begin;
	return NULL;
}

/* ---- unwinding ------------------------------------------------------------------------------- */

/* internal/abi/symtab.go */
#define FLAG_TOP_FRAME 1
#define FLAG_SP_WRITE  2

struct reel_go_depths {
	struct reel_go_table *table;
	const struct go_function *function;
	struct pc_values values;
	bool has_any;
};

bool reel_go_depths_next(struct reel_go_depths *depths, uint64_t *end_ret, int32_t *depth_ret)
{
	struct pc_values *values = &depths->values;
	uint64_t before = values->position, size = depths->function->size;

	if (!depths->has_any || values->pc >= size || !depths->table->work_left ||
	    !next_value(values))
		return false;
	before = values->position - before;
	depths->table->work_left -=
		before < depths->table->work_left ? before : depths->table->work_left;
	*end_ret = depths->function->begin + (values->pc < size ? values->pc : size);
	*depth_ret = (int32_t)values->value;
	return true;
}

struct reel_error *reel_go_visit_code(struct reel_elf_file *file,
				      void (*visit)(void *context, const struct reel_go_code *code,
						    struct reel_go_depths *depths),
				      void *context)
{
	struct reel_go_table *table;
	struct reel_error *error = reel_go_table_open(file, &table);
	struct go_function function;

	/* Callers that ask for names report it. */
	if (error && reel_error_code(error) != REEL_ERROR_NO_MEMORY) {
		reel_error_destroy(error);
		return NULL;
	}
	if (error || !table)
		return error;
	/* Tables of depths are shared, and still smaller than everything else together. */
	table->work_left = WORK_FREE + table->format.size;
	for (uint64_t i = 0; i < table->format.n_functions && table->work_left; i++) {
		struct reel_go_depths depths = { table, &function, { 0 }, false };
		uint64_t offset = 0;

		if (!read_function(&table->format, i, &function))
			break;
		depths.has_any = field(&table->format, &function, FIELD_PCSP, &offset) && offset;
		depths.values = pc_values(&table->format, offset);
		visit(context,
		      &(struct reel_go_code){
			      .begin = function.begin,
			      .end = function.begin + function.size,
			      .switches = (function.flags & (FLAG_TOP_FRAME | FLAG_SP_WRITE)) ==
					  FLAG_SP_WRITE,
		      },
		      &depths);
	}
	reel_go_table_close(table);
	return NULL;
}
