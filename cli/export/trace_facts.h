/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about traces, in the same words and by the same rules as report, for every format. */
#ifndef CLI_EXPORT_TRACE_FACTS_H
#define CLI_EXPORT_TRACE_FACTS_H

#include "include/commands.h"

/* How a frame was found: "unwind information", "frame pointer" … */
const char *step_name(enum reel_step step);
/* The step is not proven. */
bool step_is_guess(enum reel_step step);
/* "user", "syscall", "interrupt", "kernel thread" or "unknown". */
const char *where_name(enum reel_where where);
/* "file", "vdso", "kernel" …; NULL: unknown. */
const char *module_kind_name(enum reel_module_kind kind);
/* "embedded", "found", "missing" … */
const char *module_state_name(const struct reel_module_info *module);
/* "arg1=4096 container=web", escaped, also blanks in values; the caller frees it. */
char *labels_text(const struct reel_trace *trace);
/* ns since 1970 of a time of the capture's clock; false if the capture does not state it. */
bool wall_time_of(const struct reel_capture_info *info, uint64_t time, uint64_t *ret);

#endif
