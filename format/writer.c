/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/codec/samples.h"
#include "format/schema.h"
#include "format/writer.h"

#define BLOCK_EXPANDED_END (64u << 20)
#define BLOCK_RAW_END	   (8u << 20)
/*
 * A sample of this size gets its own block: its record may turn out to be too large, and must then
 * be dropped without losing others.  A smaller sample adds less than REEL_BLOCK_RAW_MAX -
 * BLOCK_RAW_END: a word takes one byte more than its size, so words add a quarter, and chains and
 * missing ranges 4 MiB.
 */
#define LARGE_SAMPLE (32u << 20)

/* A record's tag and size: two LEB128 of 64 bits. */
#define FRAME_HEAD_MAX 20
/* Sample records without the bytes of their streams, and 256 layouts of 256 registers. */
#define SAMPLES_HEAD_MAX (1u << 20)

/* Two numbers of 64 bits, as LEB128. */
#define END_COUNTS_MAX 20

struct reel_writer {
	char *name;
	struct reel_writer_options options;
	uint8_t id[REEL_FILE_ID_SIZE];
	struct reel_block_file *file;
	struct reel_sample_encoder *encoder;
	struct reel_raw_block side, samples;
	/* A buffer to assemble a sample block in. */
	struct reel_buffer whole;
	/* Kept until everything else is written, as it counts that. */
	bool has_end;
	struct reel_record_end end;
	uint64_t n_blocks, n_side_records;
	uint32_t round; /* of a ring */
	bool is_head;	/* of it, is the next block */
	bool has_last_id;
	uint64_t last_id;
	uint64_t n_samples, stack_bytes;
	/* The error of a failed write: no further writes are possible. */
	enum reel_error_code failed_code;
	char *failed;
	bool finished;
};

/* ---- blocks ------------------------------------------------------------------- */

static uint8_t flags_of(const struct reel_raw_block *block)
{
	return block->samples && block->all_scrubbed ? REEL_BLOCK_SCRUBBED : 0;
}

/* Remembers an error and returns it. */
static struct reel_error *note_failure(struct reel_writer *writer, struct reel_error *error)
{
	if (error && !writer->failed) {
		writer->failed_code = reel_error_code(error);
		writer->failed = strdup(reel_error_message(error));
	}
	return error;
}

/* Moves the encoder's samples into the block, before the records that belong to them. */
static struct reel_error *end_samples(struct reel_writer *writer)
{
	struct reel_raw_block *block = &writer->samples;
	struct reel_buffer *whole = &writer->whole, former = block->raw;
	size_t size = reel_sample_encoder_size(writer->encoder);

	if (!size)
		return NULL;
	whole->size = 0;
	whole->failed = false;
	/* Reserve first, so that running out of memory changes nothing. */
	if (!reel_buffer_reserve(whole, former.size + size + SAMPLES_HEAD_MAX))
		return reel_error_no_memory();
	TRY(reel_sample_encoder_finish(writer->encoder, whole, block->ends));
	reel_buffer_append(whole, former.bytes, former.size);
	block->raw = *whole;
	*whole = former;
	block->has_ends = true;
	return NULL;
}

/* Writes the block if it has records, and empties it. */
static struct reel_error *write_block(struct reel_writer *writer, struct reel_raw_block *block)
{
	if (!block->records)
		return NULL;
	writer->n_blocks++;
	block->flags = flags_of(block);
	block->round = writer->round;
	block->is_head = writer->is_head;
	writer->is_head = false;
	if (writer->options.queue)
		return reel_block_queue_write(writer->options.queue, writer->file, block);
	TRY(note_failure(writer, reel_block_file_write(writer->file, block)));
	reel_raw_block_clear(block);
	return NULL;
}

/* ---- life --------------------------------------------------------------------- */

static struct reel_error *make_file_id(const uint8_t *file_id, uint8_t ret[REEL_FILE_ID_SIZE])
{
	if (file_id) {
		memcpy(ret, file_id, REEL_FILE_ID_SIZE);
		return NULL;
	}
	/* Requests this small are never cut short. */
	while (getrandom(ret, REEL_FILE_ID_SIZE, 0) != REEL_FILE_ID_SIZE) {
		if (errno != EINTR)
			return reel_error_os(errno, "making a random file id");
	}
	return NULL;
}

static struct reel_error *create_file(const struct reel_writer *writer, int fd, const char *name,
				      const struct reel_public_keys *recipients, const uint8_t *id,
				      bool is_ring, struct reel_block_file **ret)
{
	struct reel_block_file_options options = {
		.name = name,
		.level = writer->options.level,
		.digest = writer->options.digest,
		.owns_fd = writer->options.owns_fd,
		.recipients = recipients,
		.make_room = writer->options.make_room,
		.finished = writer->options.finished,
		.context = writer->options.context,
		.ring_time = is_ring ? writer->options.ring_time : 0,
		.ring_size = is_ring ? writer->options.ring_size : 0,
	};

	memcpy(options.id, id, sizeof(options.id));
	return reel_block_file_create(fd, &options, ret);
}

static struct reel_error *open_file(struct reel_writer *writer, int fd)
{
	const struct reel_public_keys *recipients = writer->options.recipients;

	writer->is_head = true;
	writer->options.recipients = NULL;
	TRY(create_file(writer, fd, writer->name, recipients, writer->id, true, &writer->file));
	if (writer->options.ring_size)
		return NULL;
	return writer->options.queue ? reel_block_queue_begin(writer->options.queue, writer->file)
				     : reel_block_file_begin(writer->file);
}

static struct reel_error *setup(struct reel_writer *writer, int fd, const char *name,
				const uint8_t *file_id)
{
	writer->name = strdup(name);
	if (!writer->name)
		return reel_error_no_memory();
	TRY(make_file_id(file_id, writer->id));
	TRY(reel_sample_encoder_create(&writer->options.target, &writer->encoder));
	/* Last, because it takes over the descriptor. */
	return open_file(writer, fd);
}

struct reel_error *reel_writer_create(int fd, const char *name,
				      const struct reel_writer_options *options,
				      const uint8_t *file_id, struct reel_writer **ret)
{
	struct reel_writer *writer = calloc(1, sizeof(*writer));
	struct reel_error *error;

	if (!writer) {
		if (options && options->owns_fd)
			close(fd);
		return reel_error_no_memory();
	}
	if (options)
		writer->options = *options;
	if (!writer->options.block_expanded)
		writer->options.block_expanded = BLOCK_EXPANDED_END;
	writer->side.type = REEL_BLOCK_SIDE;
	writer->samples.type = REEL_BLOCK_SAMPLES;
	error = setup(writer, fd, name, file_id);
	if (error) {
		if (writer->options.owns_fd && !writer->file)
			close(fd);
		reel_writer_destroy(writer);
		return error;
	}
	*ret = writer;
	return NULL;
}

void reel_writer_destroy(struct reel_writer *writer)
{
	if (!writer)
		return;
	reel_sample_encoder_destroy(writer->encoder);
	reel_block_file_release(writer->file);
	reel_buffer_free(&writer->side.raw);
	reel_buffer_free(&writer->samples.raw);
	reel_buffer_free(&writer->whole);
	free(writer->failed);
	free(writer->name);
	free(writer);
}

struct reel_error *reel_writer_copy_cipher(const struct reel_writer *writer,
					   struct reel_cipher **ret)
{
	return reel_block_file_copy_cipher(writer->file, ret);
}

const uint8_t *reel_writer_file_id(const struct reel_writer *writer)
{
	return writer->id;
}

struct reel_writer_counts reel_writer_counts(const struct reel_writer *writer)
{
	return (struct reel_writer_counts){
		.samples = writer->n_samples,
		.stack_bytes = writer->stack_bytes,
		.file_bytes = reel_block_file_counts(writer->file).bytes,
	};
}

/* ---- records -------------------------------------------------------------------- */

static struct reel_error *check_writable(const struct reel_writer *writer)
{
	if (writer->failed)
		return reel_error_create(writer->failed_code, "%s", writer->failed);
	if (writer->finished)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: the capture is already finished",
					 writer->name);
	return NULL;
}

/* The name of a field longer than the format allows; NULL if all fit. */
static const char *oversized_field(const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];

		if (field->max && reel_schema_bytes(field, record).size > field->max)
			return field->name;
	}
	return NULL;
}

static struct reel_error *check_record(const struct reel_writer *writer,
				       const struct reel_record *record)
{
	const char *name = reel_record_name(record->id), *field, *problem;

	if (!reel_schema_of(record->id) || reel_record_block_type(record->id) != REEL_BLOCK_SIDE)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: record %d is not a side record", writer->name,
					 (int)record->id);
	field = oversized_field(record);
	if (field)
		return reel_error_create(REEL_ERROR_INVALID, "writing %s: %s: %s is too long",
					 writer->name, name, field);
	problem = reel_record_check(record);
	if (problem)
		return reel_error_create(REEL_ERROR_INVALID, "writing %s: %s: %s", writer->name,
					 name, problem);
	if (reel_record_encoded_size(record) > REEL_BLOCK_RAW_MAX)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: %s exceeds the size of a block", writer->name,
					 name);
	return NULL;
}

static struct reel_error *add_record(struct reel_writer *writer, const struct reel_record *record)
{
	if (reel_record_encoded_size(record) > REEL_BLOCK_RAW_MAX - writer->side.raw.size)
		TRY(write_block(writer, &writer->side));
	TRY(reel_raw_block_add(&writer->side, record));
	writer->n_side_records++;
	return writer->side.raw.size >= BLOCK_RAW_END ? write_block(writer, &writer->side) : NULL;
}

struct reel_error *reel_writer_record(struct reel_writer *writer, const struct reel_record *record)
{
	TRY(check_writable(writer));
	TRY(check_record(writer, record));
	if (record->id != REEL_RECORD_END)
		return add_record(writer, record);
	writer->has_end = true;
	writer->end = record->end;
	return NULL;
}

static struct reel_error *flush(struct reel_writer *writer)
{
	TRY(write_block(writer, &writer->side));
	TRY(end_samples(writer));
	return write_block(writer, &writer->samples);
}

struct reel_error *reel_writer_flush(struct reel_writer *writer)
{
	TRY(check_writable(writer));
	return flush(writer);
}

/* The sample block's raw bytes so far, except for a few. */
static size_t sample_block_size(const struct reel_writer *writer)
{
	return writer->samples.raw.size + reel_sample_encoder_size(writer->encoder);
}

static bool sample_block_is_full(const struct reel_writer *writer)
{
	return writer->samples.expanded >= writer->options.block_expanded ||
	       sample_block_size(writer) >= BLOCK_RAW_END;
}

static uint64_t expanded_size(const struct reel_sample *sample)
{
	uint64_t size = 0;

	for (size_t i = 0; i < sample->n_regions; i++)
		size += sample->regions[i].size;
	return size;
}

/* Ends the block if the sample does not fit. */
static struct reel_error *make_place(struct reel_writer *writer, const struct reel_sample *sample)
{
	uint64_t expanded = expanded_size(sample);

	if (!writer->samples.records)
		return NULL;
	if (expanded < LARGE_SAMPLE &&
	    expanded <= REEL_BLOCK_EXPANDED_MAX - writer->samples.expanded &&
	    !reel_sample_encoder_is_full(writer->encoder))
		return NULL;
	return flush(writer);
}

/* Restores the block, except for the encoder: it holds no other sample. */
static struct reel_error *drop_oversized(struct reel_writer *writer,
					 const struct reel_raw_block *before)
{
	writer->samples = *before;
	reel_sample_encoder_reset(writer->encoder);
	return reel_error_create(REEL_ERROR_INVALID,
				 "writing %s: a sample exceeds the size of a block", writer->name);
}

static struct reel_error *encode_sample(struct reel_writer *writer,
					const struct reel_sample *sample)
{
	struct reel_raw_block *block = &writer->samples;
	struct reel_raw_block before = *block;
	struct reel_error *error;

	error = reel_sample_encode(writer->encoder, sample, &block->records, &block->expanded);
	if (error)
		return reel_error_prefix(error, "writing %s", writer->name);
	if (sample_block_size(writer) > REEL_BLOCK_RAW_MAX - SAMPLES_HEAD_MAX ||
	    block->expanded > REEL_BLOCK_EXPANDED_MAX)
		return drop_oversized(writer, &before);
	reel_raw_block_add_time(block, sample->time);
	block->all_scrubbed =
		(!block->samples || block->all_scrubbed) && sample->flags & REEL_SAMPLE_SCRUBBED;
	block->samples++;
	return NULL;
}

struct reel_error *reel_writer_sample(struct reel_writer *writer, const struct reel_sample *sample)
{
	TRY(check_writable(writer));
	if (writer->has_last_id && sample->id <= writer->last_id)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: sample ids do not ascend (%llu after %llu)",
					 writer->name, (unsigned long long)sample->id,
					 (unsigned long long)writer->last_id);
	TRY(make_place(writer, sample));
	TRY(encode_sample(writer, sample));
	writer->has_last_id = true;
	writer->last_id = sample->id;
	writer->n_samples++;
	writer->stack_bytes += expanded_size(sample);
	return sample_block_is_full(writer) ? flush(writer) : NULL;
}

/* Appends the frame to the block; on error the block is unchanged. */
static struct reel_error *block_add_frame(struct reel_raw_block *block,
					  const struct reel_record_frame *frame,
					  const struct reel_record *record)
{
	size_t size_before = block->raw.size;
	uint64_t time;

	reel_record_frame_append(&block->raw, frame);
	if (block->raw.failed) {
		block->raw.size = size_before;
		block->raw.failed = false;
		return reel_error_no_memory();
	}
	block->records++;
	if (record && reel_record_time(record, &time))
		reel_raw_block_add_time(block, time);
	return NULL;
}

struct reel_error *reel_writer_copy(struct reel_writer *writer, uint16_t block_type,
				    const struct reel_record_frame *frame,
				    const struct reel_record *record)
{
	bool is_side = block_type == REEL_BLOCK_SIDE;
	struct reel_raw_block *block = is_side ? &writer->side : &writer->samples;

	TRY(check_writable(writer));
	/* Its counts are for another file. */
	if (record && record->id == REEL_RECORD_END)
		return reel_writer_record(writer, record);
	if (reel_cursor_left(&frame->payload) > REEL_BLOCK_RAW_MAX - FRAME_HEAD_MAX)
		return reel_error_create(REEL_ERROR_INVALID,
					 "writing %s: a record exceeds the size of a block",
					 writer->name);
	if (reel_cursor_left(&frame->payload) + FRAME_HEAD_MAX >
	    REEL_BLOCK_RAW_MAX - SAMPLES_HEAD_MAX -
		    (is_side ? block->raw.size : sample_block_size(writer)))
		TRY(is_side ? write_block(writer, block) : flush(writer));
	TRY(block_add_frame(block, frame, record));
	writer->n_side_records += is_side;
	if (is_side)
		return block->raw.size >= BLOCK_RAW_END ? write_block(writer, block) : NULL;
	return sample_block_is_full(writer) ? flush(writer) : NULL;
}

/* The open blocks are written next: END's own, if END has one to itself, and one of samples. */
static struct reel_error *add_end(struct reel_writer *writer)
{
	struct reel_record record = { .id = REEL_RECORD_END, .end = writer->end };

	if (reel_record_encoded_size(&record) + END_COUNTS_MAX >
	    REEL_BLOCK_RAW_MAX - writer->side.raw.size)
		TRY(write_block(writer, &writer->side));
	record.end.blocks = writer->n_blocks + 1 + (writer->samples.records > 0);
	if (!record.end.side_records)
		record.end.side_records = writer->n_side_records + 1;
	return reel_raw_block_add(&writer->side, &record);
}

struct reel_error *reel_writer_finish(struct reel_writer *writer)
{
	TRY(check_writable(writer));
	if (writer->has_end)
		TRY(add_end(writer));
	TRY(flush(writer));
	writer->finished = true;
	if (writer->options.queue)
		return reel_block_queue_finish(writer->options.queue, writer->file);
	return note_failure(writer, reel_block_file_finish(writer->file));
}

/* ---- a ring --------------------------------------------------------------------- */

struct reel_error *reel_writer_begin_round(struct reel_writer *writer)
{
	TRY(reel_writer_flush(writer));
	writer->round++;
	writer->is_head = true;
	return NULL;
}

struct reel_error *reel_writer_begin_copy(struct reel_writer *writer, int fd, const char *name,
					  const struct reel_public_keys *recipients)
{
	struct reel_block_file *copy = NULL;
	uint8_t id[REEL_FILE_ID_SIZE];
	struct reel_error *error = make_file_id(NULL, id);

	if (!error)
		error = create_file(writer, fd, name, recipients, id, false, &copy);
	if (error)
		close(fd);
	else
		error = flush(writer);
	if (!error)
		error = reel_block_queue_copy(writer->options.queue, writer->file, copy);
	reel_block_file_release(copy);
	return error;
}

struct reel_error *reel_writer_end_copy(struct reel_writer *writer,
					const struct reel_record_end *end)
{
	TRY(reel_writer_flush(writer));
	return reel_block_queue_end_copy(writer->options.queue, writer->file, end);
}
