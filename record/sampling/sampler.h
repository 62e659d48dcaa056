/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel half of the recorder: loads the BPF object, attaches it to perf
 * events, drains its ring buffers and knows its counters.  It knows nothing of
 * files and processes.
 */
#ifndef RECORD_SAMPLING_SAMPLER_H
#define RECORD_SAMPLING_SAMPLER_H

#include <linux/types.h>

#include "bpf/sample.h"
#include "base/error.h"

struct reel_sampler;

/* Where in a kernel function an event is. */
enum reel_sampler_hook {
	REEL_SAMPLER_NO_HOOK, /* an event of perf's */
	REEL_SAMPLER_ENTRY,
	REEL_SAMPLER_EXIT,
};

/* include/linux/module.h, MODULE_NAME_LEN */
#define REEL_SAMPLER_MODULE_MAX 56

/* An event as the user named it, resolved. */
struct reel_sampler_event {
	const char *name;
	uint32_t type; /* perf_event_attr */
	uint64_t config;
	uint64_t frequency; /* Hz, or 0: */
	uint64_t period;
	bool weight_is_time;		   /* the weight is in ns (cpu-clock, task-clock) */
	bool exclude_user, exclude_kernel; /* modifiers :k and :u */
	uint8_t precise;		   /* modifiers :p, :pp, :ppp */
	/* fentry:FUNCTION, fexit:FUNCTION: type is then REEL_EVENT_NOT_PERF
	 * (record/sampling/functions.h).
	 */
	enum reel_sampler_hook hook;
	const char *function;		      /* within `name` */
	char module[REEL_SAMPLER_MODULE_MAX]; /* "": none named */
	uint64_t function_address;	      /* 0: unknown, or in a module */
};

/*
 * Resolves perf's name of an event: cpu-clock, task-clock, page-faults,
 * context-switches, cycles, instructions, cache-misses, …, PMU/config=…/ of
 * sysfs, rNNN raw, tracepoints as `sched:sched_switch`, and kernel functions
 * as `fentry:vfs_read`; perf's may end in modifiers such as `:u`.  `ret->name` borrows `name`;
 * frequency and period are 0, for the caller to set (tracepoints and functions know a period only).
 * NOT_FOUND lists what there is.
 */
struct reel_error *reel_sampler_event_resolve(const char *name,
					      struct reel_sampler_event *ret) REEL_MUST_CHECK;

struct reel_sampler_options {
	const struct reel_sampler_event *events; /* live as long as the sampler */
	size_t n_events;
	/* CPUs to sample on; NULL: all. */
	const uint32_t *cpus;
	size_t n_cpus;
	/* Everything; otherwise only what reel_sampler_add_process/_thread and the cgroup name. */
	bool system_wide;
	/* A cgroup v2 directory, or NULL. */
	const char *cgroup;
	bool kernel_chain;
	/* Walk user stacks by frame pointers, too, as far as kernel.perf_event_max_stack lets. */
	bool frame_chain;
	uint32_t max_stack; /* bytes a region at most, up to REEL_BPF_MAX_STACK_LIMIT */
	uint64_t ring_size; /* bytes, of each ring; rounded up to a power of two */
	uint32_t rings;	    /* 1: one for all CPUs; n: CPU % n */
	const char *btf;    /* file with the kernel's BTF, or NULL */
	bool verbose;	    /* libbpf's messages go to `log` */
	void (*log)(void *context, const char *line);
	void *log_context;
};

/* Loads and opens; nothing is sampled yet. PERMISSION, UNSUPPORTED, … say what is missing and what
 * to do. */
struct reel_error *reel_sampler_open(const struct reel_sampler_options *options,
				     struct reel_sampler **ret) REEL_MUST_CHECK;
void reel_sampler_close(struct reel_sampler *sampler);

/*
 * Follow this process of the recorder's own from its next exec on: what runs in it before
 * is the recorder's code.  To be called before reel_sampler_enable.
 */
struct reel_error *reel_sampler_add_command(struct reel_sampler *sampler,
					    uint32_t pid) REEL_MUST_CHECK;
/*
 * Follow this process, and what it forks from now on.  Its threads are for events that count each
 * thread's own, and need not be told where there are none: one that is started meanwhile, by one
 * that has no event yet, has none.
 */
struct reel_error *reel_sampler_add_process(struct reel_sampler *sampler, uint32_t pid,
					    const uint32_t *tids, size_t n) REEL_MUST_CHECK;
bool reel_sampler_has_thread_events(const struct reel_sampler *sampler);
/* Follow this thread only. */
struct reel_error *reel_sampler_add_thread(struct reel_sampler *sampler,
					   uint32_t tid) REEL_MUST_CHECK;

struct reel_error *reel_sampler_enable(struct reel_sampler *sampler) REEL_MUST_CHECK;
/* Stops sampling; what is in the rings can still be drained. */
void reel_sampler_disable(struct reel_sampler *sampler);

/*
 * The kernel tells in the buffer of this event of process_events.h when it stops an event of that
 * CPU for a while.
 */
void reel_sampler_redirect(struct reel_sampler *sampler, uint32_t cpu, int fd);

/*
 * Samples a CPU that came online, too, if it is one that is to be sampled; its events report to
 * `fd` as above (-1: to nobody).  *gone_ret: it went away meanwhile, and is not sampled.
 */
struct reel_error *reel_sampler_add_cpu(struct reel_sampler *sampler, uint32_t cpu, int fd,
					bool *gone_ret) REEL_MUST_CHECK;
/* Closes the events of a CPU that went offline: they are dead, even if it comes back. */
void reel_sampler_drop_cpu(struct reel_sampler *sampler, uint32_t cpu);

/* From now on a region has so many bytes at most; never more than options.max_stack. */
void reel_sampler_limit_stack(struct reel_sampler *sampler, uint32_t bytes);

/* The bytes of a region lie behind the header; see reel_sampler_parts. */
struct reel_sampler_parts {
	const struct reel_bpf_sample *sample;
	const uint64_t *kernel_chain, *frame_chain;
	const uint8_t *region_bytes[REEL_BPF_REGIONS_MAX];
};

/* Of a record of `size` bytes, aligned to 8; false if it contradicts itself. */
bool reel_sampler_parts_take(const struct reel_bpf_sample *sample, size_t size,
			     struct reel_sampler_parts *ret);

struct reel_sampler_handler {
	/* A non-NULL result ends the draining and is passed on. */
	struct reel_error *(*sample)(void *context, const struct reel_sampler_parts *parts);
	struct reel_error *(*process)(void *context, const struct reel_bpf_process *process);
	void *context;
};

/* A descriptor to poll: readable when a ring passed its watermark. */
int reel_sampler_fd(const struct reel_sampler *sampler);
/* Hands over everything that is in the rings now; never waits. */
struct reel_error *reel_sampler_drain(struct reel_sampler *sampler,
				      const struct reel_sampler_handler *handler) REEL_MUST_CHECK;

/* Counted by the BPF programs since the start. `copy_failed` and `stack_cut` count samples that
 * were kept. */
struct reel_sampler_counts {
	uint64_t ring_full, ring_busy, copy_failed, stack_cut;
	/* Children that are not followed, because too many processes were. */
	uint64_t not_followed;
	/* Process records that a full or busy ring dropped. */
	uint64_t process_lost;
};

/*
 * Hits of functions since reel_sampler_enable, on any CPU and of any task, that the kernel dropped
 * because the program of an earlier one ran on that CPU.  0 where the kernel does not count them
 * (before 5.12).
 */
uint64_t reel_sampler_missed(const struct reel_sampler *sampler);

/* One entry a possible CPU. */
struct reel_error *reel_sampler_counts(struct reel_sampler *sampler,
				       const struct reel_sampler_counts **ret,
				       size_t *n_cpus_ret) REEL_MUST_CHECK;

#endif
