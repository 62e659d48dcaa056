/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of processes in a kernel ring buffer (record/processes/process_events.c): wherever they
 * wrap around, whatever their sizes, they are delivered in order of time.
 */
#include "record/processes/process_events.c"
#include "tests/fuzz/fuzz.h"

#define RING_BYTES 4096

struct handled {
	uint64_t time;
	size_t n;
};

static struct reel_error *handle(void *context, const struct reel_process_event *event)
{
	struct handled *handled = context;

	must_be(event->time >= handled->time, "in order of time");
	must_be(event->kind <= REEL_PROCESS_KERNEL_SYMBOL, "a kind");
	must_be(strnlen(event->comm, sizeof(event->comm)) < sizeof(event->comm),
		"a name that ends");
	must_be(event->build_id.size <= sizeof(event->build_id.bytes), "a build-id that fits");
	if (event->kind == REEL_PROCESS_MAP || event->kind == REEL_PROCESS_KERNEL_SYMBOL)
		must_be(strlen(event->map.path) < RING_BYTES, "a path that ends");
	handled->time = event->time;
	handled->n++;
	return NULL;
}

/* The kernel has written some more bytes. */
static void write_some(struct reel_cursor *input, uint8_t *ring, struct perf_event_mmap_page *page)
{
	struct reel_bytes part = fuzz_part(input);

	for (size_t i = 0; i < part.size && page->data_head - page->data_tail < RING_BYTES; i++)
		ring[page->data_head++ % RING_BYTES] = part.data[i];
	/* Its records are whole, and multiples of 8. */
	page->data_head &= ~UINT64_C(7);
	if (page->data_head < page->data_tail)
		page->data_head = page->data_tail;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	struct reel_process_events *events = calloc(1, sizeof(*events));
	struct perf_event_mmap_page page = { 0 };
	uint8_t *ring = calloc(1, RING_BYTES);
	struct handled handled = { 0 };
	size_t index;

	must_be(events && ring, "memory");
	must(find_slot(events, 0, &index));
	events->cpus[index].fd = 0; /* never read: it has no loss records */
	events->abilities.build_id = true;
	events->buffers[index] = (struct buffer){ &page, ring, RING_BYTES, 0, 0 };
	/* Anywhere in the ring. */
	page.data_head = page.data_tail = reel_cursor_u16(&input) & ~7u;
	while (reel_cursor_left(&input)) {
		uint64_t until = reel_cursor_u32(&input);

		write_some(&input, ring, &page);
		must(reel_process_events_read(events));
		must_be(page.data_tail == page.data_head, "all consumed");
		/* A late event may be older than events already delivered. */
		handled.time = 0;
		must(reel_process_events_apply(events, until, handle, &handled));
	}
	events->cpus[index].fd = -1;
	reel_process_events_close(events);
	free(ring);
	return 0;
}
