/* SPDX-License-Identifier: Apache-2.0 */
/* The loaded BPF object: the one of three that fits the kernel, with its settings and map sizes. */
#ifndef RECORD_SAMPLING_PROGRAMS_H
#define RECORD_SAMPLING_PROGRAMS_H

#include <bpf/libbpf.h>

#include "bpf/sample.h"
#include "bpf/settings.h"
#include "record/sampling/sampler.h"

/* Linux 6.6's BPF_TRACE_UPROBE_MULTI, newer than some headers. */
#define REEL_BPF_TRACE_UPROBE_MULTI 48

struct reel_programs {
	struct bpf_object *object;
	/* One per event. */
	struct bpf_program *events[REEL_BPF_EVENTS_MAX];
	/* Of latencies: at the function's entry. */
	struct bpf_program *entries[REEL_BPF_EVENTS_MAX];
	/* Filters the event that makes the kernel save registers still in the CPU; NULL on CPUs
	 * that do not need it (bpf/events/take.h). */
	struct bpf_program *save_registers;
	bool is_function[REEL_BPF_EVENTS_MAX];
	/* Scans listed threads only; NULL if the kernel cannot. */
	struct bpf_program *scan_listed;
	/* Scans: bpf/user_memory.h. */
	bool has_copies;
	/* Programs of user code's probes are for links to many places. */
	bool has_uprobe_multi;
	/* For process events, scans, and functions. */
	/* Runs when a thread gets a CPU; NULL without all_waits. */
	struct bpf_program *switched;
	struct bpf_link *links[11 + REEL_BPF_EVENTS_MAX];
	size_t n_links;
};

/* Opens, sets sizes and loads; attaches nothing yet. */
struct reel_error *reel_programs_load(const struct reel_sampler_options *options,
				      const struct reel_bpf_settings *settings,
				      struct reel_programs *ret) REEL_MUST_CHECK;
/* Samples an event that is a kernel function: events[index]. */
struct reel_error *reel_programs_attach_function(struct reel_programs *programs,
						 const struct reel_sampler_event *event,
						 size_t index) REEL_MUST_CHECK;
/* The descriptor of the link from which iterators are made that scan waiting threads. */
struct reel_error *reel_programs_attach_scans(struct reel_programs *programs, size_t index,
					      int *link_ret) REEL_MUST_CHECK;
/* Notes switches and wakeups, for an event with all_waits; `switched` has to be attached, too, if it
 * is a kprobe. */
struct reel_error *reel_programs_attach_switches(struct reel_programs *programs,
						 bool is_kprobe) REEL_MUST_CHECK;
/* For the event waker. */
struct reel_error *reel_programs_attach_waker(struct reel_programs *programs) REEL_MUST_CHECK;
/* Follows forks and exits from now on. */
struct reel_error *reel_programs_attach_processes(struct reel_programs *programs) REEL_MUST_CHECK;
/* How often programs of functions were skipped because one was already running. */
uint64_t reel_programs_missed(const struct reel_programs *programs);
/* ns that they ran, on all CPUs, but for those that the scanning process runs itself. */
uint64_t reel_programs_run_time(const struct reel_programs *programs);
void reel_programs_unload(struct reel_programs *programs);

/* The descriptor of a map; asserts that it exists. */
int reel_programs_map(const struct reel_programs *programs, const char *name);

/*
 * The map in which OpenTelemetry's eBPF instrumentation keeps which request each thread works for,
 * pinned in a BPF file system (OTEP 4855).  This is where it is unless the instrumentation was told
 * another file system.
 */
#define REEL_REQUEST_MAP "/sys/fs/bpf/otel/traces_ctx_v1"

/* Opens it for reading; the caller closes it.  INVALID if it is not such a map. */
struct reel_error *reel_request_map_open(const char *path, int *fd_ret) REEL_MUST_CHECK;

#endif
