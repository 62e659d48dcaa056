/* SPDX-License-Identifier: Apache-2.0 */
#include <search.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "replay/import/modules.h"
#include "include/commands.h"
#include "format/timeline/module_set.h"

struct name {
	struct reel_bytes name, build_id; /* after the struct */
};

struct reel_import_modules {
	struct reel_writer *writer;
	void *names; /* tsearch(3) */
	struct reel_module_set *modules;
};

struct reel_error *reel_import_modules_create(struct reel_import_modules **ret)
{
	struct reel_error *error;

	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return reel_error_no_memory();
	error = reel_module_set_create(&(*ret)->modules);
	if (error) {
		free(*ret);
		*ret = NULL;
	}
	return error;
}

void reel_import_modules_write_to(struct reel_import_modules *modules, struct reel_writer *writer)
{
	modules->writer = writer;
}

void reel_import_modules_destroy(struct reel_import_modules *modules)
{
	if (!modules)
		return;
	tdestroy(modules->names, free);
	reel_module_set_destroy(modules->modules);
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

/* Copies the text to *at, and moves *at past it. */
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

struct reel_error *reel_import_modules_add(struct reel_import_modules *modules,
					   struct reel_record_module module, uint64_t *id_ret)
{
	struct reel_record record = { .id = REEL_RECORD_MODULE };
	struct reel_known_module *known;

	if (!module.build_id.size)
		module.build_id = reel_import_modules_build_id(modules, module.path);
	TRY(reel_module_set_add(modules->modules, &module, &known));
	*id_ret = known->record.id;
	if (known->is_written)
		return NULL;
	known->is_written = true;
	record.module = known->record;
	return reel_writer_record(modules->writer, &record);
}
