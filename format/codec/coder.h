/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a sample encoding for encoder.c and decoder.c, which share their common parts:
 * operations on its own state, in both directions.
 *
 * A sample is coded in this order: head; pc, if it has registers, as pc predicts where regions are;
 * each region's place, as places predict registers; registers; the words of each region; its
 * chains.
 */
#ifndef FORMAT_CODEC_CODER_H
#define FORMAT_CODEC_CODER_H

#include <string.h>

#include "format/codec/samples.h"
#include "format/codec/thread_table.h"
#include "format/codec/words.h"

/* A sample's `parts`: which data follows. */
enum reel_sample_parts {
	REEL_PART_REGISTERS = 1 << 0,
	REEL_PART_KERNEL_CHAIN = 1 << 1,
	REEL_PART_FRAME_CHAIN = 1 << 2,
	REEL_PART_KERNEL_FRAME = 1 << 3,
	REEL_PART_STEPS = 1 << 4,
	REEL_PARTS_KNOWN = 31,
};

static inline bool reel_sample_knows(const struct reel_sample *sample, size_t i)
{
	return sample->known[i / 8] >> i % 8 & 1;
}

/* The n-th address of a chain, or 0: kernel frames' addresses are stored as differences to it. */
static inline uint64_t reel_chain_get(const uint64_t *chain, size_t n_chain, size_t n)
{
	return n < n_chain ? chain[n] : 0;
}

/* address + size <= 2^64, without the sum. */
static inline bool reel_region_fits(uint64_t address, uint64_t size)
{
	return !size || address <= UINT64_MAX - (size - 1);
}

static inline bool reel_bytes_are_zero(const uint8_t *bytes, size_t size)
{
	/* Each byte equals the previous one, and the first is 0. */
	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

/* The state; each encoding's own state begins with it. */
struct reel_coder {
	const struct reel_coder_operations *operations;
	/* The record's streams: samples are encoded to `out` and decoded from `in`. */
	struct reel_buffer out[REEL_STREAMS];
	struct reel_cursor in[REEL_STREAMS];
};

/* A sample's numbers except words and addresses. */
struct reel_sample_head {
	uint64_t cpu, thread, time, id;
	uint64_t event, weight, where, flags, parts, n_regions, steps;
};

/* The region that is coded. */
struct reel_coder_region {
	size_t index;
	/* Of the sample, and of the thread's previous sample with registers. */
	uint64_t pc, pc_before;
};

/* The chain that is coded. */
struct reel_coder_chain {
	unsigned kind;
	/* Of the sample, 0 without registers, and of the thread's previous one with them. */
	uint64_t pc, pc_before;
};

struct reel_coder_operations {
	enum reel_record_id record;
	/* Limits of a record. */
	uint64_t samples_max, addresses_max;
	/* Chains are relative to their thread's previous chains. */
	bool keeps_chains;
	/* Heads have their own streams, and can be decoded alone. */
	bool keeps_heads;
	struct reel_error *(*create)(struct reel_coder **ret);
	void (*destroy)(struct reel_coder *coder);

	/* A record begins; forgets everything learned. */
	void (*encode_begin)(struct reel_coder *coder, const struct reel_sample_target *target);
	void (*encode_header)(struct reel_coder *coder, const struct reel_sample_head *head);
	/* `thread` has the values of the thread's previous sample; they become this sample's. */
	void (*encode_pc)(struct reel_coder *coder, const struct reel_sample *sample,
			  const struct reel_thread_base *thread);
	void (*encode_place)(struct reel_coder *coder, const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t address, uint64_t size);
	void (*encode_registers)(struct reel_coder *coder, const struct reel_sample *sample,
				 struct reel_thread_base *thread);
	/* `base` has the region's previous bytes and becomes the current ones. */
	void (*encode_words)(struct reel_coder *coder, const struct reel_coder_region *region,
			     struct reel_word_walk *walk, uint8_t *base);
	/* `base` is the thread's previous chain, and may become this one.  False without memory. */
	bool (*encode_chain)(struct reel_coder *coder, const struct reel_coder_chain *which,
			     const uint64_t *chain, size_t n, struct reel_chain_base *base);
	/* Drops the sample whose head was encoded last: removes its bytes from the streams.  Only
	 * the end follows. */
	void (*encode_undo)(struct reel_coder *coder);
	/* After the last sample.  Its output may be removed again, and the end may follow a second
	 * time. */
	void (*encode_end)(struct reel_coder *coder);

	/*
	 * The same from streams, which are hostile: values are checked as far as the next operation
	 * relies on them.  CORRUPT.
	 */
	struct reel_error *(*decode_begin)(struct reel_coder *coder);
	struct reel_error *(*decode_header)(struct reel_coder *coder, struct reel_sample_head *ret);
	/* sample->layout and `known` are set. */
	struct reel_error *(*decode_pc)(struct reel_coder *coder, const struct reel_sample *sample,
					const struct reel_thread_base *thread, uint64_t *ret);
	/* *size_ret may have any value. */
	void (*decode_place)(struct reel_coder *coder, const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t *address_ret,
			     uint64_t *size_ret);
	/* sample->pc and the regions' addresses and sizes are set as well. */
	struct reel_error *(*decode_registers)(struct reel_coder *coder,
					       const struct reel_sample *sample,
					       struct reel_thread_base *thread);
	/* Decodes into both `bytes`: the base's and walk->bytes. */
	struct reel_error *(*decode_words)(struct reel_coder *coder,
					   const struct reel_coder_region *region,
					   struct reel_word_walk *walk, uint8_t *bytes);
	/* `base` becomes the chain. */
	struct reel_error *(*decode_chain)(struct reel_coder *coder,
					   const struct reel_coder_chain *which,
					   struct reel_chain_base *base);
};

extern const struct reel_coder_operations reel_columns_operations, reel_dense_operations;

/* The number of encodings in enum reel_encoding. */
#define REEL_ENCODINGS 2

#endif
