/* SPDX-License-Identifier: Apache-2.0 */
/* The priority of a program that shows something in time, on a host that is busy with others. */
#ifndef CLI_SESSION_PRIORITY_H
#define CLI_SESSION_PRIORITY_H

#include <sys/types.h>

/* How to restore the session's share of the CPUs. */
struct priority {
	pid_t restorer; /* 0: there is nothing to restore */
	int lifeline;	/* closed when this process ends, in whatever way */
};

/*
 * Raises the priority of the process and of those it starts.  Without permission, or if the user
 * chose another priority by nice(1), it stays.  Call before creating threads.
 */
void priority_raise(struct priority *priority);
void priority_restore(struct priority *priority);

#endif
