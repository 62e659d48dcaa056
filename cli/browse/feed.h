/* SPDX-License-Identifier: Apache-2.0 */
/* The source of new samples while a report is shown. */
#ifndef CLI_BROWSE_FEED_H
#define CLI_BROWSE_FEED_H

#include "cli/browse/parts.h"

struct feed {
	void *context;
	const char *name;	/* for the title */
	uint64_t delay, window; /* ns: between refreshes, and of the samples to show */
	/* Takes the available samples without waiting; false: no more will arrive. */
	bool (*take)(void *context);
	/* The number of the next block of samples to arrive. */
	uint64_t (*next_block)(void *context);
	/* Sets the samples from this block on aside as a part's stream; false after an error, which
	 * was reported. */
	bool (*prepare)(void *context, uint64_t first_block, struct reel_live_part *ret);
	/* Opens a session of these, on any thread; false after an error, which was reported.
	 * `previous` is open meanwhile; NULL: none. */
	bool (*open)(void *context, const struct session *previous, struct session *session);
	/* Reading these took `ns`: read more samples next time, or fewer. */
	void (*took)(void *context, uint64_t ns);
};

#endif
