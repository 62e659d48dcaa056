/* SPDX-License-Identifier: Apache-2.0 */
/* The ring buffers between the BPF programs and the recorder. */
#ifndef RECORD_SAMPLING_RINGS_H
#define RECORD_SAMPLING_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct reel_rings;

struct reel_rings_options {
	uint32_t n;		  /* rings of samples; one more is of tasks (bpf/maps.h) */
	uint64_t size, task_size; /* bytes */
	int outer;		  /* the programs' map that gets the rings */
	/* Gets each record; a non-NULL result ends the draining and is returned. */
	struct reel_error *(*record)(void *context, const void *data, size_t size);
	void *context;
};

struct reel_error *reel_rings_create(const struct reel_rings_options *options,
				     struct reel_rings **ret) REEL_MUST_CHECK;
/* NULL is allowed. */
void reel_rings_destroy(struct reel_rings *rings);

/* Descriptor for poll(2): readable when a ring has passed its watermark. */
int reel_rings_fd(const struct reel_rings *rings);

/*
 * Hands over what each ring has now, and of what arrives meanwhile as much as the ring can hold: a
 * load that fills one as fast as it is read neither keeps us here nor away from the other rings.
 */
struct reel_error *reel_rings_drain(struct reel_rings *rings) REEL_MUST_CHECK;

#endif
