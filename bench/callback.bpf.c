// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times perf's timer callback, in which a clock event takes its sample, and the following irq_work,
 * which wakes the reader, in the same way for any recorder. The tracepoints' own cost is outside
 * the timed section, except for one reading of the clock.
 */
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bench/callback.h"

enum {
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
};

#define CORE __attribute__((preserve_access_index))

struct hrtimer {
	void *function;
} CORE;

struct hw_perf_event {
	struct hrtimer hrtimer;
} CORE;

struct perf_event_attr___kernel {
	__u64 sample_period;
} CORE;

struct perf_event {
	struct perf_event_attr___kernel attr;
	struct hw_perf_event hw;
} CORE;

extern const void perf_swevent_hrtimer __ksym;

/* The thread and event whose samples count. */
const volatile struct callback_target target SEC(".rodata.target") = {};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct callback_state);
} states SEC(".maps");

/* Durations of callbacks, in steps of CALLBACK_STEP. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALLBACK_STEPS);
	__type(key, __u32);
	__type(value, __u64);
} durations SEC(".maps");

static __always_inline struct callback_state *state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&states, &zero);
}

static __always_inline bool is_wanted(void)
{
	__u64 name[2] = {};

	bpf_get_current_comm(name, sizeof(name));
	return name[0] == target.name[0] && name[1] == target.name[1];
}

/*
 * Whether the timer belongs to an event with this period: other recorders may be active.  A clock's
 * frequency becomes one in the kernel (perf_swevent_init_hrtimer).
 */
static __always_inline bool is_event(struct hrtimer *timer)
{
	struct perf_event *event = (void *)timer - bpf_core_field_offset(struct perf_event, hw) -
				   bpf_core_field_offset(struct hw_perf_event, hrtimer);

	return BPF_CORE_READ(timer, function) == &perf_swevent_hrtimer &&
	       BPF_CORE_READ(event, attr.sample_period) == target.period;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(callback_begin, struct hrtimer *timer)
{
	struct callback_state *here = state();

	(void)ctx;
	if (here)
		here->callback_start = is_event(timer) ? bpf_ktime_get_ns() : 0;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(callback_end, struct hrtimer *timer)
{
	__u64 now = bpf_ktime_get_ns(), spent, *count;
	struct callback_state *here = state();
	__u32 step;

	(void)ctx;
	(void)timer;
	if (!here || !here->callback_start)
		return 0;
	spent = now - here->callback_start;
	here->callback_start = 0;
	if (!is_wanted())
		return 0;
	here->callbacks++;
	here->callback_ns += spent;
	step = spent / CALLBACK_STEP < CALLBACK_STEPS ? spent / CALLBACK_STEP : CALLBACK_STEPS - 1;
	count = bpf_map_lookup_elem(&durations, &step);
	if (count)
		++*count;
	return 0;
}

SEC("tp_btf/irq_work_entry")
int BPF_PROG(irq_work_begin)
{
	struct callback_state *here = state();

	(void)ctx;
	if (here)
		here->irq_work_start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(irq_work_end)
{
	__u64 now = bpf_ktime_get_ns();
	struct callback_state *here = state();

	(void)ctx;
	if (!here || !here->irq_work_start)
		return 0;
	if (is_wanted()) {
		here->irq_works++;
		here->irq_work_ns += now - here->irq_work_start;
	}
	here->irq_work_start = 0;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
