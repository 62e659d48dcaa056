/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Maps, and the sample being made.  record/sampling/sampler.c sets sizes known only there. */
#ifndef BPF_MAPS_H
#define BPF_MAPS_H

#include "bpf/registers.h"
#include "bpf/runtime.h"
#include "bpf/sample.h"
#include "bpf/settings.h"

/* Alone in .bss, where the loader finds it. */
struct reel_bpf_control reel_control = {};

#define REEL_ZEROS 4096
static const __u8 reel_zeros[REEL_ZEROS];

struct reel_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};

/*
 * CPU n writes its samples to ring n % settings.rings.  Programs in a task's context write to
 * one more ring: from 6.15 to 6.17, an NMI that reserves in a ring while its CPU holds the ring's
 * lock may wait for 250 ms (kernel/bpf/rqspinlock.c), and before, its sample is lost.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct reel_ring);
} reel_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reel_bpf_counts);
} reel_counts SEC(".maps");

/* Followed processes and threads, by their number in the recorder's namespace.  Perf events'
 * programs can use only preallocated hash maps (kernel/bpf/verifier.c, before 6.1). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u8);
} reel_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
} reel_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} reel_cgroup SEC(".maps");

/* Cgroups whose paths were reported: bpf/events/cgroup.h. */
#define REEL_CGROUPS_SEEN 4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REEL_CGROUPS_SEEN);
	__type(key, __u32);
	__type(value, __u64);
} reel_cgroups_seen SEC(".maps");

/* Processes by their number in the recorder's namespace; preallocated as above. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REEL_PUBLISHERS_MAX);
	__type(key, __u32);
	__type(value, struct reel_bpf_publisher);
} reel_publishers SEC(".maps");

/*
 * OTEP 4855: the requests of threads, by bpf_get_current_pid_tgid, as OpenTelemetry's eBPF
 * instrumentation finds them.  Its own map, which the recorder opens; only looked up here.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct reel_bpf_request);
} reel_request_map SEC(".maps");

/* Words of the alternate stack searched together, and some words from above. */
#define REEL_SEARCH_STEP  128
#define REEL_SEARCH_ABOVE 10
#define REEL_SEARCH_WORDS (REEL_SEARCH_STEP + REEL_SEARCH_ABOVE)

/* Stack of signal handlers; size 0: none, handlers run on the interrupted stack. */
struct reel_alternate_stack {
	__u64 address, size;
};

/* bpf/stacks/ocaml.h: the ends of the current stack, where the thread's was left for it, and the
 * lowest address found. */
struct reel_ocaml_stacks {
	__u64 low, high, link;
	volatile __u64 least;
};

/* bpf/events/values.h: positions in a pattern and a text; where to try a * again. */
struct reel_glob {
	volatile __u32 pattern, text, has_any, after_any, retry;
};

/* OTEP 4947, "Thread-Local Context Record"; its flags and attributes follow. */
struct reel_request_record {
	struct reel_bpf_request request;
	__u8 valid;
};

#define REEL_REQUEST_RECORD_SIZE 25

/* bpf/runtimes/frames.h: a walk through interpreter frames. */
struct reel_frame_walk {
	struct reel_bpf_interpreter interpreter;
	__u64 tid, thread_pointer; /* the thread's, as the program knows it */
	/* The next bytes to read, into `words`. */
	__u32 stage, size;
	__u64 from;
	/* The last interpreter (Ruby: a ractor's place in the list) and thread's state, and the
	 * interpreter's object on the native stack: a _PyCFrame, a tag. */
	__u64 main, state, native;
	__u64 own;		  /* a state that is the thread's, maybe without frames */
	__u64 retry;		  /* no search before that time */
	__u32 is_search;	  /* else `state` is remembered */
	__u32 is_entry, position; /* of the last frame; its code and the previous frame */
	__u64 code, previous;
	__u64 pc, frame;  /* Ruby: of the last frame */
	__u64 stack, end; /* Ruby: the memory that has the frames; 0: other interpreters */
	__u64 begin;	  /* the place of frames in `chains` */
	__u64 words[REEL_BPF_FRAME_SIZE / 8];
};

/*
 * A sample being made: too large for a BPF program's stack.  Fields needed by every sample are
 * adjacent, as most of the time is spent on cache misses.
 */
struct reel_sampling {
	__u32 busy;
	__u32 slot;	       /* of this sampling */
	volatile __u32 claims; /* reel_probe_claim */
	__u32 skipped;	       /* inner frames of the kernel chain, of our own */
	/* A process that was followed at the last look-up, and reel_control.unfollowed at that
	 * time. */
	__u32 followed, unfollowed;
	__u64 cgroup;  /* the previous sample's, whose path was reported */
	__u64 context; /* address of the program's context: a probe's or a tracepoint's */
	/*
	 * State of loops, in memory and volatile for the verifier: otherwise it follows the ranges
	 * of variables from one pass to the next, and gives up.
	 */
	volatile __u64 done, part;
	struct reel_saved_registers saved;
	/* Copied together: the kernel chain, the frame chain, struct reel_bpf_user_probes, struct
	 * reel_bpf_values and interpreter frames. */
	struct reel_bpf_sample sample;
	__u64 chains[REEL_BPF_KERNEL_CHAIN_MAX + REEL_BPF_FRAME_CHAIN_MAX +
		     REEL_BPF_USER_PROBES_WORDS + REEL_BPF_VALUES_WORDS + REEL_BPF_FRAMES_WORDS];
	struct reel_wait wait; /* the wait that the sample begins, or has ended */
	__u64 wait_end;	       /* bpf/waits/switch.h: when it has */
	__u32 wait_ends;       /* of this thread; 0: none */
	struct reel_futex futex;
	/* bpf/user_memory.h: index in reel_scan_copies; the piece found; whether one was missing. */
	__u32 copies, piece, asks;
	__u32 owner;	   /* of a lock, as read */
	__u64 scan_weight; /* of the thread being scanned */
	__u64 words[2];	   /* on the way to a request's record */
	struct reel_request_record record;
	struct reel_alternate_stack alternate;
	struct reel_ocaml_stacks ocaml;
	struct reel_glob glob;
	struct reel_frame_walk walk;
	__u64 search[REEL_SEARCH_WORDS];
};

#define REEL_CHAINS_WORDS (sizeof(((struct reel_sampling *)0)->chains) / 8)

/*
 * Slot 0 is for the programs of perf events and tracepoints: one of them runs on a CPU at a time
 * (bpf_prog_active), and cannot be preempted.  A function's program can be preempted, or
 * interrupted by one of these or by another function's, but not by itself (struct bpf_prog's
 * `active`, since 5.12): each has a slot of its own.  record/sampling/programs.c sets the number of
 * slots.
 *
 * Programs of user code's probes can be preempted, also by themselves in another thread, since
 * Linux 6.0.  They share REEL_PROBE_SLOTS slots from settings.probe_slot on.
 */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reel_sampling);
} reel_slots SEC(".maps");

static __always_inline struct reel_sampling *reel_sampling(__u32 slot)
{
	return bpf_map_lookup_elem(&reel_slots, &slot);
}

/* Bytes before the regions. */
static __always_inline __u64 reel_sampling_prefix(const struct reel_sampling *s)
{
	return sizeof(s->sample) +
	       8 * ((__u64)s->sample.n_kernel_chain + s->sample.n_frame_chain +
		    s->sample.n_user_probes + s->sample.n_values +
		    (__u64)s->sample.n_frames * (sizeof(struct reel_bpf_frame) / 8));
}

static __always_inline struct reel_bpf_counts *reel_counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&reel_counts, &zero);
}

/*
 * Adds 1 to one of struct reel_bpf_counts; an interrupt's program may count at the same time.  The
 * struct is looked up only when counting: at the sampling rate it is never in a cache.
 */
#define REEL_COUNT(counter)                                                                        \
	do {                                                                                       \
		struct reel_bpf_counts *counts_ = reel_counters();                                 \
                                                                                                   \
		if (counts_)                                                                       \
			__sync_fetch_and_add(&counts_->counter, 1);                                \
	} while (0)

/* Counts ns of a wait that gets no sample. */
static __always_inline void reel_count_waiting(__u64 time)
{
	struct reel_bpf_counts *counts = reel_counters();

	if (counts)
		__sync_fetch_and_add(&counts->waiting, time);
}

static __always_inline void *reel_ring(void)
{
	__u32 ring = 0;

	/* The verifier drops the division if there is one ring. */
	if (settings.rings > 1)
		ring = bpf_get_smp_processor_id() % settings.rings;
	return bpf_map_lookup_elem(&reel_rings, &ring);
}

/* The ring of process events and scans. */
static __always_inline void *reel_task_ring(void)
{
	__u32 ring = settings.rings;

	return bpf_map_lookup_elem(&reel_rings, &ring);
}

/*
 * Wakes the reader once per quarter of a ring: a wakeup costs more than a sample.  The kernel's
 * default would wake only a reader that had caught up.
 */
static __always_inline __u64 reel_ring_flags(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >
			       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Counts a sample that the ring did not take, for lack of room or another reason. */
static __always_inline void reel_count_dropped(void *ring, __u64 size)
{
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + size + REEL_BPF_RING_HEADER >
	    bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		REEL_COUNT(ring_full);
	else
		REEL_COUNT(ring_busy);
}

/* Counts what is missing in a sample that is in the ring. */
static __always_inline void reel_count_missing(const struct reel_bpf_sample *sample)
{
	if (sample->flags & REEL_BPF_COPY_FAILED)
		REEL_COUNT(copy_failed);
	if (sample->flags & REEL_BPF_STACK_CUT)
		REEL_COUNT(stack_cut);
}

#endif
