/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture contains, by its headers, side records and the heads of its samples. */
#include <stdlib.h>

#include "base/array.h"
#include "base/id_table.h"
#include "base/text.h"
#include "format/reader.h"
#include "format/schema.h"
#include "include/commands.h"

struct thread {
	struct reel_id_entry entry;
	char *comm;
	uint64_t samples;
};

struct reading {
	struct reel_outline outline; /* the first member: what a caller gets */
	struct reel_reader *reader;
	struct reel_block_reader *block_reader;
	uint64_t shift; /* from its clock to the wall's */
	bool has_capture;
	struct reel_id_table threads;
	struct reel_outline_comm *comms;
	char *hostname, *problem;
};

static void free_comm(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(((struct thread *)entry)->comm);
}

void reel_outline_destroy(const struct reel_outline *outline)
{
	struct reading *reading = (struct reading *)outline;

	if (!reading)
		return;
	reel_block_reader_destroy(reading->block_reader);
	reel_reader_close(reading->reader);
	reel_id_table_visit(&reading->threads, free_comm, NULL);
	reel_id_table_free_all(&reading->threads);
	free(reading->comms);
	free(reading->hostname);
	free(reading->problem);
	free(reading);
}

/* Keeps the first one. */
static struct reel_error *note(struct reading *reading, struct reel_error *problem)
{
	if (!problem || reel_error_code(problem) == REEL_ERROR_NO_MEMORY)
		return problem;
	if (!reading->problem)
		reading->problem = reel_text_print("%s", reel_error_message(problem));
	reading->outline.problem = reading->problem;
	reel_error_destroy(problem);
	return reading->problem ? NULL : reel_error_no_memory();
}

static struct reel_error *get_thread(struct reading *reading, uint64_t id, struct thread **ret)
{
	*ret = (struct thread *)reel_id_table_find(&reading->threads, id);
	if (!*ret)
		*ret = reel_id_table_add(&reading->threads, id, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

/* The last name stays: that of the program after an exec. */
static struct reel_error *name_thread(struct reading *reading, uint64_t id, struct reel_bytes comm)
{
	struct thread *thread;

	TRY(get_thread(reading, id, &thread));
	free(thread->comm);
	thread->comm =
		reel_text_print("%.*s", (int)comm.size, comm.size ? (const char *)comm.data : "");
	return thread->comm ? NULL : reel_error_no_memory();
}

static struct reel_error *take_capture(struct reading *reading,
				       const struct reel_record_capture *capture)
{
	if (reading->has_capture)
		return NULL;
	reading->has_capture = true;
	if (!capture->start_wall_time || capture->start_wall_time < capture->start_time)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: unknown start time",
					 reel_reader_name(reading->reader));
	reading->shift = capture->start_wall_time - capture->start_time;
	reading->outline.start = capture->start_wall_time;
	reading->hostname =
		reel_text_print("%.*s", (int)capture->hostname.size,
				capture->hostname.size ? (const char *)capture->hostname.data : "");
	reading->outline.hostname = reading->hostname;
	return reading->hostname ? NULL : reel_error_no_memory();
}

static struct reel_error *take_record(struct reading *reading, const struct reel_record *record)
{
	struct reel_outline *outline = &reading->outline;

	switch (record->id) {
	case REEL_RECORD_CAPTURE:
		return take_capture(reading, &record->capture);
	case REEL_RECORD_THREAD:
		return name_thread(reading, record->thread.id, record->thread.comm);
	case REEL_RECORD_THREAD_COMM:
		return name_thread(reading, record->thread_comm.thread, record->thread_comm.comm);
	case REEL_RECORD_LOSS:
		outline->lost[reel_loss_of(record->loss.cause)] += record->loss.count;
		return NULL;
	case REEL_RECORD_END:
		outline->complete = true;
		outline->end = record->end.time;
		return NULL;
	default:
		return NULL;
	}
}

static struct reel_error *take_item(struct reading *reading, const struct reel_block_item *item)
{
	struct thread *thread;

	if (item->kind == REEL_ITEM_RECORD)
		return take_record(reading, &item->record);
	if (item->kind != REEL_ITEM_SAMPLE)
		return NULL;
	TRY(get_thread(reading, item->sample.thread, &thread));
	thread->samples++;
	reading->outline.samples++;
	return NULL;
}

static bool wants(const void *context, const struct reel_record_frame *frame)
{
	(void)context;
	return frame->id == REEL_RECORD_CAPTURE || frame->id == REEL_RECORD_THREAD ||
	       frame->id == REEL_RECORD_THREAD_COMM || frame->id == REEL_RECORD_LOSS ||
	       frame->id == REEL_RECORD_END;
}

static struct reel_error *read_block(struct reading *reading, const struct reel_block *block)
{
	struct reel_error *damage =
		block->header.type == REEL_BLOCK_SAMPLES
			? reel_block_reader_load_heads(reading->block_reader, block)
			: reel_block_reader_load(reading->block_reader, block);

	while (!damage) {
		struct reel_block_item item;

		damage = reel_block_reader_next(reading->block_reader, &item);
		if (damage || item.kind == REEL_ITEM_END)
			break;
		TRY(take_item(reading, &item));
	}
	return note(reading, damage);
}

static void add_times(struct reel_outline *outline, const struct reel_block_header *header)
{
	if (header->time_last > outline->end)
		outline->end = header->time_last;
	if (header->type != REEL_BLOCK_SAMPLES)
		return;
	if (!outline->last_sample || header->time_first < outline->first_sample)
		outline->first_sample = header->time_first;
	if (header->time_last > outline->last_sample)
		outline->last_sample = header->time_last;
}

static struct reel_error *read_blocks(struct reading *reading, bool contents)
{
	size_t n, last = 0;
	const struct reel_block *blocks = reel_reader_blocks(reading->reader, &n);

	for (size_t i = 0; i < n; i++) {
		add_times(&reading->outline, &blocks[i].header);
		if (blocks[i].header.type == REEL_BLOCK_SIDE)
			last = i;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned int type = blocks[i].header.type;

		if (type == REEL_BLOCK_SIDE ? contents || !reading->has_capture || i == last
					    : type == REEL_BLOCK_SAMPLES && contents)
			TRY(read_block(reading, &blocks[i]));
	}
	return NULL;
}

/* On the wall clock. */
static void shift_times(struct reading *reading)
{
	struct reel_outline *outline = &reading->outline;

	outline->end += reading->shift;
	if (outline->end < outline->start)
		outline->end = outline->start;
	if (!outline->last_sample)
		return;
	outline->first_sample += reading->shift;
	outline->last_sample += reading->shift;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct reel_outline_comm *)a)->name,
		      ((const struct reel_outline_comm *)b)->name);
}

static int compare_samples(const void *a, const void *b)
{
	const struct reel_outline_comm *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return compare_names(a, b);
}

static void list_thread(void *context, struct reel_id_entry *entry)
{
	struct reading *reading = context;
	const struct thread *thread = (const struct thread *)entry;

	if (thread->samples)
		reading->comms[reading->outline.n_comms++] = (struct reel_outline_comm){
			.name = thread->comm ? thread->comm : "",
			.samples = thread->samples,
		};
}

static struct reel_error *list_comms(struct reading *reading)
{
	struct reel_outline *outline = &reading->outline;
	size_t n = 0;

	reading->comms = calloc(reading->threads.count + 1, sizeof(*reading->comms));
	if (!reading->comms)
		return reel_error_no_memory();
	reel_id_table_visit(&reading->threads, list_thread, reading);
	qsort(reading->comms, outline->n_comms, sizeof(*reading->comms), compare_names);
	for (size_t i = 0; i < outline->n_comms; i++) {
		if (n && !strcmp(reading->comms[n - 1].name, reading->comms[i].name))
			reading->comms[n - 1].samples += reading->comms[i].samples;
		else
			reading->comms[n++] = reading->comms[i];
	}
	qsort(reading->comms, n, sizeof(*reading->comms), compare_samples);
	outline->comms = reading->comms;
	outline->n_comms = n;
	return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void close_reading(struct reading **reading)
{
	if (*reading)
		reel_outline_destroy(&(*reading)->outline);
}

static struct reel_error *open_reading(const char *path, const char *const *identities,
				       struct reel_reader **ret)
{
	struct reel_identities keys = { 0 };
	const struct reel_reader_options options = { .identities = &keys };
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && identities && identities[i]; i++)
		error = reel_identities_load(&keys, identities[i]);
	if (!error)
		error = reel_reader_open(path, &options, ret);
	reel_identities_free(&keys);
	return error;
}

struct reel_error *reel_outline_read(const char *path, const char *const *identities, bool contents,
				     const struct reel_outline **ret)
{
	__attribute__((cleanup(close_reading))) struct reading *reading =
		calloc(1, sizeof(*reading));
	const struct reel_problem *problems;
	size_t n;

	if (!reading)
		return reel_error_no_memory();
	TRY(open_reading(path, identities, &reading->reader));
	TRY(reel_block_reader_create(reading->reader, &reading->block_reader));
	reel_block_reader_choose(reading->block_reader, wants, NULL);
	problems = reel_reader_problems(reading->reader, &n);
	/* A part that is still being written is not damaged. */
	for (size_t i = 0; i < n; i++)
		if (problems[i].code != REEL_ERROR_TRUNCATED)
			TRY(note(reading,
				 reel_error_create(problems[i].code, "%s", problems[i].message)));
	TRY(read_blocks(reading, contents));
	if (!reading->has_capture)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: no readable CAPTURE record",
					 path);
	shift_times(reading);
	TRY(list_comms(reading));
	memcpy(reading->outline.file_id, reel_reader_header(reading->reader)->id,
	       sizeof(reading->outline.file_id));
	reading->outline.file_size = reel_reader_file_size(reading->reader);
	reading->outline.encrypted = reel_reader_was_encrypted(reading->reader);
	/* A caller may keep many outlines. */
	reel_block_reader_destroy(reading->block_reader);
	reel_reader_close(reading->reader);
	reading->block_reader = NULL;
	reading->reader = NULL;
	*ret = &reading->outline;
	reading = NULL;
	return NULL;
}
