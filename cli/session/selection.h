/* SPDX-License-Identifier: Apache-2.0 */
/* The traces that the options select; if they select nothing, the values that exist. */
#ifndef CLI_SESSION_SELECTION_H
#define CLI_SESSION_SELECTION_H

#include "cli/session/session.h"

/*
 * Calls `visit` for the traces that the options select, in the file's order, until it returns
 * false; `event` is the trace's event, NULL if unknown. Returns false after an error, which was
 * reported; selecting no trace is an error.
 */
bool session_visit(struct session *session,
		   bool (*visit)(void *context, const struct reel_trace *trace,
				 const struct reel_event_info *event),
		   void *context);

/* A filter is given, so samples may be excluded. */
bool selection_is_filtered(const struct options *options);
/*
 * Walks all traces again, without filters. For each filter that alone selects nothing, reports the
 * values that exist; true if any filter does. If only their combination selects nothing, reports so
 * if `nothing` is set: no trace was selected.
 */
bool selection_explain(struct session *session, bool nothing);
/*
 * Reports a --module that matches no module, and returns true then. Call this after walking traces.
 */
bool selection_has_idle_module(struct session *session);

#endif
