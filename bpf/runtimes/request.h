/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The request that a thread works for, if its process publishes that (struct reel_bpf_publisher),
 * or OpenTelemetry's eBPF instrumentation knows it (reel_request_map).  A thread changes its own
 * record only, and does not run meanwhile, so the record is whole, or says that it is not.
 */
#ifndef BPF_RUNTIMES_REQUEST_H
#define BPF_RUNTIMES_REQUEST_H

#include "bpf/maps.h"
#include "bpf/registers.h"
#include "bpf/runtime.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/user_memory.h"

/* Nothing is mapped below (vm.mmap_min_addr): a smaller number is an offset. */
#define REEL_ADDRESS_MIN 65536

/* The address of the thread's variable in a module, from s->words; 0 if it has none yet. */
static __always_inline __u64 reel_request_in_module(struct task_struct *other, __u64 thread,
						    const struct reel_bpf_publisher *publisher,
						    struct reel_sampling *s)
{
	__u64 module = s->words[0], offset = s->words[1], table;

	if (reel_user_read(other, &s->words[0], 8, (void *)(thread + publisher->table)))
		return 0;
	table = s->words[0];
	if (reel_user_read(other, &s->words[0], 8, (void *)(table + publisher->table_size)) ||
	    module > s->words[0] ||
	    reel_user_read(other, &s->words[0], 8,
			   (void *)(table + module * publisher->table_entry)))
		return 0;
	return s->words[0] + offset;
}

/* The address of the thread's variable; 0 if it has none. */
static __always_inline __u64 reel_request_variable(struct task_struct *other, __u64 thread,
						   const struct reel_bpf_publisher *publisher,
						   struct reel_sampling *s)
{
	void *at = (void *)publisher->at;

	switch (publisher->kind) {
	case REEL_BPF_PUBLISHER_OFFSET:
		return thread + publisher->at;
	case REEL_BPF_PUBLISHER_WORD:
		return reel_user_read(other, &s->words[0], 8, at) ? 0 : thread + s->words[0];
	case REEL_BPF_PUBLISHER_DESCRIPTOR:
		if (reel_user_read(other, &s->words[1], 8, at + 8))
			return 0;
		at = (void *)s->words[1];
		if ((__s64)s->words[1] < REEL_ADDRESS_MIN)
			return thread + s->words[1];
		break;
	case REEL_BPF_PUBLISHER_INDEX:
		break;
	default:
		return 0;
	}
	if (reel_user_read(other, s->words, sizeof(s->words), at))
		return 0;
	return reel_request_in_module(other, thread, publisher, s);
}

/* Whether any thread's request may be known. */
static __always_inline bool reel_request_is_possible(void)
{
	return settings.has_request_map || reel_control.publishers;
}

static __always_inline void reel_request_set(struct reel_sampling *s,
					     const struct reel_bpf_request *request)
{
	if (!(request->trace[0] | request->trace[1]) || !request->span)
		return;
	s->sample.request = *request;
	s->sample.flags |= REEL_BPF_HAS_REQUEST;
}

/* The thread's pointer if the process publishes this; 0 if not.  `other`: bpf/user_memory.h. */
static __always_inline __u64 reel_published(struct task_struct *other, struct task_struct *task,
					    struct reel_sampling *s, __u32 published)
{
	struct reel_bpf_publisher *publisher;
	__u64 variable;

	if (s->sample.flags & REEL_BPF_COMPAT)
		return 0;
	publisher = bpf_map_lookup_elem(&reel_publishers, &s->sample.pid);
	if (!publisher || publisher->published != published)
		return 0;
	variable = reel_request_variable(other, reel_thread_pointer(task, false), publisher, s);
	if (!variable || reel_user_read(other, &s->words[0], 8, (void *)variable))
		return 0;
	return s->words[0];
}

/* As the process says. */
static __always_inline void reel_request_read(struct task_struct *other, struct task_struct *task,
					      struct reel_sampling *s)
{
	__u64 record = reel_published(other, task, s, REEL_BPF_PUBLISHED_REQUEST);

	if (record &&
	    !reel_user_read(other, &s->record, REEL_REQUEST_RECORD_SIZE, (void *)record) &&
	    s->record.valid == 1)
		reel_request_set(s, &s->record.request);
}

/* As the instrumentation says.  Its keys have the kernel's numbers, not a namespace's. */
static __always_inline void reel_request_look_up(struct task_struct *other, struct reel_sampling *s)
{
	struct reel_bpf_request *request;

	s->words[0] = bpf_get_current_pid_tgid();
	if (other)
		s->words[0] =
			(__u64)BPF_CORE_READ(other, tgid) << 32 | (__u32)BPF_CORE_READ(other, pid);
	request = bpf_map_lookup_elem(&reel_request_map, &s->words[0]);
	if (request)
		reel_request_set(s, request);
}

/* The process knows better. */
static __always_inline void reel_request_find(struct task_struct *other, struct task_struct *task,
					      struct reel_sampling *s)
{
	if (reel_control.publishers)
		reel_request_read(other, task, s);
	if (settings.has_request_map && !(s->sample.flags & REEL_BPF_HAS_REQUEST))
		reel_request_look_up(other, s);
}

/* Of the current task.  Not static: the verifier then checks it once. */
__noinline int reel_request_store(__u32 slot)
{
	struct reel_sampling *s = reel_sampling(slot);

	if (s)
		reel_request_find(NULL, REEL_TASK_CURRENT(), s);
	return 0;
}

#endif
