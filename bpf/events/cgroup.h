/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The cgroup of a sample's process.  The kernel keeps it one pointer away from each task, so every
 * sample has its own, however a process came into a cgroup: no event covers all moves (clone3 with
 * CLONE_INTO_CGROUP has none), and processes without samples cost nothing.  The path is read from
 * the kernel's tree with the first sample of a cgroup.  /proc/PID/cgroup would show a later cgroup
 * if the process moved meanwhile, none if it ended, and paths relative to the reader's namespace.
 */
#ifndef BPF_EVENTS_CGROUP_H
#define BPF_EVENTS_CGROUP_H

#include "bpf/maps.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/stacks/regions.h"

/*
 * Threads of a process may be in different threaded cgroups of v2, all below the same one that is
 * not threaded: that is the process's.
 */
static __always_inline struct kernfs_node *reel_cgroup_v2(struct task_struct *task)
{
#ifdef REEL_TASK_TYPED
	return task->cgroups->dfl_cgrp->dom_cgrp->kn;
#else
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, dom_cgrp, kn);
#endif
}

#define REEL_CONTROLLER(name)                                                                      \
	(bpf_core_enum_value_exists(enum cgroup_subsys_id, name)                                   \
		 ? (int)bpf_core_enum_value(enum cgroup_subsys_id, name)                           \
		 : -1)

/* In v1, threads are in any cgroup: their first thread's is the process's.  NULL: the root. */
static __always_inline struct kernfs_node *reel_cgroup_v1(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, group_leader, cgroups);
	struct cgroup_subsys_state *state = NULL;
	struct cgroup *cgroup;
	int controller;

	if (settings.cgroup_controller == REEL_BPF_PIDS)
		controller = REEL_CONTROLLER(pids_cgrp_id);
	else if (settings.cgroup_controller == REEL_BPF_MEMORY)
		controller = REEL_CONTROLLER(memory_cgrp_id);
	else
		controller = REEL_CONTROLLER(cpu_cgrp_id);
	if (controller < 0)
		return NULL;
	bpf_core_read(&state, sizeof(state), &set->subsys[0] + controller);
	cgroup = BPF_CORE_READ(state, cgroup);
	return BPF_CORE_READ(cgroup, level) > 0 ? BPF_CORE_READ(cgroup, kn) : NULL;
}

static __always_inline struct kernfs_node *reel_kernfs_parent(struct kernfs_node *node)
{
	struct kernfs_node___parent *older = (void *)node;

	if (bpf_core_field_exists(node->__parent))
		return BPF_CORE_READ(node, __parent);
	return BPF_CORE_READ(older, parent);
}

/*
 * Where to note a cgroup that was not seen; NULL if it was.  A look-up may miss one that another
 * CPU notes at the same time, or that was replaced: it is then reported twice.
 */
static __always_inline __u64 *reel_cgroup_unseen(__u64 id)
{
	__u32 first = id * 0x9e3779b97f4a7c15ull >> 32, slot;
	__u64 *seen;

#pragma unroll
	for (__u32 i = 0; i < 4; i++) {
		slot = (first + i) % REEL_CGROUPS_SEEN;
		seen = bpf_map_lookup_elem(&reel_cgroups_seen, &slot);
		if (!seen || *seen == id)
			return NULL;
		if (!*seen)
			return seen;
	}
	slot = (first + bpf_get_smp_processor_id() % 4) % REEL_CGROUPS_SEEN;
	return bpf_map_lookup_elem(&reel_cgroups_seen, &slot);
}

/* Writes the path to the ring; false if it is full. */
static __noinline bool reel_cgroup_report(struct reel_sampling *s, struct kernfs_node *node,
					  void *ring)
{
	/* The chains are not there yet. */
	struct reel_bpf_cgroup *report = (void *)s->chains;
	char *names = (char *)(report + 1);
	__u64 size;

	_Static_assert(sizeof(s->chains) >= sizeof(*report) + REEL_BPF_CGROUP_NAMES +
						    REEL_BPF_CGROUP_NAME + REEL_BPF_ALIGNMENT,
		       "the chains have room for a path");
	report->kind = REEL_BPF_CGROUP;
	report->id = s->sample.cgroup;
	report->is_whole = 0;
	s->done = 0;
	for (__u32 i = 0; i < REEL_BPF_CGROUP_DEPTH; i++) {
		struct kernfs_node *parent = reel_kernfs_parent(node);
		long length;

		if (!parent) {
			report->is_whole = 1;
			break;
		}
		size = s->done;
		barrier_var(size);
		if (size > REEL_BPF_CGROUP_NAMES)
			break;
		length = bpf_probe_read_kernel_str(names + size, REEL_BPF_CGROUP_NAME,
						   BPF_CORE_READ(node, name));
		if (length <= 0)
			break;
		s->done = size + length;
		node = parent;
	}
	report->size = s->done;
	size = reel_record_size(sizeof(*report) + s->done);
	barrier_var(size);
	if (size >
	    sizeof(*report) + REEL_BPF_CGROUP_NAMES + REEL_BPF_CGROUP_NAME + REEL_BPF_ALIGNMENT)
		return false;
	return !bpf_ringbuf_output(ring, report, size, reel_ring_flags(ring));
}

/* Sets the sample's cgroup, and reports the path of a new one; before the chains are made. */
static __always_inline void reel_cgroup_record(struct reel_sampling *s, struct task_struct *task,
					       void *ring)
{
	struct kernfs_node *node = NULL;
	__u64 id = 0, *unseen;

	s->sample.cgroup = 0;
	if (!bpf_core_field_exists(task->cgroups))
		return;
	if (settings.cgroup_controller) {
		node = reel_cgroup_v1(task);
		if (node)
			id = BPF_CORE_READ(node, id) << 1 | 1;
	}
	if (!node) {
		node = reel_cgroup_v2(task);
		id = REEL_TASK_READ(node, id) << 1;
	}
	s->sample.cgroup = id;
	if (!id || !ring || id == s->cgroup)
		return;
	unseen = reel_cgroup_unseen(id);
	if (unseen) {
		if (!reel_cgroup_report(s, node, ring))
			return;
		*unseen = id;
	}
	s->cgroup = id;
}

#endif
