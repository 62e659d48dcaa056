/* SPDX-License-Identifier: Apache-2.0 */
/* The loaded BPF object: which of the two fits the kernel, its settings and map sizes. */
#ifndef RECORD_SAMPLING_PROGRAMS_H
#define RECORD_SAMPLING_PROGRAMS_H

#include <linux/types.h>

#include <bpf/libbpf.h>

#include "bpf/sample.h"
#include "bpf/settings.h"
#include "record/sampling/sampler.h"

struct reel_programs {
	struct bpf_object *object;
	/* One an event. */
	struct bpf_program *events[REEL_BPF_EVENTS_MAX];
	/* Filters the event for which the kernel saves registers that are in the CPU else; NULL on
	 * CPUs that need none (bpf/floating_point.h). */
	struct bpf_program *save_registers;
	bool is_function[REEL_BPF_EVENTS_MAX];
	/* Those of process events, and of functions. */
	struct bpf_link *links[3 + REEL_BPF_EVENTS_MAX];
	size_t n_links;
};

/* Opens, sizes and loads; nothing is attached yet. */
struct reel_error *reel_programs_load(const struct reel_sampler_options *options,
				      const struct reel_bpf_settings *settings,
				      struct reel_programs *ret) REEL_MUST_CHECK;
/* Samples an event that is a kernel function: events[index]. */
struct reel_error *reel_programs_attach_function(struct reel_programs *programs,
						 const struct reel_sampler_event *event,
						 size_t index) REEL_MUST_CHECK;
/* Follows forks and exits from now on. */
struct reel_error *reel_programs_attach_processes(struct reel_programs *programs) REEL_MUST_CHECK;
/* How often the programs of functions were not run, because they ran already. */
uint64_t reel_programs_missed(const struct reel_programs *programs);
void reel_programs_unload(struct reel_programs *programs);

/* The descriptor of a map; asserts that there is such a map. */
int reel_programs_map(const struct reel_programs *programs, const char *name);

#endif
