/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DENSE (SPEC.md, annex A): a sample is a row of decisions, each with its predicted probability,
 * all in one stream.  Minor data stays in streams, as in COLUMNS.
 */
#include <stdlib.h>

#include "format/codec/dense_chains.h"
#include "format/codec/dense_header.h"
#include "format/codec/dense_words.h"

struct dense {
	struct reel_coder coder;
	struct reel_dense_words *words;
	struct reel_number_coder *numbers; /* the coder inside `words` */
	struct reel_dense_headers headers;
	struct reel_dense_chains chains;
	struct reel_bit_coder before; /* the state before the current sample */
};

static struct dense *dense_of(struct reel_coder *coder)
{
	return (struct dense *)coder;
}

static struct reel_error *create(struct reel_coder **ret)
{
	struct dense *dense = calloc(1, sizeof(*dense));
	struct reel_error *error;

	if (!dense)
		return reel_error_no_memory();
	error = reel_dense_words_create(&dense->words);
	if (error) {
		free(dense);
		return error;
	}
	dense->coder.operations = &reel_dense_operations;
	dense->numbers = reel_dense_words_numbers(dense->words);
	*ret = &dense->coder;
	return NULL;
}

static void destroy(struct reel_coder *coder)
{
	reel_dense_chains_free(&dense_of(coder)->chains);
	reel_dense_words_destroy(dense_of(coder)->words);
	free(coder);
}

/* ---- encoding -------------------------------------------------------------------- */

static void encode_begin(struct reel_coder *coder, const struct reel_sample_target *target)
{
	struct dense *dense = dense_of(coder);

	reel_dense_words_encode_to(dense->words, &coder->out[REEL_STREAM_TOKENS]);
	dense->headers = (struct reel_dense_headers){ .period = target->period };
	reel_buffer_uleb(&coder->out[REEL_STREAM_TIME], target->period);
}

static void encode_header(struct reel_coder *coder, const struct reel_sample_head *head)
{
	struct dense *dense = dense_of(coder);

	dense->before = dense->numbers->bits;
	reel_dense_header_encode(&dense->headers, dense->numbers, head);
}

static void encode_pc(struct reel_coder *coder, const struct reel_sample *sample,
		      const struct reel_thread_base *thread)
{
	reel_dense_words_encode_pc(dense_of(coder)->words, sample->pc, thread);
}

static void encode_place(struct reel_coder *coder, const struct reel_coder_region *region,
			 const struct reel_region_base *base, uint64_t address, uint64_t size)
{
	reel_dense_place_encode(dense_of(coder)->numbers, region, base, address, size);
}

static void encode_registers(struct reel_coder *coder, const struct reel_sample *sample,
			     struct reel_thread_base *thread)
{
	reel_dense_words_encode_registers(dense_of(coder)->words, sample, thread);
}

static void encode_words(struct reel_coder *coder, const struct reel_coder_region *region,
			 struct reel_word_walk *walk, uint8_t *base)
{
	reel_dense_words_encode_region(dense_of(coder)->words, region, walk, base);
}

static bool encode_chain(struct reel_coder *coder, const struct reel_coder_chain *which,
			 const uint64_t *chain, size_t n, struct reel_chain_base *base)
{
	return reel_dense_chain_encode(dense_of(coder)->words, which, chain, n, base);
}

static void encode_undo(struct reel_coder *coder)
{
	dense_of(coder)->numbers->bits = dense_of(coder)->before;
}

static void encode_end(struct reel_coder *coder)
{
	reel_dense_words_finish(dense_of(coder)->words);
}

/* ---- decoding -------------------------------------------------------------------- */

static struct reel_error *corrupt(const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "%s", what);
}

static bool has_failed(const struct reel_coder *coder)
{
	return coder->in[REEL_STREAM_TOKENS].failed;
}

static struct reel_error *check_words(const struct reel_coder *coder)
{
	return has_failed(coder) ? corrupt("invalid token of a word, or a stream is too short")
				 : NULL;
}

static struct reel_error *decode_begin(struct reel_coder *coder)
{
	struct dense *dense = dense_of(coder);
	struct reel_cursor *period = &coder->in[REEL_STREAM_TIME];

	dense->headers = (struct reel_dense_headers){ .period = reel_cursor_uleb(period) };
	reel_dense_words_decode_from(dense->words, &coder->in[REEL_STREAM_TOKENS]);
	return period->failed || has_failed(coder) ? corrupt("ends within its streams") : NULL;
}

static struct reel_error *decode_header(struct reel_coder *coder, struct reel_sample_head *ret)
{
	reel_dense_header_decode(&dense_of(coder)->headers, dense_of(coder)->numbers, ret);
	return has_failed(coder) ? corrupt("ends within its header") : NULL;
}

static struct reel_error *decode_pc(struct reel_coder *coder, const struct reel_sample *sample,
				    const struct reel_thread_base *thread, uint64_t *ret)
{
	(void)sample;
	*ret = reel_dense_words_decode_pc(dense_of(coder)->words, thread);
	return check_words(coder);
}

static void decode_place(struct reel_coder *coder, const struct reel_coder_region *region,
			 const struct reel_region_base *base, uint64_t *address_ret,
			 uint64_t *size_ret)
{
	reel_dense_place_decode(dense_of(coder)->numbers, region, base, address_ret, size_ret);
}

static struct reel_error *decode_registers(struct reel_coder *coder,
					   const struct reel_sample *sample,
					   struct reel_thread_base *thread)
{
	reel_dense_words_decode_registers(dense_of(coder)->words, sample, thread);
	return check_words(coder);
}

static struct reel_error *decode_words(struct reel_coder *coder,
				       const struct reel_coder_region *region,
				       struct reel_word_walk *walk, uint8_t *bytes)
{
	if (reel_dense_words_decode_region(dense_of(coder)->words, region, walk, bytes))
		return NULL;
	return has_failed(coder) ? check_words(coder)
				 : corrupt("words change beyond the end of the stack");
}

static struct reel_error *decode_chain(struct reel_coder *coder,
				       const struct reel_coder_chain *which,
				       struct reel_chain_base *base)
{
	struct dense *dense = dense_of(coder);
	struct reel_error *error =
		reel_dense_chain_decode(&dense->chains, dense->words, which, base);

	return error || !has_failed(coder) ? error : corrupt("ends within its chains");
}

const struct reel_coder_operations reel_dense_operations = {
	.record = REEL_RECORD_DENSE,
	.samples_max = REEL_DENSE_SAMPLES_MAX,
	.addresses_max = REEL_DENSE_ADDRESSES_MAX,
	.keeps_chains = true,
	.create = create,
	.destroy = destroy,
	.encode_begin = encode_begin,
	.encode_header = encode_header,
	.encode_pc = encode_pc,
	.encode_place = encode_place,
	.encode_registers = encode_registers,
	.encode_words = encode_words,
	.encode_chain = encode_chain,
	.encode_undo = encode_undo,
	.encode_end = encode_end,
	.decode_begin = decode_begin,
	.decode_header = decode_header,
	.decode_pc = decode_pc,
	.decode_place = decode_place,
	.decode_registers = decode_registers,
	.decode_words = decode_words,
	.decode_chain = decode_chain,
};
