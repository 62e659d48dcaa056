/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a capture's records to the merged capture's. */
#include "base/bytes.h"
#include "format/record_coder.h"
#include "replay/rewrite/merge.h"

/* A reader's limit for all images (replay/names/module.c). */
#define IMAGES_SIZE_MAX (64u << 20)

static struct reel_error *write_side(struct reel_merge_copy *copy, const struct reel_record *record)
{
	copy->merge->side_written++;
	return reel_writer_record(copy->merge->writer, record);
}

/* ---- ids and times -------------------------------------------------------------------------- */

static void new_id(struct reel_merge_ids *ids, uint64_t *id)
{
	ids->is_exceeded |= *id > REEL_MERGE_ID_MAX - ids->base;
	*id += ids->base;
	if (*id > ids->last)
		ids->last = *id;
}

/* 0 means none. */
static void new_id_or_none(struct reel_merge_ids *ids, uint64_t *id)
{
	if (*id)
		new_id(ids, id);
}

static void shift_time(const struct reel_merge_copy *copy, uint64_t *time)
{
	*time = *time > UINT64_MAX - copy->shift ? UINT64_MAX : *time + copy->shift;
}

/* Unknown, and from the start, stay. */
static void shift_time_or_none(const struct reel_merge_copy *copy, uint64_t *time)
{
	if (*time > REEL_TIME_START)
		shift_time(copy, time);
}

static uint64_t mapped(const struct reel_id_map *map, uint64_t id)
{
	const uint64_t *number = reel_id_map_find(map, id);

	return number ? *number : 0;
}

struct reel_error *reel_merge_end_copy(struct reel_merge_copy *copy)
{
	struct reel_merge *merge = copy->merge;
	bool is_exceeded = merge->samples.is_exceeded;

	for (int i = 0; i < REEL_ID_KINDS; i++) {
		is_exceeded |= merge->ids[i].is_exceeded;
		merge->ids[i].base = merge->ids[i].last;
	}
	if (is_exceeded)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: cannot merge: ids of samples, processes, "
					 "threads, cgroups, functions or origins exceed 2^62",
					 copy->path);
	merge->samples.base = merge->samples.last;
	/* Ids of samples may be 0. */
	merge->samples.last = ++merge->samples.base;
	return NULL;
}

/* ---- contents that captures may share ------------------------------------------------------- */

/* Finds or assigns the id for the content of a record whose id is set to 0. */
static struct reel_error *share(struct reel_merge_copy *copy, const struct reel_record *record,
				uint64_t hash, uint64_t *n_ids, uint64_t *ret, bool *is_new_ret)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_error *error;

	reel_buffer_u64(&bytes, hash);
	reel_record_encode(&bytes, record);
	if (bytes.failed)
		return reel_error_no_memory();
	error = reel_contents_id(&copy->merge->contents, bytes.bytes, bytes.size, *n_ids + 1, ret);
	*is_new_ret = !error && *ret == *n_ids + 1;
	*n_ids += *is_new_ret;
	return error;
}

/* Writes a definition with its new id, unless its content has one; `id` is the record's.  The first
 * record of an id is used. */
static struct reel_error *define(struct reel_merge_copy *copy, struct reel_id_map *ids,
				 struct reel_record *record, uint64_t *id, uint64_t *n_ids)
{
	uint64_t *new_id;
	bool is_new;

	TRY(reel_id_map_get(ids, *id, &new_id));
	if (*new_id)
		return NULL;
	*id = 0;
	TRY(share(copy, record, 0, n_ids, new_id, &is_new));
	*id = *new_id;
	return is_new ? write_side(copy, record) : NULL;
}

static struct reel_error *define_event(struct reel_merge_copy *copy, struct reel_record record)
{
	return define(copy, &copy->events, &record, &record.event.id, &copy->merge->n_events);
}

static struct reel_error *define_steps(struct reel_merge_copy *copy, struct reel_record record)
{
	struct reel_merge *merge = copy->merge;

	TRY(define(copy, &copy->steps, &record, &record.trace_steps.id, &merge->n_steps));
	if (merge->n_steps <= REEL_TRACE_STEPS_MAX)
		return NULL;
	return reel_error_create(REEL_ERROR_UNSUPPORTED,
				 "%s: too many different ways to unwind traces for one capture "
				 "(2^20); merge fewer captures at a time",
				 copy->path);
}

static struct reel_error *hash_image(struct reel_merge_copy *copy,
				     const struct reel_record_image *image)
{
	const struct reel_contents *contents = &copy->merge->contents;
	uint64_t *hash, *size;

	TRY(reel_id_map_get(&copy->images, image->module, &hash));
	TRY(reel_id_map_get(&copy->image_sizes, image->module, &size));
	const uint64_t all[] = { *hash, image->offset, image->total_size, image->number,
				 reel_contents_hash(contents, image->bytes.data,
						    image->bytes.size) };

	*hash = reel_contents_hash(contents, all, sizeof(all));
	if (image->total_size > *size)
		*size = image->total_size;
	return NULL;
}

/* ---- origins -------------------------------------------------------------------------------- */

static struct reel_error *write_origin(struct reel_merge_copy *copy, struct reel_record *record)
{
	struct reel_merge *merge = copy->merge;
	uint64_t id, next = merge->n_files + 1;

	TRY(reel_contents_id(&merge->files, record->origin.file.data, record->origin.file.size,
			     next, &id));
	if (id != next)
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: its contents are also in another input, and would "
					 "count twice; omit one of them",
					 copy->path);
	merge->n_files++;
	new_id(&merge->ids[REEL_ID_ORIGIN], &record->origin.id);
	new_id(&merge->samples, &record->origin.first_sample);
	TRY(reel_origins_add(merge->hosts, &record->origin));
	return write_side(copy, record);
}

static struct reel_error *define_origin(struct reel_merge_copy *copy, struct reel_record record)
{
	if (record.origin.first_sample < copy->first_origin_sample)
		copy->first_origin_sample = record.origin.first_sample;
	return write_origin(copy, &record);
}

struct reel_error *reel_merge_define_origin(struct reel_merge_copy *copy,
					    const struct reel_record_capture *capture)
{
	const struct reel_merge_ids *ids = &copy->merge->ids[REEL_ID_ORIGIN];
	const struct reel_file_header *header = reel_reader_header(copy->reader);
	struct reel_record record = {
		.id = REEL_RECORD_ORIGIN,
		.origin = {
			.id = ids->last - ids->base + 1,
			.file = { header->id, sizeof(header->id) },
			.start_time = capture->start_time,
			.start_wall_time = capture->start_wall_time,
			.clock = capture->clock,
			.cpus_online = capture->cpus_online,
			.part = capture->part,
			.recording = capture->recording,
			.hostname = capture->hostname,
			.kernel_release = capture->kernel_release,
			.kernel_version = capture->kernel_version,
			.kernel_build_id = capture->kernel_build_id,
			.tool_version = capture->tool_version,
			.command_line = capture->command_line,
		},
	};
	struct reel_error *error;

	/* Samples before the first ORIGIN's have none. */
	if (!copy->first_origin_sample)
		return NULL;
	error = write_origin(copy, &record);
	copy->own_origin = record.origin.id;
	return error;
}

/* ---- records -------------------------------------------------------------------------------- */

struct reel_error *reel_merge_define(struct reel_merge_copy *copy, const struct reel_record *record)
{
	switch (record->id) {
	case REEL_RECORD_EVENT:
		return define_event(copy, *record);
	case REEL_RECORD_TRACE_STEPS:
		return define_steps(copy, *record);
	case REEL_RECORD_IMAGE:
		return hash_image(copy, &record->image);
	case REEL_RECORD_ORIGIN:
		return define_origin(copy, *record);
	default:
		return NULL;
	}
}

/* Whether another capture's module of the same identity is the same (SPEC.md, MODULE). */
static bool may_be_shared(const struct reel_record_module *module)
{
	if (module->kind == REEL_MODULE_KERNEL || module->kind == REEL_MODULE_KERNEL_MODULE)
		return false;
	return module->kind != REEL_MODULE_FILE || module->build_id.size ||
	       module->file_digest.size;
}

struct reel_error *reel_merge_define_module(struct reel_merge_copy *copy,
					    const struct reel_record *from)
{
	struct reel_merge *merge = copy->merge;
	struct reel_record record = *from;
	struct reel_error *error;
	uint64_t *number, id, old = record.module.id;
	bool is_new = true;

	if (record.id != REEL_RECORD_MODULE)
		return NULL;
	error = reel_id_map_get(&copy->modules, old, &number);
	if (error || *number)
		return error;
	if (record.module.kind == REEL_MODULE_FILE && record.module.build_id.size)
		record.module.device_major = record.module.device_minor = record.module.inode =
			record.module.inode_generation = 0;
	record.module.id = 0;
	if (may_be_shared(&record.module))
		error = share(copy, &record, mapped(&copy->images, old), &merge->n_modules, &id,
			      &is_new);
	else
		id = ++merge->n_modules;
	if (error)
		return error;
	*number = 2 * id + is_new;
	if (!is_new)
		return NULL;
	merge->images_size += mapped(&copy->image_sizes, old);
	if (merge->images_size > IMAGES_SIZE_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: the inputs have more than %u MiB of module images, "
					 "the limit for one capture; merge fewer captures at a "
					 "time, or use 'stackreel resolve' on them first",
					 copy->path, IMAGES_SIZE_MAX >> 20);
	record.module.id = id;
	return write_side(copy, &record);
}

static uint64_t new_module(const struct reel_merge_copy *copy, uint64_t module)
{
	return mapped(&copy->modules, module) / 2;
}

/* Changes the record's times and ids. */
static void change_record(struct reel_merge_copy *copy, struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];
		uint64_t *number = (void *)((char *)record + field->offset);

		if (field->role == REEL_ROLE_TIME)
			shift_time(copy, number);
		else if (field->role == REEL_ROLE_TIME_IF_KNOWN)
			shift_time_or_none(copy, number);
		else if (field->ids == REEL_ID_MODULE)
			*number = new_module(copy, *number);
		else if (field->role == REEL_ROLE_ID)
			new_id(&copy->merge->ids[field->ids], number);
		else if (field->role == REEL_ROLE_REFERENCE)
			new_id_or_none(&copy->merge->ids[field->ids], number);
	}
}

static struct reel_error *copy_image(struct reel_merge_copy *copy, struct reel_record *record)
{
	uint64_t number = mapped(&copy->modules, record->image.module);

	record->image.module = number / 2;
	return number & 1 ? write_side(copy, record) : NULL;
}

static struct reel_error *copy_kernel_symbol(struct reel_merge_copy *copy,
					     struct reel_record *record)
{
	struct reel_record_kernel_symbol *symbol = &record->kernel_symbol;

	/* If there are ORIGINs, the symbol is of none of their kernels. */
	if (!symbol->origin && !copy->own_origin)
		return NULL;
	change_record(copy, record);
	if (!symbol->origin)
		symbol->origin = copy->own_origin;
	return write_side(copy, record);
}

struct reel_error *reel_merge_copy_record(struct reel_merge_copy *copy, struct reel_record *record)
{
	uint64_t id;

	if (record->id == REEL_RECORD_IMAGE)
		return copy_image(copy, record);
	if (record->id == REEL_RECORD_KERNEL_SYMBOL)
		return copy_kernel_symbol(copy, record);
	switch (reel_record_subject(record, &id)) {
	case REEL_ID_THREAD:
	case REEL_ID_SPACE:
	case REEL_ID_CGROUP:
	case REEL_ID_FUNCTION:
		break;
	default:
		if (record->id != REEL_RECORD_LOSS && record->id != REEL_RECORD_MARK)
			return NULL;
	}
	change_record(copy, record);
	return write_side(copy, record);
}

struct reel_error *reel_merge_copy_sample(struct reel_merge_copy *copy,
					  const struct reel_sample *from)
{
	struct reel_merge *merge = copy->merge;
	struct reel_sample_label labels[REEL_LABELS_MAX];
	struct reel_runtime_frame frames[REEL_RUNTIME_FRAMES_MAX];
	struct reel_sample sample = *from;

	for (size_t i = 0; i < from->n_labels; i++) {
		labels[i] = from->labels[i];
		if (labels[i].key == REEL_LABEL_WAKER_SAMPLE)
			labels[i].number += merge->samples.base;
	}
	sample.labels = labels;
	for (size_t i = 0; i < from->n_runtime_frames; i++) {
		frames[i] = from->runtime_frames[i];
		new_id_or_none(&merge->ids[REEL_ID_FUNCTION], &frames[i].function);
	}
	sample.runtime_frames = frames;
	new_id(&merge->samples, &sample.id);
	new_id_or_none(&merge->ids[REEL_ID_THREAD], &sample.thread);
	shift_time(copy, &sample.time);
	sample.event = mapped(&copy->events, sample.event);
	sample.steps = mapped(&copy->steps, sample.steps);
	merge->counts.samples++;
	return reel_writer_sample(merge->writer, &sample);
}
