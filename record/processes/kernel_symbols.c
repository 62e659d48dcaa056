/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "include/commands.h"
#include "record/processes/kernel_symbols.h"
#include "base/quantity.h"
#include "base/id_table.h"
#include "format/perf/kallsyms.h"

/* How soon after the last check an address without a name triggers the next one. */
#define REFRESH_INTERVAL (100 * REEL_NS_PER_MS)

/* In the long run, any address of the kernel's code may be seen. */
#define SEEN_MAX (256u << 10)

struct reel_kernel_symbols {
	const struct reel_target *target;
	struct reel_module_table *modules;
	struct reel_inspector *inspector;
	const struct reel_record_sink *sink;
	bool all;
	struct reel_kallsyms *kallsyms;
	/* By the symbols' module_index; 0: not needed yet. */
	uint64_t *module_ids;
	size_t n_module_ids;
	/* /proc/modules as of `checked`, without fields that change all the time. */
	struct reel_buffer loaded;
	uint64_t checked;
	/* Addresses in chains since the file or the list began. */
	struct reel_id_table seen;
	/* The current file has the symbol that locates the kernel. */
	bool anchored;
};

void reel_kernel_symbols_destroy(struct reel_kernel_symbols *symbols)
{
	if (!symbols)
		return;
	reel_kallsyms_destroy(symbols->kallsyms);
	free(symbols->module_ids);
	reel_buffer_free(&symbols->loaded);
	reel_id_table_free_all(&symbols->seen);
	free(symbols);
}

/* ---- modules --------------------------------------------------------------------------- */

/* `name` is in brackets. */
static void read_module_build_id(const struct reel_kernel_symbols *symbols, const char *name,
				 struct reel_build_id *ret)
{
	_cleanup_free_ char *bare = strndup(name + 1, strcspn(name + 1, "]"));

	if (bare)
		reel_inspector_kernel_module(symbols->inspector, bare,
					     symbols->target->elf.byte_order, ret);
}

/* Finds the id of a module of `kallsyms`, and stores it in *id. */
static struct reel_error *find_module_id(struct reel_kernel_symbols *symbols, const char *module,
					 uint32_t index, uint64_t *id)
{
	struct reel_record_module identity = {
		.kind = index ? REEL_MODULE_KERNEL_MODULE : REEL_MODULE_KERNEL,
		.path = reel_bytes_of_string(module),
	};
	struct reel_build_id build_id = { 0 };

	if (*id)
		return NULL;
	if (index)
		read_module_build_id(symbols, module, &build_id);
	else
		build_id = symbols->target->kernel_build_id;
	identity.build_id = reel_build_id_bytes(&build_id);
	return reel_module_table_add(symbols->modules, &identity, id);
}

static struct reel_error *room_for_ids(struct reel_kernel_symbols *symbols, size_t count)
{
	uint64_t *ids;

	if (count <= symbols->n_module_ids)
		return NULL;
	ids = reallocarray(symbols->module_ids, count, sizeof(*ids));
	if (!ids)
		return reel_error_no_memory();
	memset(ids + symbols->n_module_ids, 0, (count - symbols->n_module_ids) * sizeof(*ids));
	symbols->module_ids = ids;
	symbols->n_module_ids = count;
	return NULL;
}

struct loaded_module {
	char name[64], state[16];
	unsigned long long address, size;
};

/* A line of /proc/modules: name, size, references, users, state, address (m_show of
 * kernel/module/procfs.c). */
static bool parse_module(const char *line, struct loaded_module *ret)
{
	return sscanf(line, "%63s %llu %*s %*s %15s %llx", ret->name, &ret->size, ret->state,
		      &ret->address) == 4;
}

/* Lists loaded modules without references and users, which change while modules stay. */
static void read_modules(struct reel_buffer *ret, struct reel_kallsyms *kallsyms)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	struct loaded_module module;
	char *line, *rest;

	ret->size = 0;
	if (!reel_proc_read("/proc/modules", &buffer))
		return;
	for (rest = (char *)buffer.bytes; (line = strsep(&rest, "\n"));) {
		char name[sizeof(module.name) + 2];

		if (!parse_module(line, &module))
			continue;
		reel_buffer_append(ret, module.name, strlen(module.name) + 1);
		reel_buffer_append(ret, module.state, strlen(module.state) + 1);
		reel_buffer_u64(ret, module.size);
		reel_buffer_u64(ret, module.address);
		snprintf(name, sizeof(name), "[%s]", module.name);
		if (kallsyms && module.address)
			reel_kallsyms_limit(kallsyms, name, module.address + module.size);
	}
}

/* ---- the list --------------------------------------------------------------------------- */

/* *loaded_ret is read first: modules loaded while the symbols are read count as a change. */
static struct reel_error *load(struct reel_kallsyms **ret, struct reel_buffer *loaded_ret)
{
	_cleanup_buffer_ struct reel_buffer loaded = { 0 };
	struct reel_error *error;

	read_modules(loaded_ret, NULL);
	error = reel_kallsyms_load("/proc/kallsyms", ret);
	if (!error) {
		read_modules(&loaded, *ret);
		return NULL;
	}
	if (reel_error_code(error) != REEL_ERROR_NOT_FOUND)
		return error;
	reel_error_destroy(error);
	return reel_error_create(
		REEL_ERROR_PERMISSION,
		"the kernel hides its symbols (kptr_restrict): kernel frames will be addresses "
		"that cannot be named later; run as root or with CAP_SYSLOG");
}

struct reel_error *reel_kernel_symbols_load(const struct reel_target *target,
					    struct reel_module_table *modules,
					    struct reel_inspector *inspector, bool all,
					    const struct reel_record_sink *sink,
					    struct reel_kernel_symbols **ret)
{
	struct reel_kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	struct reel_error *error;

	if (!symbols)
		return reel_error_no_memory();
	symbols->target = target;
	symbols->modules = modules;
	symbols->inspector = inspector;
	symbols->all = all;
	symbols->sink = sink;
	symbols->checked = reel_now();
	error = load(&symbols->kallsyms, &symbols->loaded);
	if (!error)
		error = room_for_ids(symbols, reel_kallsyms_module_count(symbols->kallsyms));
	if (error) {
		reel_kernel_symbols_destroy(symbols);
		return error;
	}
	*ret = symbols;
	return NULL;
}

/* ---- writing ---------------------------------------------------------------------------- */

static struct reel_error *put_symbol(struct reel_kernel_symbols *symbols,
				     const struct reel_kallsym *symbol)
{
	struct reel_record record = { .id = REEL_RECORD_KERNEL_SYMBOL };
	uint64_t *id = &symbols->module_ids[symbol->module_index];

	TRY(find_module_id(symbols, symbol->module, symbol->module_index, id));
	record.kernel_symbol = (struct reel_record_kernel_symbol){
		.address = symbol->address,
		.size = symbol->size,
		.module = *id,
		.name = reel_bytes_of_string(symbol->name),
		.since = symbol->since ? symbol->since : REEL_TIME_START,
	};
	TRY(reel_module_table_write(symbols->modules, *id, symbols->sink));
	return symbols->sink->put(symbols->sink->context, &record);
}

static struct reel_error *write_symbol(void *context, const struct reel_kallsym *symbol)
{
	struct reel_kernel_symbols *symbols = context;

	/* perf also uses these to locate the kernel (ref_reloc_sym_names of util/event.c). */
	if (!symbol->module_index && !symbols->anchored) {
		symbols->anchored = true;
		TRY(reel_kallsyms_visit_name(symbols->kallsyms, "_text", write_symbol, symbols));
		TRY(reel_kallsyms_visit_name(symbols->kallsyms, "_stext", write_symbol, symbols));
	}
	return put_symbol(symbols, symbol);
}

/* Writes the symbol at the address, and the one just before: a return address may follow a call at
 * the end of a function. */
static struct reel_error *write_address(struct reel_kernel_symbols *symbols, uint64_t address)
{
	TRY(reel_kallsyms_visit_address(symbols->kallsyms, address, write_symbol, symbols));
	return reel_kallsyms_visit_address(symbols->kallsyms, address - 1, write_symbol, symbols);
}

/* *ret: the address is new. */
static struct reel_error *see(struct reel_kernel_symbols *symbols, uint64_t address, bool *ret)
{
	*ret = !reel_id_table_find(&symbols->seen, address);
	if (!*ret)
		return NULL;
	/* Their symbols are already written, and marked as such. */
	if (symbols->seen.count == SEEN_MAX)
		reel_id_table_free_all(&symbols->seen);
	return reel_id_table_add(&symbols->seen, address, sizeof(struct reel_id_entry))
		       ? NULL
		       : reel_error_no_memory();
}

struct reel_error *reel_kernel_symbols_write(struct reel_kernel_symbols *symbols,
					     const uint64_t *chain, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is_new;

		TRY(see(symbols, chain[i], &is_new));
		if (!is_new)
			continue;
		/* For a module that was loaded just now and may go soon. */
		if (!reel_kallsyms_knows(symbols->kallsyms, chain[i]) &&
		    reel_now() - symbols->checked >= REFRESH_INTERVAL)
			TRY(reel_kernel_symbols_refresh(symbols));
		TRY(write_address(symbols, chain[i]));
	}
	return NULL;
}

struct reel_error *reel_kernel_symbols_restart(struct reel_kernel_symbols *symbols)
{
	reel_kallsyms_restart(symbols->kallsyms);
	reel_id_table_free_all(&symbols->seen);
	symbols->anchored = false;
	if (!symbols->all)
		return NULL;
	return reel_kallsyms_visit_all(symbols->kallsyms, write_symbol, symbols);
}

/* ---- changes ---------------------------------------------------------------------------- */

struct reel_error *reel_kernel_symbols_event(struct reel_kernel_symbols *symbols,
					     const struct reel_process_event *event)
{
	struct reel_kallsym symbol = {
		.address = event->map.address,
		.size = event->map.size,
		.since = event->time,
		.name = event->map.path,
		.module = event->module,
	};

	if (event->is_gone) {
		if (!reel_kallsyms_remove(symbols->kallsyms, symbol.address, symbol.name, &symbol))
			return NULL;
		symbol.name = "";
		symbol.since = event->time;
		return put_symbol(symbols, &symbol);
	}
	if (reel_kallsyms_is_image(symbol.name))
		symbol.size = reel_kallsyms_room(symbols->kallsyms, symbol.address, symbol.size);
	TRY(reel_kallsyms_insert(symbols->kallsyms, &symbol));
	TRY(room_for_ids(symbols, reel_kallsyms_module_count(symbols->kallsyms)));
	return symbols->all ? reel_kallsyms_visit_address(symbols->kallsyms, symbol.address,
							  write_symbol, symbols)
			    : NULL;
}

/* The new list, and the module ids known from the old one. */
struct heritage {
	struct reel_kernel_symbols *symbols;
	struct reel_kallsyms *kallsyms;
	uint64_t *ids;
	struct reel_error *error;
};

/* A module of the same name may differ, if it was built again. */
static bool is_same_module(void *context, uint32_t old_index, uint32_t index)
{
	struct heritage *heritage = context;
	uint64_t old_id = heritage->symbols->module_ids[old_index];
	struct reel_error *error;

	if (!old_id)
		return true;
	error = find_module_id(heritage->symbols,
			       reel_kallsyms_module_name(heritage->kallsyms, index), index,
			       &heritage->ids[index]);
	if (error && heritage->error)
		reel_error_destroy(error);
	else if (error)
		heritage->error = error;
	return heritage->ids[index] == old_id;
}

static struct reel_error *write_gone(void *context, const struct reel_kallsym *symbol)
{
	return put_symbol(((struct heritage *)context)->symbols, symbol);
}

static struct reel_error *inherit(struct reel_kernel_symbols *symbols,
				  struct reel_kallsyms *kallsyms, uint64_t now)
{
	/* Modules known only from the kernel's events may be new in the list. */
	size_t count = reel_kallsyms_module_count(kallsyms) +
		       reel_kallsyms_module_count(symbols->kallsyms);
	struct heritage heritage = {
		.symbols = symbols,
		.kallsyms = kallsyms,
		.ids = calloc(count, sizeof(*heritage.ids)),
	};
	struct reel_kallsyms_heir heir = { is_same_module, write_gone, &heritage };
	struct reel_error *error;

	if (!heritage.ids)
		return reel_error_no_memory();
	error = reel_kallsyms_inherit(kallsyms, symbols->kallsyms, symbols->checked, now, &heir);
	if (heritage.error) {
		reel_error_destroy(error);
		error = heritage.error;
	}
	if (error) {
		free(heritage.ids);
		return error;
	}
	free(symbols->module_ids);
	symbols->module_ids = heritage.ids;
	symbols->n_module_ids = count;
	return NULL;
}

static struct reel_error *write_seen(struct reel_kernel_symbols *symbols)
{
	struct reel_id_entry **entries;
	struct reel_error *error = NULL;

	if (symbols->all)
		return reel_kallsyms_visit_all(symbols->kallsyms, write_symbol, symbols);
	entries = reel_id_table_sorted(&symbols->seen);
	if (!entries && symbols->seen.count)
		return reel_error_no_memory();
	for (size_t i = 0; i < symbols->seen.count && !error; i++)
		error = write_address(symbols, entries[i]->id);
	free(entries);
	return error;
}

/* Reads the list again; the old list is valid for addresses seen up to now. */
static struct reel_error *reload(struct reel_kernel_symbols *symbols, uint64_t now)
{
	struct reel_buffer loaded = { 0 };
	struct reel_kallsyms *kallsyms;
	struct reel_error *error = load(&kallsyms, &loaded);

	if (error) {
		reel_buffer_free(&loaded);
		if (reel_error_code(error) == REEL_ERROR_NO_MEMORY)
			return error;
		/* The kernel has begun to hide the symbols: keep the old list. */
		reel_error_destroy(error);
		return NULL;
	}
	error = inherit(symbols, kallsyms, now);
	if (error) {
		reel_kallsyms_destroy(kallsyms);
		reel_buffer_free(&loaded);
		return error;
	}
	reel_kallsyms_destroy(symbols->kallsyms);
	symbols->kallsyms = kallsyms;
	reel_buffer_free(&symbols->loaded);
	symbols->loaded = loaded;
	return write_seen(symbols);
}

struct reel_error *reel_kernel_symbols_refresh(struct reel_kernel_symbols *symbols)
{
	_cleanup_buffer_ struct reel_buffer loaded = { 0 };
	uint64_t now = reel_now();
	struct reel_error *error = NULL;

	read_modules(&loaded, NULL);
	if (loaded.failed)
		return reel_error_no_memory();
	if (loaded.size != symbols->loaded.size ||
	    (loaded.size && memcmp(loaded.bytes, symbols->loaded.bytes, loaded.size) != 0))
		error = reload(symbols, now);
	symbols->checked = now;
	return error;
}
