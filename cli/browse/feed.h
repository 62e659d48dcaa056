/* SPDX-License-Identifier: Apache-2.0 */
/* The source of new samples while a report is shown. */
#ifndef CLI_BROWSE_FEED_H
#define CLI_BROWSE_FEED_H

#include "cli/session/session.h"

struct feed {
	void *context;
	const char *name; /* for the title */
	uint64_t delay;	  /* ns between refreshes */
	/* Takes the available samples without waiting; false: no more will arrive. */
	bool (*take)(void *context);
	/* Sets the newest samples aside; false if there are none yet, or after an error, which was
	 * reported. */
	bool (*prepare)(void *context);
	/* Opens a session of these, on any thread; false after an error, which was reported.
	 * `previous` is open meanwhile; NULL: there is none. */
	bool (*open)(void *context, const struct session *previous, struct session *session);
	/* Showing these took so many ns: with more samples next time, or fewer. */
	void (*took)(void *context, uint64_t ns);
};

#endif
