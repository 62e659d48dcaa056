/* SPDX-License-Identifier: Apache-2.0 */
/* Events at kernel functions: fentry:FUNC and fexit:FUNC, of a module fentry:MODULE:FUNC. */
#ifndef RECORD_SAMPLING_FUNCTIONS_H
#define RECORD_SAMPLING_FUNCTIONS_H

#include "record/sampling/sampler.h"

/* Not a type of perf's: what EVENT has for such events (SPEC.md, section 5). */
#define REEL_EVENT_NOT_PERF UINT32_MAX

/* Whether an event's name begins as those of functions do. */
bool reel_function_event_is(const char *name);

/*
 * What reel_sampler_event_resolve does for these.  The function is looked up in
 * /proc/kallsyms: NOT_FOUND, or INVALID if there are several of its name.
 * UNSUPPORTED on a CPU of whose trampolines nothing is known.
 */
struct reel_error *reel_function_event_resolve(const char *name,
					       struct reel_sampler_event *ret) REEL_MUST_CHECK;

/* Why the kernel does not let a function be traced that there is: BTF does not describe it, or
 * attaching failed. */
struct reel_error *reel_function_refusal_btf(const struct reel_sampler_event *event, int errnum)
	__attribute__((returns_nonnull));
struct reel_error *reel_function_refusal_attach(const struct reel_sampler_event *event, int errnum)
	__attribute__((returns_nonnull));

#endif
