/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>

#include "format/bytes.h"
#include "import/modules.h"
#include "include/stackreel.h"

struct name {
	struct reel_bytes name, build_id; /* behind the struct */
};

struct module {
	struct reel_record_module record; /* its texts are behind the struct */
};

struct reel_import_modules {
	struct reel_writer *writer;
	void *names, *modules; /* tsearch(3) */
	uint64_t last_id;
};

struct reel_error *reel_import_modules_create(struct reel_writer *writer,
					      struct reel_import_modules **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return reel_error_no_memory();
	(*ret)->writer = writer;
	return NULL;
}

void reel_import_modules_destroy(struct reel_import_modules *modules)
{
	if (!modules)
		return;
	tdestroy(modules->names, free);
	tdestroy(modules->modules, free);
	free(modules);
}

static int compare_bytes(struct reel_bytes a, struct reel_bytes b)
{
	size_t size = a.size < b.size ? a.size : b.size;
	int order = size ? memcmp(a.data, b.data, size) : 0;

	return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_names(const void *a, const void *b)
{
	const struct name *left = a, *right = b;

	return compare_bytes(left->name, right->name);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_modules(const void *a, const void *b)
{
	const struct reel_record_module *left = a, *right = b;
	int order = compare_numbers(left->kind, right->kind);

	if (!order)
		order = compare_bytes(left->build_id, right->build_id);
	if (order || left->build_id.size)
		return order;
	order = compare_numbers(left->inode, right->inode);
	if (!order)
		order = compare_numbers(left->inode_generation, right->inode_generation);
	if (!order)
		order = compare_numbers(left->device_major, right->device_major);
	if (!order)
		order = compare_numbers(left->device_minor, right->device_minor);
	return order ? order : compare_bytes(left->path, right->path);
}

/* Copies the text to *at, and moves on behind it. */
static struct reel_bytes keep(uint8_t **at, struct reel_bytes text)
{
	struct reel_bytes kept = { *at, text.size };

	if (text.size)
		memcpy(*at, text.data, text.size);
	*at += text.size;
	return kept;
}

struct reel_error *reel_import_modules_name(struct reel_import_modules *modules,
					    struct reel_bytes name, struct reel_bytes build_id)
{
	struct name *entry = malloc(sizeof(*entry) + name.size + build_id.size);
	uint8_t *at = (uint8_t *)(entry + 1);
	struct name **found;

	if (!entry)
		return reel_error_no_memory();
	entry->name = keep(&at, name);
	entry->build_id = keep(&at, build_id);
	found = tsearch(entry, &modules->names, compare_names);
	if (!found || *found != entry)
		free(entry);
	return found ? NULL : reel_error_no_memory();
}

struct reel_bytes reel_import_modules_build_id(const struct reel_import_modules *modules,
					       struct reel_bytes name)
{
	struct name key = { .name = name };
	struct name *const *found = tfind(&key, &modules->names, compare_names);

	return found ? (*found)->build_id : (struct reel_bytes){ NULL, 0 };
}

static struct reel_error *create(struct reel_import_modules *modules,
				 const struct reel_record_module *from, uint64_t *id_ret)
{
	struct module *module = malloc(sizeof(*module) + from->path.size + from->build_id.size);
	uint8_t *at = (uint8_t *)(module + 1);
	struct reel_record record = { .id = REEL_RECORD_MODULE };

	if (!module)
		return reel_error_no_memory();
	module->record = *from;
	module->record.id = modules->last_id + 1;
	module->record.path = keep(&at, from->path);
	module->record.build_id = keep(&at, from->build_id);
	if (!tsearch(module, &modules->modules, compare_modules)) {
		free(module);
		return reel_error_no_memory();
	}
	*id_ret = ++modules->last_id;
	record.module = module->record;
	return reel_writer_record(modules->writer, &record);
}

struct reel_error *reel_import_modules_add(struct reel_import_modules *modules,
					   struct reel_record_module module, uint64_t *id_ret)
{
	const struct module *const *found;

	if (!module.build_id.size)
		module.build_id = reel_import_modules_build_id(modules, module.path);
	if (module.build_id.size) {
		module.device_major = module.device_minor = 0;
		module.inode = module.inode_generation = 0;
		/* An ELF file in a memfd or in shared memory is as good as any. */
		if (module.kind == REEL_MODULE_ANONYMOUS)
			module.kind = REEL_MODULE_FILE;
	}
	found = tfind(&module, &modules->modules, compare_modules);
	if (!found)
		return create(modules, &module, id_ret);
	*id_ret = (*found)->record.id;
	return NULL;
}
