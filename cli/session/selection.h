/* SPDX-License-Identifier: Apache-2.0 */
/* Options that select nothing: what there would have been. */
#ifndef CLI_SESSION_SELECTION_H
#define CLI_SESSION_SELECTION_H

#include "cli/session/session.h"

/* A filter is given, so that not all samples may be selected. */
bool selection_is_filtered(const struct options *options);
/*
 * Walks all traces again, without filters, and says of each filter that alone would have selected
 * nothing what is there.  True if there was one.  Where none is to blame, but only all of them
 * together, it is said if `nothing`: no trace was selected.
 */
bool selection_explain(struct session *session, bool nothing);
/* Says so and gives true if a --module is for no module; once traces were walked. */
bool selection_has_idle_module(struct session *session);

#endif
