/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DENSE: the words of registers and stacks, decision by decision (SPEC.md, annex A).
 * Two to five times smaller than COLUMNS' tokens where stacks are scrubbed, for ten times the CPU.
 */
#ifndef FORMAT_CODEC_DENSE_WORDS_H
#define FORMAT_CODEC_DENSE_WORDS_H

#include "format/codec/coder.h"

struct reel_dense_words;

struct reel_error *reel_dense_words_create(struct reel_dense_words **ret) REEL_MUST_CHECK;
void reel_dense_words_destroy(struct reel_dense_words *words);

/* Forgets all; what is coded from now on goes to `out`. */
void reel_dense_words_encode_to(struct reel_dense_words *words, struct reel_buffer *out);
/* Behind the last word. */
void reel_dense_words_finish(struct reel_dense_words *words);
/* Forgets all; the cursor fails where no token of a word is valid. */
void reel_dense_words_decode_from(struct reel_dense_words *words, struct reel_cursor *in);
/* What numbers between words are coded with. */
struct reel_number_coder *reel_dense_words_numbers(struct reel_dense_words *words);

/* The pc of a sample; `thread` is as in its thread's last one. */
void reel_dense_words_encode_pc(struct reel_dense_words *words, uint64_t pc,
				const struct reel_thread_base *thread);
uint64_t reel_dense_words_decode_pc(struct reel_dense_words *words,
				    const struct reel_thread_base *thread);

/* The registers that are known; the thread's become theirs. */
void reel_dense_words_encode_registers(struct reel_dense_words *words,
				       const struct reel_sample *sample,
				       struct reel_thread_base *thread);
/* pc, the regions' addresses, the layout and `known` are there. */
void reel_dense_words_decode_registers(struct reel_dense_words *words,
				       const struct reel_sample *sample,
				       struct reel_thread_base *thread);

/* A region's words; `base` becomes them. */
void reel_dense_words_encode_region(struct reel_dense_words *words,
				    const struct reel_coder_region *region,
				    struct reel_word_walk *walk, uint8_t *base);
/* Over walk->bytes, which are the base's; false where a token is not valid. */
bool reel_dense_words_decode_region(struct reel_dense_words *words,
				    const struct reel_coder_region *region,
				    struct reel_word_walk *walk, uint8_t *bytes);

/* An address of a chain: where it stands, going from the root to the leaf. */
struct reel_dense_address {
	uint64_t salt;		/* tells chains of one kind from those of another */
	uint64_t caller, outer; /* the two addresses above it; 0 if there is none */
	uint64_t before;	/* what is there in the chain before; 0 if nothing */
	bool differs;		/* it is not `before` */
};

uint64_t reel_dense_words_code_address(struct reel_dense_words *words, bool decoding,
				       uint64_t address, const struct reel_dense_address *place);

#endif
