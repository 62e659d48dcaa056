/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups of processes over time. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/cgroup_path.h"
#include "timeline/timeline.h"

struct cgroup {
	struct reel_id_entry entry;
	struct reel_cgroup public;
	char texts[]; /* path, container, pod, unit */
};

/* Copies a text to *at, and moves *at past it. */
static const char *put_text(char **at, const void *text, size_t size)
{
	char *copy = *at;

	if (size)
		memcpy(copy, text, size);
	copy[size] = '\0';
	*at += size + 1;
	return copy;
}

struct reel_error *reel_cgroup_define(struct reel_timeline *timeline,
				      const struct reel_record_cgroup *record)
{
	struct reel_cgroup_path parts;
	struct cgroup *cgroup;
	char *at;

	if (reel_id_table_find(&timeline->cgroups, record->id))
		return NULL;
	cgroup = malloc(sizeof(*cgroup) + record->path.size + 1 + sizeof(parts));
	if (!cgroup)
		return reel_error_no_memory();
	at = cgroup->texts;
	cgroup->entry.id = cgroup->public.id = record->id;
	cgroup->public.path = put_text(&at, record->path.data, record->path.size);
	reel_cgroup_path_parse(cgroup->public.path, &parts);
	cgroup->public.container = put_text(&at, parts.container, strlen(parts.container));
	cgroup->public.pod = put_text(&at, parts.pod, strlen(parts.pod));
	cgroup->public.unit = put_text(&at, parts.unit, strlen(parts.unit));
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
