/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "include/stackreel.h"
#include "replay/module_classes.h"

struct class
{
	const struct reel_record_module *module;
	uint64_t first; /* id */
};

struct reel_module_classes {
	size_t n;
	struct class all[]; /* ascending by id */
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_bytes(struct reel_bytes a, struct reel_bytes b)
{
	int order = compare(a.size, b.size);

	return order || !a.size ? order : memcmp(a.data, b.data, a.size);
}

static int by_identity(const void *a, const void *b)
{
	const struct reel_record_module *x = ((const struct class *)a)->module;
	const struct reel_record_module *y = ((const struct class *)b)->module;
	int order = compare(x->kind, y->kind);

	if (!order)
		order = compare_bytes(x->build_id, y->build_id);
	if (!order)
		order = compare_bytes(x->file_digest, y->file_digest);
	return order ? order : compare_bytes(x->path, y->path);
}

static int by_identity_and_id(const void *a, const void *b)
{
	int order = by_identity(a, b);

	return order ? order
		     : compare(((const struct class *)a)->module->id,
			       ((const struct class *)b)->module->id);
}

static int by_id(const void *a, const void *b)
{
	return compare(((const struct class *)a)->module->id,
		       ((const struct class *)b)->module->id);
}

/* Of a file with neither nobody knows which one it was. */
static bool is_known(const struct reel_record_module *module)
{
	return module->kind != REEL_MODULE_FILE || module->build_id.size ||
	       module->file_digest.size;
}

struct reel_error *reel_module_classes_create(const struct reel_timeline *timeline,
					      struct reel_module_classes **ret)
{
	size_t n;
	const struct reel_record_module *const *modules = reel_timeline_modules(timeline, &n);
	struct reel_module_classes *classes = malloc(sizeof(*classes) + n * sizeof(struct class));
	struct class *all;

	if (!classes)
		return reel_error_no_memory();
	all = classes->all;
	classes->n = n;
	for (size_t i = 0; i < n; i++)
		all[i] = (struct class){ modules[i], modules[i]->id };
	qsort(all, n, sizeof(*all), by_identity_and_id);
	for (size_t i = 1; i < n; i++)
		if (is_known(all[i].module) && !by_identity(&all[i - 1], &all[i]))
			all[i].first = all[i - 1].first;
	qsort(all, n, sizeof(*all), by_id);
	*ret = classes;
	return NULL;
}

void reel_module_classes_destroy(struct reel_module_classes *classes)
{
	free(classes);
}

uint64_t reel_module_class(const struct reel_module_classes *classes, uint64_t id)
{
	size_t low = 0, high = classes ? classes->n : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (classes->all[middle].module->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return classes && low < classes->n && classes->all[low].module->id == id
		       ? classes->all[low].first
		       : id;
}
