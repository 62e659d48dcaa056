/* SPDX-License-Identifier: Apache-2.0 */
/* Makes samples, which the format can store, from an input; and compares two samples. */
#ifndef TESTS_FUZZ_SAMPLE_PARTS_H
#define TESTS_FUZZ_SAMPLE_PARTS_H

#include "tests/fuzz/fuzz.h"

#define FUZZ_SLOTS   24
#define FUZZ_REGIONS 3
#define FUZZ_CHAIN   16
#define FUZZ_FRAMES  8

/* A sample with all that it points to. */
struct fuzz_sample {
	struct reel_sample sample;
	struct reel_record_sample_layout layout;
	struct reel_register_slot slots[FUZZ_SLOTS];
	uint64_t values[FUZZ_SLOTS], kernel_chain[FUZZ_CHAIN], frame_chain[FUZZ_CHAIN];
	uint8_t known[(FUZZ_SLOTS + 7) / 8];
	struct reel_region regions[FUZZ_REGIONS];
	struct reel_range missing[FUZZ_REGIONS];
	struct reel_buffer bytes[FUZZ_REGIONS];
	struct reel_runtime_frame frames[FUZZ_FRAMES];
};

static inline void fuzz_sample_free(struct fuzz_sample *sample)
{
	for (size_t i = 0; i < FUZZ_REGIONS; i++)
		reel_buffer_free(&sample->bytes[i]);
}

static inline void fuzz_registers(struct reel_cursor *input, struct fuzz_sample *ret)
{
	uint8_t shape = reel_cursor_u8(input);
	unsigned n = shape % (FUZZ_SLOTS + 1);
	uint8_t size = shape & 128 ? 4 : 8;

	if (!n)
		return;
	ret->layout = (struct reel_record_sample_layout){ 0, n, ret->slots };
	for (unsigned i = 0; i < n; i++) {
		bool known = i + 1 == n || reel_cursor_u8(input) % 4;

		ret->slots[i] = (struct reel_register_slot){ (uint16_t)i, size };
		if (!known)
			continue;
		ret->known[i / 8] |= (uint8_t)(1u << i % 8);
		ret->values[i] = size == 4 ? reel_cursor_u32(input) : reel_cursor_u64(input);
	}
	ret->sample.layout = &ret->layout;
	ret->sample.values = ret->values;
	ret->sample.known = ret->known;
	ret->sample.pc = ret->values[n - 1];
}

static inline void fuzz_regions(struct reel_cursor *input, struct fuzz_sample *ret)
{
	size_t n = reel_cursor_u8(input) % (FUZZ_REGIONS + 1);

	for (size_t i = 0; i < n; i++) {
		struct reel_region *region = &ret->regions[i];
		uint64_t address = 0x7fff00000000u + reel_cursor_u16(input);
		struct reel_bytes part = fuzz_part(input);
		struct reel_range range = { reel_cursor_u8(input), reel_cursor_u8(input) };

		reel_buffer_append(&ret->bytes[i], part.data, part.size);
		*region = (struct reel_region){
			.kind = i & 1,
			.address = address,
			.bytes = ret->bytes[i].bytes,
			.size = part.size,
		};
		if (!range.size || range.offset >= part.size ||
		    range.size > part.size - range.offset)
			continue;
		ret->missing[i] = range;
		memset(ret->bytes[i].bytes + range.offset, 0, range.size);
		region->missing = &ret->missing[i];
		region->n_missing = 1;
	}
	ret->sample.regions = ret->regions;
	ret->sample.n_regions = n;
}

static inline size_t fuzz_chain(struct reel_cursor *input, uint64_t *chain)
{
	size_t n = reel_cursor_u8(input) % (FUZZ_CHAIN + 1);

	for (size_t i = 0; i < n; i++)
		chain[i] = reel_cursor_u64(input);
	return n;
}

/* Few different ones, so that samples share some. */
static inline void fuzz_frames(struct reel_cursor *input, struct fuzz_sample *ret)
{
	uint8_t shape = reel_cursor_u8(input);
	size_t n = shape % (FUZZ_FRAMES + 1);

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		uint8_t kind = reel_cursor_u8(input);
		bool is_entry = kind & 2;

		ret->frames[i] = (struct reel_runtime_frame){
			.function = kind & 1 ? reel_cursor_u32(input) : n - i,
			.position = kind >> 3 & 3,
			.is_entry = is_entry,
			.native = is_entry && kind & 4 ? reel_cursor_u64(input) : 0,
		};
	}
	ret->sample.runtime = REEL_RUNTIME_PYTHON + (shape & 64 ? 1 : 0);
	ret->sample.runtime_cut = shape & 128;
	ret->sample.runtime_frames = ret->frames;
	ret->sample.n_runtime_frames = n;
}

/* `last` is the previous one, or NULL. */
static inline void fuzz_sample(struct reel_cursor *input, const struct reel_sample *last,
			       struct fuzz_sample *ret)
{
	*ret = (struct fuzz_sample){
		.sample = {
			.id = last ? last->id + 1 + reel_cursor_u8(input) : reel_cursor_u32(input),
			.time = (last ? last->time : 0) + reel_cursor_u32(input),
			.thread = reel_cursor_u8(input),
			.cpu = reel_cursor_u8(input),
			.event = reel_cursor_u8(input),
			.weight = reel_cursor_u32(input),
			.where = reel_cursor_u8(input) % 5,
			.flags = reel_cursor_u8(input) & REEL_SAMPLE_FLAGS_KNOWN,
		},
	};
	fuzz_registers(input, ret);
	fuzz_regions(input, ret);
	ret->sample.n_kernel_chain = fuzz_chain(input, ret->kernel_chain);
	ret->sample.n_frame_chain = fuzz_chain(input, ret->frame_chain);
	ret->sample.kernel_chain = ret->sample.n_kernel_chain ? ret->kernel_chain : NULL;
	ret->sample.frame_chain = ret->sample.n_frame_chain ? ret->frame_chain : NULL;
	fuzz_frames(input, ret);
	if (!(reel_cursor_u8(input) & 1))
		return;
	ret->sample.has_kernel_frame = true;
	ret->sample.kernel_frame.pc = reel_cursor_u64(input);
	ret->sample.kernel_frame.sp = reel_cursor_u64(input);
}

static inline bool same_bytes(const void *a, const void *b, size_t size)
{
	return !size || !memcmp(a, b, size);
}

static inline bool same_registers(const struct reel_sample *a, const struct reel_sample *b)
{
	size_t n = a->layout ? a->layout->n_slots : 0;

	if (!a->layout != !b->layout || (b->layout && b->layout->n_slots != n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (a->layout->slots[i].dwarf != b->layout->slots[i].dwarf ||
		    a->layout->slots[i].size != b->layout->slots[i].size)
			return false;
	return same_bytes(a->values, b->values, n * sizeof(*a->values)) &&
	       same_bytes(a->known, b->known, (n + 7) / 8);
}

static inline bool same_regions(const struct reel_sample *a, const struct reel_sample *b)
{
	if (a->n_regions != b->n_regions)
		return false;
	for (size_t i = 0; i < a->n_regions; i++) {
		const struct reel_region *x = &a->regions[i], *y = &b->regions[i];

		if (x->kind != y->kind || x->address != y->address || x->size != y->size ||
		    x->n_missing != y->n_missing || !same_bytes(x->bytes, y->bytes, x->size) ||
		    !same_bytes(x->missing, y->missing, x->n_missing * sizeof(*x->missing)))
			return false;
	}
	return true;
}

static inline bool same_frames(const struct reel_sample *a, const struct reel_sample *b)
{
	if (a->n_runtime_frames != b->n_runtime_frames)
		return false;
	for (size_t i = 0; i < a->n_runtime_frames; i++) {
		const struct reel_runtime_frame *x = &a->runtime_frames[i],
						*y = &b->runtime_frames[i];

		if (x->function != y->function || x->position != y->position ||
		    x->is_entry != y->is_entry || x->native != y->native)
			return false;
	}
	return a->runtime == b->runtime && a->runtime_cut == b->runtime_cut;
}

static inline bool same_samples(const struct reel_sample *a, const struct reel_sample *b)
{
	return a->id == b->id && a->time == b->time && a->thread == b->thread && a->cpu == b->cpu &&
	       a->event == b->event && a->weight == b->weight && a->where == b->where &&
	       a->flags == b->flags && a->pc == b->pc && same_registers(a, b) &&
	       same_regions(a, b) && a->n_kernel_chain == b->n_kernel_chain &&
	       same_bytes(a->kernel_chain, b->kernel_chain, a->n_kernel_chain * 8) &&
	       a->n_frame_chain == b->n_frame_chain &&
	       same_bytes(a->frame_chain, b->frame_chain, a->n_frame_chain * 8) &&
	       same_frames(a, b) && a->has_kernel_frame == b->has_kernel_frame &&
	       same_bytes(&a->kernel_frame, &b->kernel_frame, sizeof(a->kernel_frame));
}

#endif
