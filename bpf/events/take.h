/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Takes samples at perf events, tracepoints and functions. */
#ifndef BPF_EVENTS_TAKE_H
#define BPF_EVENTS_TAKE_H

#include "bpf/copy/copy.h"
#include "bpf/events/cgroup.h"
#include "bpf/events/values.h"
#include "bpf/maps.h"
#include "bpf/pids.h"
#include "bpf/registers.h"
#include "bpf/runtimes/interpreters.h"
#include "bpf/runtimes/request.h"
#include "bpf/runtimes/watched.h"
#include "bpf/sample.h"
#include "bpf/settings.h"
#include "bpf/stacks/regions.h"
#include "bpf/stacks/user_probes.h"
#include "bpf/trampoline.h"

/*
 * Whether to sample the current task.  Most samples are of the same process as the previous one; at
 * the sampling rate, the look-up's hash table is not in any cache.
 */
static __always_inline bool reel_sampling_wanted(struct reel_sampling *s, struct reel_ids ids)
{
	__u32 unfollowed = reel_control.unfollowed;

	if (settings.system_wide || settings.use_cgroup || !ids.pid)
		return reel_current_wanted(ids);
	if (s->followed == ids.pid && s->unfollowed == unfollowed)
		return true;
	if (!reel_process_followed(ids.pid))
		return reel_current_wanted(ids);
	s->unfollowed = unfollowed;
	s->followed = ids.pid;
	return true;
}

/* A sample of a running thread, now, without registers and stacks. */
static __always_inline void reel_sample_begin(struct reel_bpf_sample *sample, struct reel_ids ids,
					      __u32 event)
{
	sample->kind = REEL_BPF_SAMPLE;
	sample->flags = 0;
	sample->time = bpf_ktime_get_ns();
	sample->pid = ids.pid;
	sample->tid = ids.tid;
	sample->cpu = bpf_get_smp_processor_id();
	sample->event = event;
	sample->where = REEL_BPF_WHERE_UNKNOWN;
	sample->n_registers = 0;
	sample->n_kernel_chain = 0;
	sample->n_frame_chain = 0;
	sample->n_user_probes = 0;
	sample->n_values = 0;
	sample->n_frames = 0;
	sample->n_regions = 0;
	sample->pc = 0;
	sample->pc_register = 0;
	sample->known = 0;
	sample->state = REEL_BPF_ON_CPU;
}

/* Begins a sample of the current task; NULL if it is not to be sampled. */
static __always_inline struct reel_sampling *reel_sampling_begin(struct task_struct *task,
								 __u32 event, __u32 slot)
{
	struct reel_ids ids = reel_current_ids(task);
	struct reel_sampling *s = reel_sampling(slot);

	if (!s || !reel_sampling_wanted(s, ids))
		return NULL;
	/* An NMI within another sample, or a function called by its own program; current kernels
	 * prevent both earlier (bpf/maps.h). */
	if (s->busy) {
		REEL_COUNT(ring_busy);
		return NULL;
	}
	s->busy = 1;
	s->slot = slot;
	reel_sample_begin(&s->sample, ids, event);
	return s;
}

static __always_inline bool reel_task_in_execve(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/* Stores the user registers of a task in the kernel; returns its user sp, 0 if it has none. */
static __always_inline __u64 reel_sampling_enter_kernel(struct reel_sampling *s,
							struct task_struct *task)
{
	struct reel_bpf_sample *sample = &s->sample;
	bool syscall;

	if (REEL_TASK_READ(task, flags) & PF_KTHREAD || !reel_task_registers(task, &s->saved)) {
		sample->where = REEL_BPF_WHERE_KERNEL_THREAD;
		return 0;
	}
	/* The registers are the old program's, but memory may already be the new one's. */
	if (reel_task_in_execve(task)) {
		sample->where = REEL_BPF_WHERE_SYSCALL;
		return 0;
	}
	syscall = reel_saved_registers_syscall(&s->saved);
	sample->where = syscall ? REEL_BPF_WHERE_SYSCALL : REEL_BPF_WHERE_INTERRUPT;
	sample->flags |= REEL_BPF_REGISTERS;
	reel_registers_store(sample, &s->saved.user, syscall);
	return reel_registers_sp(&s->saved.user);
}

/*
 * The kernel's own walks: for user code, by frame pointers, with the same result as perf's
 * --call-graph fp (perf_callchain_user), including the pc.
 */
static __always_inline void reel_chains_walk(void *ctx, struct reel_sampling *s)
{
	struct reel_bpf_sample *sample = &s->sample;
	long size;

	if ((settings.kernel_chain || sample->flags & (REEL_BPF_FUNCTION | REEL_BPF_CHAIN)) &&
	    sample->where != REEL_BPF_WHERE_USER) {
		size = bpf_get_stack(ctx, s->chains, 8 * REEL_BPF_KERNEL_CHAIN_MAX, s->skipped);
		if (size > 0)
			sample->n_kernel_chain = size / 8;
	}
	/* Without registers here, the kernel's do not match this memory (execve). */
	if (settings.frame_chain && sample->flags & REEL_BPF_REGISTERS) {
		__u64 begin = sample->n_kernel_chain;

		barrier_var(begin);
		if (begin > REEL_BPF_KERNEL_CHAIN_MAX)
			return;
		size = bpf_get_stack(ctx, s->chains + begin, 8 * settings.frame_chain,
				     BPF_F_USER_STACK);
		if (size > 0)
			sample->n_frame_chain = size / 8;
		if (sample->n_frame_chain == settings.frame_chain)
			sample->flags |= REEL_BPF_FRAME_CHAIN_CUT;
	}
}

/* Adds the stacks, and writes the sample to the ring. */
static __always_inline void reel_sampling_end(void *ctx, struct reel_sampling *s,
					      struct task_struct *task, __u64 sp, void *ring)
{
	struct mm_struct *mm = REEL_TASK_READ(task, mm);

	reel_cgroup_record(s, task, ring);
	reel_chains_walk(ctx, s);
	/* An exiting task has no memory any more. */
	if (sp && mm)
		reel_user_probes_store(s->slot, task, mm);
	if (sp && mm && reel_request_is_possible())
		reel_request_store(s->slot);
	if (settings.has_values && s->sample.flags & REEL_BPF_HAS_VALUES)
		reel_values_copy(s->slot);
	if (sp && mm && reel_control.interpreters)
		reel_frames_store(s->slot);
	if (sp && mm)
		reel_regions_find(NULL, s, task, mm, sp);
	if (sp && mm && reel_control.watches && !s->slot)
		reel_code_watch(s->slot);
	if (ring)
		reel_sample_emit(s, ring);
	s->busy = 0;
}

/*
 * Word by word at constant offsets: the verifier rejects any other access to a context, and the
 * compiler would merge accesses from two branches.
 */
static __always_inline void reel_perf_context_read(struct reel_perf_context *ctx,
						   struct reel_registers *registers_ret,
						   __u64 *period_ret)
{
	const volatile __u64 *from = (const volatile __u64 *)&ctx->registers;
	__u64 *to = (__u64 *)registers_ret;

#pragma unroll
	for (unsigned int i = 0; i < sizeof(*registers_ret) / sizeof(*to); i++)
		to[i] = from[i];
	*period_ret = ((const volatile struct reel_perf_context *)ctx)->sample_period;
	/* Otherwise the compiler keeps all of them on the stack until they are used. */
	barrier();
}

static __always_inline bool reel_cpu_wanted(__u32 cpu)
{
	return settings.cpus[cpu / 64 % (REEL_BPF_CPUS_MAX / 64)] >> cpu % 64 & 1;
}

static __noinline int reel_perf_sample(struct reel_perf_context *ctx, __u32 event)
{
	struct task_struct *task = REEL_TASK_CURRENT();
	struct reel_sampling *s;
	__u64 sp;

	if (reel_control.paused)
		return 0;
	if (settings.check_cpu && !reel_cpu_wanted(bpf_get_smp_processor_id()))
		return 0;
	s = reel_sampling_begin(task, event, 0);
	if (!s)
		return 0;
	reel_perf_context_read(ctx, &s->saved.user, &s->sample.weight);
	if (reel_registers_user(&s->saved.user)) {
		s->sample.where = REEL_BPF_WHERE_USER;
		s->sample.flags |= REEL_BPF_REGISTERS;
		reel_registers_store(&s->sample, &s->saved.user, false);
		sp = reel_registers_sp(&s->saved.user);
	} else {
		sp = reel_sampling_enter_kernel(s, task);
	}
	reel_sampling_end(ctx, s, task, sp, reel_ring());
	return 0;
}

/* A CPU's samples of this time, in ns, may come all at once. */
#define REEL_RATE_BURST 1000000000ull

/* Whether a sample now is within the event's rate: a token bucket that holds a second's samples. */
static __always_inline bool reel_rate_allows(struct reel_bpf_counts *counts, __u32 event,
					     __u64 time)
{
	__u64 interval = settings.intervals[event], paid = counts->paid[event];

	if (!interval)
		return true;
	if (paid + REEL_RATE_BURST < time)
		paid = time - REEL_RATE_BURST;
	if (paid + interval > time) {
		__sync_fetch_and_add(&counts->above_rate, settings.periods[event]);
		return false;
	}
	counts->paid[event] = paid + interval;
	return true;
}

/*
 * As reel_sampling_begin, for an event that runs its program on all CPUs at every hit: tracepoints,
 * regardless of the settings of their perf event (perf_event_attach_bpf_prog), and functions.
 */
static __always_inline struct reel_sampling *reel_sampling_begin_hit(void *ctx,
								     struct task_struct *task,
								     __u32 event, __u32 slot)
{
	struct reel_sampling *s;

	if (!reel_control.enabled || reel_control.paused ||
	    !reel_cpu_wanted(bpf_get_smp_processor_id()))
		return NULL;
	s = reel_sampling_begin(task, event & (REEL_BPF_EVENTS_MAX - 1), slot);
	if (s)
		s->context = (__u64)ctx;
	return s;
}

/* Whether such a hit is a sample; a filter may need its context or its registers. */
static __always_inline bool reel_hit_is_sample(struct reel_sampling *s, __u32 event)
{
	struct reel_bpf_counts *counts = reel_counters();

	event &= REEL_BPF_EVENTS_MAX - 1;
	if (!counts || (settings.filters >> event & 1 && !reel_filter_passes(s->slot)))
		return false;
	if (++counts->hits[event] < settings.periods[event])
		return false;
	counts->hits[event] = 0;
	s->sample.weight = settings.periods[event];
	return reel_rate_allows(counts, event, s->sample.time);
}

/* A tracepoint, or a kprobe: they exclude each other on a CPU in the same way (bpf_prog_active). */
static __always_inline int reel_kernel_hit_sample(void *ctx, __u32 event, __u32 flags)
{
	struct task_struct *task = REEL_TASK_CURRENT();
	struct reel_sampling *s = reel_sampling_begin_hit(ctx, task, event, 0);

	if (!s)
		return 0;
	if (!reel_hit_is_sample(s, event)) {
		s->busy = 0;
		return 0;
	}
	s->sample.flags |= flags | REEL_BPF_HAS_VALUES;
	reel_sampling_end(ctx, s, task, reel_sampling_enter_kernel(s, task), reel_ring());
	return 0;
}

static __noinline int reel_tracepoint_sample(void *ctx, __u32 event)
{
	return reel_kernel_hit_sample(ctx, event, 0);
}

static __noinline int reel_kprobe_sample(void *ctx, __u32 event)
{
	return reel_kernel_hit_sample(ctx, event, REEL_BPF_CHAIN);
}

/* Stores the registers at the entry of the function that a fentry or fexit program is for. */
static __always_inline void reel_kernel_frame_store(struct reel_sampling *s, void *ctx,
						    __u64 function)
{
	struct reel_bpf_sample *sample = &s->sample;
	__u64 address = (__u64)ctx, n_arguments = REEL_TRAMPOLINE_ANY_ARGUMENTS;
	enum reel_trampoline_frame found;

	sample->kernel_frame.pc = function;
	sample->flags |= REEL_BPF_FUNCTION;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_func_arg_cnt))
		n_arguments = bpf_get_func_arg_cnt(ctx);
		/* Near the top of an interrupt's stack there are fewer words. */
#pragma unroll
	for (unsigned int i = 0; i < REEL_TRAMPOLINE_WORDS; i += 8)
		bpf_probe_read_kernel(&s->search[i], 64, (void *)(address + 8 * i));
	found = reel_trampoline_find(REEL_TRAMPOLINE, s->search, address, n_arguments, function,
				     &sample->kernel_frame);
	if (found != REEL_TRAMPOLINE_NO_FRAME)
		sample->flags |= REEL_BPF_KERNEL_FRAME;
	if (found == REEL_TRAMPOLINE_JUMPED)
		sample->flags |= REEL_BPF_FRAME_GUESSED;
}

static __noinline int reel_function_sample(void *ctx, __u32 event)
{
	struct task_struct *task = REEL_TASK_CURRENT();
	struct reel_sampling *s;
	__u64 function;

	event &= REEL_BPF_EVENTS_MAX - 1;
	s = reel_sampling_begin_hit(NULL, task, event, settings.slots[event]);
	if (!s)
		return 0;
	if (!reel_hit_is_sample(s, event)) {
		s->busy = 0;
		return 0;
	}
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_func_ip))
		function = bpf_get_func_ip(ctx);
	else
		function = settings.functions[event];
	reel_kernel_frame_store(s, ctx, function);
	reel_sampling_end(ctx, s, task, reel_sampling_enter_kernel(s, task), reel_ring());
	return 0;
}

/*
 * Claims a slot of probes, and begins a sample there; NULL if this hit is not to be sampled.
 * Another thread's program may run between any two instructions, but on this CPU only; each adds
 * its claim and then reads the count, so two never see 1 at the same time.
 */
static __always_inline struct reel_sampling *reel_probe_claim(struct task_struct *task, __u32 event,
							      struct reel_sampling **claimed_ret)
{
	for (__u32 i = 0; i < REEL_PROBE_SLOTS; i++) {
		struct reel_sampling *s = reel_sampling(settings.probe_slot + i);

		if (!s)
			return NULL;
		__sync_fetch_and_add(&s->claims, 1);
		if (s->claims == 1) {
			*claimed_ret = s;
			return reel_sampling_begin_hit(NULL, task, event, settings.probe_slot + i);
		}
		__sync_fetch_and_add(&s->claims, -1);
	}
	REEL_COUNT(ring_busy);
	return NULL;
}

/*
 * Times of calls.  Of two nested calls, also recursive ones, only sp differs.  A call that does not
 * return (longjmp, exit) stays until a later one has the same place, or needs the room.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct reel_call);
	__type(value, __u64);
} reel_calls SEC(".maps");

/* `entry`: sp at the entry less sp in the registers. */
static __always_inline struct reel_call reel_call_of(const struct reel_saved_registers *saved,
						     __u32 event, __u64 entry)
{
	struct reel_call call = {
		.stack = reel_registers_sp(&saved->user) + entry,
		.tid = bpf_get_current_pid_tgid(),
		.event = event,
	};

	return call;
}

static __noinline int reel_entry_record(void *ctx, __u32 event)
{
	struct task_struct *task = REEL_TASK_CURRENT();
	struct reel_saved_registers saved;
	struct reel_call call;
	__u64 now;

	if (!reel_control.enabled || !reel_current_wanted(reel_current_ids(task)) ||
	    !reel_saved_registers_read(&saved, (__u64)ctx) || !reel_registers_user(&saved.user))
		return 0;
	call = reel_call_of(&saved, event, 0);
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&reel_calls, &call, &now, BPF_ANY);
	return 0;
}

/* The time since the call that returns; 0 if it began earlier than the recording. */
static __always_inline __u64 reel_call_end(struct reel_sampling *s, __u32 event)
{
	bool compat = reel_registers_compat(&s->saved.user);
	struct reel_call call =
		reel_call_of(&s->saved, event, -(compat ? REEL_RETURN_POPS / 2 : REEL_RETURN_POPS));
	__u64 *began = bpf_map_lookup_elem(&reel_calls, &call);
	__u64 time;

	if (!began)
		return 0;
	time = s->sample.time - *began;
	bpf_map_delete_elem(&reel_calls, &call);
	return time ? time : 1;
}

/* A latency's weight is its time; false if that is unknown. */
static __always_inline bool reel_probe_weigh(struct reel_sampling *s)
{
	__u64 time;

	if (!(settings.latencies >> s->sample.event % REEL_BPF_EVENTS_MAX & 1))
		return true;
	time = reel_call_end(s, s->sample.event);
	s->sample.weight *= time;
	return time;
}

/* A breakpoint in user code, or a function's return to the trampoline: ctx has its registers. */
static __noinline int reel_probe_sample(void *ctx, __u32 event)
{
	struct task_struct *task = REEL_TASK_CURRENT();
	struct reel_sampling *s, *claimed = NULL;

	s = reel_probe_claim(task, event, &claimed);
	if (s && reel_saved_registers_read(&s->saved, (__u64)ctx) &&
	    reel_registers_user(&s->saved.user)) {
		s->sample.where = REEL_BPF_WHERE_USER;
		s->sample.flags |= REEL_BPF_REGISTERS;
		reel_registers_store(&s->sample, &s->saved.user, false);
		s->sample.flags |= REEL_BPF_HAS_VALUES;
		if (reel_hit_is_sample(s, event) && reel_probe_weigh(s))
			reel_sampling_end(ctx, s, task, reel_registers_sp(&s->saved.user),
					  reel_task_ring());
	}
	if (s)
		s->busy = 0;
	if (claimed)
		__sync_fetch_and_add(&claimed->claims, -1);
	return 0;
}

/*
 * A program for each event, since it has to know its event: before 5.15 a program cannot get it at
 * run time (bpf_get_attach_cookie).
 */
#define REEL_PROGRAM(section, program, function, n)                                                \
	SEC(section)                                                                               \
	int program##_##n(void *ctx)                                                               \
	{                                                                                          \
		return function(ctx, n);                                                           \
	}

/* Functions' programs are loaded as fentry or fexit, of a function that is known then. */
#define REEL_PROGRAMS(n)                                                                           \
	REEL_PROGRAM("perf_event", reel_perf, reel_perf_sample, n)                                 \
	REEL_PROGRAM("tracepoint", reel_tracepoint, reel_tracepoint_sample, n)                     \
	REEL_PROGRAM("?fentry", reel_function, reel_function_sample, n)                            \
	REEL_PROGRAM("?kprobe", reel_probe, reel_probe_sample, n)                                  \
	REEL_PROGRAM("?kprobe", reel_entry, reel_entry_record, n)                                  \
	REEL_PROGRAM("?kprobe", reel_kprobe, reel_kprobe_sample, n)

REEL_PROGRAMS(0)
REEL_PROGRAMS(1)
REEL_PROGRAMS(2)
REEL_PROGRAMS(3)
REEL_PROGRAMS(4)
REEL_PROGRAMS(5)
REEL_PROGRAMS(6)
REEL_PROGRAMS(7)

#ifdef REEL_FLOATING_POINT
/*
 * s390x: GCC and clang keep r11 to r15 in f8 to f15 in leaf functions (arch/s390x.c), so unwinding
 * needs them.  But while the kernel runs, the user's are in the CPU, where no program can read
 * them.  perf makes the kernel save them for an event with PERF_SAMPLE_REGS_USER that occurs in the
 * kernel (arch/s390/kernel/perf_regs.c, perf_get_regs_user), but not for one in user code, such as
 * a clock's tick.  Just before a tick, in the same interrupt, the tracepoint
 * timer:hrtimer_expire_entry occurs in the kernel: an event for it is opened for this side effect
 * alone.  This is its filter: whether the current task's registers are wanted and not saved yet.
 */
SEC("tracepoint")
int reel_save_floating_point(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	(void)ctx;
	return reel_control.enabled && !(BPF_CORE_READ(task, flags) & PF_KTHREAD) &&
	       reel_current_wanted(reel_current_ids(task)) && reel_floating_point_unsaved(task);
}
#endif

#endif
