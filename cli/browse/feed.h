/* SPDX-License-Identifier: Apache-2.0 */
/* Where newer samples come from while a report is shown. */
#ifndef CLI_BROWSE_FEED_H
#define CLI_BROWSE_FEED_H

#include "cli/session/session.h"

struct feed {
	void *context;
	const char *name; /* for the title */
	uint64_t delay;	  /* ms from one to the next */
	/* Takes what has come, and does not wait; false: no more will. */
	bool (*take)(void *context);
	/* Opens a session of the newest samples; false if there can be none yet, or after a
	 * complaint. */
	bool (*open)(void *context, struct session *session);
};

#endif
