/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "replay/traces/kept_values.h"

/* ---- writing ------------------------------------------------------------------------ */

/* The place of a trace's frame in the stack. */
struct place {
	size_t shown;
	uint64_t frame, level;
};

void reel_kept_writer_free(struct reel_kept_writer *writer)
{
	reel_buffer_free(&writer->texts);
	free(writer->counts);
}

static void move_place(struct place *place, const struct reel_trace *trace, size_t shown)
{
	for (; place->shown < shown; place->shown++) {
		if (trace->frames[place->shown]->inlined) {
			place->level++;
		} else {
			place->frame++;
			place->level = 0;
		}
	}
}

static size_t print_state(const struct reel_frame_value *value, char *ret, size_t size)
{
	int n = 1;

	if (value->state != REEL_VALUE_KNOWN)
		*ret = value->state == REEL_VALUE_OPTIMIZED_OUT ? 'o' : 'n';
	else if (!value->is_number)
		*ret = 't';
	else if (value->is_signed)
		n = snprintf(ret, size, "s%" PRId64, (int64_t)value->number);
	else
		n = snprintf(ret, size, "u%" PRIu64, value->number);
	return (size_t)n;
}

static void append_line(struct reel_buffer *texts, const struct place *place,
			const struct reel_frame_value *value)
{
	char line[96];
	size_t n = (size_t)snprintf(line, sizeof(line), "%" PRIu64 "\t%" PRIu64 "\t", place->frame,
				    place->level);

	n += print_state(value, line + n, sizeof(line) - n);
	line[n++] = '\t';
	reel_buffer_append(texts, line, n);
	reel_buffer_append(texts, value->text, strlen(value->text));
	reel_buffer_u8(texts, '\n');
}

static void append_names(struct reel_buffer *texts, const struct reel_value_request *request)
{
	reel_buffer_append(texts, request->function, strlen(request->function));
	reel_buffer_u8(texts, '\t');
	reel_buffer_append(texts, request->expression, strlen(request->expression));
	reel_buffer_u8(texts, '\n');
}

/* Adds a line to the request's last label, or to another one if that is full. */
static void add_value(struct reel_kept_writer *writer, const struct reel_value_request *request,
		      const struct place *place, const struct reel_frame_value *value,
		      struct reel_sample_label *labels, size_t *n, size_t *begin)
{
	struct reel_buffer *texts = &writer->texts;
	size_t before = texts->size;

	if (*begin != SIZE_MAX) {
		append_line(texts, place, value);
		if (texts->size - *begin <= REEL_LABEL_TEXT_MAX) {
			labels[*n - 1].text.size = texts->size - *begin;
			return;
		}
		texts->size = before;
	}
	if (*n == REEL_LABELS_MAX || (*n && labels[*n - 1].key >= REEL_LABEL_VALUES_LAST)) {
		writer->left_out++;
		return;
	}
	*begin = before;
	append_names(texts, request);
	append_line(texts, place, value);
	labels[*n] = (struct reel_sample_label){
		.key = *n && labels[*n - 1].key >= REEL_LABEL_VALUES ? labels[*n - 1].key + 1
								     : REEL_LABEL_VALUES,
		.kind = REEL_LABEL_TEXT,
		.text.size = texts->size - before,
	};
	++*n;
}

static struct reel_error *write_request(struct reel_kept_writer *writer,
					const struct reel_trace *trace, size_t number,
					const struct reel_value_request *request,
					struct reel_sample_label *labels, size_t *n)
{
	struct place place = { .shown = trace->n_kernel_frames };
	size_t begin = SIZE_MAX;

	for (size_t i = 0; i < trace->n_values; i++) {
		const struct reel_frame_value *value = &trace->values[i];

		if (value->request != number)
			continue;
		/* Their members' texts and numbers are more than was asked for by name. */
		if (value->text[0] == '{')
			return reel_error_create(REEL_ERROR_INVALID,
						 "%s:%s is a structure or an array; keep parts of "
						 "it, such as a member",
						 request->function, request->expression);
		writer->counts[number] += value->state == REEL_VALUE_KNOWN;
		move_place(&place, trace, value->frame);
		add_value(writer, request, &place, value, labels, n, &begin);
	}
	return NULL;
}

struct reel_error *reel_kept_values_write(struct reel_kept_writer *writer,
					  const struct reel_trace *trace,
					  const struct reel_value_request *requests,
					  size_t n_requests, struct reel_sample_label *labels,
					  size_t *n)
{
	size_t before = *n;
	const uint8_t *text;

	writer->texts.size = 0;
	if (!writer->counts)
		writer->counts = calloc(n_requests + 1, sizeof(*writer->counts));
	if (!writer->counts)
		return reel_error_no_memory();
	for (size_t i = 0; i < n_requests; i++)
		TRY(write_request(writer, trace, i, &requests[i], labels, n));
	if (writer->texts.failed)
		return reel_error_no_memory();
	/* The buffer may have moved until here. */
	text = writer->texts.bytes;
	for (size_t i = before; i < *n; i++) {
		labels[i].text.data = text;
		text += labels[i].text.size;
	}
	return NULL;
}

/* ---- reading ------------------------------------------------------------------------ */

static bool is_kept(const struct reel_sample_label *label)
{
	return label->key >= REEL_LABEL_VALUES && label->key <= REEL_LABEL_VALUES_LAST &&
	       label->kind == REEL_LABEL_TEXT;
}

bool reel_kept_values_exist(const struct reel_sample *sample)
{
	for (size_t i = 0; i < sample->n_labels; i++) {
		if (is_kept(&sample->labels[i]))
			return true;
	}
	return false;
}

/* The text up to a separator, which is skipped; false if it is missing. */
static bool split(struct reel_bytes *rest, char separator, struct reel_bytes *ret)
{
	const uint8_t *end = rest->size ? memchr(rest->data, separator, rest->size) : NULL;

	if (!end)
		return false;
	*ret = (struct reel_bytes){ rest->data, (size_t)(end - rest->data) };
	rest->data = end + 1;
	rest->size -= ret->size + 1;
	return true;
}

static bool read_number(struct reel_bytes text, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < text.size; i++) {
		unsigned digit = (unsigned)text.data[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, digit, ret))
			return false;
	}
	return text.size;
}

static bool read_state(struct reel_bytes text, struct reel_kept_value *ret)
{
	char kind = text.size ? (char)*text.data : 0;
	struct reel_bytes number = { text.data + 1, text.size - 1 };
	bool is_negative;

	ret->state = kind == 'o'   ? REEL_VALUE_OPTIMIZED_OUT
		     : kind == 'n' ? REEL_VALUE_NOT_CAPTURED
				   : REEL_VALUE_KNOWN;
	if (kind == 'o' || kind == 'n' || kind == 't')
		return text.size == 1;
	if (kind != 'u' && kind != 's')
		return false;
	ret->is_number = true;
	ret->is_signed = kind == 's';
	is_negative = ret->is_signed && number.size && *number.data == '-';
	number.data += is_negative;
	number.size -= is_negative;
	if (!read_number(number, &ret->number))
		return false;
	if (is_negative)
		ret->number = 0 - ret->number;
	return true;
}

static bool read_value(struct reel_bytes line, struct reel_kept_value *ret)
{
	struct reel_bytes frame, level, state;

	if (!split(&line, '\t', &frame) || !split(&line, '\t', &level) ||
	    !split(&line, '\t', &state) || !read_number(frame, &ret->frame) ||
	    !read_number(level, &ret->level) || !read_state(state, ret))
		return false;
	ret->text = line;
	return ret->state == REEL_VALUE_KNOWN || !line.size;
}

bool reel_kept_values_next(struct reel_kept_reader *reader, struct reel_kept_value *ret)
{
	for (;;) {
		struct reel_bytes line;

		if (split(&reader->rest, '\n', &line)) {
			*ret = (struct reel_kept_value){ .function = reader->function,
							 .expression = reader->expression };
			if (read_value(line, ret))
				return true;
			continue;
		}
		while (reader->next_label < reader->sample->n_labels &&
		       !is_kept(&reader->sample->labels[reader->next_label]))
			reader->next_label++;
		if (reader->next_label == reader->sample->n_labels)
			return false;
		reader->rest = reader->sample->labels[reader->next_label++].text;
		if (!split(&reader->rest, '\n', &line) || !split(&line, '\t', &reader->function))
			reader->rest.size = 0;
		reader->expression = line;
	}
}
