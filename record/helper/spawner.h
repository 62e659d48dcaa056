/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that starts helpers for the recorder, one at a time.  It is forked before the recorder
 * has maps and buffers, so that each helper begins with next to no memory, and the recorder itself
 * never forks while it records.
 *
 * A helper may hang for ever in the kernel, where not even SIGKILL ends it (a FUSE request that the
 * server has read and does not answer: fs/fuse/dev.c, request_wait_answer).  So no process ever
 * waits for a helper's end.
 */
#ifndef RECORD_HELPER_SPAWNER_H
#define RECORD_HELPER_SPAWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/host/helper_limits.h"

struct reel_spawner;

/*
 * A helper calls `serve` with its end of a socket (SOCK_SEQPACKET), and then ends.  `roles` (enum
 * reel_role) are the helper's: its spawner keeps no other rights, except to start and end it; 0: all
 * rights.  `limits` are borrowed for the spawner's life; NULL: same as the recorder's.
 */
struct reel_error *reel_spawner_create(void (*serve)(int socket), unsigned int roles,
				       const struct reel_helper_limits *limits,
				       struct reel_spawner **ret) REEL_MUST_CHECK;
/* Also ends the helpers. */
void reel_spawner_destroy(struct reel_spawner *spawner);

/*
 * Kills the previous helper and starts a new one. Returns our end of its socket, which the caller
 * closes, or -1 on failure.  If no process can be started, the socket is at its end at once.
 */
int reel_spawner_start(struct reel_spawner *spawner);

/* False once it was killed: there will be no more helpers. */
bool reel_spawner_lives(const struct reel_spawner *spawner);

/* The kernel's state of the helper and of the thread that made the spawner. */
struct reel_spawner_state {
	bool begun;
	bool runs;     /* the helper is on a CPU, or ready to run on one */
	uint64_t work; /* ns of the helper on a CPU; 0 as below, or once it has ended */
	/* ns of the helper on a CPU, plus ns of both waiting for a CPU: neither waits for the other
	 * meanwhile. 0 if the kernel does not count it (CONFIG_SCHED_INFO). */
	uint64_t busy;
};

/* ns of CPU time of all spawners and their helpers, up to now. */
uint64_t reel_spawners_work(void);
/* Bytes of their memory now (reel_process_memory). */
uint64_t reel_spawners_memory(void);

struct reel_spawner_state reel_spawner_look(struct reel_spawner *spawner);

#endif
