/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Data that the BPF programs write to the ring buffers (settings and counters: bpf/settings.h).
 * Both sides are of the same build and on the same host: native byte order.  This is not the file
 * format.
 */
#ifndef BPF_SAMPLE_H
#define BPF_SAMPLE_H

#include "bpf/runtime.h"

#define REEL_BPF_REGISTERS_MAX	  32
#define REEL_BPF_KERNEL_CHAIN_MAX 127
#define REEL_BPF_FRAME_CHAIN_MAX  1024
#define REEL_BPF_MAX_STACK_LIMIT  (1u << 20)
/* include/linux/uprobes.h, MAX_URETPROBE_DEPTH */
#define REEL_BPF_RETURNS_MAX 64
/* Bits of a region's `missing`: pages of 4 KiB in the largest stack, and one for each end. */
#define REEL_BPF_MISSING_WORDS 5

enum reel_bpf_kind {
	REEL_BPF_SAMPLE = 1,
	REEL_BPF_PROCESS = 2,
	REEL_BPF_WAIT = 3,
	REEL_BPF_CGROUP = 4,
	REEL_BPF_CODE = 5,
};

enum reel_bpf_sample_flags {
	REEL_BPF_REGISTERS = 1 << 0, /* registers are present */
	REEL_BPF_STACK_CUT = 1 << 1, /* a region was cut at max_stack */
	REEL_BPF_TOP_UNKNOWN = 1 << 2,
	REEL_BPF_COPY_FAILED = 1 << 3,	   /* some page could not be read: see missing */
	REEL_BPF_COMPAT = 1 << 4,	   /* a 32-bit task of a 64-bit kernel */
	REEL_BPF_FRAME_CHAIN_CUT = 1 << 5, /* at the maximum number of addresses */
	REEL_BPF_FUNCTION = 1 << 6,	   /* kernel_frame.pc is the traced function's */
	REEL_BPF_KERNEL_FRAME = 1 << 7,	   /* also the rest of kernel_frame is known */
	REEL_BPF_FRAME_GUESSED = 1 << 8,   /* if its return address is in the kernel chain */
	REEL_BPF_ROOT_PART = 1 << 9, /* regions[REEL_BPF_ROOT] is present: the cut stack's top */
	REEL_BPF_WAITING_GOBUF = 1 << 10, /* waiting is present */
	/* In the first scan of a wait: `weight` is 0, and struct reel_bpf_wait has the weights. */
	REEL_BPF_WAIT_BEGINS = 1 << 11,
	REEL_BPF_WAKER = 1 << 12,	  /* the current task wakes woken_tid */
	REEL_BPF_INTERRUPT = 1 << 13,	  /* an interrupt does */
	REEL_BPF_WAKER_SAMPLED = 1 << 14, /* sample the waker */
	REEL_BPF_LOCK = 1 << 15,	  /* lock and lock_owner are present */
	REEL_BPF_CHAIN = 1 << 16,	  /* with a kernel chain, whatever the settings */
	REEL_BPF_HAS_VALUES = 1 << 17,	  /* of the event's probe */
	/* A wait that is over: `weight`, then `woken_weight` until the thread ran. */
	REEL_BPF_WAIT_WHOLE = 1 << 18,
	REEL_BPF_HAS_REQUEST = 1 << 19, /* request is present */
	REEL_BPF_FRAMES_CUT = 1 << 20,	/* interpreter frames are missing at the root */
	REEL_BPF_OWN_GOBUF = 1 << 21,	/* own is present */
	/* All watched pages of its process are as reported up to now. */
	REEL_BPF_CODE_CHECKED = 1 << 22,
	REEL_BPF_SHARES_MEMORY = 1 << 23, /* of a process: with the one that forked it */
};

/* Why a thread is not on a CPU: same as in SPEC.md, section 6, and enum reel_state. */
enum reel_bpf_state {
	REEL_BPF_ON_CPU = 0,
	REEL_BPF_BLOCKED = 1,	/* sleeps, or is stopped */
	REEL_BPF_PREEMPTED = 2, /* could run, and was when it lost its CPU */
	REEL_BPF_WOKEN = 3,	/* could run, after it slept */
};

/* Values of a sample's `where`: same as in SPEC.md, section 6, and enum reel_where. */
enum reel_bpf_where {
	REEL_BPF_WHERE_UNKNOWN = 0, /* no user registers could be read */
	REEL_BPF_WHERE_USER = 1,
	REEL_BPF_WHERE_SYSCALL = 2,
	REEL_BPF_WHERE_INTERRUPT = 3,
	REEL_BPF_WHERE_KERNEL_THREAD = 4,
};

/* Values of a region's `kind`: same as in enum reel_region_kind. */
enum reel_bpf_region_kind {
	REEL_BPF_REGION_STACK = 0,
	REEL_BPF_REGION_INTERRUPTED_STACK = 1,
	REEL_BPF_REGION_OTHER_STACK = 2,
};

/*
 * A copied piece of memory: `size` bytes from `address`.  Bit n of `missing`: the n-th page of the
 * target's page size, starting with the page of `address`, could not be read; its bytes are 0.
 */
struct reel_bpf_region {
	__u64 address;
	__u32 size;
	__u16 kind; /* enum reel_bpf_region_kind */
	__u16 gap;  /* alignment bytes before the region's own */
	__u64 missing[REEL_BPF_MISSING_WORDS];
};

/*
 * Registers at the entry of a traced kernel function: its first instruction, sp, the frame pointer
 * (its caller's) and the return address.
 */
struct reel_bpf_kernel_frame {
	__u64 pc, sp, fp, return_address;
};

/*
 * Go's gobuf (runtime/runtime2.go: sp, pc ...) at `address`: where a goroutine, or the scheduler on
 * its own stack, continues.  pc is 0 for the scheduler where C functions have called back into Go:
 * sp is then in the frame of cgocallback.
 */
#define REEL_BPF_GOBUF_WORDS 7

struct reel_bpf_gobuf {
	__u64 address;
	__u64 words[REEL_BPF_GOBUF_WORDS];
};

/*
 * Bytes kept below the top of a cut stack, if the top is certain: the start of its thread, and the
 * return address of a frame larger than the limit.  They count towards the limit, and are a
 * quarter of the limit at most.
 */
#define REEL_BPF_ROOT_SIZE   16384
#define REEL_BPF_ROOT	     2
#define REEL_BPF_REGIONS_MAX 3

/*
 * Functions with uretprobes that have not returned: the kernel replaced their return addresses by
 * its trampoline's, on the stack or in a register.  Also an instruction that runs as a copy in the
 * same page, after which the kernel steps.
 */
struct reel_bpf_return {
	__u64 stack;   /* sp at the function's entry */
	__u64 address; /* the original return address */
	__u64 function;
};

struct reel_bpf_user_probes {
	__u64 trampoline;	/* begins the page of trampoline and copies */
	__u64 probed, its_copy; /* the latest; 0: none */
	/* The latest first. */
	struct reel_bpf_return returns[REEL_BPF_RETURNS_MAX];
};

/* Words of the above before `returns`, and in all. */
#define REEL_BPF_USER_PROBES_HEAD  3
#define REEL_BPF_USER_PROBES_WORDS (sizeof(struct reel_bpf_user_probes) / 8)

/* Values of a probe: numbers of 8 bytes, or strings, which end with a NUL. */
#define REEL_BPF_VALUE_SIZE 64

struct reel_bpf_values {
	__u64 present; /* bit n: values[n] could be read */
	__u64 values[6][REEL_BPF_VALUE_SIZE / 8];
};

#define REEL_BPF_VALUES_WORDS (sizeof(struct reel_bpf_values) / 8)

/* The request that a thread works for: bytes of W3C's Trace Context, 16 and 8. */
struct reel_bpf_request {
	__u64 trace[2], span;
};

/*
 * A sample: this header, then the kernel chain and the frame chain (8 bytes per address), then
 * `n_user_probes` words of struct reel_bpf_user_probes, `n_values` words of struct reel_bpf_values
 * (all or none), then `n_frames` of struct reel_bpf_frame, then the bytes of the root part (first
 * because it is the smallest: offsets are bounded), of region 0 and of region 1, each after its gap
 * and padded to 8.
 */
struct reel_bpf_sample {
	__u32 kind; /* REEL_BPF_SAMPLE */
	__u32 flags;
	__u64 time;	/* bpf_ktime_get_ns: CLOCK_MONOTONIC */
	__u32 pid, tid; /* in the recorder's PID namespace */
	__u32 cpu;
	__u32 event; /* index of the attached event */
	__u64 weight;
	__u32 where; /* enum reel_bpf_where */
	__u32 n_registers;
	__u32 n_kernel_chain;
	__u32 n_frame_chain;
	__u32 n_regions;
	__u32 pc_register; /* the pc's number, see below */
	__u32 state;	   /* enum reel_bpf_state */
	__u32 kernel_tid;  /* with REEL_BPF_WAIT_BEGINS: key of reel_waits */
	__u32 n_user_probes;
	__u32 n_values;
	__u32 n_frames;
	__u32 interpreter;  /* of the frames: enum reel_bpf_interpreter_kind */
	__u64 cgroup;	    /* the process's, as in struct reel_bpf_cgroup; 0: unknown */
	__u64 woken_weight; /* with REEL_BPF_WAIT_WHOLE: ns in REEL_BPF_WOKEN */
	/* One or two, followed by the root part. */
	struct reel_bpf_region regions[REEL_BPF_REGIONS_MAX];
	/* For fentry and fexit. The kernel chain then begins in the BPF program. */
	struct reel_bpf_kernel_frame kernel_frame;
	/* Of the stack in regions[1]; and of the one in regions[0], where it continues after it was
	 * left, or, if it runs for no goroutine, where it begins. */
	struct reel_bpf_gobuf waiting, own;
	__u64 lock;	  /* the address that a blocked thread waits for in futex(2) */
	__u32 lock_owner; /* a tid in its namespace, if the lock is a mutex of glibc; or 0 */
	__u32 woken_tid;  /* with REEL_BPF_WAKER; in the recorder's PID namespace */
	/* With REEL_BPF_WAKER: the waker's name; for an interrupt, its device's or "", and the
	 * number of the soft interrupt, counted from 1. */
	char comm[16];
	__u32 soft_interrupt, unused;
	struct reel_bpf_request request;
	/*
	 * Registers have DWARF numbers of the task's own psABI; with REEL_BPF_COMPAT, the 32-bit
	 * one: i386 (esp 4, eip 8), arm (r13, r15).  The pc is separate, and always known: on some
	 * CPUs its number is far from the others (riscv64: 64, s390x: 65).
	 */
	__u64 pc;
	__u64 known; /* bit n: registers[n] is known */
	__u64 registers[REEL_BPF_REGISTERS_MAX];
};

/*
 * A part of a wait: adds `weight` to the thread's last sample with REEL_BPF_WAIT_BEGINS.
 */
struct reel_bpf_wait {
	__u32 kind; /* REEL_BPF_WAIT */
	__u32 is_over;
	__u64 time;	  /* of the last scan that saw the thread in this state */
	__u32 pid, tid;	  /* in the recorder's PID namespace */
	__u32 state;	  /* enum reel_bpf_state */
	__u32 cpu;	  /* its last one */
	__u64 weight;	  /* ns */
	__u32 lock_owner; /* as in struct reel_bpf_sample, now */
	__u32 unused;	  /* fills up to REEL_BPF_ALIGNMENT, with the ring's header */
};

/*
 * A cgroup that a sample names for the first time: this header, then the names on its path, the
 * cgroup's own first, each followed by a NUL.
 */
#define REEL_BPF_CGROUP_DEPTH 32
#define REEL_BPF_CGROUP_NAMES 4096 /* and at most one name more */
#define REEL_BPF_CGROUP_NAME  256  /* NAME_MAX, with the NUL */

struct reel_bpf_cgroup {
	__u32 kind; /* REEL_BPF_CGROUP */
	__u32 size; /* of the names */
	/* 2 * the kernel's id (kernfs_node.id), plus 1 in a hierarchy of cgroup v1: each hierarchy
	 * has ids of its own. */
	__u64 id;
	__u64 is_whole; /* the names reach up to the root */
};

/*
 * Some CPUs copy many times slower if the target is a few bytes after the source, modulo a cache
 * line (REP MOVSB on Zen 4: 36 KiB take 10 us, else 0.7).  To align both equally, the size of
 * records in the ring, with the ring's own header, is a multiple of this, and gaps before regions
 * do the rest.
 */
#define REEL_BPF_ALIGNMENT   64
#define REEL_BPF_RING_HEADER 8
/* Before each region, and after all. */
#define REEL_BPF_GAPS_MAX (4 * REEL_BPF_ALIGNMENT)

/* The maximum size before the regions and their gaps. */
#define REEL_BPF_PREFIX_MAX                                                                        \
	(sizeof(struct reel_bpf_sample) + sizeof(struct reel_bpf_user_probes) +                    \
	 sizeof(struct reel_bpf_values) + 8 * REEL_BPF_FRAMES_WORDS +                              \
	 8 * (REEL_BPF_KERNEL_CHAIN_MAX + REEL_BPF_FRAME_CHAIN_MAX))

/*
 * A process that called fork or exec, with details that the kernel has only at that time.  For a
 * fork, all fields are the child's.  A new thread (tid differs from pid) is reported only if its
 * namespace_tid is not its tid.
 */
struct reel_bpf_process {
	__u32 kind;  /* REEL_BPF_PROCESS */
	__u32 flags; /* REEL_BPF_COMPAT, REEL_BPF_SHARES_MEMORY */
	__u64 time;
	__u32 pid, tid;			    /* in the recorder's PID namespace */
	__u32 namespace_pid, namespace_tid; /* in its innermost namespace */
	__u32 is_exec; /* otherwise a fork, seen in the parent before the child runs */
	__u32 user;    /* its real one */
	__u64 vdso;    /* address, 0 if missing or unknown */
	__u64 unused;  /* fills up to REEL_BPF_ALIGNMENT, with the ring's header */
};

/* ---- watched code: samples of its process check whether it is as the last one found it ------ */

#define REEL_WATCHES_MAX      256 /* processes */
#define REEL_WATCH_PAGES      32
#define REEL_WATCH_PAGE_SIZE  4096
#define REEL_WATCH_UNREADABLE 1 /* as a hash */

/* One of the REEL_WATCH_PAGES of a process. */
struct reel_bpf_watched {
	__u64 space;   /* for struct reel_bpf_code */
	__u64 address; /* 0: none */
	__u64 hash;    /* of its bytes; 0: no sample has read them yet */
	__u64 found;   /* the time of a sample that found these bytes */
};

/* A page whose bytes have changed, before the sample that found it. */
struct reel_bpf_code {
	__u32 kind;  /* REEL_BPF_CODE */
	__u32 size;  /* of the bytes: REEL_WATCH_PAGE_SIZE, or 0: they could not be read */
	__u64 time;  /* the sample's */
	__u64 found; /* the time of a sample that found the bytes before; 0: none has */
	__u64 space, address;
	__u64 unused[2]; /* fill up to REEL_BPF_ALIGNMENT, with the ring's header */
	__u8 bytes[REEL_WATCH_PAGE_SIZE];
};

#endif
