/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of samples, by the kernel's ids (struct reel_bpf_cgroup), and whether each is already
 * in the current file.  Ids are not used again while the host runs.
 */
#ifndef RECORD_PROCESSES_CGROUP_TABLE_H
#define RECORD_PROCESSES_CGROUP_TABLE_H

#include "base/id_table.h"
#include "bpf/sample.h"
#include "record/proc/container_names.h"
#include "record/processes/module_table.h"

struct reel_cgroup_table {
	struct reel_id_table by_kernel_id;
	uint64_t last_id;
	size_t bytes;	  /* of all paths */
	size_t n_unnamed; /* of containers whose names may still be found */
};

void reel_cgroup_table_free(struct reel_cgroup_table *table);

/* Takes a report of the kernel's; samples from other rings may have named the cgroup before. */
struct reel_error *reel_cgroup_table_add(struct reel_cgroup_table *table,
					 const struct reel_bpf_cgroup *report,
					 const struct reel_record_sink *sink) REEL_MUST_CHECK;

/* CGROUP's id, which is written first if it is not yet; 0 if there are too many. */
struct reel_error *reel_cgroup_table_write(struct reel_cgroup_table *table, uint64_t kernel_id,
					   const struct reel_record_sink *sink,
					   uint64_t *id_ret) REEL_MUST_CHECK;

/*
 * The id of a container to name now, because its cgroup has a sample; NULL
 * if there is none.  The caller looks, and has to give the names, or NULL.
 */
const char *reel_cgroup_table_unnamed(const struct reel_cgroup_table *table, uint64_t kernel_id);
struct reel_error *reel_cgroup_table_name(struct reel_cgroup_table *table, uint64_t kernel_id,
					  const struct reel_container_names *names,
					  const struct reel_record_sink *sink) REEL_MUST_CHECK;

/* A new file begins, without any records. */
void reel_cgroup_table_restart(struct reel_cgroup_table *table);

#endif
