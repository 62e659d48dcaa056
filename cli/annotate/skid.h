/* SPDX-License-Identifier: Apache-2.0 */
/* How far a sample's address may be from its instruction. */
#ifndef CLI_ANNOTATE_SKID_H
#define CLI_ANNOTATE_SKID_H

#include "cli/session/session.h"

/* One sentence; a constant.  False after a reported error: the capture could not be read. */
bool skid_describe(const struct session *session, const struct reel_event_info *event,
		   const char **ret);

#endif
