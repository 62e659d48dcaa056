/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that starts helpers for the recorder, one at a time.  It is forked before the recorder
 * has maps and buffers, so that each helper begins with next to no memory, and the recorder itself
 * never forks while it records.
 *
 * A helper may hang for ever in the kernel, where not even SIGKILL ends it (a FUSE request that the
 * server has read and does not answer: fs/fuse/dev.c, request_wait_answer).  So nobody ever waits
 * for one to end.
 */
#ifndef RECORD_WATCHING_NURSERY_H
#define RECORD_WATCHING_NURSERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/host/helper_limits.h"

struct reel_nursery;

/* `serve` is what a helper does, with its end of a socket (SOCK_SEQPACKET); it then ends.  `limits`
 * are borrowed for the nursery's life; NULL: those of the recorder. */
struct reel_error *reel_nursery_create(void (*serve)(int socket),
				       const struct reel_helper_limits *limits,
				       struct reel_nursery **ret) REEL_MUST_CHECK;
/* Ends what it started, too. */
void reel_nursery_destroy(struct reel_nursery *nursery);

/*
 * Kills the helper before and starts a new one: our end of its socket, which the caller closes; -1
 * if that cannot be.  Where no process can be started the socket is at its end at once.
 */
int reel_nursery_start(struct reel_nursery *nursery);

/* What the kernel says of the helper and of the thread that made the nursery. */
struct reel_nursery_state {
	bool begun;
	bool runs;     /* the helper is on a CPU, or would be if there was one for it */
	uint64_t work; /* ns of the helper on a CPU; 0 as below, or once it has ended */
	/* ns of the helper on a CPU, and of both waiting for one: what is not one waiting for the
	 * other. 0 where the kernel does not count it (CONFIG_SCHED_INFO). */
	uint64_t busy;
};

struct reel_nursery_state reel_nursery_look(struct reel_nursery *nursery);

#endif
