/* SPDX-License-Identifier: Apache-2.0 */
#include "format/codec/labels.h"

/* A label begins with its key and its kind in one number. */
#define KIND_BITS 2

const char *reel_labels_check(const struct reel_sample *sample)
{
	uint64_t last = 0;

	if (sample->n_labels > REEL_LABELS_MAX)
		return "too many labels";
	for (size_t i = 0; i < sample->n_labels; i++) {
		const struct reel_sample_label *label = &sample->labels[i];

		if (label->key <= last || label->key > REEL_LABEL_KEY_MAX)
			return "keys of labels do not ascend";
		if (label->kind > REEL_LABEL_ADDRESS)
			return "unknown kind of label";
		if (label->text.size > REEL_LABEL_TEXT_MAX)
			return "a label's text is too long";
		if (label->text.size && memchr(label->text.data, 0, label->text.size))
			return "a label's text has a NUL";
		last = label->key;
	}
	return NULL;
}

/* ---- encoding ----------------------------------------------------------------------- */

void reel_label_encoder_reset(struct reel_label_encoder *encoder)
{
	encoder->payload.size = 0;
	encoder->payload.failed = false;
	encoder->unlabelled = 0;
}

static void encode_label(struct reel_buffer *buffer, const struct reel_sample_label *label)
{
	reel_buffer_uleb(buffer, label->key << KIND_BITS | label->kind);
	switch (label->kind) {
	case REEL_LABEL_TEXT:
		reel_buffer_uleb(buffer, label->text.size);
		reel_buffer_append(buffer, label->text.data, label->text.size);
		break;
	case REEL_LABEL_SIGNED:
		reel_buffer_zigzag(buffer, (int64_t)label->number);
		break;
	default:
		reel_buffer_uleb(buffer, label->number);
	}
}

void reel_labels_encode(struct reel_label_encoder *encoder, const struct reel_sample *sample)
{
	if (!sample->n_labels) {
		encoder->unlabelled++;
		return;
	}
	reel_buffer_uleb(&encoder->payload, encoder->unlabelled);
	reel_buffer_uleb(&encoder->payload, sample->n_labels);
	for (size_t i = 0; i < sample->n_labels; i++)
		encode_label(&encoder->payload, &sample->labels[i]);
	encoder->unlabelled = 0;
}

/* ---- decoding ----------------------------------------------------------------------- */

static struct reel_sample_label decode_label(struct reel_cursor *cursor)
{
	uint64_t first = reel_cursor_uleb(cursor);
	struct reel_sample_label label = {
		.key = first >> KIND_BITS,
		.kind = first & ((1 << KIND_BITS) - 1),
	};

	switch (label.kind) {
	case REEL_LABEL_TEXT:
		label.text.size = reel_cursor_uleb(cursor);
		label.text.data = reel_cursor_take(cursor, label.text.size);
		break;
	case REEL_LABEL_SIGNED:
		label.number = (uint64_t)reel_cursor_zigzag(cursor);
		break;
	default:
		label.number = reel_cursor_uleb(cursor);
	}
	return label;
}

/* The next sample's labels; n is 0 after the last one. */
static const char *decode_next(struct reel_label_decoder *decoder)
{
	struct reel_cursor *cursor = &decoder->cursor;
	uint64_t n;

	decoder->n = 0;
	if (!reel_cursor_left(cursor))
		return NULL;
	decoder->unlabelled = reel_cursor_uleb(cursor);
	n = reel_cursor_uleb(cursor);
	if (cursor->failed || !n || n > REEL_LABELS_MAX)
		return "invalid number of labels";
	for (size_t i = 0; i < n; i++)
		decoder->labels[i] = decode_label(cursor);
	if (cursor->failed)
		return "ends within a label";
	decoder->n = n;
	return reel_labels_check(
		&(struct reel_sample){ .labels = decoder->labels, .n_labels = decoder->n });
}

struct reel_error *reel_labels_begin(struct reel_label_decoder *decoder, struct reel_cursor payload)
{
	const char *problem;

	decoder->cursor = payload;
	decoder->given = false;
	do
		problem = decode_next(decoder);
	while (!problem && decoder->n);
	if (problem) {
		decoder->n = 0;
		return reel_error_create(REEL_ERROR_CORRUPT, "%s", problem);
	}
	decoder->cursor = payload;
	decode_next(decoder);
	return NULL;
}

void reel_labels_next(struct reel_label_decoder *decoder, struct reel_sample *sample)
{
	if (decoder->given)
		decode_next(decoder);
	decoder->given = false;
	if (!decoder->n || decoder->unlabelled--)
		return;
	sample->labels = decoder->labels;
	sample->n_labels = decoder->n;
	decoder->given = true;
}

bool reel_labels_left(const struct reel_label_decoder *decoder)
{
	return decoder->given ? reel_cursor_left(&decoder->cursor) > 0 : decoder->n > 0;
}
