/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel half of the recorder: loads the BPF object, attaches it to perf events, drains its
 * ring buffers and reads its counters.  It does not depend on files and processes.
 */
#ifndef RECORD_SAMPLING_SAMPLER_H
#define RECORD_SAMPLING_SAMPLER_H

#include "bpf/runtime.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "base/error.h"

struct reel_sampler;

/* Where in a kernel function an event occurs. */
enum reel_sampler_hook {
	REEL_SAMPLER_NO_HOOK, /* a perf event */
	REEL_SAMPLER_ENTRY,
	REEL_SAMPLER_EXIT,
};

/* A probe in code; type is then REEL_EVENT_NOT_PERF (record/probes/). */
enum reel_sampler_probe {
	REEL_SAMPLER_NO_PROBE,
	REEL_SAMPLER_UPROBE,
	REEL_SAMPLER_URETPROBE,
	REEL_SAMPLER_USDT,
	REEL_SAMPLER_LATENCY, /* from a function's entry to its return */
	REEL_SAMPLER_KPROBE,
	REEL_SAMPLER_KRETPROBE,
};

/* Where in a file the kernel places a probe. */
struct reel_sampler_place {
	int file; /* one of the event's files; -1: offset is in the function `symbol` */
	uint64_t offset;
	char *arguments;  /* USDT: where its arguments are; NULL: another kind */
	uint64_t counter; /* USDT: the file offset of its semaphore; 0: none */
};

/* include/linux/module.h, MODULE_NAME_LEN */
#define REEL_SAMPLER_MODULE_MAX 56

/* Of a tracepoint's field, with its NUL. */
#define REEL_SAMPLER_NAME_MAX 64

/* A user's event, resolved. */
struct reel_sampler_event {
	const char *name;
	uint32_t type; /* perf_event_attr */
	uint64_t config;
	uint64_t waits;	    /* enum reel_wait_place, of off-cpu */
	uint64_t frequency; /* Hz; 0: use `period` */
	uint64_t period;
	uint64_t
		max_rate; /* samples per second and CPU, of an event whose hits are samples; 0: no limit */
	bool weight_is_time; /* the weight is in ns (cpu-clock, task-clock, off-cpu) */
	/* off-cpu: waiting threads, scanned `frequency` times per second; not a perf event. */
	bool off_cpu;
	bool all_waits;	    /* each wait of at least min_block instead: a period, no frequency */
	uint64_t min_block; /* ns */
	bool waker;	    /* waker: who ends these waits; not a perf event either */
	bool exclude_user, exclude_kernel; /* modifiers :k and :u */
	uint8_t precise;		   /* modifiers :p, :pp, :ppp */
	/* fentry:FUNCTION, fexit:FUNCTION: type is then REEL_EVENT_NOT_PERF
	 * (record/sampling/functions.h).
	 */
	enum reel_sampler_hook hook;
	const char *function;		      /* within `name` */
	char module[REEL_SAMPLER_MODULE_MAX]; /* "": none given */
	uint64_t function_address;	      /* 0: unknown, or in a module */
	enum reel_sampler_probe probe;
	char *symbol; /* kprobe, kretprobe; with all_waits, where a switch ends */
	char *folder; /* of a tracepoint in tracefs; NULL: another kind */
	/* Values that samples have; kind REEL_BPF_VALUE_NONE: not wanted. */
	struct reel_bpf_value values[REEL_BPF_VALUES_MAX];
	char value_names[REEL_BPF_VALUES_MAX][REEL_SAMPLER_NAME_MAX]; /* fields; "": none */
	struct reel_bpf_comparison filter[REEL_BPF_COMPARISONS_MAX];
	size_t n_comparisons; /* 0: no filter */
	struct reel_sampler_place *places;
	size_t n_places;
	/* Descriptors, open until the probes are placed. */
	int *files;
	size_t n_files;
	char *warning; /* why its probes may have no hits; NULL: no reason */
};

/*
 * Resolves a perf event's name: cpu-clock, task-clock, page-faults, context-switches, cycles,
 * instructions, cache-misses, …, PMU/config=…/ from sysfs, raw rNNN, tracepoints as
 * `sched:sched_switch`, and kernel functions as `fentry:vfs_read`; perf's names may end in
 * modifiers such as `:u`, after terms such as /period=100/.  off-cpu, waker and functions have
 * neither.  `ret->name` borrows `name`; frequency and period are 0 without such terms, for the caller
 * to set (tracepoints and functions support only a period).  NOT_FOUND lists known names.
 */
struct reel_error *reel_sampler_event_resolve(const char *name,
					      struct reel_sampler_event *ret) REEL_MUST_CHECK;

typedef struct reel_error *reel_sampler_name_visitor(void *context, const char *name);

/* Visits the names of events that are neither in sysfs or tracefs nor in code; counters only if this
 * machine has them. */
struct reel_error *reel_sampler_event_names_visit(reel_sampler_name_visitor *visit,
						  void *context) REEL_MUST_CHECK;

/* Makes off-cpu sample all waits of at least this long, in ns.  UNSUPPORTED if the kernel cannot. */
struct reel_error *reel_sampler_event_set_all_waits(struct reel_sampler_event *event,
						    uint64_t min_block) REEL_MUST_CHECK;
/* Closes the event's files and frees its places. */
void reel_sampler_event_free(struct reel_sampler_event *event);
/* Whether each hit of the event is a sample, so that it has a period but no frequency. */
bool reel_sampler_event_is_hit(const struct reel_sampler_event *event);
/* Whether it is in the kernel's code, so that its samples have the kernel's call chain. */
bool reel_sampler_event_is_in_kernel(const struct reel_sampler_event *event);

struct reel_sampler_options {
	const struct reel_sampler_event *events; /* live as long as the sampler */
	size_t n_events;
	/* CPUs to sample on; NULL: all. */
	const uint32_t *cpus;
	size_t n_cpus;
	/* Sample all tasks; otherwise only those added by reel_sampler_add_*, and the cgroup's. */
	bool system_wide;
	/* A cgroup v2 directory, or NULL. */
	const char *cgroup;
	bool kernel_chain;
	/* Also walk user stacks by frame pointers, up to kernel.perf_event_max_stack. */
	bool frame_chain;
	uint32_t max_stack; /* bytes per region at most, up to REEL_BPF_MAX_STACK_LIMIT */
	uint64_t ring_size; /* bytes per ring; rounded up to a power of two */
	uint32_t rings;	    /* 1: one for all CPUs; n: CPU % n */
	const char *btf;    /* file with the kernel's BTF, or NULL */
	/* From reel_request_map_open, or -1; not needed once the sampler is open. */
	int request_map;
	bool sandboxed; /* the process that scans waiting threads drops its rights */
	bool verbose;	/* send libbpf's messages to `log` */
	void (*log)(void *context, const char *line);
	void *log_context;
};

/* Loads and opens without sampling yet. Errors (PERMISSION, UNSUPPORTED, …) describe the missing
 * feature or right and its remedy. */
struct reel_error *reel_sampler_open(const struct reel_sampler_options *options,
				     struct reel_sampler **ret) REEL_MUST_CHECK;
void reel_sampler_close(struct reel_sampler *sampler);

/*
 * Follows this process of the recorder's own from its next exec on; earlier code is the recorder's.
 * Call it before reel_sampler_enable.
 */
struct reel_error *reel_sampler_add_command(struct reel_sampler *sampler,
					    uint32_t pid) REEL_MUST_CHECK;
/*
 * Follows this process, and children that it forks from now on.  `tids` are needed only for events
 * that count each thread.  Such events miss a thread started meanwhile by a thread that has no
 * event yet.
 */
struct reel_error *reel_sampler_add_process(struct reel_sampler *sampler, uint32_t pid,
					    const uint32_t *tids, size_t n) REEL_MUST_CHECK;
bool reel_sampler_has_thread_events(const struct reel_sampler *sampler);
/* Follows only this thread. */
struct reel_error *reel_sampler_add_thread(struct reel_sampler *sampler,
					   uint32_t tid) REEL_MUST_CHECK;

/* Whose samples have the requests that it works for; NULL: no longer.  False if there are too
 * many. */
bool reel_sampler_set_publisher(struct reel_sampler *sampler, uint32_t pid,
				const struct reel_bpf_publisher *publisher);

/* Whose samples have the frames of its interpreter; NULL: no longer.  False if there are too many. */
bool reel_sampler_set_interpreter(struct reel_sampler *sampler, uint32_t pid,
				  const struct reel_bpf_interpreter *interpreter);

/* Has samples of a process check the pages of this number, below REEL_WATCHES_MAX; NULL: no longer. */
bool reel_sampler_watch(struct reel_sampler *sampler, uint32_t pid, const uint32_t *number);
void reel_sampler_watch_page(struct reel_sampler *sampler, uint32_t number, uint32_t place,
			     const struct reel_bpf_watched *page);

struct reel_error *reel_sampler_enable(struct reel_sampler *sampler) REEL_MUST_CHECK;
/*
 * Has scans report all waits up to now, and waits for that; false if they take too long.  True
 * without off-cpu.
 */
bool reel_sampler_report_waits(struct reel_sampler *sampler);
/* Scans per second up to now; 0 without off-cpu. */
double reel_sampler_scan_rate(const struct reel_sampler *sampler);
/*
 * Forgets a wait whose sample cannot be held: the next scan begins it again.  Returns its weight up
 * to now.
 */
uint64_t reel_sampler_forget_wait(struct reel_sampler *sampler, uint32_t kernel_tid);
/* Stops sampling; the rings can still be drained. */
void reel_sampler_disable(struct reel_sampler *sampler);

/*
 * Has the kernel report to `fd`, the buffer of this CPU's event of process_events.h, when it stops
 * an event of the CPU for a while.
 */
void reel_sampler_redirect(struct reel_sampler *sampler, uint32_t cpu, int fd);

/*
 * Also samples a CPU that came online, if it is one of the requested CPUs; its events report to
 * `fd` as above (-1: do not report).  *gone_ret: it went away meanwhile, and is not sampled.
 */
struct reel_error *reel_sampler_add_cpu(struct reel_sampler *sampler, uint32_t cpu, int fd,
					bool *gone_ret) REEL_MUST_CHECK;
/* Closes the events of a CPU that went offline: they are dead, even if it comes back. */
void reel_sampler_drop_cpu(struct reel_sampler *sampler, uint32_t cpu);

/* Limits regions to this size from now on, but never above options.max_stack. */
void reel_sampler_limit_stack(struct reel_sampler *sampler, uint32_t bytes);

/* Whether reel_sampler_slow_down changes this event: not those that have no frequency, or count
 * single threads or a cgroup. */
bool reel_sampler_can_slow_down(const struct reel_sampler *sampler, size_t event);
/* Lowers options.max_stack, or raises it again. */
void reel_sampler_cap_stack(struct reel_sampler *sampler, uint32_t bytes);
/* Divides frequencies by `slowness`, at least 1; each sample's weight is that of its own period. */
void reel_sampler_slow_down(struct reel_sampler *sampler, double slowness);
/* Takes no samples meanwhile. */
void reel_sampler_pause(struct reel_sampler *sampler, bool pause);
/* Stops the perf events meanwhile, so that they cost nothing; use it with reel_sampler_pause. */
void reel_sampler_rest(struct reel_sampler *sampler, bool rests);
/*
 * Has the kernel measure the run time of BPF programs, of others, too, until the sampler is closed.
 * False if it cannot: before Linux 5.8, or without CAP_SYS_ADMIN.
 */
bool reel_sampler_measure(struct reel_sampler *sampler);
/* ns of CPU time of the programs, if measured, and of the process that scans. */
uint64_t reel_sampler_work(const struct reel_sampler *sampler);
/* Bytes of the process that scans. */
uint64_t reel_sampler_memory(const struct reel_sampler *sampler);

/* The bytes of a region follow the header; see reel_sampler_parts. */
struct reel_sampler_parts {
	const struct reel_bpf_sample *sample;
	size_t size; /* of the whole record, which begins with the sample */
	const uint64_t *kernel_chain, *frame_chain;
	const struct reel_bpf_user_probes *user_probes; /* NULL: none */
	size_t n_returns;
	const struct reel_bpf_values *values; /* NULL: none */
	const struct reel_bpf_frame *frames;
	const uint8_t *region_bytes[REEL_BPF_REGIONS_MAX];
};

/* Splits a record of `size` bytes, aligned to 8; false if it is inconsistent. */
bool reel_sampler_parts_parse(const struct reel_bpf_sample *sample, size_t size,
			      struct reel_sampler_parts *ret);

struct reel_sampler_handler {
	/* A non-NULL result ends the draining and is returned. */
	struct reel_error *(*sample)(void *context, const struct reel_sampler_parts *parts);
	struct reel_error *(*process)(void *context, const struct reel_bpf_process *process);
	struct reel_error *(*wait)(void *context, const struct reel_bpf_wait *wait);
	/* The names follow: `cgroup->size` bytes. */
	struct reel_error *(*cgroup)(void *context, const struct reel_bpf_cgroup *cgroup);
	struct reel_error *(*code)(void *context, const struct reel_bpf_code *code);
	void *context;
};

/* Descriptor for poll(2): readable when a ring has passed its watermark. */
int reel_sampler_fd(const struct reel_sampler *sampler);
/* Hands over all data that is in the rings now; never waits. */
struct reel_error *reel_sampler_drain(struct reel_sampler *sampler,
				      const struct reel_sampler_handler *handler) REEL_MUST_CHECK;

/*
 * Hits of functions since reel_sampler_enable, on any CPU and by any task, that the kernel dropped
 * because a program was already running on that CPU.  0 if the kernel does not count them (before
 * 5.12).
 */
uint64_t reel_sampler_missed(const struct reel_sampler *sampler);

/* Of the BPF programs since the start; one entry per possible CPU. */
struct reel_error *reel_sampler_counts(struct reel_sampler *sampler,
				       const struct reel_bpf_counts **ret,
				       size_t *n_cpus_ret) REEL_MUST_CHECK;

#endif
