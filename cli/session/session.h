/* SPDX-License-Identifier: Apache-2.0 */
/* A command's input capture: open it, walk it, and judge its quality. */
#ifndef CLI_SESSION_SESSION_H
#define CLI_SESSION_SESSION_H

#include "cli/session/options.h"
#include "cli/print/output.h"
#include "cli/session/sample_counts.h"

/* How many traces are complete. */
struct quality {
	uint64_t traces;
	/* Of kernel threads, of exiting ones, and of waits that ended too early. */
	uint64_t without_stack;
	uint64_t stops[REEL_STOP_COUNT];
	/* Traces with a frame found from its code, or by the frame pointer or link register, for
	 * lack of unwind information. */
	uint64_t by_code, by_frame_pointer;
	/* Traces from the CPU's record of calls instead of unwinding. */
	uint64_t by_calls;
	uint64_t stack_cut;
	/* Frames of the traces, without inlined functions; and the frames without a name. */
	uint64_t frames, nameless;
	/* Traces with interpreters' frames; these frames, and those whose function is unknown. */
	uint64_t with_runtime, runtime_frames, runtime_nameless;
	unsigned int runtimes; /* bits of enum reel_runtime_kind */
	/* Of the traces; 0 without traces. */
	uint64_t first_time, last_time;
};

void quality_add(struct quality *quality, const struct reel_trace *trace);
/* Adds all but the times, since each capture has its own clock. */
void quality_join(struct quality *quality, const struct quality *more);
/* OK; or INCOMPLETE, with the reason on stderr, if below --min-complete. */
int quality_status(const struct quality *quality, const struct options *options);
/* Traces with a user stack, of which stops[REEL_STOP_ROOT] are complete. */
uint64_t quality_unwound(const struct quality *quality);
/* "complete traces: 98.20 % (stack bytes ran out 1.00 %, …)", without a newline. */
void quality_print(const struct quality *quality, FILE *file);
/* "without unwind information: 12.3 % of the traces have frames found by what the code does, …";
 * nothing without such traces. */
void quality_print_steps(const struct quality *quality, FILE *file);

struct session {
	const struct options *options;
	/* The options' copy if their times of the wall clock were converted. */
	struct options own;
	struct reel_capture *capture;
	const struct reel_capture_info *info;
	const char *name; /* its path, or the folder's */
	const struct reel_event_info *events;
	const struct reel_event_info **events_by_id;
	size_t n_events;
	struct quality quality;
	/* Traces that end where a module's file is missing, by the module's id. */
	struct sample_counts missing;
	struct progress progress;
	/* In a debuginfod scout, the descriptor to write to; else -1. */
	int scout;
	/* Set for each of options->comms that a trace matched. */
	bool *comms_seen;
	const char *last_comm;
	/* For each of options->wheres. */
	struct where_counts *where_counts;
	/* A filter or a --module matched nothing, and this was reported. */
	bool is_idle;
	/* Of a folder, parts are damaged. */
	bool parts_damaged;
};

struct reel_error *session_try_open(struct session *session, const struct options *options);
/* Also looks for the options' fields; returns false after an error, which is reported on stderr. */
bool session_open(struct session *session, const struct options *options);
void session_close(struct session *session);
/* Whether files at paths in the capture may be shown: the author of another user's capture must not
 * choose among our files. */
bool session_trusts_paths(const struct session *session);

/*
 * Calls `visit` for the traces that `options` select (NULL: all), in the file's order, until it
 * returns false and *ended_ret is set; `event` is the trace's event, NULL if unknown.  Returns
 * false after an error, which was reported.
 */
bool session_walk(struct session *session, const struct reel_walk_options *options,
		  bool (*visit)(void *context, const struct reel_trace *trace,
				const struct reel_event_info *event),
		  void *context, bool *ended_ret);

/*
 * No selected trace has a label with this key: walks all traces, and reports this with the labels
 * that they have. Returns false.
 */
bool session_explain_label(struct session *session, const char *key);
/* No selected trace has the function, or not with values of variables: reports why; false. */
bool session_explain_values(const struct session *session, const char *function);
/* No selected sample has the variable that the expression begins with: reports that; false. */
bool session_explain_variable(const char *function, const char *expression);
/* For the labels of all traces; true if each function was seen. */
bool session_explain_labels(const struct session *session, const struct value_labels *labels);

/* The capture's problems as warnings on stderr, unless -q. */
void session_warn(const struct session *session);
/* True if every option matched and no encrypted data was changed; otherwise reports it. */
bool session_is_sound(const struct session *session);
/* ERROR if options matched nothing or a part of the capture could not be read; INCOMPLETE if below
 * --min-complete.  The reason is on stderr. */
int session_status(const struct session *session);

/* Without the host's name that precedes it in a capture of several hosts. */
const char *comm_alone(const struct reel_trace *trace);

const char *event_name(const struct reel_event_info *event);

/* The trace ends before its root, so it must not look complete. */
bool trace_is_cut(const struct reel_trace *trace);

#endif
