/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the recorder tells the BPF programs before they are loaded, and what
 * they count.  Both sides are of the same build.
 */
#ifndef BPF_SETTINGS_H
#define BPF_SETTINGS_H

/* Includers bring __u8 … __u64: <linux/types.h> or bpf/kernel.h. */

#define REEL_BPF_EVENTS_MAX 8
#define REEL_BPF_CPUS_MAX   8192

/* Read-only data, so the verifier sees constants and drops what is switched off. */
struct reel_bpf_settings {
	/* Everything; otherwise what is in the maps reel_processes and reel_threads or below
	 * reel_cgroup. */
	__u32 system_wide;
	__u32 use_cgroup;
	__u32 kernel_chain;
	__u32 frame_chain; /* addresses found by frame pointers at most; 0: no such walk */
	__u32 max_stack;   /* bytes of a region at most */
	__u32 page_size;
	/* Bytes of a task's kernel stack (used before 5.15 only, see bpf/registers.h). */
	__u32 thread_size;
	__u32 rings;
	/* Inode of the recorder's PID namespace, 0 if it is the initial one. */
	__u32 pid_namespace;
	__u32 n_cpus;	 /* above the highest CPU that is sampled */
	__u64 ring_size; /* of each ring */
	/* Perf events are on all CPUs, too, and are to be taken on those below: -C, and events of
	 * threads. */
	__u32 check_cpu;
	__u32 reserved;
	/* Tracepoints and functions: take each n-th hit, on these CPUs.  Perf events do both by
	 * themselves. */
	__u64 periods[REEL_BPF_EVENTS_MAX];
	__u64 cpus[REEL_BPF_CPUS_MAX / 64];
	/* fentry and fexit: the function's address, before 5.15 only (bpf_get_func_ip). */
	__u64 functions[REEL_BPF_EVENTS_MAX];
	/* Which of a CPU's drafts an event makes its samples in: bpf/maps.h. */
	__u32 slots[REEL_BPF_EVENTS_MAX];
};

/* One a CPU. */
struct reel_bpf_counts {
	__u64 ring_full, ring_busy;	 /* dropped samples */
	__u64 copy_failed, stack_cut;	 /* samples that were kept */
	__u64 not_followed;		 /* children, because a map was full */
	__u64 process_lost;		 /* dropped records of processes */
	__u64 hits[REEL_BPF_EVENTS_MAX]; /* of tracepoints and functions, before `periods` */
};

/* What changes while the programs run. */
struct reel_bpf_control {
	__u32 enabled; /* samples are to be taken; for tracepoints and functions, which cannot be
			  switched off by themselves */
	__u32 command; /* process to be followed from its next exec on; 0: none */
	/* Counts the processes that are followed no more: what was known of a number before may be
	 * another's. Only the programs change it. */
	__u32 unfollowed;
	/* Bytes of a region at most, for a while; settings.max_stack if it is not below that. */
	__u32 max_stack;
};

#endif
