/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces cli/browse/ in builds without ncurses: reports are text. */
#include "cli/browse/browse.h"

bool browse_is_possible(void)
{
	return false;
}

int browse(struct session *session, const struct browse_start *start)
{
	(void)session;
	(void)start;
	return BROWSE_NOT;
}

int browse_feed(const struct feed *feed, const struct browse_start *start)
{
	(void)feed;
	(void)start;
	return BROWSE_NOT;
}
