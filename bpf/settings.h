/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Settings of the BPF programs, set by the recorder before loading, and their counters.  Both sides
 * are of the same build.
 */
#ifndef BPF_SETTINGS_H
#define BPF_SETTINGS_H

#include "bpf/sample.h"

#define REEL_BPF_EVENTS_MAX 8
#define REEL_BPF_CPUS_MAX   8192
/* Probes of as many threads may be preempted on a CPU at a time; hits by more are lost. */
#define REEL_PROBE_SLOTS 4

/* The controller whose hierarchy of cgroup v1 has the cgroups. */
enum reel_bpf_controller {
	REEL_BPF_NO_CONTROLLER = 0, /* there is only cgroup v2 */
	REEL_BPF_PIDS = 1,
	REEL_BPF_MEMORY = 2,
	REEL_BPF_CPU = 3,
};

#define REEL_BPF_VALUES_MAX 6

/* How to read a value of a probe. */
struct reel_bpf_value {
	__u8 kind;   /* enum reel_bpf_value_kind */
	__u8 source; /* enum reel_bpf_value_source */
	__u8 size;   /* 1, 2, 4 or 8 bytes */
	__u8 is_signed;
	__u8 base, index; /* registers, by DWARF number */
	__u8 has_index, scale;
	__s64 offset; /* or the constant */
};

enum reel_bpf_value_kind {
	REEL_BPF_VALUE_NONE,
	REEL_BPF_VALUE_NUMBER,
	REEL_BPF_VALUE_STRING,	      /* in the program, at this address */
	REEL_BPF_VALUE_KERNEL_STRING, /* in the kernel */
};

enum reel_bpf_value_source {
	REEL_BPF_VALUE_REGISTER, /* base */
	REEL_BPF_VALUE_MEMORY,	 /* at base + index × scale + offset */
	REEL_BPF_VALUE_CONSTANT,
	/* Of events in the kernel: at `offset` in the program's context, a tracepoint's record or
	 * struct pt_regs. */
	REEL_BPF_VALUE_FIELD,
	REEL_BPF_VALUE_ARRAY,	     /* the address of these `size` bytes */
	REEL_BPF_VALUE_LOCATION,     /* an address by its offset in the record, in 16 bits of it */
	REEL_BPF_VALUE_REL_LOCATION, /* the same, from the end of its 4 bytes */
};

#define REEL_BPF_COMPARISONS_MAX 8
#define REEL_BPF_PATTERN_SIZE	 32 /* with its NUL */

/* Of a value with a number or a text. */
struct reel_bpf_comparison {
	struct reel_bpf_value value;
	__u64 number;
	__u8 op;		/* enum reel_bpf_comparison_op */
	__u8 if_true, if_false; /* a later comparison, or enum reel_bpf_filter_end */
	__u8 reserved[5];
	char pattern[REEL_BPF_PATTERN_SIZE];
};

/* True for these results; a text is equal or greater. */
enum reel_bpf_comparison_op {
	REEL_BPF_LESS = 1,
	REEL_BPF_EQUAL = 2,
	REEL_BPF_GREATER = 4,
	REEL_BPF_ANY_BIT = 8, /* in common */
};

enum reel_bpf_filter_end {
	REEL_BPF_PASS = REEL_BPF_COMPARISONS_MAX,
	REEL_BPF_DROP,
};

/* In a pattern; texts do not have them. */
#define REEL_BPF_ANY_TEXT 1
#define REEL_BPF_ANY_BYTE 2

/* Read-only data, so the verifier sees constants and drops unused code. */
struct reel_bpf_settings {
	/* All tasks; otherwise those in the maps reel_processes and reel_threads or below
	 * reel_cgroup. */
	__u32 system_wide;
	__u32 use_cgroup;
	__u32 kernel_chain;
	__u32 frame_chain; /* limit of addresses found by frame pointers; 0: no such walk */
	__u32 max_stack;   /* bytes per region at most */
	__u32 page_size;
	/* Bytes of a task's kernel stack (used only before 5.15, see bpf/registers.h). */
	__u32 thread_size;
	__u32 rings;
	/* Inode of the recorder's PID namespace, 0 for the initial one. */
	__u32 pid_namespace;
	__u32 n_cpus;	 /* above the highest sampled CPU */
	__u64 ring_size; /* of each ring of samples */
	/* Perf events are on all CPUs, but samples are wanted only on the CPUs below: -C, and
	 * events of threads. */
	__u32 check_cpu;
	__u32 reserved;
	/* Tracepoints and functions: take each n-th hit, on these CPUs.  Perf events do both
	 * themselves. */
	__u64 periods[REEL_BPF_EVENTS_MAX];
	/* The same: ns between samples of a CPU in the long run; 0: no limit. */
	__u64 intervals[REEL_BPF_EVENTS_MAX];
	__u64 cpus[REEL_BPF_CPUS_MAX / 64];
	/* fentry and fexit: the function's address, only before 5.15 (bpf_get_func_ip). */
	__u64 functions[REEL_BPF_EVENTS_MAX];
	/* The slot in which an event makes its samples: bpf/maps.h. */
	__u32 slots[REEL_BPF_EVENTS_MAX];
	/* bpf/waits/scan.h: the event of waiting threads, and its slot; 0: no scans. */
	__u32 scan_event, scan_slot;
	__u32 switch_slot; /* bpf/waits/switch.h, also for its programs */
	/* Sample all waits, instead of those that scans find, of at least min_block. */
	__u32 all_waits;
	__u32 waker_event, waker_slot; /* the same of bpf/waits/waker.h */
	/* The kernel's code for entries of interrupts; size 0: not known. */
	__u64 interrupt_entries, interrupt_entries_size;
	/* The requested cgroup: its id and depth. */
	__u64 cgroup_id;
	__u32 cgroup_level;
	__u32 cgroup_controller; /* enum reel_bpf_controller */
	/* The first slot of probes; 0: no probes. */
	__u32 probe_slot;
	/* Whether any event has values. */
	__u32 has_values;
	/* Whether any event is a latency, and which ones: bit n. */
	__u32 latencies;
	__u32 filters; /* the same */
	/* Whether reel_request_map belongs to OpenTelemetry's eBPF instrumentation. */
	__u32 has_request_map;
	__u64 min_block; /* ns, with all_waits */
	struct reel_bpf_value values[REEL_BPF_EVENTS_MAX][REEL_BPF_VALUES_MAX];
	struct reel_bpf_comparison comparisons[REEL_BPF_EVENTS_MAX][REEL_BPF_COMPARISONS_MAX];
};

#ifdef __bpf__
/* A section of its own, so that the loader finds it. */
const volatile struct reel_bpf_settings settings SEC(".rodata.settings") = {};
#endif

/* One per CPU. */
struct reel_bpf_counts {
	__u64 ring_full, ring_busy;	 /* dropped samples */
	__u64 copy_failed, stack_cut;	 /* kept samples */
	__u64 not_followed;		 /* children, because a map was full */
	__u64 process_lost;		 /* dropped records of processes */
	__u64 above_rate;		 /* hits dropped because of `intervals` */
	__u64 waits_missed;		 /* no room in a map, or the kernel skipped a program */
	__u64 waiting;			 /* ns of waits that have no sample, with all_waits */
	__u64 hits[REEL_BPF_EVENTS_MAX]; /* of tracepoints and functions, before `periods` */
	/* The time up to which samples have been taken at the allowed rate. */
	__u64 paid[REEL_BPF_EVENTS_MAX];
};

/* A call that has not returned. */
struct reel_call {
	__u64 stack; /* sp at the entry */
	__u32 tid, event;
};

/* State that changes while the programs run. */
struct reel_bpf_control {
	__u32 enabled; /* take samples; tracepoints and functions have no switch of their own */
	__u32 command; /* process to follow from its next exec on; 0: none */
	/* Counts processes no longer followed: a cached number may since belong to another process.
	 * Only the programs change it. */
	__u32 unfollowed;
	/* Current limit of a region in bytes; settings.max_stack applies if it is lower. */
	__u32 max_stack;
	/* For the next scan (bpf/waits/scan.h): the time, and the weight of each thread, and of each
	 * unlisted one, in ns. */
	__u64 scan_time, scan_weight, scan_rest_weight;
	/* The number of the walk through all threads, which makes a list, or of the last one. */
	__u32 scan_walk, scan_listed;
	/* When the scanning process was woken and when it got its CPU, by the run queue's clock, 0
	 * until the scan sets them; and its sched_info.run_delay at that time. */
	__u64 scan_woken, scan_arrival, scan_run_delay;
	/* The scanning process; whether it was woken for a scan that has not ended; how often. */
	__u32 scanner, scan_pending, scan_wakes;
	__u32 is_last_scan; /* ends all waits */
	/* Of a scan with several passes (bpf/user_memory.h): this one's number, from 0; threads whose
	 * memory was asked for; whether some was in this pass; and the threads with which these and
	 * the next passes begin, or 0. */
	__u32 scan_pass, scan_copies, scan_asks, scan_from, scan_next;
	__u64 scan_bytes; /* of the threads' memory, asked for since scan_from */
	__u32 scans;	  /* up to now, since: */
	__u64 scans_began;
	__u32 publishers;   /* entries of reel_publishers */
	__u32 interpreters; /* entries of reel_interpreters */
	__u32 watches;	    /* entries of reel_watches */
	__u32 paused;	    /* take no samples, with all events as they are */
	__u64 scan_least;   /* ns between scans at least, on average; 0: as requested */
};

/*
 * A thread that did not run between two scans has the same stack: only its weight grows.  A change
 * of the switch counts shows that it ran.  With `all_waits`, `began` is 0 while the thread runs,
 * and `time` is when it was woken.
 */
struct reel_wait {
	__u64 start_time; /* the task's: numbers are used again */
	__u64 voluntary, involuntary;
	__u64 time, weight;
	__u32 pid, tid;
	__u32 state, cpu;
	__u64 began;	  /* time */
	__u64 ran;	  /* with `all_waits`: ns that the task had been on a CPU then */
	__u64 lock_word;  /* where its lock's owner is; 0: the owner is not known */
	__u32 lock_owner; /* as in struct reel_bpf_sample */
	__u32 is_woken;	  /* its waker was sampled; with `all_waits`, it was woken */
	__u32 copies;	  /* 1 + index in reel_scan_copies, while its memory is read; or 0 */
	__u32 is_new;	  /* then: its sample is still to be made */
};

/* ---- memory of waiting threads that the scanning process reads (bpf/user_memory.h) ---------- */

/* Threads whose memory is read together. */
#define REEL_COPIES_MAX 1024
/* Bytes that are read together, but for the last thread's; a stack may have --max-stack. */
#define REEL_COPIES_SIZE (64u << 20)
/* Of a thread. */
#define REEL_PIECES_MAX 8
/* A pointer is read in one pass, what it points to in the next: the most that Go's stacks take. */
#define REEL_PASSES_MAX 8

struct reel_bpf_piece {
	__u64 address;
	__u64 copy; /* its address in the scanning process; 0: not read */
	__u32 size;
	__u16 is_done;			       /* the process has tried */
	__u16 is_partial;		       /* some pages are missing */
	__u64 missing[REEL_BPF_MISSING_WORDS]; /* as in struct reel_bpf_region */
};

struct reel_bpf_copies {
	__u32 pid; /* in the recorder's namespace */
	__u32 n_pieces;
	struct reel_bpf_piece pieces[REEL_PIECES_MAX];
};

#endif
