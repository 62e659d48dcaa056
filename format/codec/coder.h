/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an encoding of samples is to encoder.c and decoder.c, which do what both
 * have in common: operations on a state of its own, in both directions.
 *
 * A sample goes through them in this order: head; pc, if it has registers, as it
 * tells where regions lie; where each region lies, as that tells registers;
 * registers; the words of each region; its chains.
 */
#ifndef FORMAT_CODEC_CODER_H
#define FORMAT_CODEC_CODER_H

#include "format/codec/parts.h"
#include "format/codec/samples.h"
#include "format/codec/thread_table.h"
#include "format/codec/words.h"

/* The state; each encoding's own begins with it. */
struct reel_coder {
	const struct reel_coder_operations *operations;
	/* The record's streams: where samples go when encoding, where they come from when decoding.
	 */
	struct reel_buffer out[REEL_STREAMS];
	struct reel_cursor in[REEL_STREAMS];
};

/* A sample's numbers but for words and addresses. */
struct reel_sample_head {
	uint64_t cpu, thread, time, id;
	uint64_t event, weight, where, flags, parts, n_regions;
};

/* Whose region is coded, and which one. */
struct reel_coder_region {
	size_t index;
	/* Of the sample, and of its thread's last one with registers. */
	uint64_t pc, pc_before;
};

/* Of which kind a chain is, and whose. */
struct reel_coder_chain {
	unsigned kind;
	/* Of the sample, 0 without registers, and of its thread's last one with registers. */
	uint64_t pc, pc_before;
};

struct reel_coder_operations {
	enum reel_record_id record;
	/* Of a record. */
	uint64_t samples_max, addresses_max;
	/* Chains are relative to their threads' ones before. */
	bool keeps_chains;
	/* Heads are in streams of their own, and need nothing else to be decoded. */
	bool keeps_heads;
	struct reel_error *(*create)(struct reel_coder **ret);
	void (*destroy)(struct reel_coder *coder);

	/* A record begins; what was learned is forgotten. */
	void (*encode_begin)(struct reel_coder *coder, const struct reel_sample_target *target);
	void (*encode_header)(struct reel_coder *coder, const struct reel_sample_head *head);
	/* `thread` is as it was in the thread's previous sample; its values become the sample's. */
	void (*encode_pc)(struct reel_coder *coder, const struct reel_sample *sample,
			  const struct reel_thread_base *thread);
	void (*encode_place)(struct reel_coder *coder, const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t address, uint64_t size);
	void (*encode_registers)(struct reel_coder *coder, const struct reel_sample *sample,
				 struct reel_thread_base *thread);
	/* `base` has the bytes that the region had, and becomes what it has. */
	void (*encode_words)(struct reel_coder *coder, const struct reel_coder_region *region,
			     struct reel_word_walk *walk, uint8_t *base);
	/* `base` is the thread's chain before, and may become this one.  False without memory. */
	bool (*encode_chain)(struct reel_coder *coder, const struct reel_coder_chain *which,
			     const uint64_t *chain, size_t n, struct reel_chain_base *base);
	/* The sample whose head was encoded last is none: its bytes are taken off the streams. Only
	 * the end follows. */
	void (*encode_undo)(struct reel_coder *coder);
	/* Behind the last sample. What it appends may be taken off again, and the end may follow
	 * once more. */
	void (*encode_end)(struct reel_coder *coder);

	/*
	 * The same from streams, which are hostile: what they say is checked as far as the next
	 * operation relies on it.  CORRUPT.
	 */
	struct reel_error *(*decode_begin)(struct reel_coder *coder);
	struct reel_error *(*decode_header)(struct reel_coder *coder, struct reel_sample_head *ret);
	/* sample->layout and `known` are there. */
	struct reel_error *(*decode_pc)(struct reel_coder *coder, const struct reel_sample *sample,
					const struct reel_thread_base *thread, uint64_t *ret);
	/* *size_ret may be anything. */
	void (*decode_place)(struct reel_coder *coder, const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t *address_ret,
			     uint64_t *size_ret);
	/* sample->pc and the regions' addresses and sizes are there, too. */
	struct reel_error *(*decode_registers)(struct reel_coder *coder,
					       const struct reel_sample *sample,
					       struct reel_thread_base *thread);
	/* Over `bytes`, which are the base's and walk->bytes. */
	struct reel_error *(*decode_words)(struct reel_coder *coder,
					   const struct reel_coder_region *region,
					   struct reel_word_walk *walk, uint8_t *bytes);
	/* `base` becomes the chain. */
	struct reel_error *(*decode_chain)(struct reel_coder *coder,
					   const struct reel_coder_chain *which,
					   struct reel_chain_base *base);
};

extern const struct reel_coder_operations reel_columns_operations, reel_dense_operations;

/* Of enum reel_encoding. */
#define REEL_ENCODINGS 2

#endif
