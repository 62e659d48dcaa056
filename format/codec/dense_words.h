/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DENSE: the words of registers and stacks, decision by decision (SPEC.md, annex A).  Two to five
 * times smaller than COLUMNS' tokens if stacks are scrubbed, for ten times the CPU time.
 */
#ifndef FORMAT_CODEC_DENSE_WORDS_H
#define FORMAT_CODEC_DENSE_WORDS_H

#include "format/codec/coder.h"

struct reel_dense_words;

struct reel_error *reel_dense_words_create(struct reel_dense_words **ret) REEL_MUST_CHECK;
void reel_dense_words_destroy(struct reel_dense_words *words);

/* Forgets everything; later output goes to `out`. */
void reel_dense_words_encode_to(struct reel_dense_words *words, struct reel_buffer *out);
/* After the last word. */
void reel_dense_words_finish(struct reel_dense_words *words);
/* Forgets everything; the cursor fails at an invalid token. */
void reel_dense_words_decode_from(struct reel_dense_words *words, struct reel_cursor *in);
/* The coder for numbers between words. */
struct reel_number_coder *reel_dense_words_numbers(struct reel_dense_words *words);

/* The pc of a sample; `thread` is from its thread's last sample. */
void reel_dense_words_encode_pc(struct reel_dense_words *words, uint64_t pc,
				const struct reel_thread_base *thread);
uint64_t reel_dense_words_decode_pc(struct reel_dense_words *words,
				    const struct reel_thread_base *thread);

/* The known registers; updates the thread's to them. */
void reel_dense_words_encode_registers(struct reel_dense_words *words,
				       const struct reel_sample *sample,
				       struct reel_thread_base *thread);
/* pc, the regions' addresses, the layout and `known` are set. */
void reel_dense_words_decode_registers(struct reel_dense_words *words,
				       const struct reel_sample *sample,
				       struct reel_thread_base *thread);

/* A region's words; updates `base` to them. */
void reel_dense_words_encode_region(struct reel_dense_words *words,
				    const struct reel_coder_region *region,
				    struct reel_word_walk *walk, uint8_t *base);
/* Decodes into walk->bytes, which are the base's; false at an invalid token. */
bool reel_dense_words_decode_region(struct reel_dense_words *words,
				    const struct reel_coder_region *region,
				    struct reel_word_walk *walk, uint8_t *bytes);

/* An address of a chain: its position, going from the root to the leaf. */
struct reel_dense_address {
	uint64_t salt;		/* separates the kinds of chains */
	uint64_t caller, outer; /* the next two addresses towards the root; 0 if none */
	uint64_t before;	/* the address there in the previous chain; 0 if none */
	bool differs;		/* differs from `before` */
};

uint64_t reel_dense_words_code_address(struct reel_dense_words *words, bool decoding,
				       uint64_t address, const struct reel_dense_address *place);

#endif
