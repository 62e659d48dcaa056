/* SPDX-License-Identifier: Apache-2.0 */
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_sections.h"
#include "base/range_map.h"
#include "base/text.h"
#include "elf/mini_debug_info.h"
#include "elf/plt.h"
#include "elf/section.h"
#include "elf/symbol_table.h"

/* Until they are sorted, those without a size end with their section. */
struct candidates {
	struct reel_symbol *all;
	size_t n, capacity;
};

struct reel_symbol_table {
	struct reel_symbol *symbols;
	struct reel_range_map ranges; /* values are indexes of symbols */
	struct reel_mini_debug_info mini;
	bool is_partial; /* .dynsym alone */
	struct reel_error *problem;
	struct reel_texts *texts; /* names of stubs */
};

/* Which symbols are read. */
enum symbols_of {
	SYMBOLS_OF_CODE,
	SYMBOLS_OF_DATA,
};

/* The section with that index, [begin, end); empty if it cannot hold the wanted symbols. */
struct wanted_section {
	uint64_t begin, end;
};

struct symbol_source {
	uint16_t machine;
	bool is_relocatable; /* values are relative to their section */
	Elf_Data *symbols;
	Elf_Data *extended; /* SHT_SYMTAB_SHNDX */
	size_t n;
	const char *strings;
	size_t strings_size; /* up to and including the last NUL */
	enum symbols_of of;
	struct wanted_section *sections;
	size_t n_sections;
	bool out_of_memory;
};

void reel_symbol_table_destroy(struct reel_symbol_table *table)
{
	if (!table)
		return;
	reel_range_map_free(&table->ranges);
	reel_texts_destroy(table->texts);
	reel_mini_debug_info_close(&table->mini);
	reel_error_destroy(table->problem);
	free(table->symbols);
	free(table);
}

/* Debug files also have the sections' headers, with addresses and flags. */
static struct reel_error *read_sections(Elf *elf, struct symbol_source *source)
{
	Elf_Scn *section = NULL;
	size_t n;

	if (elf_getshdrnum(elf, &n) != 0)
		n = 0;
	source->sections = calloc(n + 1, sizeof(*source->sections));
	if (!source->sections)
		return reel_error_no_memory();
	source->n_sections = n;
	while ((section = elf_nextscn(elf, section))) {
		size_t index = elf_ndxscn(section);
		GElf_Shdr header;

		if (index >= n || !gelf_getshdr(section, &header) ||
		    !(header.sh_flags & SHF_ALLOC) ||
		    !(header.sh_flags & SHF_EXECINSTR) != (source->of == SYMBOLS_OF_DATA))
			continue;
		source->sections[index].begin = header.sh_addr;
		if (__builtin_add_overflow(header.sh_addr, header.sh_size,
					   &source->sections[index].end))
			source->sections[index].end = UINT64_MAX;
	}
	return NULL;
}

static Elf_Data *extended_indexes(Elf *elf, size_t table)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
		    header.sh_link == table)
			return elf_getdata(section, NULL);
	}
	return NULL;
}

/* False if the file has no usable table of that type, or memory runs out. */
static bool open_source(struct reel_elf_file *file, uint32_t type, struct symbol_source *source)
{
	Elf *elf = reel_elf_file_handle(file);
	Elf_Scn *section = NULL, *strings;
	GElf_Shdr header;
	GElf_Ehdr elf_header;
	Elf_Data *data;

	/* Without a layout, values in a relocatable file are not addresses. */
	if (!gelf_getehdr(elf, &elf_header) ||
	    (elf_header.e_type == ET_REL && !reel_elf_file_is_laid_out(file)))
		return false;
	source->is_relocatable = elf_header.e_type == ET_REL;
	do {
		section = elf_nextscn(elf, section);
		if (!section)
			return false;
	} while (!gelf_getshdr(section, &header) || header.sh_type != type);

	source->machine = reel_elf_file_machine(file);
	(void)elf_errno();
	source->symbols = elf_getdata(section, NULL);
	strings = elf_getscn(elf, header.sh_link);
	data = strings ? elf_getdata(strings, NULL) : NULL;
	if (!source->symbols || !source->symbols->d_buf || source->symbols->d_type != ELF_T_SYM ||
	    !data || !data->d_buf) {
		source->out_of_memory |= reel_elf_is_out_of_memory();
		return false;
	}
	source->n = source->symbols->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	source->extended = extended_indexes(elf, elf_ndxscn(section));
	source->strings = data->d_buf;
	source->strings_size = data->d_size;
	while (source->strings_size && source->strings[source->strings_size - 1])
		source->strings_size--;
	return true;
}

/*
 * Names that compilers and assemblers put where code changes to data, and other labels from them
 * and from tools that process finished code.
 */
static bool is_marker(uint16_t machine, uint8_t type, const char *name)
{
	/* annobin's, at the ends of annotated code: at one time of function type.  BOLT's, for
	 * functions found only by their FDEs, and where the hot ones begin and end. */
	if (strncmp(name, ".annobin_", 9) == 0 || strncmp(name, "__BOLT_", 7) == 0 ||
	    strcmp(name, "__hot_start") == 0 || strcmp(name, "__hot_end") == 0)
		return true;
	if (type != STT_NOTYPE)
		return false;
	/* AAELF64 5.5.5 "$x", "$d"; AAELF32 "$a", "$t", "$d"; RISC-V psABI "$x<isa>", "$d". */
	if ((machine == EM_AARCH64 || machine == EM_ARM || machine == EM_RISCV) && name[0] == '$')
		return true;
	/* Local labels (".L…"; RISC-V keeps them for relaxation). */
	if (name[0] == '.')
		return true;
	/* The assembler's fake labels: "L0\001", with a short number. */
	for (size_t i = 1; name[0] == 'L' && i < 16 && name[i]; i++) {
		if (name[i] == '\001' || name[i] == '\002')
			return true;
	}
	return false;
}

static bool take_candidate(struct candidates *candidates, const struct reel_symbol *candidate)
{
	if (!reel_array_reserve(&candidates->all, candidates->n, &candidates->capacity,
				sizeof(*candidates->all)))
		return false;
	candidates->all[candidates->n++] = *candidate;
	return true;
}

static bool is_wanted_type(enum symbols_of of, uint8_t type)
{
	if (of == SYMBOLS_OF_DATA)
		return type == STT_OBJECT;
	return type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC;
}

static struct reel_error *read_candidates(const struct symbol_source *source,
					  struct candidates *candidates)
{
	for (size_t i = 1; i < source->n && i <= INT32_MAX; i++) {
		const struct wanted_section *in;
		struct reel_symbol candidate = { 0 };
		Elf32_Word extended = 0;
		size_t section;
		GElf_Sym symbol;

		if (!gelf_getsymshndx(source->symbols, source->extended, (int)i, &symbol,
				      &extended))
			break;
		candidate.type = GELF_ST_TYPE(symbol.st_info);
		candidate.binding = GELF_ST_BIND(symbol.st_info);
		if (!is_wanted_type(source->of, candidate.type))
			continue;
		section = symbol.st_shndx == SHN_XINDEX ? extended : symbol.st_shndx;
		if (section == SHN_UNDEF || section >= source->n_sections ||
		    (section >= SHN_LORESERVE && symbol.st_shndx != SHN_XINDEX))
			continue;
		in = &source->sections[section];
		if (source->is_relocatable)
			symbol.st_value += in->begin;
		/* Bit 0 of a function's address means Thumb (AAELF32, 5.5.3). */
		if (source->machine == EM_ARM && candidate.type == STT_FUNC)
			symbol.st_value &= ~(uint64_t)1;
		if (symbol.st_value < in->begin || symbol.st_value >= in->end ||
		    symbol.st_name >= source->strings_size)
			continue;
		candidate.name = source->strings + symbol.st_name;
		if (!candidate.name[0] ||
		    is_marker(source->machine, candidate.type, candidate.name))
			continue;
		candidate.address = symbol.st_value;
		candidate.sized = symbol.st_size != 0;
		candidate.end = in->end;
		if (candidate.sized && symbol.st_size < in->end - symbol.st_value)
			candidate.end = symbol.st_value + symbol.st_size;
		if (!take_candidate(candidates, &candidate))
			return reel_error_no_memory();
	}
	return NULL;
}

static int binding_rank(uint8_t binding)
{
	return binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct reel_symbol *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Hostile names may have thousands. */
#define UNDERSCORES_MAX 16

static size_t count_underscores(const char *name)
{
	size_t n = 0;

	while (n < UNDERSCORES_MAX && name[n] == '_')
		n++;
	return n;
}

/* For one address, below 0 if `a` is the better symbol: the header has the rules. */
static int compare_candidates(const struct reel_symbol *a, const struct reel_symbol *b)
{
	size_t a_length, b_length;

	if (a->sized != b->sized)
		return a->sized ? -1 : 1;
	if ((a->type == STT_NOTYPE) != (b->type == STT_NOTYPE))
		return a->type != STT_NOTYPE ? -1 : 1;
	if (binding_rank(a->binding) != binding_rank(b->binding))
		return binding_rank(a->binding) - binding_rank(b->binding);
	a_length = count_underscores(a->name);
	b_length = count_underscores(b->name);
	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	if (a->name == b->name)
		return a->sized ? (a->end < b->end) - (a->end > b->end) : 0;
	a_length = strnlen(a->name, REEL_NAME_MAX);
	b_length = strnlen(b->name, REEL_NAME_MAX);
	if (a_length != b_length)
		return a_length > b_length ? -1 : 1;
	return memcmp(a->name, b->name, a_length);
}

/* In place: a large program has a hundred thousand. */
static struct reel_error *sort(struct candidates *candidates)
{
	_cleanup_free_ struct reel_sort_key *keys = calloc(candidates->n + 1, sizeof(*keys));

	for (size_t i = 0; i < candidates->n && keys; i++)
		keys[i] = (struct reel_sort_key){ candidates->all[i].address, i };
	if (!keys || !reel_sort_keys(keys, candidates->n))
		return reel_error_no_memory();
	/* Moves each cycle of places by one. */
	for (size_t i = 0; i < candidates->n; i++) {
		struct reel_symbol first = candidates->all[i];
		size_t at = i;

		while (keys[at].item != i) {
			size_t from = (size_t)keys[at].item;

			candidates->all[at] = candidates->all[from];
			keys[at].item = at;
			at = from;
		}
		candidates->all[at] = first;
		keys[at].item = at;
	}
	return NULL;
}

/* One pass over the symbols of an address: names are long, and any number can be at one address. */
static struct reel_error *keep_best(struct candidates *candidates)
{
	struct reel_symbol *all = candidates->all;
	size_t n = 0;

	TRY(sort(candidates));
	for (size_t i = 0; i < candidates->n; i++) {
		if (!n || all[n - 1].address != all[i].address)
			all[n++] = all[i];
		else if (compare_candidates(&all[i], &all[n - 1]) < 0)
			all[n - 1] = all[i];
	}
	candidates->n = n;
	return NULL;
}

/* Names a stub's target that has only an address, as objdump does without a symbol. */
static struct reel_error *name_target(struct reel_symbol_table *table, size_t n_sorted,
				      uint64_t target, const char **ret)
{
	const struct reel_symbol key = { .address = target };
	const struct reel_symbol *found =
		bsearch(&key, table->symbols, n_sorted, sizeof(key), compare_addresses);
	char text[40];

	*ret = found ? found->name : NULL;
	if (found)
		return NULL;
	snprintf(text, sizeof(text), "*ABS*+0x%llx", (unsigned long long)target);
	*ret = reel_texts_add_string(table->texts, text);
	return *ret ? NULL : reel_error_no_memory();
}

static struct reel_error *add_range(struct reel_symbol_table *table, size_t at, uint32_t priority)
{
	const struct reel_symbol *symbol = &table->symbols[at];

	return reel_range_map_add(&table->ranges, symbol->address, symbol->end, (uint32_t)at,
				  priority)
		       ? NULL
		       : reel_error_no_memory();
}

/* After the `n` sorted symbols. */
static struct reel_error *add_stubs(struct reel_symbol_table *table, size_t n,
				    const struct reel_plt_stub *stubs, size_t n_stubs)
{
	for (size_t i = 0; i < n_stubs; i++) {
		struct reel_symbol *symbol = &table->symbols[n + i];

		*symbol = (struct reel_symbol){
			.address = stubs[i].begin,
			.end = stubs[i].end,
			.name = stubs[i].name,
			.sized = true,
			.is_stub = true,
		};
		if (!symbol->name)
			TRY(name_target(table, n, stubs[i].target, &symbol->name));
		TRY(add_range(table, n + i, UINT32_MAX));
	}
	return NULL;
}

/* Takes the sorted candidates, one for each address. */
static struct reel_error *build(struct reel_symbol_table *table, struct candidates *candidates,
				const struct reel_plt_stub *stubs, size_t n_stubs)
{
	size_t n = candidates->n;
	uint64_t sized_end = 0; /* of those that begin earlier */

	if (n + n_stubs > UINT32_MAX / 2)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "more than 2^31 symbols");
	table->symbols = reallocarray(candidates->all, n + n_stubs + 1, sizeof(*table->symbols));
	if (!table->symbols)
		return reel_error_no_memory();
	*candidates = (struct candidates){ 0 };
	table->ranges.capacity = n + n_stubs + 1;
	table->ranges.entries = calloc(table->ranges.capacity, sizeof(*table->ranges.entries));
	if (!table->ranges.entries)
		return reel_error_no_memory();
	/* Mostly the lowest: the ranges are in order then. */
	TRY(add_stubs(table, n, stubs, n_stubs));
	for (size_t i = 0; i < n; i++) {
		struct reel_symbol *it = &table->symbols[i];

		if (it->sized) {
			if (it->end > sized_end)
				sized_end = it->end;
		} else if (it->address < sized_end) {
			continue; /* a label inside a function */
		} else if (i + 1 < n && it[1].address < it->end) {
			it->end = it[1].address;
		}
		TRY(add_range(table, i, (uint32_t)(it->sized ? n + i : i)));
	}
	return reel_range_map_build(&table->ranges);
}

/* Whether the file has such a table. */
static struct reel_error *read_table(struct reel_elf_file *file, uint32_t type, enum symbols_of of,
				     struct candidates *candidates, bool *ret)
{
	struct symbol_source source = { .of = of };
	struct reel_error *error;

	*ret = file && open_source(file, type, &source);
	if (!*ret)
		return source.out_of_memory ? reel_error_no_memory() : NULL;
	error = read_sections(reel_elf_file_handle(file), &source);
	if (!error)
		error = read_candidates(&source, candidates);
	free(source.sections);
	return error;
}

struct reel_error *reel_symbol_table_visit(struct reel_elf_file *file,
					   void (*visit)(void *context, const char *name,
							 uint64_t address),
					   void *context)
{
	struct candidates candidates = { 0 };
	struct reel_error *error;
	bool ignored;

	error = read_table(file, SHT_SYMTAB, SYMBOLS_OF_CODE, &candidates, &ignored);
	for (size_t i = 0; i < candidates.n && !error; i++)
		visit(context, candidates.all[i].name, candidates.all[i].address);
	free(candidates.all);
	return error;
}

/* Only a lack of memory is an error. */
static struct reel_error *open_mini(struct reel_symbol_table *table, struct reel_elf_file *file)
{
	struct reel_error *error = file ? reel_mini_debug_info_open(file, &table->mini) : NULL;

	if (!error || reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	table->problem = error;
	return NULL;
}

/* A table too large for memory is an error: the next table would have different names. */
static struct reel_error *read_symbols(struct reel_symbol_table *table, struct reel_elf_file *file,
				       struct reel_elf_file *debug, struct candidates *candidates)
{
	bool found;

	TRY(read_table(debug, SHT_SYMTAB, SYMBOLS_OF_CODE, candidates, &found));
	if (!found)
		TRY(read_table(file, SHT_SYMTAB, SYMBOLS_OF_CODE, candidates, &found));
	/* An embedded file only has the symbols that were wanted. */
	table->is_partial = file && reel_elf_file_is_embedded(file);
	if (found)
		return NULL;
	TRY(open_mini(table, file));
	TRY(read_table(table->mini.file, SHT_SYMTAB, SYMBOLS_OF_CODE, candidates, &found));
	table->is_partial = !found;
	return read_table(file, SHT_DYNSYM, SYMBOLS_OF_CODE, candidates, &found);
}

static struct reel_error *read_variables(struct reel_elf_file *file, struct reel_elf_file *debug,
					 struct candidates *candidates)
{
	bool found;

	TRY(read_table(debug, SHT_SYMTAB, SYMBOLS_OF_DATA, candidates, &found));
	if (!found)
		TRY(read_table(file, SHT_SYMTAB, SYMBOLS_OF_DATA, candidates, &found));
	return found ? NULL : read_table(file, SHT_DYNSYM, SYMBOLS_OF_DATA, candidates, &found);
}

struct reel_error *reel_code_symbols_visit(struct reel_elf_file *file, struct reel_elf_file *debug,
					   void (*visit)(void *context,
							 const struct reel_code_symbol *symbol),
					   void *context)
{
	struct reel_symbol_table table = { 0 };
	struct candidates candidates = { 0 };
	struct reel_error *error = read_symbols(&table, file, debug, &candidates);

	for (size_t i = 0; i < candidates.n && !error; i++) {
		const struct reel_symbol *it = &candidates.all[i];

		visit(context, &(struct reel_code_symbol){
				       .name = it->name,
				       .address = it->address,
				       .size = it->sized ? it->end - it->address : 0,
				       .is_resolver = it->type == STT_GNU_IFUNC,
			       });
	}
	free(candidates.all);
	reel_mini_debug_info_close(&table.mini);
	reel_error_destroy(table.problem);
	return error;
}

static struct reel_error *create(struct reel_elf_file *file, struct reel_elf_file *debug,
				 enum symbols_of of, struct reel_symbol_table **ret)
{
	struct reel_symbol_table *table = calloc(1, sizeof(*table));
	_cleanup_free_ struct reel_plt_stub *stubs = NULL;
	struct candidates candidates = { 0 };
	struct reel_error *error = NULL;
	size_t n_stubs = 0;

	if (!table)
		return reel_error_no_memory();
	table->texts = reel_texts_create();
	if (!table->texts)
		error = reel_error_no_memory();
	/* First, as it takes memory that is free again afterwards. */
	else if (file && of == SYMBOLS_OF_CODE)
		error = reel_plt_read(file, table->texts, &stubs, &n_stubs);
	if (!error)
		error = of == SYMBOLS_OF_CODE ? read_symbols(table, file, debug, &candidates)
					      : read_variables(file, debug, &candidates);
	if (!error)
		error = keep_best(&candidates);
	if (!error)
		error = build(table, &candidates, stubs, n_stubs);
	free(candidates.all);
	if (error) {
		reel_symbol_table_destroy(table);
		return error;
	}
	*ret = table;
	return NULL;
}

struct reel_error *reel_symbol_table_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					    struct reel_symbol_table **ret)
{
	return create(file, debug, SYMBOLS_OF_CODE, ret);
}

struct reel_error *reel_symbol_table_create_data(struct reel_elf_file *file,
						 struct reel_elf_file *debug,
						 struct reel_symbol_table **ret)
{
	return create(file, debug, SYMBOLS_OF_DATA, ret);
}

bool reel_symbol_table_is_partial(const struct reel_symbol_table *table)
{
	return table->is_partial;
}

const char *reel_symbol_table_problem(const struct reel_symbol_table *table)
{
	return table->problem ? reel_error_message(table->problem) : NULL;
}

const struct reel_symbol *reel_symbol_table_find(const struct reel_symbol_table *table,
						 uint64_t address)
{
	const struct reel_range_entry *entry = reel_range_map_find(&table->ranges, address);

	return entry ? &table->symbols[entry->value] : NULL;
}

const struct reel_symbol *reel_symbol_table_at(const struct reel_symbol_table *table, size_t i)
{
	return i < table->ranges.n ? &table->symbols[table->ranges.entries[i].value] : NULL;
}
