/* SPDX-License-Identifier: Apache-2.0 */
/* Events at kernel functions: fentry:FUNC and fexit:FUNC, of a module fentry:MODULE:FUNC. */
#ifndef RECORD_SAMPLING_FUNCTIONS_H
#define RECORD_SAMPLING_FUNCTIONS_H

#include "record/sampling/sampler.h"

struct reel_bpf_settings;

/* Not a perf type: the type in EVENT records of such events (SPEC.md, section 5). */
#define REEL_EVENT_NOT_PERF UINT32_MAX

/* Whether an event's name has the prefix of a function. */
bool reel_function_event_is(const char *name);

/*
 * Implements reel_sampler_event_resolve for functions.  The function is looked up in
 * /proc/kallsyms: NOT_FOUND, or INVALID if several have its name.  UNSUPPORTED on a CPU whose
 * trampolines are unknown.
 */
struct reel_error *reel_function_event_resolve(const char *name,
					       struct reel_sampler_event *ret) REEL_MUST_CHECK;

/* Why an existing function cannot be traced: BTF does not describe it, or attaching failed. */
struct reel_error *reel_function_refusal_btf(const struct reel_sampler_event *event, int errnum)
	__attribute__((returns_nonnull));
struct reel_error *reel_function_refusal_attach(const struct reel_sampler_event *event, int errnum)
	__attribute__((returns_nonnull));

/* The name in this kernel of one of its functions, of which the compiler may have made a variant; NULL
 * if missing. */
char *reel_function_name(const char *function);

/* Finds the kernel's code through which interrupts enter it, for the settings. */
void reel_interrupt_entries_find(struct reel_bpf_settings *settings);

#endif
