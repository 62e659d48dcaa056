/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "record/sampling/rings.h"

/* Stops a drain of a ring, without and with an error; libbpf returns the value. */
#define DRAIN_ENOUGH (-EAGAIN)
#define DRAIN_ERROR  (-ECANCELED)

/* A reader of its own for each: libbpf's reader of several begins with the first one each time. */
struct ring {
	struct reel_rings *rings;
	struct ring_buffer *reader;
	int fd;
	uint64_t size;
	uint64_t budget; /* bytes left to be read in this drain */
};

struct reel_rings {
	struct reel_rings_options options;
	struct ring *items;
	uint32_t n;
	int epoll;
	struct reel_error *error; /* during a drain */
};

static int handle_record(void *context, void *data, size_t size)
{
	struct ring *ring = context;
	const struct reel_rings_options *options = &ring->rings->options;

	ring->rings->error = options->record(options->context, data, size);
	if (ring->rings->error)
		return DRAIN_ERROR;
	if (size >= ring->budget)
		return DRAIN_ENOUGH;
	ring->budget -= size;
	return 0;
}

static struct reel_error *ring_create(struct reel_rings *rings, uint64_t size)
{
	struct ring *ring = &rings->items[rings->n];
	struct epoll_event event = { .events = EPOLLIN };

	*ring = (struct ring){ .rings = rings, .size = size };
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "reel_ring", 0, 0, (uint32_t)size, NULL);
	if (ring->fd < 0 && errno == ENOMEM)
		return reel_error_create(REEL_ERROR_NO_MEMORY,
					 "out of memory for ring buffer %" PRIu32 " of %" PRIu32
					 " (%" PRIu64 " bytes each)",
					 rings->n + 1, rings->options.n + 1, size);
	if (ring->fd < 0)
		return reel_error_os(errno, "cannot create a ring buffer of %" PRIu64 " bytes",
				     size);
	if (bpf_map_update_elem(rings->options.outer, &rings->n, &ring->fd, BPF_ANY)) {
		close(ring->fd);
		return reel_error_os(errno, "cannot set up the ring buffers");
	}
	rings->n++;
	ring->reader = ring_buffer__new(ring->fd, handle_record, ring, NULL);
	if (!ring->reader || epoll_ctl(rings->epoll, EPOLL_CTL_ADD, ring->fd, &event))
		return reel_error_os(errno, "cannot map a ring buffer");
	return NULL;
}

static struct reel_error *rings_create(struct reel_rings *rings)
{
	const struct reel_rings_options *options = &rings->options;

	rings->items = calloc(options->n + 1, sizeof(*rings->items));
	if (!rings->items)
		return reel_error_no_memory();
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rings->epoll < 0)
		return reel_error_os(errno, "cannot wait for the ring buffers");
	for (uint32_t i = 0; i < options->n; i++)
		TRY(ring_create(rings, options->size));
	return ring_create(rings, options->task_size);
}

struct reel_error *reel_rings_create(const struct reel_rings_options *options,
				     struct reel_rings **ret)
{
	struct reel_rings *rings = calloc(1, sizeof(*rings));
	struct reel_error *error;

	*ret = NULL;
	if (!rings)
		return reel_error_no_memory();
	rings->options = *options;
	rings->epoll = -1;
	error = rings_create(rings);
	if (error) {
		reel_rings_destroy(rings);
		return error;
	}
	*ret = rings;
	return NULL;
}

void reel_rings_destroy(struct reel_rings *rings)
{
	if (!rings)
		return;
	for (uint32_t i = 0; i < rings->n; i++) {
		ring_buffer__free(rings->items[i].reader);
		close(rings->items[i].fd);
	}
	if (rings->epoll >= 0)
		close(rings->epoll);
	free(rings->items);
	free(rings);
}

int reel_rings_fd(const struct reel_rings *rings)
{
	return rings->epoll;
}

struct reel_error *reel_rings_drain(struct reel_rings *rings)
{
	rings->error = NULL;
	for (uint32_t i = 0; i < rings->n; i++) {
		struct ring *ring = &rings->items[i];
		int result;

		ring->budget = ring->size;
		result = ring_buffer__consume(ring->reader);
		if (rings->error)
			return rings->error;
		if (result < 0 && result != DRAIN_ENOUGH)
			return reel_error_os(-result, "cannot read the ring buffers");
	}
	return NULL;
}
