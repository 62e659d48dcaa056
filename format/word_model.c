/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/word_model.h"

struct reel_error *reel_word_model_create(struct reel_word_model **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

void reel_word_model_reset(struct reel_word_model *model)
{
	/* A hostile file's many small blocks must not cost a megabyte each. */
	if (model->n_touched > REEL_WORD_TOUCHED) {
		memset(model->by_place, 0, sizeof(model->by_place));
		memset(model->by_words, 0, sizeof(model->by_words));
	}
	for (uint32_t i = 0; i < model->n_touched && i < REEL_WORD_TOUCHED; i++) {
		model->by_place[model->touched[0][i]] = 0;
		model->by_words[model->touched[1][i]] = 0;
	}
	if (model->n_touched) {
		memset(model->recent, 0, sizeof(model->recent));
		memset(model->dictionary, 0, sizeof(model->dictionary));
		memset(model->highs, 0, sizeof(model->highs));
	}
	model->n_touched = 0;
}

void reel_word_model_destroy(struct reel_word_model *model)
{
	free(model);
}
