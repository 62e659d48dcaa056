/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of processes in a kernel ring buffer (record/processes/process_events.c): wherever they
 * wrap around, whatever their sizes, they are delivered in order of time, and each only once also if
 * programs that begin are kept.
 */
#include "record/processes/process_events.c"
#include "tests/fuzz/fuzz.h"

#define RING_BYTES 4096

struct handled {
	uint64_t time;
	size_t n;
	bool skips;
};

static struct reel_error *handle(void *context, const struct reel_process_event *event)
{
	struct handled *handled = context;

	must_be(handled->skips || event->time >= handled->time, "in order of time");
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

static struct reel_error *handle_details(void *context, const struct reel_bpf_process *details)
{
	(void)context;
	must_be(details->pid != 0, "details that were given");
	return NULL;
}

/* What the recorder does between two reads. */
static void use(struct reel_cursor *input, struct reel_process_events *events, uint64_t until)
{
	struct reel_bpf_process details = { .time = until };

	must(reel_process_events_advance(events, until));
	while (reel_cursor_left(input)) {
		switch (reel_cursor_u8(input) % 4) {
		case 0:
			return;
		case 1:
			must(reel_process_events_sampled(events, reel_cursor_u8(input)));
			break;
		case 2:
			details.pid = reel_cursor_u8(input) | 1;
			must(reel_process_events_details(events, &details));
			break;
		default:
			must(reel_process_events_settle(events, reel_cursor_u32(input)));
		}
	}
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
	handled.skips = reel_cursor_u8(&input) & 1;
	events->options = (struct reel_process_events_options){
		.skips_unsampled = handled.skips,
		.handle = handle,
		.handle_details = handle_details,
		.context = &handled,
	};
	while (reel_cursor_left(&input)) {
		uint64_t until = reel_cursor_u32(&input);

		write_some(&input, ring, &page);
		must(reel_process_events_read(events));
		must_be(page.data_tail == page.data_head, "all consumed");
		/* A late event may be older than events already delivered. */
		handled.time = 0;
		if (handled.skips)
			use(&input, events, until);
		else
			must(reel_process_events_apply(events, until));
		must_be(handled.n <= events->sequence, "each once");
	}
	events->cpus[index].fd = -1;
	reel_process_events_close(events);
	free(ring);
	return 0;
}
