/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks whose COLUMNS become DENSE, by who has the time for it. */
#ifndef FORMAT_RECODE_H
#define FORMAT_RECODE_H

#include "format/block_file.h"

struct reel_recoder;

struct reel_error *reel_recoder_create(struct reel_recoder **ret) REEL_MUST_CHECK;
void reel_recoder_destroy(struct reel_recoder *recoder);
/* *ret is the block with the same samples, and all else as it is; it lives until the next call. */
struct reel_error *reel_recode(struct reel_recoder *recoder, const struct reel_raw_block *block,
			       const struct reel_raw_block **ret) REEL_MUST_CHECK;

#endif
