/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that a command reads: opened, walked, and judged. */
#ifndef CLI_SESSION_SESSION_H
#define CLI_SESSION_SESSION_H

#include "cli/session/options.h"
#include "cli/print/output.h"
#include "cli/session/tally.h"

/* How many of the traces came to their end. */
struct quality {
	uint64_t traces;
	/* Samples in kernel threads: there is no user stack to unwind. */
	uint64_t without_stack;
	uint64_t stops[REEL_STOP_COUNT];
	/* Traces with a frame that was found by what code does, or by the frame pointer or the link
	 * register: no unwind information was there. */
	uint64_t by_code, by_frame_pointer;
	/* Traces that are the CPU's record of calls, and not unwound. */
	uint64_t by_calls;
	uint64_t stack_cut;
	/* Of the traces, those of inlined functions not counted; and those without a name. */
	uint64_t frames, nameless;
	/* Of the traces; 0 if there is none. */
	uint64_t first_time, last_time;
};

void quality_add(struct quality *quality, const struct reel_trace *trace);
/* Adds all but the times, which are another clock's in each capture. */
void quality_join(struct quality *quality, const struct quality *more);
/* OK, or INCOMPLETE (and why on stderr) as --min-complete says. */
int quality_status(const struct quality *quality, const struct options *options);
/* Traces with a user stack, of which stops[REEL_STOP_ROOT] are complete. */
uint64_t quality_unwound(const struct quality *quality);
/* "complete traces: 98.20 % (stack bytes ran out 1.00 %, …)", without a newline. */
void quality_print(const struct quality *quality, FILE *file);
/* "without unwind information: 12.3 % of the traces have frames found by what the code does, …": if
 * there is any such trace. */
void quality_print_steps(const struct quality *quality, FILE *file);

struct session {
	const struct options *options;
	struct reel_capture *capture;
	const struct reel_capture_info *info;
	const struct reel_event_info *events;
	const struct reel_event_info **events_by_id;
	size_t n_events;
	struct quality quality;
	/* Of traces that end where the file of a module is missing: the module's id. */
	struct tally missing;
	struct progress progress;
	/* This process is one of debuginfod's scouts, and writes to this; else -1. */
	int scout;
	/* Of options->comms: a trace is of that name. */
	bool *comms_seen;
	const char *last_comm;
	/* A filter or a --module was for nothing, and that was said. */
	bool is_idle;
};

struct reel_error *session_try_open(struct session *session, const struct options *options);
/* Says on stderr what is wrong and gives false. */
bool session_open(struct session *session, const struct options *options);
void session_close(struct session *session);

/*
 * Calls `visit` for the traces that the options select, in the file's order, until it gives
 * false; `event` is that of the trace, NULL if unknown.  False after an error, which was reported:
 * that they select none is one.
 */
bool session_visit(struct session *session,
		   bool (*visit)(void *context, const struct reel_trace *trace,
				 const struct reel_event_info *event),
		   void *context);

/* The same for all of them, which then do not count in `quality`. */
bool session_visit_all(struct session *session,
		       bool (*visit)(void *context, const struct reel_trace *trace,
				     const struct reel_event_info *event),
		       void *context);

/* The capture's problems as warnings on stderr, unless -q. */
void session_warn(const struct session *session);
/* No option was for nothing, and nobody changed what was encrypted; otherwise says so. */
bool session_is_sound(const struct session *session);
/* ERROR where options were for nothing; or INCOMPLETE (and why on stderr) as --min-complete says.
 */
int session_status(const struct session *session);

/* Says what went wrong and destroys the error; true if there was none. */
bool no_error(struct reel_error *error);

/* Without the host's name that a capture of several hosts has before it. */
const char *comm_alone(const struct reel_trace *trace);

/* The trace ends before its root: it must not look as if it were whole. */
bool trace_is_cut(const struct reel_trace *trace);

#endif
