/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CODED_SAMPLES: the words of registers and stacks, decision by decision (SPEC.md, section 6).
 * Two to five times smaller than SAMPLES' tokens where stacks are scrubbed, for ten times the CPU.
 */
#ifndef FORMAT_WORD_CODER_H
#define FORMAT_WORD_CODER_H

#include "format/sample_words.h"

struct reel_word_coder;

struct reel_error *reel_word_coder_create(struct reel_word_coder **ret) REEL_MUST_CHECK;
void reel_word_coder_destroy(struct reel_word_coder *coder);

/* Forgets all; what is coded from now on goes to `out`. */
void reel_word_coder_encode_to(struct reel_word_coder *coder, struct reel_buffer *out);
/* Behind the last word. */
void reel_word_coder_finish(struct reel_word_coder *coder);
/* Forgets all; the cursor fails where it is not what words can be. */
void reel_word_coder_decode_from(struct reel_word_coder *coder, struct reel_cursor *in);
/* What numbers between words are coded with. */
struct reel_number_coder *reel_word_coder_numbers(struct reel_word_coder *coder);

/* The pc of a sample; `base` is that of its thread's last one. */
void reel_word_coder_encode_pc(struct reel_word_coder *coder, uint64_t pc,
			       const struct reel_thread_base *base);
uint64_t reel_word_coder_decode_pc(struct reel_word_coder *coder,
				   const struct reel_thread_base *base);

/* The registers that are known; `base` becomes theirs. */
void reel_word_coder_encode_registers(struct reel_word_coder *coder,
				      const struct reel_sample *sample,
				      struct reel_thread_base *base);
/* Sets `values`, which are base->values; pc, the regions' addresses, the layout and `known` are
 * there. */
void reel_word_coder_decode_registers(struct reel_word_coder *coder, struct reel_thread_base *base,
				      struct reel_sample *sample);

/* A region's words; `base` becomes them.  `pc_before` is that of the thread's last sample. */
void reel_word_coder_encode_words(struct reel_word_coder *coder, uint64_t pc, uint64_t pc_before,
				  struct reel_word_walk *walk, uint8_t *base);
/* Over walk->bytes, which are the base's. *top_ret: from which offset on they stay as they are.
 * CORRUPT. */
struct reel_error *reel_word_coder_decode_words(struct reel_word_coder *coder, uint64_t pc,
						uint64_t pc_before, struct reel_word_walk *walk,
						uint8_t *bytes, size_t *top_ret) REEL_MUST_CHECK;

#endif
