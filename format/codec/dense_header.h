/* SPDX-License-Identifier: Apache-2.0 */
/* DENSE: the parts of a sample besides words, decision by decision (SPEC.md, annex A). */
#ifndef FORMAT_CODEC_DENSE_HEADER_H
#define FORMAT_CODEC_DENSE_HEADER_H

#include "format/codec/coder.h"
#include "format/codec/dense_numbers.h"

#define REEL_DENSE_CPUS 256

/* All zero, except the period, before the first sample. */
struct reel_dense_headers {
	uint64_t period; /* ns between samples of a CPU, 0 if irregular */
	struct reel_sample_head last;
	uint64_t periods;  /* between the last sample's time and the time it was predicted from */
	unsigned lateness; /* its number of bits */
	struct {
		uint64_t thread, time; /* the basis of predictions */
	} cpus[REEL_DENSE_CPUS];
};

void reel_dense_header_encode(struct reel_dense_headers *headers, struct reel_number_coder *numbers,
			      const struct reel_sample_head *head);
void reel_dense_header_decode(struct reel_dense_headers *headers, struct reel_number_coder *numbers,
			      struct reel_sample_head *ret);

/* A region's place, relative to `base`: the thread's region with the same index. */
void reel_dense_place_encode(struct reel_number_coder *numbers,
			     const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t address, uint64_t size);
void reel_dense_place_decode(struct reel_number_coder *numbers,
			     const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t *address_ret,
			     uint64_t *size_ret);

#endif
