/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that share their memory without being threads of one process (CLONE_VM; vfork). */
#include "record/processes/tracker_internal.h"

/* Each mapping is added to all of them.  Further ones have /proc read when they run unknown code. */
#define SHARERS_MAX 64

static size_t count(const struct process *process)
{
	size_t n = 0;

	for (const struct process *at = process->sharer; at && (!n || at != process->sharer);
	     at = at->sharer)
		n++;
	return n;
}

void tracker_share(struct process *parent, struct process *child)
{
	if (child == parent || child->sharer || count(parent) >= SHARERS_MAX)
		return;
	child->sharer = parent->sharer ? parent->sharer : parent;
	parent->sharer = child;
}

void tracker_unshare(struct process *process)
{
	struct process *before = process->sharer;

	if (!before)
		return;
	while (before->sharer != process)
		before = before->sharer;
	before->sharer = before == process->sharer ? NULL : process->sharer;
	process->sharer = NULL;
}
