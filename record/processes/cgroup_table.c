/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "record/processes/cgroup_table.h"
#include "format/timeline/cgroup_path.h"

/* Cgroups and bytes of their paths: users who may make cgroups choose both. */
#define CGROUPS_MAX (1u << 17)
#define BYTES_MAX   (32u << 20)

/* An engine may write a container's description only after its start; others are unknown. */
#define NAME_TRIES 8
#define NAME_DELAY (100 * REEL_NS_PER_MS) /* doubled each time */

struct cgroup {
	struct reel_id_entry entry; /* the kernel's id */
	uint64_t id;		    /* CGROUP's */
	bool is_used, is_written;   /* in the current file */
	char *path;		    /* NULL until it is reported */
	/* "": none with an id is known, or its names need no looking for any more. */
	char container[REEL_CONTAINER_ID + 1];
	unsigned int name_tries;
	uint64_t look_after;
	struct reel_container_names *names; /* NULL: unknown */
};

static void free_cgroup(void *context, struct reel_id_entry *entry)
{
	struct cgroup *cgroup = (struct cgroup *)entry;

	(void)context;
	free(cgroup->path);
	free(cgroup->names);
	free(cgroup);
}

void reel_cgroup_table_free(struct reel_cgroup_table *table)
{
	reel_id_table_visit(&table->by_kernel_id, free_cgroup, NULL);
	reel_id_table_free(&table->by_kernel_id);
}

/* *ret is NULL if there are too many. */
static struct reel_error *get(struct reel_cgroup_table *table, uint64_t kernel_id,
			      struct cgroup **ret)
{
	struct cgroup *cgroup =
		(struct cgroup *)reel_id_table_find(&table->by_kernel_id, kernel_id);

	*ret = cgroup;
	if (cgroup || table->by_kernel_id.count >= CGROUPS_MAX || table->bytes > BYTES_MAX)
		return NULL;
	cgroup = reel_id_table_add(&table->by_kernel_id, kernel_id, sizeof(*cgroup));
	if (!cgroup)
		return reel_error_no_memory();
	cgroup->id = ++table->last_id;
	*ret = cgroup;
	return NULL;
}

static struct reel_error *write_path(struct cgroup *cgroup, const struct reel_record_sink *sink)
{
	struct reel_record record = { .id = REEL_RECORD_CGROUP };

	if (!cgroup->is_used || cgroup->is_written || !cgroup->path)
		return NULL;
	cgroup->is_written = true;
	record.cgroup = (struct reel_record_cgroup){
		.id = cgroup->id,
		.path = reel_bytes_of_string(cgroup->path),
	};
	if (cgroup->names) {
		record.cgroup.container_name = reel_bytes_of_string(cgroup->names->container);
		record.cgroup.pod_name = reel_bytes_of_string(cgroup->names->pod);
		record.cgroup.namespace = reel_bytes_of_string(cgroup->names->namespace);
	}
	return sink->put(sink->context, &record);
}

/* "/outermost/…/innermost" from names in the opposite order; NULL if memory runs out. */
static char *join(const char *names, size_t size, bool is_whole)
{
	char *path = malloc(size + 2), *at = path;

	if (!path)
		return NULL;
	while (size) {
		size_t end = --size; /* of a name: its NUL */

		while (size && names[size - 1])
			size--;
		if (is_whole || at > path)
			*at++ = '/';
		memcpy(at, names + size, end - size);
		at += end - size;
	}
	if (at == path && is_whole)
		*at++ = '/';
	*at = '\0';
	return path;
}

/* Containers of LXC and machined have names instead of ids. */
static void find_container(struct reel_cgroup_table *table, struct cgroup *cgroup)
{
	struct reel_cgroup_path parts;

	reel_cgroup_path_parse(cgroup->path, &parts);
	if (strlen(parts.container) != REEL_CONTAINER_ID ||
	    strspn(parts.container, "0123456789abcdef") != REEL_CONTAINER_ID)
		return;
	memcpy(cgroup->container, parts.container, sizeof(cgroup->container));
	table->n_unnamed++;
}

struct reel_error *reel_cgroup_table_add(struct reel_cgroup_table *table,
					 const struct reel_bpf_cgroup *report,
					 const struct reel_record_sink *sink)
{
	struct cgroup *cgroup;

	TRY(get(table, report->id, &cgroup));
	if (!cgroup || cgroup->path)
		return NULL;
	cgroup->path = join((const char *)(report + 1), report->size, report->is_whole);
	if (!cgroup->path)
		return reel_error_no_memory();
	table->bytes += report->size;
	find_container(table, cgroup);
	return write_path(cgroup, sink);
}

struct reel_error *reel_cgroup_table_write(struct reel_cgroup_table *table, uint64_t kernel_id,
					   const struct reel_record_sink *sink, uint64_t *id_ret)
{
	struct cgroup *cgroup;

	*id_ret = 0;
	TRY(get(table, kernel_id, &cgroup));
	if (!cgroup)
		return NULL;
	*id_ret = cgroup->id;
	cgroup->is_used = true;
	return write_path(cgroup, sink);
}

const char *reel_cgroup_table_unnamed(const struct reel_cgroup_table *table, uint64_t kernel_id)
{
	const struct cgroup *cgroup;

	if (!table->n_unnamed)
		return NULL;
	cgroup = (const struct cgroup *)reel_id_table_find(&table->by_kernel_id, kernel_id);
	return cgroup && *cgroup->container && reel_now() >= cgroup->look_after ? cgroup->container
										: NULL;
}

struct reel_error *reel_cgroup_table_name(struct reel_cgroup_table *table, uint64_t kernel_id,
					  const struct reel_container_names *names,
					  const struct reel_record_sink *sink)
{
	struct cgroup *cgroup =
		(struct cgroup *)reel_id_table_find(&table->by_kernel_id, kernel_id);

	cgroup->look_after = reel_now() + (NAME_DELAY << cgroup->name_tries);
	if (!names && ++cgroup->name_tries < NAME_TRIES)
		return NULL;
	*cgroup->container = '\0';
	table->n_unnamed--;
	if (!names)
		return NULL;
	cgroup->names = malloc(sizeof(*names));
	if (!cgroup->names)
		return reel_error_no_memory();
	*cgroup->names = *names;
	/* Again, if it has been without the names. */
	cgroup->is_written = false;
	return write_path(cgroup, sink);
}

static void forget_file(void *context, struct reel_id_entry *entry)
{
	struct cgroup *cgroup = (struct cgroup *)entry;

	(void)context;
	cgroup->is_used = cgroup->is_written = false;
}

void reel_cgroup_table_restart(struct reel_cgroup_table *table)
{
	reel_id_table_visit(&table->by_kernel_id, forget_file, NULL);
}
