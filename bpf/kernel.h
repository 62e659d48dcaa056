/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Kernel types used by the programs.  libbpf adjusts the offsets in these structs to the running
 * kernel (CO-RE), so each has only the used members, in any order.  A suffix after ___ in a name is
 * ours: such a flavour is another version of the kernel's struct.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_F_MMAPABLE = 1 << 10,
};

enum {
	BPF_ANY = 0,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
	BPF_F_USER_STACK = 1 << 8,
};

/* Only checked for existence; the values are never used. */
enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_get_func_ip = 173,
	BPF_FUNC_task_pt_regs = 175,
	BPF_FUNC_get_func_arg_cnt = 185,
	BPF_FUNC_copy_from_user_task = 191,
};

/* include/linux/sched.h; the same values since 2.6 */
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

#define REEL_CORE __attribute__((preserve_access_index))

/*
 * The current task, and members of the task and its mm.  REEL_TASK_TYPED: all kernels have
 * bpf_get_current_task_btf (5.11), so the verifier knows the pointer's type, and a member is
 * loaded; otherwise each takes a helper call.
 */
#ifdef REEL_TASK_TYPED
#define REEL_TASK_READ(from, member) ((from)->member)
#define REEL_TASK_CURRENT()	     ((struct task_struct *)bpf_get_current_task_btf())
#else
#define REEL_TASK_READ(from, member) BPF_CORE_READ(from, member)
#define REEL_TASK_CURRENT()	     ((struct task_struct *)bpf_get_current_task())
#endif

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

struct ns_common {
	unsigned int inum;
} REEL_CORE;

struct pid_namespace {
	struct ns_common ns;
} REEL_CORE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} REEL_CORE;

struct pid {
	unsigned int level;
	/* [1] before 6.5, [] since: only its offset is used. */
	struct upid numbers[1];
} REEL_CORE;

typedef struct {
	int counter;
} REEL_CORE atomic_t;

struct signal_struct {
	atomic_t live;
	int nr_threads;
} REEL_CORE;

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
} REEL_CORE;

struct rb_root {
	struct rb_node *rb_node;
} REEL_CORE;

struct maple_tree {
	void *ma_root;
} REEL_CORE;

struct rw_semaphore {
	struct {
		long counter;
	} count; /* not with CONFIG_PREEMPT_RT */
} REEL_CORE;

/* kernel/events/uprobes.c: the page that the kernel maps into a probed process ([uprobes]). */
struct xol_area {
	unsigned long vaddr;
} REEL_CORE;

struct uprobes_state {
	struct xol_area *xol_area; /* with CONFIG_UPROBES */
} REEL_CORE;

struct mm_struct {
	struct rw_semaphore mmap_lock;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
	struct maple_tree mm_mt; /* 6.1 and later */
} REEL_CORE;

/* Before 6.1. */
struct mm_struct___rb {
	struct rb_root mm_rb;
} REEL_CORE;

struct super_block {
	unsigned long s_magic;
} REEL_CORE;

struct inode {
	struct super_block *i_sb;
} REEL_CORE;

struct file {
	struct inode *f_inode;
} REEL_CORE;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	struct file *vm_file;
	struct {
		void *ctx;
	} vm_userfaultfd_ctx; /* with CONFIG_USERFAULTFD */
} REEL_CORE;

struct vm_area_struct___rb {
	struct rb_node vm_rb;
} REEL_CORE;

/* include/linux/maple_tree.h: array sizes for 64-bit kernels. */
struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
} REEL_CORE;

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
} REEL_CORE;

struct maple_node {
	struct maple_range_64 mr64;
	struct maple_arange_64 ma64;
} REEL_CORE;

/* Array maps. */
struct bpf_array {
	char value[0];
} REEL_CORE;

/* Since 5.16, of all CPUs with BPF. */
struct thread_info {
	unsigned int cpu;
} REEL_CORE;

struct kernfs_node {
	__u64 id;
	const char *name;
	struct kernfs_node *__parent; /* since 6.15 */
} REEL_CORE;

/* Before 6.15. */
struct kernfs_node___parent {
	struct kernfs_node *parent;
} REEL_CORE;

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup *dom_cgrp; /* the nearest one that is not threaded */
	int level;
	struct cgroup *ancestors[1]; /* since 6.1; its offset is used */
} REEL_CORE;

/* Before 6.1. */
struct cgroup___ids {
	__u64 ancestor_ids[1];
} REEL_CORE;

/* With CONFIG_SCHED_INFO: ns of the run queue's clock. */
struct sched_info {
	unsigned long long run_delay;	 /* all waits for a CPU */
	unsigned long long last_arrival; /* got a CPU */
	unsigned long long last_queued;	 /* was woken, or lost its CPU while it could run */
} REEL_CORE;

struct sched_entity {
	__u64 sum_exec_runtime; /* ns on a CPU */
} REEL_CORE;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} REEL_CORE;

/* The values are the running kernel's. */
enum cgroup_subsys_id {
	cpu_cgrp_id,
	memory_cgrp_id,
	pids_cgrp_id,
};

struct css_set {
	struct cgroup *dfl_cgrp;	       /* in cgroup v2 */
	struct cgroup_subsys_state *subsys[1]; /* by cgroup_subsys_id */
} REEL_CORE;

/* include/linux/uprobes.h: a function whose return address was replaced, and the previous one. */
struct return_instance {
	unsigned long func;
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} REEL_CORE;

struct uprobe_task {
	unsigned long vaddr;			  /* the probed instruction, while its copy runs */
	unsigned long xol_vaddr;		  /* the copy */
	struct return_instance *return_instances; /* the latest first */
} REEL_CORE;

/* kuid_t: the number in the first user namespace. */
struct cred {
	struct {
		__u32 val;
	} uid;
} REEL_CORE;

struct irqaction {
	const char *name;
} REEL_CORE;

struct task_struct {
	struct thread_info thread_info;
	struct uprobe_task *utask; /* with CONFIG_UPROBES */
	struct css_set *cgroups;
	unsigned int __state; /* since 5.14 */
	int on_cpu;	      /* with CONFIG_SMP */
	struct sched_info sched_info;
	struct sched_entity se;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time;
	unsigned int flags;
	int pid;
	int tgid;
	void *stack;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	/* Counts the programs that it has executed; and its parent's when it was forked. */
	__u64 self_exec_id, parent_exec_id;
	const struct cred *real_cred;
	struct pid *thread_pid;
	struct signal_struct *signal;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	unsigned int in_execve : 1;
} REEL_CORE;

/* Before 5.14, and before 5.16. */
struct task_struct___older {
	long state;
	unsigned int cpu;
} REEL_CORE;

/* Arguments of futex(2). */
struct reel_futex {
	__u64 address;
	__u32 operation;
};

/* Members of a task whose type the verifier knows, also on older kernels. */
static __always_inline bool reel_task_is_blocked(struct task_struct *task)
{
	struct task_struct___older *older = (void *)task;

	return bpf_core_field_exists(task->__state) ? task->__state != 0 : older->state != 0;
}

static __always_inline __u32 reel_task_cpu(struct task_struct *task)
{
	struct task_struct___older *older = (void *)task;

	return bpf_core_field_exists(task->thread_info.cpu) ? task->thread_info.cpu : older->cpu;
}

#endif
