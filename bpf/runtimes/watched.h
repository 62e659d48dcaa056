/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Reports watched code (bpf/sample.h) that has changed, before the sample that runs it. */
#ifndef BPF_RUNTIMES_WATCHED_H
#define BPF_RUNTIMES_WATCHED_H

#include "bpf/maps.h"
#include "bpf/sample.h"

/* Numbers of processes, by their number in the recorder's namespace; preallocated as
 * reel_processes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REEL_WATCHES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} reel_watches SEC(".maps");

/* The pages of the n-th process, from n * REEL_WATCH_PAGES on. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REEL_WATCHES_MAX *REEL_WATCH_PAGES);
	__type(key, __u32);
	__type(value, struct reel_bpf_watched);
} reel_watched_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reel_bpf_code);
} reel_code_scratch SEC(".maps");

/* Four sums at a time, as a multiplication takes some cycles.  Not 0, not REEL_WATCH_UNREADABLE. */
static __always_inline __u64 reel_code_hash(const struct reel_bpf_code *code)
{
	const __u64 *words = (const __u64 *)code->bytes;
	__u64 a = 1, b = 2, c = 3, d = 4;

	for (__u32 i = 0; i < REEL_WATCH_PAGE_SIZE / 8; i += 4) {
		a = (a ^ words[i]) * 0x9e3779b97f4a7c15;
		b = (b ^ words[i + 1]) * 0x9e3779b97f4a7c15;
		c = (c ^ words[i + 2]) * 0x9e3779b97f4a7c15;
		d = (d ^ words[i + 3]) * 0x9e3779b97f4a7c15;
		/* The high bits only go up. */
		a ^= a >> 32;
		b ^= b >> 32;
		c ^= c >> 32;
		d ^= d >> 32;
	}
	return (a + 3 * b + 5 * c + 7 * d) | 2;
}

/* Checks a page for the time in the scratch; 0 if a change could not be reported.  A function of its
 * own, not static: the verifier then checks it once, not once for each page. */
__noinline int reel_code_check(__u32 at)
{
	struct reel_bpf_watched *page = bpf_map_lookup_elem(&reel_watched_pages, &at);
	__u64 hash = REEL_WATCH_UNREADABLE;
	struct reel_bpf_code *code;
	void *ring = reel_ring();
	__u32 zero = 0;

	code = bpf_map_lookup_elem(&reel_code_scratch, &zero);
	if (!page || !page->address || !code || !ring)
		return 1;
	code->size = 0;
	if (!bpf_probe_read_user(code->bytes, sizeof(code->bytes), (void *)page->address)) {
		code->size = sizeof(code->bytes);
		hash = reel_code_hash(code);
	}
	if (hash == page->hash) {
		page->found = code->time;
		return 1;
	}
	code->found = page->hash ? page->found : 0;
	code->space = page->space;
	code->address = page->address;
	if (bpf_ringbuf_output(ring, code, sizeof(*code), reel_ring_flags(ring)))
		return 0;
	page->hash = hash;
	page->found = code->time;
	return 1;
}

/*
 * Checks the code of the sample's process.  Only for the programs of perf events and tracepoints,
 * one of which runs on a CPU at a time.
 */
__noinline int reel_code_watch(__u32 slot)
{
	struct reel_sampling *s = reel_sampling(slot);
	struct reel_bpf_code *code;
	__u32 zero = 0, *number;

	if (!s)
		return 0;
	number = bpf_map_lookup_elem(&reel_watches, &s->sample.pid);
	code = bpf_map_lookup_elem(&reel_code_scratch, &zero);
	if (!number || !code)
		return 0;
	code->kind = REEL_BPF_CODE;
	code->time = s->sample.time;
	for (__u32 i = 0; i < REEL_WATCH_PAGES; i++) {
		if (!reel_code_check(*number * REEL_WATCH_PAGES + i))
			return 0;
	}
	s->sample.flags |= REEL_BPF_CODE_CHECKED;
	return 0;
}

#endif
