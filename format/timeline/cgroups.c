/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups of processes over time. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/timeline/cgroup_path.h"
#include "format/timeline/timeline.h"

struct cgroup {
	struct reel_id_entry entry;
	struct reel_cgroup public;
	bool has_names;
	char texts[];
};

/* Copies a text to *at, and moves *at past it. */
static const char *put_text(char **at, struct reel_bytes text)
{
	char *copy = *at;

	if (text.size)
		memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	*at += text.size + 1;
	return copy;
}

/* NULL if memory runs out. */
static struct cgroup *make(const struct reel_record_cgroup *record)
{
	struct reel_cgroup_path parts;
	struct cgroup *cgroup = malloc(sizeof(*cgroup) + sizeof(parts) + record->path.size + 1 +
				       record->container_name.size + 1 + record->pod_name.size + 1 +
				       record->namespace.size + 1);
	struct reel_cgroup *public;
	char *at;

	if (!cgroup)
		return NULL;
	at = cgroup->texts;
	public = &cgroup->public;
	cgroup->entry.id = public->id = record->id;
	cgroup->has_names = record->container_name.size || record->pod_name.size;
	public->path = put_text(&at, record->path);
	reel_cgroup_path_parse(public->path, &parts);
	public->container = put_text(&at, reel_bytes_of_string(parts.container));
	public->container_name = record->container_name.size ? put_text(&at, record->container_name)
							     : public->container;
	public->pod = put_text(&at, reel_bytes_of_string(parts.pod));
	public->pod_name = put_text(&at, record->pod_name);
	public->namespace = put_text(&at, record->namespace);
	public->unit = put_text(&at, reel_bytes_of_string(parts.unit));
	return cgroup;
}

/* Nothing reads cgroups until all are defined. */
struct reel_error *reel_cgroup_define(struct reel_timeline *timeline,
				      const struct reel_record_cgroup *record)
{
	struct cgroup *before = (struct cgroup *)reel_id_table_find(&timeline->cgroups, record->id);
	struct reel_record_cgroup named = *record;
	struct cgroup *cgroup;

	if (before && (before->has_names || !(named.container_name.size || named.pod_name.size)))
		return NULL;
	if (before)
		named.path = reel_bytes_of_string(before->public.path);
	cgroup = make(&named);
	if (!cgroup)
		return reel_error_no_memory();
	if (before)
		free(reel_id_table_remove(&timeline->cgroups, record->id));
	if (reel_id_table_insert(&timeline->cgroups, &cgroup->entry))
		return NULL;
	free(cgroup);
	return reel_error_no_memory();
}

struct reel_error *reel_space_set_cgroup(struct reel_timeline *timeline,
					 const struct reel_record_space_cgroup *record)
{
	struct reel_space *space;

	if (!record->space || !timeline->keep_past)
		return NULL;
	/* Records may name a space before its definition. */
	TRY(reel_space_get(timeline, record->space, 0, &space));
	if (!reel_array_reserve(&space->cgroups, space->n_cgroups, &space->cgroups_capacity,
				sizeof(*space->cgroups)))
		return reel_error_no_memory();
	space->cgroups[space->n_cgroups++] =
		(struct reel_cgroup_span){ record->time, record->cgroup };
	return NULL;
}

const struct reel_cgroup *reel_timeline_cgroup(const struct reel_timeline *timeline, uint64_t id,
					       uint64_t time)
{
	const struct reel_space *space = reel_space_find(timeline, id);
	const struct cgroup *cgroup = NULL;
	size_t n;

	if (!space)
		return NULL;
	n = REEL_PARTITION_POINT(space->n_cgroups, i, space->cgroups[i].time <= time);
	if (n)
		cgroup = (struct cgroup *)reel_id_table_find(&timeline->cgroups,
							     space->cgroups[n - 1].cgroup);
	return cgroup ? &cgroup->public : NULL;
}

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

void reel_cgroups_free(struct reel_timeline *timeline)
{
	reel_id_table_visit(&timeline->cgroups, free_entry, NULL);
	reel_id_table_free(&timeline->cgroups);
}
