/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/timeline/timeline.h"

struct module {
	struct reel_id_entry entry;
	struct reel_record_module record;
	uint8_t strings[]; /* build-id, path, digest */
};

/* Copies them to `at`; returns the position after them. */
static uint8_t *put_bytes(struct reel_bytes *bytes, uint8_t *at)
{
	if (bytes->size)
		memcpy(at, bytes->data, bytes->size);
	bytes->data = at;
	return at + bytes->size;
}

static struct module *module_copy(const struct reel_record_module *record)
{
	struct module *module = malloc(sizeof(*module) + record->build_id.size + record->path.size +
				       record->file_digest.size);

	uint8_t *at;

	if (!module)
		return NULL;
	module->entry.id = record->id;
	module->record = *record;
	at = put_bytes(&module->record.build_id, module->strings);
	at = put_bytes(&module->record.path, at);
	put_bytes(&module->record.file_digest, at);
	return module;
}

static void list_insert(struct reel_timeline *timeline, const struct reel_record_module *record)
{
	const struct reel_record_module **list = timeline->module_list;
	size_t at = timeline->n_modules++;

	/* With a past, the list is sorted at the end. */
	while (!timeline->keep_past && at && list[at - 1]->id > record->id) {
		list[at] = list[at - 1];
		at--;
	}
	list[at] = record;
}

struct reel_error *reel_module_define(struct reel_timeline *timeline,
				      const struct reel_record_module *record)
{
	struct module *module;

	if (reel_id_table_find(&timeline->modules, record->id))
		return NULL;
	if (!reel_array_reserve(&timeline->module_list, timeline->n_modules,
				&timeline->modules_capacity, sizeof(struct reel_record_module *)))
		return reel_error_no_memory();
	module = module_copy(record);
	if (!module)
		return reel_error_no_memory();
	if (!reel_id_table_insert(&timeline->modules, &module->entry)) {
		free(module);
		return reel_error_no_memory();
	}
	list_insert(timeline, &module->record);
	return NULL;
}

static int compare_modules(const void *a, const void *b)
{
	const struct reel_record_module *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

void reel_modules_sort(struct reel_timeline *timeline)
{
	if (timeline->n_modules)
		qsort(timeline->module_list, timeline->n_modules,
		      sizeof(struct reel_record_module *), compare_modules);
}

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

void reel_modules_free(struct reel_timeline *timeline)
{
	reel_id_table_visit(&timeline->modules, free_entry, NULL);
	reel_id_table_free(&timeline->modules);
	free(timeline->module_list);
}

const struct reel_record_module *reel_timeline_module(const struct reel_timeline *timeline,
						      uint64_t id)
{
	const struct module *module = (struct module *)reel_id_table_find(&timeline->modules, id);

	return module ? &module->record : NULL;
}

const struct reel_record_module *const *reel_timeline_modules(const struct reel_timeline *timeline,
							      size_t *count_ret)
{
	*count_ret = timeline->n_modules;
	return timeline->module_list;
}
