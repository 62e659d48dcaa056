/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/timeline/space.h"
#include "replay/names/kernel_code.h"
#include "elf/symbol_table.h"

/* ---- symbols ---------------------------------------------------------------------- */

/*
 * Modules and BPF programs are loaded and unloaded, and addresses are reused.  So symbols are kept
 * in a timeline, as mappings are.  Its spaces are origins, its modules indexes of symbols.
 */

/* Size of a symbol of unknown size if no other symbol ends it (SPEC.md, KERNEL_SYMBOL). */
#define UNKNOWN_SIZE 4096

struct reel_kernel_symbol_map {
	struct reel_kernel_symbol *all;
	size_t n, capacity;
	struct reel_timeline *timeline;
};

struct reel_error *reel_kernel_symbol_map_create(struct reel_kernel_symbol_map **ret)
{
	struct reel_kernel_symbol_map *symbols = calloc(1, sizeof(*symbols));
	struct reel_error *error;

	if (!symbols)
		return reel_error_no_memory();
	error = reel_timeline_create(true, &symbols->timeline);
	if (error) {
		free(symbols);
		return error;
	}
	*ret = symbols;
	return NULL;
}

void reel_kernel_symbol_map_destroy(struct reel_kernel_symbol_map *symbols)
{
	if (!symbols)
		return;
	reel_timeline_destroy(symbols->timeline);
	free(symbols->all);
	free(symbols);
}

struct reel_error *reel_kernel_symbol_map_add(struct reel_kernel_symbol_map *symbols,
					      const struct reel_kernel_symbol *symbol)
{
	return REEL_APPEND(symbols->all, symbols->n, symbols->capacity, *symbol);
}

struct place {
	uint64_t origin, address;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->origin != right->origin)
		return left->origin < right->origin ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

/* The first address of that origin above the place, or `otherwise`. */
static uint64_t next_above(const struct place *places, size_t n, struct place place,
			   uint64_t otherwise)
{
	size_t low = REEL_PARTITION_POINT(n, i, compare_places(&places[i], &place) <= 0);

	return low < n && places[low].origin == place.origin && places[low].address < otherwise
		       ? places[low].address
		       : otherwise;
}

static struct reel_error *map_symbol(struct reel_kernel_symbol_map *symbols, size_t index,
				     const struct place *places)
{
	const struct reel_kernel_symbol *symbol = &symbols->all[index];
	uint64_t room = UINT64_MAX - symbol->address, size = symbol->size;
	struct reel_record record = { .id = *symbol->name ? REEL_RECORD_MAP : REEL_RECORD_UNMAP };

	if (!size)
		size = next_above(places, symbols->n,
				  (struct place){ symbol->origin, symbol->address },
				  symbol->address + (room < UNKNOWN_SIZE ? room : UNKNOWN_SIZE)) -
		       symbol->address;
	/* End at the last address but one, so that the end fits a number. */
	if (size > room)
		size = room;
	if (!size)
		return NULL;
	if (*symbol->name)
		record.map = (struct reel_record_map){
			.time = symbol->since,
			.space = symbol->origin + 1,
			.address = symbol->address,
			.size = size,
			.module = index + 1,
		};
	else
		record.unmap = (struct reel_record_unmap){
			.time = symbol->since,
			.space = symbol->origin + 1,
			.address = symbol->address,
			.size = size,
		};
	return reel_timeline_add(symbols->timeline, &record);
}

struct reel_error *reel_kernel_symbol_map_seal(struct reel_kernel_symbol_map *symbols)
{
	_cleanup_free_ struct place *places = calloc(symbols->n + 1, sizeof(*places));

	if (!places)
		return reel_error_no_memory();
	for (size_t i = 0; i < symbols->n; i++)
		places[i] = (struct place){ symbols->all[i].origin, symbols->all[i].address };
	qsort(places, symbols->n, sizeof(*places), compare_places);
	for (size_t i = 0; i < symbols->n; i++)
		TRY(map_symbol(symbols, i, places));
	return reel_timeline_seal(symbols->timeline);
}

const struct reel_kernel_symbol *reel_kernel_symbol_map_all(
	const struct reel_kernel_symbol_map *symbols, size_t *count_ret)
{
	*count_ret = symbols->n;
	return symbols->all;
}

const struct reel_kernel_symbol *reel_kernel_symbol_map_find(
	const struct reel_kernel_symbol_map *symbols, uint64_t origin, uint64_t address,
	uint64_t time)
{
	struct reel_mapping mapping;

	if (!reel_timeline_find(symbols->timeline, origin + 1, time, address, &mapping))
		return NULL;
	return &symbols->all[mapping.module - 1];
}

/* ---- code ------------------------------------------------------------------------- */

/* Linux has at most some 100 functions of one name (not counting modules' cleanup_module). */
#define SAME_NAME_MAX 256

/* A name in the capture, and its addresses in the file; static functions may share a name. */
struct name {
	const char *name;
	uint64_t *addresses;
	size_t n_addresses;
};

/* A module with its file. */
struct kernel_file {
	uint64_t module_id;
	struct reel_module *module;
	bool has_file;
	struct name *names; /* of its symbols in the capture, ascending */
	size_t n_names;
	/* The kernel: runtime address - address in the file; only if `is_fixed`. */
	uint64_t bias;
	bool is_fixed;
	bool no_memory;
};

struct reel_kernel_code {
	struct reel_modules *modules;
	const struct reel_kernel_symbol_map *symbols;
	const struct reel_arch *arch;
	uint64_t kernel_id; /* the module of the kernel proper; 0: none */
	struct kernel_file *files;
	size_t n_files;
};

struct reel_error *reel_kernel_code_create(const struct reel_timeline *timeline,
					   struct reel_modules *modules,
					   const struct reel_kernel_symbol_map *symbols,
					   const struct reel_arch *arch,
					   struct reel_kernel_code **ret)
{
	struct reel_kernel_code *code = calloc(1, sizeof(*code));
	const struct reel_record_module *const *records;
	size_t n;

	if (!code)
		return reel_error_no_memory();
	code->modules = modules;
	code->symbols = symbols;
	code->arch = arch;
	reel_modules_set_kernel_arch(modules, arch);
	records = reel_timeline_modules(timeline, &n);
	for (size_t i = 0; i < n && !code->kernel_id; i++)
		if (records[i]->kind == REEL_MODULE_KERNEL)
			code->kernel_id = records[i]->id;
	*ret = code;
	return NULL;
}

void reel_kernel_code_destroy(struct reel_kernel_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->n_files; i++) {
		struct kernel_file *file = &code->files[i];

		for (size_t j = 0; j < file->n_names; j++)
			free(file->names[j].addresses);
		free(file->names);
	}
	free(code->files);
	free(code);
}

/* ---- names from the capture in the file ----------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct name *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static struct name *find_name(const struct kernel_file *file, const char *name)
{
	struct name key = { .name = name };

	return file->n_names ? bsearch(&key, file->names, file->n_names, sizeof(key), by_name)
			     : NULL;
}

static bool has_address(const struct name *name, uint64_t address)
{
	for (size_t i = 0; i < name->n_addresses; i++)
		if (name->addresses[i] == address)
			return true;
	return false;
}

static void add_address(void *context, const char *text, uint64_t address)
{
	struct kernel_file *file = context;
	struct name *name = find_name(file, text);
	uint64_t *addresses;

	/* A file with more functions of one name is suspicious. */
	if (!name || name->n_addresses == SAME_NAME_MAX || has_address(name, address))
		return;
	addresses = reallocarray(name->addresses, name->n_addresses + 1, sizeof(*addresses));
	if (!addresses) {
		file->no_memory = true;
		return;
	}
	name->addresses = addresses;
	addresses[name->n_addresses++] = address;
}

static struct reel_error *collect_names(const struct reel_kernel_code *code,
					struct kernel_file *file)
{
	struct reel_error *error;
	size_t n, unique = 0;
	const struct reel_kernel_symbol *symbols = reel_kernel_symbol_map_all(code->symbols, &n);

	file->names = calloc(n + 1, sizeof(*file->names));
	if (!file->names)
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++)
		if (symbols[i].module_id == file->module_id && *symbols[i].name)
			file->names[file->n_names++].name = symbols[i].name;
	qsort(file->names, file->n_names, sizeof(*file->names), by_name);
	for (size_t i = 0; i < file->n_names; i++)
		if (!unique || strcmp(file->names[unique - 1].name, file->names[i].name) != 0)
			file->names[unique++] = file->names[i];
	file->n_names = unique;
	error = reel_symbol_table_visit(file->module->files.debug, add_address, file);
	return error || !file->no_memory ? error : reel_error_no_memory();
}

/* Runtime address minus address in the file; false unless the file has the name exactly once. */
static bool shift_of(const struct kernel_file *file, const struct reel_kernel_symbol *symbol,
		     uint64_t *ret)
{
	const struct name *name = *symbol->name ? find_name(file, symbol->name) : NULL;

	if (!name || name->n_addresses != 1)
		return false;
	*ret = symbol->address - name->addresses[0];
	return true;
}

/*
 * The kernel is moved as a whole, so all its symbols must have the same bias.  Most do, even if a
 * name belongs to a different function in the file (clang's LTO appends ".llvm.N" to names, and
 * kallsyms removes it).
 */
static void find_bias(const struct reel_kernel_code *code, struct kernel_file *file)
{
	size_t n, votes = 0, total = 0, agreed = 0;
	const struct reel_kernel_symbol *symbols = reel_kernel_symbol_map_all(code->symbols, &n);
	uint64_t bias;

	/* Boyer and Moore's majority vote, then the count. */
	for (size_t i = 0; i < n; i++) {
		if (symbols[i].module_id != file->module_id || !shift_of(file, &symbols[i], &bias))
			continue;
		if (!votes)
			file->bias = bias;
		votes += bias == file->bias ? 1 : -1;
		total++;
	}
	for (size_t i = 0; i < n; i++)
		agreed += symbols[i].module_id == file->module_id &&
			  shift_of(file, &symbols[i], &bias) && bias == file->bias;
	file->is_fixed = agreed > total / 2;
}

/* ---- files ------------------------------------------------------------------------ */

static struct reel_error *open_file(struct reel_kernel_code *code, uint64_t module_id,
				    struct kernel_file *file)
{
	struct reel_error *error;

	*file = (struct kernel_file){ .module_id = module_id };
	error = reel_modules_open(code->modules, module_id, NULL, &file->module);
	if (error || !file->module || !file->module->files.debug ||
	    (file->module->record->kind != REEL_MODULE_KERNEL &&
	     file->module->record->kind != REEL_MODULE_KERNEL_MODULE))
		return error;
	file->has_file = true;
	/* The symbolizer also reads the file under this lock. */
	pthread_mutex_lock(file->module->naming);
	error = collect_names(code, file);
	pthread_mutex_unlock(file->module->naming);
	if (!error && file->module->record->kind == REEL_MODULE_KERNEL)
		find_bias(code, file);
	return error;
}

static struct reel_error *find_file(struct reel_kernel_code *code, uint64_t module_id,
				    const struct kernel_file **ret)
{
	struct kernel_file *files;
	struct reel_error *error;

	for (size_t i = code->n_files; i-- > 0;) {
		if (code->files[i].module_id == module_id) {
			*ret = &code->files[i];
			return NULL;
		}
	}
	files = reallocarray(code->files, code->n_files + 1, sizeof(*files));
	if (!files)
		return reel_error_no_memory();
	code->files = files;
	error = open_file(code, module_id, &files[code->n_files]);
	*ret = &files[code->n_files++];
	return error;
}

/*
 * Each section of a module is loaded at its own address, which differs if the module is loaded
 * again, so a symbol's bias applies only to its section.  If the file has a name several times, the
 * symbol with the same bias as another of the module's symbols is used.
 */
static bool address_in_module(const struct reel_kernel_code *code, const struct kernel_file *file,
			      const struct reel_kernel_symbol *symbol, uint64_t address,
			      uint64_t *ret)
{
	const struct reel_kernel_symbol *symbols;
	const struct name *name;
	uint64_t bias;
	size_t n;

	if (shift_of(file, symbol, &bias)) {
		*ret = address - bias;
		return true;
	}
	name = find_name(file, symbol->name);
	symbols = reel_kernel_symbol_map_all(code->symbols, &n);
	for (size_t i = 0; name && name->n_addresses && i < n; i++) {
		if (symbols[i].module_id == file->module_id && shift_of(file, &symbols[i], &bias) &&
		    has_address(name, symbol->address - bias)) {
			*ret = address - bias;
			return true;
		}
	}
	return false;
}

static bool address_in_kernel(const struct kernel_file *file,
			      const struct reel_kernel_symbol *symbol, uint64_t address,
			      uint64_t *ret)
{
	uint64_t begin, end;

	if (!file->is_fixed)
		return false;
	*ret = address - file->bias;
	if (symbol)
		return true;
	/* Without a symbol, only the kernel's text range shows whether the address is its own. */
	reel_elf_file_text_range(file->module->files.debug, &begin, &end);
	return *ret >= begin && *ret < end && end != UINT64_MAX;
}

struct reel_error *reel_kernel_code_find(struct reel_kernel_code *code,
					 const struct reel_origin_capture *origin,
					 const struct reel_kernel_symbol *symbol, uint64_t address,
					 struct reel_module **module_ret, bool *found_ret,
					 uint64_t *elf_address_ret)
{
	uint64_t id = symbol ? symbol->module_id : origin ? origin->kernel : code->kernel_id;
	const struct kernel_file *file;
	struct reel_error *error;

	*module_ret = NULL;
	*found_ret = false;
	if (!id || !code->arch)
		return NULL;
	error = find_file(code, id, &file);
	if (error || !file->module)
		return error;
	if (file->has_file && file->module->record->kind == REEL_MODULE_KERNEL)
		*found_ret = address_in_kernel(file, symbol, address, elf_address_ret);
	else if (file->has_file && symbol)
		*found_ret = address_in_module(code, file, symbol, address, elf_address_ret);
	if (symbol || *found_ret)
		*module_ret = file->module;
	return NULL;
}

bool reel_kernel_code_is_entry(const struct reel_kernel_code *code, const char *name)
{
	const char *const *entry = code->arch ? code->arch->kernel_entries : NULL;

	for (; entry && *entry; entry++)
		if (!strncmp(name, *entry, strlen(*entry)))
			return true;
	return false;
}
